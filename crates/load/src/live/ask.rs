//! One request to a provider, with the token or pool it is about and the span of time. Its placeholders are filled here.

use std::collections::BTreeMap;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::{
    manifest::TableManifest,
    provider::{
        FilledTable, NextPage, Placeholder, Provider, ProviderOrigin, ProviderRequest,
        RequestScope, expand,
    },
};
use model::{
    address::Address,
    chain::Chain,
    interval::Interval,
    rows::AccountRow,
    time::{DAY_MS, HOUR_MS, MINUTE_MS, Time},
};
use wire::{
    RemoteClient,
    web::{WebKey, WebLimits, WebRequest, WebVersion},
};

/// Parts of a span that are asked for in one refresh.
const PARTS_MAX: usize = 1_000;
/// Characters that are not escaped in a path.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~')
    .remove(b':')
    .remove(b',');

/// The properties of a token that requests need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveToken {
    pub address: Address,
    pub symbol: Option<String>,
    pub name: Option<String>,
    pub chains: Vec<Chain>,
    /// Whether it is on a curated list, so that its symbol means it rather than others with the same one.
    pub listed: bool,
}

/// A request about something.
#[derive(Debug, Clone)]
pub(crate) struct Ask<'a> {
    pub(crate) provider: &'a Provider,
    pub(crate) request: &'a ProviderRequest,
    pub(crate) about: RequestTarget,
    pub(crate) interval: Option<Interval>,
    /// From and to when, in milliseconds.
    pub(crate) span: Option<(i64, i64)>,
    /// The present, in milliseconds, for requests of a span.
    pub(crate) present: Option<i64>,
}

/// What a request is about.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct RequestTarget {
    /// The token's chains: rows of others are left out.
    pub(crate) chains: Vec<Chain>,
    pub(crate) token: Option<Address>,
    pub(crate) symbol: Option<String>,
    pub(crate) chain: Option<Chain>,
    pub(crate) pool: Option<Address>,
    pub(crate) search: Option<String>,
    /// One of the token's own accounts.
    pub(crate) account: Option<AccountRow>,
    /// The id of a post on its platform.
    pub(crate) post: Option<String>,
    pub(crate) holders: Vec<Address>,
}

/// What fills a placeholder of the next page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PageValue {
    Text(String),
    /// Milliseconds since 1970.
    Time(i64),
}

/// Parameters of the next page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PageParameters {
    pub(crate) values: BTreeMap<String, PageValue>,
    /// Parameters that the answer itself names.
    pub(crate) query: Vec<(String, String)>,
}

/// What the time of a placeholder is written as.
fn time_text(time: i64, part: Option<&str>) -> String {
    match part {
        Some("milliseconds") => time.to_string(),
        Some("iso") => Time(time).to_string(),
        _ => time.div_euclid(1_000).to_string(),
    }
}

/// The parts of an interval: `{interval}` is `4h`, `{interval.unit}` hour, `{interval.count}` 4.
fn interval_text(interval: Interval, part: Option<&str>) -> Option<String> {
    let units = [
        (7 * DAY_MS, "week"),
        (DAY_MS, "day"),
        (HOUR_MS, "hour"),
        (MINUTE_MS, "minute"),
    ];
    let (length, unit) = units
        .into_iter()
        .find(|(length, _)| interval.0 % length == 0)?;
    Some(match part {
        None => interval.to_string(),
        Some("unit") => unit.to_owned(),
        Some("count") => (interval.0 / length).to_string(),
        Some("minutes") => (interval.0 / MINUTE_MS).to_string(),
        Some("seconds") => (interval.0 / 1_000).to_string(),
        Some(_) => return None,
    })
}

impl Ask<'_> {
    /// What a placeholder stands for; none where there is nothing to fill it with.
    fn value(&self, hole: &Placeholder, page: &PageParameters) -> Option<String> {
        let part = hole.part.as_deref();
        match page.values.get(&hole.name) {
            Some(PageValue::Text(text)) => return Some(text.clone()),
            Some(PageValue::Time(time)) => return Some(time_text(*time, part)),
            None => {}
        }
        let RequestTarget {
            token,
            symbol,
            chain,
            pool,
            search,
            account,
            post,
            holders,
            ..
        } = &self.about;
        match hole.name.as_str() {
            "token" => token.as_ref().map(Address::to_string),
            "pool" => pool.as_ref().map(Address::to_string),
            "chain" => self.provider.chain(chain.as_ref()?).map(str::to_owned),
            "symbol" => {
                let symbol = symbol.as_ref()?;
                Some(self.provider.symbols.get(symbol).unwrap_or(symbol).clone())
            }
            "search" => search.clone(),
            "account" if part == Some("id") => account.as_ref()?.account_id.clone(),
            "account" => account.as_ref().map(|account| account.account.clone()),
            "post" => post.clone(),
            "holders" => {
                let holders: Vec<String> = holders.iter().map(Address::to_string).collect();
                (!holders.is_empty()).then(|| holders.join(","))
            }
            "interval" => interval_text(self.interval?, part),
            "from" => self.span.map(|(from, _)| time_text(from, part)),
            "to" => self.span.map(|(_, to)| time_text(to, part)),
            _ => None,
        }
    }

    /// The request of a page; `None` if a placeholder of its path has no value. `other` replaces the provider's base URL if the user
    /// configured one.
    pub(crate) fn page(
        &self,
        page: &PageParameters,
        other: Option<&str>,
        known: WebVersion,
    ) -> Option<WebRequest> {
        let Self {
            provider, request, ..
        } = self;
        let in_path = |hole: &Placeholder| {
            let value = self.value(hole, page)?;
            // The name of a repository is two parts of a path. What a service or a file says must not lead elsewhere.
            let parts: Vec<&str> = value.split('/').collect();
            if parts.iter().any(|part| ["", ".", ".."].contains(part)) {
                return None;
            }
            if hole.name != "account" || hole.part.is_some() {
                return Some(utf8_percent_encode(&value, PLAIN).to_string());
            }
            let parts = parts
                .iter()
                .map(|part| utf8_percent_encode(part, PLAIN).to_string());
            Some(parts.collect::<Vec<_>>().join("/"))
        };
        let home = match (other, &request.home) {
            (Some(other), _) => other.trim_end_matches('/').to_owned(),
            (None, Some(home)) => home.fill(&in_path)?,
            (None, None) => provider.home.fill(&in_path)?,
        };
        let mut query: Vec<(String, String)> = Vec::new();
        for (name, value) in &request.query {
            query.extend(
                value
                    .fill(&|hole| self.value(hole, page))
                    .map(|value| (name.clone(), value)),
            );
        }
        query.retain(|(name, _)| !page.query.iter().any(|(other, _)| other == name));
        query.extend(page.query.iter().cloned());
        Some(WebRequest {
            provider: provider.id.clone(),
            limits: WebLimits {
                per_minute: provider.per_minute,
                per_second: provider.per_second,
                per_day: provider.per_day,
                in_flight: provider.in_flight,
            },
            url: format!("{home}{}", request.path.fill(&in_path)?),
            query,
            headers: provider.headers.clone(),
            key: provider.key.as_ref().map(|key| WebKey {
                name: key.name.clone(),
                in_query: key.in_query,
                before: key.before.clone(),
                optional: key.optional,
            }),
            known,
            own: provider.origin == ProviderOrigin::Own,
            settings: provider.origin != ProviderOrigin::Dataset,
        })
    }

    /// The mapping with its placeholders filled, and with the token and chain that the request is about.
    pub(crate) fn mapping(&self, filled: &FilledTable) -> TableManifest {
        let mut mapping = filled.mapping.clone();
        let froms = mapping
            .columns
            .values_mut()
            .filter_map(|column| column.from.as_mut());
        for text in mapping.set.values_mut().chain(froms) {
            *text = expand(text, &|hole| self.value(hole, &PageParameters::default()));
        }
        let Some(schema) = model::schema::table(filled.table) else {
            return mapping;
        };
        // A coin without a contract has a chain of its own.
        let own = || {
            self.about
                .symbol
                .as_deref()
                .filter(|_| self.request.each == RequestScope::Coin)
                .map(Chain::of_coin)
        };
        let chain = self
            .about
            .chain
            .clone()
            .or_else(own)
            .map(|chain| chain.to_string());
        let about = [
            (
                "token_address",
                self.about.token.map(|token| token.to_string()),
            ),
            ("chain", chain),
        ];
        let said = matches!(self.request.each, RequestScope::Search | RequestScope::Once);
        for (column, value) in about {
            let free = schema.column(column).is_some()
                && mapping
                    .columns
                    .get(column)
                    .is_none_or(|column| !column.is_mapped());
            let open = mapping.set.get(column).is_none_or(String::is_empty);
            if let (Some(value), true, false) = (value, free && open, said) {
                mapping.set.insert(
                    schema
                        .column(column)
                        .map_or("token_address", |column| column.name),
                    value,
                );
            }
        }
        mapping
    }

    /// The span in parts that the provider gives at once, the newest first: what is missing then is the oldest.
    pub(crate) fn parts(&self, from: i64, to: i64) -> Vec<Self> {
        let longest = self
            .request
            .span
            .zip(self.interval)
            .map(|(rows, interval)| i64::from(rows.saturating_sub(1).max(1)) * interval.0);
        let mut parts: Vec<Self> = Vec::new();
        let mut end = to;
        while end > from && parts.len() < PARTS_MAX {
            let start = longest.map_or(from, |longest| from.max(end - longest));
            parts.push(Self {
                span: Some((start, end)),
                ..self.clone()
            });
            end = start;
        }
        if parts.is_empty() {
            parts.push(Self {
                span: Some((from, to)),
                ..self.clone()
            });
        }
        parts
    }

    /// Time from a row to the next one.
    pub(crate) fn step(&self) -> i64 {
        self.interval.map_or(DAY_MS, |interval| interval.0)
    }

    /// Whether that end of a span is not the present.
    pub(crate) fn is_past(&self, end: i64) -> bool {
        self.present.is_some_and(|now| end < now)
    }

    /// The id, as in the table `posts`, of the post that is requested.
    pub(crate) fn post_id(&self) -> Option<String> {
        let fills_posts = self
            .request
            .tables
            .iter()
            .any(|filled| filled.table == "posts");
        let post = self.about.post.as_ref().filter(|_| fills_posts)?;
        let platform = self.provider.platform.as_deref().unwrap_or_default();
        Some(format!("{platform}:{post}"))
    }

    /// Name of the request, under which its result is recorded.
    pub(crate) fn key(&self) -> String {
        let RequestTarget {
            token,
            chain,
            pool,
            account,
            post,
            holders,
            ..
        } = &self.about;
        let of = |text: Option<String>| text.unwrap_or_default();
        let key = format!(
            "{}/{} {} {} {} {}",
            self.provider.id,
            self.request.name,
            of(token.map(|token| token.to_string())),
            of(chain.as_ref().map(Chain::to_string)),
            of(pool.map(|pool| pool.to_string())),
            of(self.interval.map(|interval| interval.to_string()))
        );
        let social = [
            account.as_ref().map(|account| account.account.clone()),
            post.clone(),
            holders.first().map(Address::to_string),
        ];
        let social = social.into_iter().flatten();
        let parts: Vec<String> = [key.trim_end().to_owned()]
            .into_iter()
            .chain(social)
            .collect();
        parts.join(" ")
    }
}

/// Parameters of the first page.
pub(crate) fn first_page(ask: &Ask<'_>) -> PageParameters {
    let mut page = PageParameters::default();
    for (name, next) in &ask.request.next {
        if let NextPage::Step(step) = next {
            page.values.insert(
                name.clone(),
                PageValue::Text(u32::from(*step == 1).to_string()),
            );
        }
    }
    page
}

/// The user's URL for the provider, in place of its own. The user's settings are not used for a description that is part of a dataset.
pub(crate) fn elsewhere(wire: &RemoteClient, provider: &Provider) -> Option<String> {
    let source = wire
        .provider_source(&provider.id)
        .filter(|_| provider.origin != ProviderOrigin::Dataset);
    source
        .map(|source| source.url.clone())
        .filter(|url| !url.is_empty())
}

/// The origin of a URL.
pub(crate) fn origin(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let host = rest
        .split(['/', '?'])
        .next()
        .filter(|host| !host.is_empty())?;
    // A letter that looks like another one would be agreed to for it.
    if !host.is_ascii() || host.contains('@') {
        return None;
    }
    Some(format!("{scheme}://{}", host.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
        home = "https://{chain}.example.org/v1"
        per_minute = 12
        chains = { eth = "ethereum" }
        symbols = { BTC = "XBT" }
        [[request]]
        name = "ohlcv"
        fills = "candles"
        each = "token"
        path = "/{token}/{interval.unit}"
        query = { n = "{interval.count}", pair = "{symbol}USD", before = "{before}", from = "{from.iso}", ms = "{to.milliseconds}" }
        columns = { timestamp = 1, open = 2, high = 3, low = 4, close = 5 }
        set = { interval = "{interval}" }
        next = { before = "oldest timestamp" }
    "#;

    fn ask(provider: &Provider) -> Ask<'_> {
        let about = RequestTarget {
            token: Address::parse(&format!("0x{:040x}", 7)),
            symbol: Some("BTC".to_owned()),
            chain: Chain::parse("eth"),
            ..RequestTarget::default()
        };
        Ask {
            provider,
            request: &provider.requests[0],
            about,
            interval: Some(Interval::FOUR_HOURS),
            span: Some((1_000, 86_400_000)),
            present: None,
        }
    }

    #[test]
    fn placeholders_are_filled_and_what_has_no_value_is_left_out() {
        let provider = Provider::parse("example", TEXT, ProviderOrigin::BuiltIn).expect("valid");
        let ask = ask(&provider);
        let first = ask
            .page(&PageParameters::default(), None, WebVersion::default())
            .expect("a request");
        assert_eq!(
            first.url,
            format!("https://ethereum.example.org/v1/0x{:040x}/hour", 7)
        );
        let query: Vec<_> = first
            .query
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        assert_eq!(
            query,
            [
                "n=4",
                "pair=XBTUSD",
                "from=1970-01-01T00:00:01Z",
                "ms=86400000"
            ]
        );
        let page = PageParameters {
            values: [("before".to_owned(), PageValue::Time(5_000))].into(),
            query: vec![("n".to_owned(), "9".to_owned())],
        };
        let second = ask
            .page(&page, Some("http://127.0.0.1:1/x/"), WebVersion::default())
            .expect("a request");
        assert!(
            second.url.starts_with("http://127.0.0.1:1/x/0x")
                && second
                    .query
                    .contains(&("before".to_owned(), "5".to_owned()))
        );
        assert!(
            second.query.contains(&("n".to_owned(), "9".to_owned()))
                && !second.query.contains(&("n".to_owned(), "4".to_owned()))
        );
        let elsewhere = Ask {
            about: RequestTarget {
                chain: Chain::parse("base"),
                ..ask.about.clone()
            },
            ..ask.clone()
        };
        assert!(
            elsewhere
                .page(&PageParameters::default(), None, WebVersion::default())
                .is_none(),
            "a chain it does not have"
        );
    }

    #[test]
    fn rows_get_the_token_and_the_interval_they_were_asked_for() {
        let provider = Provider::parse("example", TEXT, ProviderOrigin::BuiltIn).expect("valid");
        let ask = ask(&provider);
        let mapping = ask.mapping(&ask.request.tables[0]);
        assert_eq!(
            (
                mapping.set["interval"].as_str(),
                mapping.set["token_address"].as_str()
            ),
            ("4h", format!("0x{:040x}", 7).as_str())
        );
    }
}
