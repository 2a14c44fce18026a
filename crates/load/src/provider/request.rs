//! A provider's request: its URL, the path of the rows in the response, their mapping, the next page, and the signs of a refusal.

use toml::de::DeValue;

use crate::{
    live::matching::MatchedBy,
    manifest::{
        ColumnManifest, TableManifest,
        keys::{self, KeyPlace},
        live::span,
        read_table,
    },
};
use model::{
    interval::Interval,
    schema::{self, TABLES, TableSchema},
    time::DAY_MS,
    toml_reader::{TomlEntry, TomlError},
};

/// A request that a provider responds to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProviderRequest {
    pub name: String,
    /// Prefix of its URL, if not that of the provider.
    pub home: Option<Template>,
    pub each: RequestScope,
    pub path: Template,
    /// Parameters; one whose placeholder has no value is omitted.
    pub query: Vec<(String, Template)>,
    /// The tables it fills, and how.
    pub tables: Vec<FilledTable>,
    /// Candle lengths that it offers, if not those of the provider.
    pub intervals: Vec<Interval>,
    /// Whether its candles are dated at their end instead of their start.
    pub ends: bool,
    /// Maximum number of candles per response: a longer span takes several requests.
    pub span: Option<u32>,
    /// Values of the next page's placeholders, by placeholder.
    pub next: Vec<(String, NextPage)>,
    /// Maximum number of pages to request.
    pub pages: u32,
    pub refusals: Vec<RefusalSign>,
    /// Signs by which `import` recognizes a saved response.
    pub known: Option<toml::Value>,
    /// For requests by account: the role that the account has in the table `accounts`.
    pub role: Option<String>,
    /// How many holders one request may name.
    pub batch: usize,
    /// How many posts of a token are asked for, those with the most engagement first.
    pub most: usize,
    /// Whether it is sent only if the user asks for a refresh.
    pub by_hand: bool,
    /// Rows younger than this many milliseconds are requested again in each refresh, because their counts still grow.
    pub again: Option<i64>,
}

/// A table that a request fills.
#[derive(Debug, Clone, PartialEq)]
pub struct FilledTable {
    pub table: &'static str,
    /// Path of the rows in the response: fields and elements joined by dots, `*` for every one. Empty: the whole response.
    pub rows: String,
    /// The mapping of columns. If it maps any column, the others stay empty; if it maps none, columns are matched by name.
    pub mapping: TableManifest,
    /// Whether a response may consist only of unusable rows, such as pools without an address.
    pub lenient: bool,
    /// Rows with one of these texts at the path are left out, because their authors ask for it.
    pub skip: Vec<(String, Vec<String>)>,
    /// Rows without one of these fields are left out: other rows have them.
    pub needs: Vec<String>,
    /// For posts: how it is decided whether they are about the token.
    pub signs: Option<PostSigns>,
}

/// Where a post has the signs that it is about a token.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PostSigns {
    /// The signs that count, in this order.
    pub signs: Vec<MatchedBy>,
    /// Paths of the texts of a post.
    pub texts: Vec<String>,
    /// Paths of the accounts that a post names or answers.
    pub names: Vec<String>,
    /// Path of the channel that a post is in.
    pub channel: Option<String>,
    /// Path of the post that it answers.
    pub parent: Option<String>,
}

/// What a request is about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RequestScope {
    /// No token in particular.
    #[default]
    Once,
    /// A token on a chain, by its address.
    Token,
    /// A coin or token, by its symbol.
    Coin,
    /// The most liquid known pool of a token.
    Pool,
    /// A search text typed by the user: a name, a symbol or an address.
    Search,
    /// One of a token's own accounts on the provider's platform.
    Account,
    /// A post about a token.
    Post,
    /// Some of a token's largest holders.
    Holder,
}

impl RequestScope {
    pub const WORDS: [(&'static str, Self); 8] = [
        ("once", Self::Once),
        ("token", Self::Token),
        ("coin", Self::Coin),
        ("pool", Self::Pool),
        ("search", Self::Search),
        ("account", Self::Account),
        ("post", Self::Post),
        ("holder", Self::Holder),
    ];

    /// Whether it is about people or what they wrote, so that the dataset has to have rows of them first.
    pub fn is_social(self) -> bool {
        matches!(self, Self::Account | Self::Post | Self::Holder)
    }
}

/// What fills a placeholder for the next page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextPage {
    /// The smallest value of this schema column on the page.
    Oldest(String),
    /// The largest value of this schema column on the page.
    Newest(String),
    /// A counter: by one from 1, or by a larger step from 0.
    Step(u32),
    /// The value at this path in the response; the fields of an object become parameters.
    Place(String),
}

/// A sign that a response contains a refusal instead of rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusalSign {
    /// Path in the response.
    pub place: String,
    /// How the text there begins; by default, anything but null, false and 0.
    pub is: Option<String>,
    /// Path of the message for users, if it is another one.
    pub say: Option<String>,
    pub then: RefusalAction,
}

/// Consequence of a refusal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RefusalAction {
    /// It is reported.
    #[default]
    Say,
    /// The request is repeated later.
    Wait,
    /// It counts as a response without rows.
    NoRows,
}

impl RefusalAction {
    const WORDS: [(&'static str, Self); 3] = [
        ("say it", Self::Say),
        ("wait", Self::Wait),
        ("no rows", Self::NoRows),
    ];

    fn read(member: &TomlEntry<'_>) -> Result<Self, TomlError> {
        let word = member.text()?;
        let known = Self::WORDS
            .iter()
            .find(|(known, _)| *known == word)
            .map(|(_, then)| *then);
        known.ok_or_else(|| member.wrong("must be \"say it\", \"wait\" or \"no rows\""))
    }
}

/// Keys of a request besides those of a table.
const KEYS: [&str; 19] = [
    "name",
    "fills",
    "each",
    "home",
    "path",
    "query",
    "rows",
    "next",
    "pages",
    "errors",
    "known",
    "tables",
    "intervals",
    "ends",
    "span",
    "role",
    "batch",
    "most",
    "by_hand",
];

/// The most pages, where nothing is said.
const PAGES: u32 = 10;

/// The prefix of URLs.
pub(super) fn home(member: &TomlEntry<'_>) -> Result<Template, TomlError> {
    let text = member.text()?;
    if !text.starts_with("https://") && !text.starts_with("http://") {
        return Err(member.wrong("must be a URL that begins with https://"));
    }
    Template::read(member, text.trim_end_matches('/'), &[])
}

/// Reads all requests.
pub(super) fn read(member: &TomlEntry<'_>) -> Result<Vec<ProviderRequest>, TomlError> {
    let all = member
        .items()
        .ok_or_else(|| member.wrong("must be a list of tables: [[request]]"))?;
    all.iter().map(one).collect()
}

fn one(member: &TomlEntry<'_>) -> Result<ProviderRequest, TomlError> {
    let mut entries = member.table()?;
    let of = |key: &str| entries.iter().find(|entry| entry.key == key);
    let name = of("name").map_or(Ok(String::new()), TomlEntry::text)?;
    let next: Vec<(String, NextPage)> = of("next").map_or(Ok(Vec::new()), |next| {
        next.table()?.iter().map(next_page).collect()
    })?;
    let also: Vec<String> = next.iter().map(|(name, _)| name.clone()).collect();
    let rows = of("rows").map_or(Ok(String::new()), TomlEntry::text)?;
    let path =
        of("path").ok_or_else(|| member.error(format!("the request `{name}` lacks `path`")))?;
    let mut request = ProviderRequest {
        home: of("home").map(home).transpose()?,
        each: of("each").map_or(Ok(RequestScope::Once), each)?,
        path: Template::read(path, &path.text()?, &also)?,
        query: of("query").map_or(Ok(Vec::new()), |query| parameters(query, &also))?,
        tables: Vec::new(),
        intervals: of("intervals").map_or(Ok(Vec::new()), super::intervals)?,
        ends: of("ends").map_or(Ok(false), TomlEntry::boolean)?,
        span: of("span")
            .map(|span| span.integer(1, 1_000_000).map(|rows| rows as u32))
            .transpose()?,
        refusals: of("errors").map_or(Ok(Vec::new()), refusals)?,
        known: of("known").map(TomlEntry::read).transpose()?,
        pages: of("pages").map_or(Ok(PAGES), |pages| {
            pages.integer(1, 10_000).map(|pages| pages as u32)
        })?,
        role: of("role").map(TomlEntry::text).transpose()?,
        batch: of("batch").map_or(Ok(1), |batch| batch.integer(1, 1_000))? as usize,
        most: of("most").map_or(Ok(20), |most| most.integer(1, 1_000))? as usize,
        by_hand: of("by_hand").map_or(Ok(false), TomlEntry::boolean)?,
        again: None,
        name,
        next,
    };
    for (filled, again) in of("tables").map_or(Ok(Vec::new()), |member| tables(member, &rows))? {
        request.tables.push(filled);
        request.again = request.again.or(again);
    }
    let fills = of("fills").map(filled).transpose()?;
    let in_url = |name: &str| {
        request.path.has(name) || request.query.iter().any(|(_, value)| value.has(name))
    };
    // The fields of an object at a path become parameters themselves.
    let is_used =
        |(name, next): &&(String, NextPage)| matches!(next, NextPage::Place(_)) || in_url(name);
    if let (Some((name, _)), Some(entry)) =
        (request.next.iter().find(|next| !is_used(next)), of("next"))
    {
        return Err(entry.wrong(&format!(
            "defines `{{{name}}}`, but neither `path` nor `query` contains it"
        )));
    }
    let of_tables = keys::names(KeyPlace::Table);
    if let Some(odd) = entries.iter().find(|entry| {
        !KEYS.contains(&entry.key)
            && !TABLE_KEYS.contains(&entry.key)
            && !of_tables.contains(&entry.key)
    }) {
        return Err(odd.unknown("key", &[&KEYS[..], &TABLE_KEYS, &of_tables].concat()));
    }
    entries.retain(|entry| !KEYS.contains(&entry.key));
    match (fills, entries.first()) {
        (Some(schema), _) => {
            let (filled, again) = filled_table(schema, rows, entries)?;
            request.tables.insert(0, filled);
            request.again = again;
        }
        (None, Some(lone)) => {
            return Err(lone.wrong("belongs to a table; choose it with `fills`, or move the key under [request.tables.TABLE]"));
        }
        (None, None) if request.tables.is_empty() => {
            return Err(member.error(format!(
                "the request `{}` fills no table; add `fills`, as in `fills = \"candles\"`",
                request.name
            )));
        }
        (None, None) => {}
    }
    Ok(request)
}

fn filled(member: &TomlEntry<'_>) -> Result<&'static TableSchema, TomlError> {
    let name = member.text()?;
    let names: Vec<&str> = TABLES.iter().map(|schema| schema.name).collect();
    schema::table(&name).ok_or_else(|| member.unknown_name("table", &name, &names))
}

fn tables(
    member: &TomlEntry<'_>,
    rows: &str,
) -> Result<Vec<(FilledTable, Option<i64>)>, TomlError> {
    let names: Vec<&str> = TABLES.iter().map(|schema| schema.name).collect();
    let mut filled = Vec::new();
    for table in member.table()? {
        let schema = schema::table(table.key).ok_or_else(|| table.unknown("table", &names))?;
        // A response may have rows of one table in several places: [[request.tables.TABLE]].
        for one in table.items().unwrap_or_else(|| vec![table.clone()]) {
            let entries = one.table()?;
            let own = entries.iter().find(|entry| entry.key == "rows");
            let own = own.map(TomlEntry::text).transpose()?;
            filled.push(filled_table(
                schema,
                own.unwrap_or_else(|| rows.to_owned()),
                entries,
            )?);
        }
    }
    Ok(filled)
}

/// Keys of a table that a request fills, besides those of its mapping.
const TABLE_KEYS: [&str; 9] = [
    "lenient", "needs", "skip", "match", "texts", "names", "channel", "parent", "again",
];

/// A table that a request fills, and how long its rows are requested again.
fn filled_table(
    schema: &'static TableSchema,
    rows: String,
    mut entries: Vec<TomlEntry<'_>>,
) -> Result<(FilledTable, Option<i64>), TomlError> {
    let of = |key: &str| entries.iter().find(|entry| entry.key == key);
    if schema.name != "posts"
        && let Some(odd) = TABLE_KEYS[3..8].iter().find_map(|key| of(key))
    {
        return Err(odd.wrong("is only for posts"));
    }
    let skip = |pair: &TomlEntry<'_>| Ok((pair.key.to_owned(), pair.texts()?));
    let skip = of("skip").map_or(Ok(Vec::new()), |member| {
        member.table()?.iter().map(skip).collect()
    })?;
    let paths = |key: &str| of(key).map_or(Ok(Vec::new()), TomlEntry::texts);
    let path = |key: &str| of(key).map(TomlEntry::text).transpose();
    let (needs, texts, names) = (paths("needs")?, paths("texts")?, paths("names")?);
    let (channel, parent) = (path("channel")?, path("parent")?);
    let signs = of("match").map_or(Ok(Some(MatchedBy::ALL.to_vec())), matched_by)?;
    let lenient = of("lenient").map_or(Ok(false), TomlEntry::boolean)?;
    let again = of("again")
        .map(|again| {
            span(
                again,
                DAY_MS,
                365 * DAY_MS,
                "must be a duration from 1d to 1y, such as \"7d\"",
            )
        })
        .transpose()?;
    entries.retain(|entry| entry.key != "rows" && !TABLE_KEYS.contains(&entry.key));
    let of_tables = keys::names(KeyPlace::Table);
    if let Some(odd) = entries.iter().find(|entry| !of_tables.contains(&entry.key)) {
        let known = [
            &["rows", "columns", "set", "where", "values"],
            &TABLE_KEYS[..],
        ]
        .concat();
        return Err(odd.unknown("key", &known));
    }
    let mapping = mapping(schema, entries)?;
    let signs = signs.filter(|_| schema.name == "posts").map(|signs| {
        let from = |column: &str| mapping.columns.get(column).and_then(ColumnManifest::path);
        PostSigns {
            texts: if texts.is_empty() {
                ["title", "link"].into_iter().filter_map(from).collect()
            } else {
                texts
            },
            signs,
            names,
            channel,
            parent,
        }
    });
    let filled = FilledTable {
        table: schema.name,
        rows,
        mapping,
        lenient,
        skip,
        needs,
        signs,
    };
    Ok((filled, again))
}

/// The signs that count; `None`: every post that the service returns is about the token.
fn matched_by(member: &TomlEntry<'_>) -> Result<Option<Vec<MatchedBy>>, TomlError> {
    let words = member.texts()?;
    if words == ["any"] {
        return Ok(None);
    }
    let known: Vec<&str> = MatchedBy::ALL
        .iter()
        .map(|sign| sign.word())
        .chain(["any"])
        .collect();
    let read = |word: &String| {
        let found = MatchedBy::ALL.into_iter().find(|sign| sign.word() == word);
        found.ok_or_else(|| member.unknown_name("sign", word, &known))
    };
    words.iter().map(read).collect::<Result<_, _>>().map(Some)
}

/// The mapping of a table. If any column is mapped, the others stay empty: an equal name does not make a response's field the same as a
/// schema column.
fn mapping(
    schema: &'static TableSchema,
    entries: Vec<TomlEntry<'_>>,
) -> Result<TableManifest, TomlError> {
    let mut table = read_table(schema, entries)?;
    if table.columns.values().any(ColumnManifest::is_mapped) {
        for column in schema.columns {
            let said = table
                .columns
                .get(column.name)
                .is_some_and(ColumnManifest::is_mapped);
            if !said && !table.set.contains_key(column.name) {
                table.set.insert(column.name, String::new());
            }
        }
    }
    Ok(table)
}

fn each(member: &TomlEntry<'_>) -> Result<RequestScope, TomlError> {
    let word = member.text()?;
    let known = RequestScope::WORDS.map(|(known, _)| known);
    let each = RequestScope::WORDS
        .iter()
        .find(|(known, _)| *known == word)
        .map(|(_, each)| *each);
    each.ok_or_else(|| member.unknown_name("value of `each`", &word, &known))
}

fn parameters(
    member: &TomlEntry<'_>,
    also: &[String],
) -> Result<Vec<(String, Template)>, TomlError> {
    let one = |pair: &TomlEntry<'_>| {
        Ok((
            pair.key.to_owned(),
            Template::read(pair, &pair.scalar()?, also)?,
        ))
    };
    member.table()?.iter().map(one).collect()
}

fn next_page(member: &TomlEntry<'_>) -> Result<(String, NextPage), TomlError> {
    let text = member.text()?;
    let must = "must be \"oldest COLUMN\", \"newest COLUMN\", \"+1\", or a path in the response";
    let next = match text.split_once(' ') {
        Some(("oldest", column)) => NextPage::Oldest(column.trim().to_owned()),
        Some(("newest", column)) => NextPage::Newest(column.trim().to_owned()),
        Some(_) => return Err(member.wrong(must)),
        None => match text.strip_prefix('+') {
            Some(step) => NextPage::Step(
                step.parse()
                    .ok()
                    .filter(|step| *step > 0)
                    .ok_or_else(|| member.wrong(must))?,
            ),
            None => NextPage::Place(text),
        },
    };
    Ok((member.key.to_owned(), next))
}

/// Reads the signs of refusals: one or several at each place, of which the first that holds counts.
fn refusals(member: &TomlEntry<'_>) -> Result<Vec<RefusalSign>, TomlError> {
    let mut signs = Vec::new();
    for place in member.table()? {
        match place.items() {
            Some(items) => signs.extend(items.iter().map(refusal).collect::<Result<Vec<_>, _>>()?),
            None => signs.push(refusal(&place)?),
        }
    }
    Ok(signs)
}

fn refusal(member: &TomlEntry<'_>) -> Result<RefusalSign, TomlError> {
    let mut sign = RefusalSign {
        place: member.key.to_owned(),
        is: None,
        say: None,
        then: RefusalAction::default(),
    };
    if !matches!(member.value, DeValue::Table(_)) {
        sign.then = RefusalAction::read(member)?;
        return Ok(sign);
    }
    for part in member.table()? {
        match part.key {
            "is" => sign.is = Some(part.scalar()?),
            "say" => sign.say = Some(part.text()?),
            "then" => sign.then = RefusalAction::read(&part)?,
            _ => return Err(part.unknown("key", &["is", "say", "then"])),
        }
    }
    Ok(sign)
}

// Texts with placeholders: `/networks/{chain}/pools/{pool}`. The caller provides the values.

/// Placeholders of every request, besides those that its `next` names.
pub(super) const KNOWN: [&str; 12] = [
    "token", "chain", "pool", "symbol", "interval", "from", "to", "before", "search", "account",
    "post", "holders",
];

/// Parts of placeholders, after the dot.
const PARTS: [&str; 7] = [
    "unit",
    "count",
    "minutes",
    "seconds",
    "milliseconds",
    "iso",
    "id",
];

/// A text with placeholders.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Template(Vec<Piece>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Placeholder(Placeholder),
}

/// A placeholder: `{NAME}` or `{NAME.PART}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placeholder {
    pub name: String,
    pub part: Option<String>,
}

impl Template {
    /// Parses the text of an entry; `also` are names besides the known ones.
    pub(super) fn read(
        member: &TomlEntry<'_>,
        text: &str,
        also: &[String],
    ) -> Result<Self, TomlError> {
        let template =
            Self::parse(text).ok_or_else(|| member.wrong("has a `{` without its `}`"))?;
        for hole in template.holes() {
            let known: Vec<&str> = KNOWN
                .into_iter()
                .chain(also.iter().map(String::as_str))
                .collect();
            if !known.contains(&hole.name.as_str()) {
                return Err(member.unknown_name("placeholder", &hole.name, &known));
            }
            if let Some(part) = hole.part.as_deref().filter(|part| !PARTS.contains(part)) {
                return Err(member.unknown_name("part of a placeholder", part, &PARTS));
            }
        }
        Ok(template)
    }

    /// Parses a text; `None` if a brace is not closed. `{{` and `}}` are braces of the text itself.
    pub fn parse(text: &str) -> Option<Self> {
        let (mut pieces, mut plain, mut rest) = (Vec::new(), String::new(), text);
        while let Some(at) = rest.find(['{', '}']) {
            plain.push_str(&rest[..at]);
            let brace = &rest[at..=at];
            let after = &rest[at + 1..];
            if let Some(after) = after.strip_prefix(brace) {
                plain.push_str(brace);
                rest = after;
                continue;
            }
            if brace == "}" {
                plain.push('}');
                rest = after;
                continue;
            }
            let (inside, after) = after.split_once('}')?;
            if !plain.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut plain)));
            }
            let (name, part) = inside
                .split_once('.')
                .map_or((inside, None), |(name, part)| (name, Some(part.to_owned())));
            pieces.push(Piece::Placeholder(Placeholder {
                name: name.trim().to_owned(),
                part,
            }));
            rest = after;
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        Some(Self(pieces))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn holes(&self) -> impl Iterator<Item = &Placeholder> {
        self.0.iter().filter_map(|piece| {
            if let Piece::Placeholder(hole) = piece {
                Some(hole)
            } else {
                None
            }
        })
    }

    /// Whether it has a placeholder of that name.
    pub fn has(&self, name: &str) -> bool {
        self.holes().any(|hole| hole.name == name)
    }

    /// The text with its placeholders filled; `None` if `fill` has no value for one of them.
    pub fn fill(&self, fill: &dyn Fn(&Placeholder) -> Option<String>) -> Option<String> {
        let mut text = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(piece) => text.push_str(piece),
                Piece::Placeholder(hole) => text.push_str(&fill(hole)?),
            }
        }
        Some(text)
    }
}

/// Fills the placeholders of a text; returns the text unchanged if it has none, or one that cannot be filled.
pub fn expand(text: &str, fill: &dyn Fn(&Placeholder) -> Option<String>) -> String {
    Template::parse(text)
        .and_then(|template| template.fill(fill))
        .unwrap_or_else(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_filled_or_the_text_is_none() {
        let template = Template::parse("/{chain}/x/{interval.unit}").expect("a template");
        let fill = |hole: &Placeholder| match (hole.name.as_str(), hole.part.as_deref()) {
            ("chain", None) => Some("eth".to_owned()),
            ("interval", Some("unit")) => Some("day".to_owned()),
            _ => None,
        };
        assert_eq!(template.fill(&fill).as_deref(), Some("/eth/x/day"));
        assert_eq!(
            Template::parse("{page}").expect("a template").fill(&fill),
            None
        );
        assert_eq!(
            Template::parse("plain")
                .expect("a template")
                .fill(&fill)
                .as_deref(),
            Some("plain")
        );
        assert!(Template::parse("{open").is_none());
        let braces = Template::parse("query {{ a(x: \"{chain}\") {{ id }} }}").expect("a template");
        assert_eq!(
            braces.fill(&fill).as_deref(),
            Some("query { a(x: \"eth\") { id } }")
        );
        assert_eq!(expand("1d", &fill), "1d");
    }
}
