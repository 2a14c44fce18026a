//! Rows of a response before they are read: rows whose authors do not want them shown are left out, and so are posts that are not about
//! the token; columns that are computed from several fields are added as fields of their own.

use serde_json::value::RawValue;

use crate::{
    live::{
        ExcludedPosts,
        ask::Ask,
        matching::{MatchOutcome, Matcher, PostTexts},
    },
    manifest::TableManifest,
    provider::{FilledTable, PostSigns, texts_at},
};

/// The rows that remain, and notes about the others.
#[derive(Default)]
pub(super) struct Screened {
    pub(super) rows: Vec<Box<RawValue>>,
    pub(super) notes: Vec<String>,
    /// Posts that were left out.
    pub(super) excluded: ExcludedPosts,
}

/// Name of the field that is added for a computed column.
fn field_name(column: &str) -> String {
    format!("={column}")
}

/// Screens the rows, and points the mapping to the fields that are added to them. Without a matcher, all posts count as being about the
/// token.
pub(super) fn screen(
    ask: &Ask<'_>,
    filled: &FilledTable,
    mapping: &mut TableManifest,
    elements: Vec<Box<RawValue>>,
    matcher: Option<&Matcher>,
) -> Screened {
    let mut screened = Screened::default();
    let computed = take_computed(mapping);
    let mut found = vec![false; computed.len()];
    let signs = filled.signs.as_ref().zip(matcher.zip(ask.about.token));
    if signs.is_some() {
        let from = field_name("matched_by");
        mapping.set.remove("matched_by");
        mapping.columns.entry("matched_by").or_default().from = Some(from);
        mapping.set.remove("dropped");
        mapping.columns.entry("dropped").or_default().from = Some(field_name("dropped"));
    }
    for element in elements {
        let unwanted = filled.skip.iter().any(|(path, texts)| {
            let found = texts_at(&element, path);
            found.iter().any(|text| texts.contains(text))
        });
        let has = |path: &String| !texts_at(&element, path).iter().all(String::is_empty);
        if unwanted || !filled.needs.iter().all(has) {
            continue;
        }
        let mut added: Vec<(String, String)> = Vec::new();
        if let Some((signs, (matcher, token))) = signs {
            screened.excluded.given += 1;
            let post = SignTexts::of(&element, signs, filled, ask);
            match matcher.matched(&token, &post.view()) {
                MatchOutcome::Matched(sign) if signs.signs.contains(&sign) => {
                    added.push((field_name("matched_by"), format!("\"{}\"", sign.word())));
                    let texts: Vec<&str> = post.texts.iter().map(String::as_str).collect();
                    let dropped = if super::matching::is_list(&texts) {
                        "\"list\""
                    } else {
                        "null"
                    };
                    added.push((field_name("dropped"), dropped.to_owned()));
                }
                MatchOutcome::Ambiguous => {
                    screened.excluded.ambiguous += 1;
                    continue;
                }
                MatchOutcome::Matched(_) | MatchOutcome::Unrelated => {
                    screened.excluded.without_sign += 1;
                    continue;
                }
            }
        }
        for ((column, how), found) in computed.iter().zip(&mut found) {
            let value = how.of(&element);
            *found |= value.is_some();
            added.push((
                field_name(column),
                value.unwrap_or_else(|| "null".to_owned()),
            ));
        }
        screened.rows.push(with_fields(element, &added));
    }
    for ((column, how), _) in computed
        .iter()
        .zip(found)
        .filter(|(_, found)| !found && !screened.rows.is_empty())
    {
        screened.notes.push(format!(
            "no row has `{}`, needed for `{column}`; the fields may have been renamed",
            how.fields().join("`, `")
        ));
    }
    screened
}

/// The computed columns of the mapping, which are now read from the added fields.
fn take_computed(mapping: &mut TableManifest) -> Vec<(&'static str, crate::provider::Computed)> {
    let mut computed = Vec::new();
    for (column, how) in &mut mapping.columns {
        if let Some(rule) = how.computed.take() {
            how.from = Some(field_name(column));
            computed.push((*column, rule));
        }
    }
    computed.sort_by_key(|(column, _)| *column);
    computed
}

/// The row with more fields; unchanged if it is not an object.
fn with_fields(row: Box<RawValue>, fields: &[(String, String)]) -> Box<RawValue> {
    let Some(inside) = row.get().trim().strip_prefix('{') else {
        return row;
    };
    if fields.is_empty() {
        return row;
    }
    let fields: Vec<String> = fields
        .iter()
        .map(|(name, value)| format!("\"{name}\":{value}"))
        .collect();
    let comma = if inside.trim_start().starts_with('}') {
        ""
    } else {
        ","
    };
    let text = format!("{{{}{comma}{inside}", fields.join(","));
    RawValue::from_string(text).unwrap_or(row)
}

/// The texts of a post that may hold signs.
struct SignTexts<'a> {
    texts: Vec<String>,
    author: Option<String>,
    author_id: Option<String>,
    platform: &'a str,
    names: Vec<String>,
    channel: Option<String>,
    is_top_level: bool,
}

impl<'a> SignTexts<'a> {
    fn of(element: &RawValue, signs: &PostSigns, filled: &FilledTable, ask: &'a Ask<'_>) -> Self {
        let all = |paths: &[String]| {
            let texts = paths.iter().flat_map(|path| texts_at(element, path));
            texts.collect::<Vec<_>>()
        };
        let column = |name: &str| {
            let path = filled.mapping.columns.get(name)?.path()?;
            texts_at(element, &path).into_iter().next()
        };
        let first = |path: &Option<String>| texts_at(element, path.as_ref()?).into_iter().next();
        // A request for the account's own channel or repository whose rows do not name it: they are all from there.
        let of_account = || {
            let account = ask.about.account.as_ref()?;
            let own = account
                .role
                .as_deref()
                .is_some_and(|role| role != "project");
            (own && signs.channel.is_none()).then(|| account.account.clone())
        };
        Self {
            texts: all(&signs.texts),
            author: column("author"),
            author_id: column("author_id"),
            platform: ask.provider.platform.as_deref().unwrap_or_default(),
            names: all(&signs.names),
            channel: first(&signs.channel).or_else(of_account),
            is_top_level: first(&signs.parent).is_none(),
        }
    }

    fn view(&self) -> PostTexts<'_> {
        PostTexts {
            texts: self.texts.iter().map(String::as_str).collect(),
            author: self.author.as_deref(),
            author_id: self.author_id.as_deref(),
            platform: self.platform,
            mentions: self.names.iter().map(String::as_str).collect(),
            channel: self.channel.as_deref(),
            is_top_level: self.is_top_level,
        }
    }
}
