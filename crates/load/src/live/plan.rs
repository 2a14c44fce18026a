//! Plans the requests for a table: for each token, those of the providers that may know it, in order of preference. Sends nothing and reads
//! no clock.

use std::{borrow::Cow, collections::BTreeMap};

use super::LiveError;
use crate::{
    Dataset,
    live::{
        ask::{Ask, LiveToken, RequestTarget, elsewhere, first_page, origin},
        state::RefreshState,
    },
    manifest::{LiveSource, LiveTable, LiveTokens, LiveUrl},
    provider::{
        FilledTable, NextPage, Provider, ProviderOrigin, ProviderRequest, Providers, RequestScope,
        named,
    },
};
use model::{
    address::Address,
    chain::Chain,
    interval::Interval,
    rows::{AccountRow, PoolRow},
    schema::{Grows, TableSchema},
    time::Time,
};
use wire::RemoteClient;

/// The role of an account that states none.
pub(crate) const PROJECT: &str = "project";
/// Maximum number of a token's accounts that are requested.
const ACCOUNTS_MAX: usize = 50;

/// Requests for one thing, of which the first that is known answers.
#[derive(Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) token: Option<Address>,
    pub(crate) choices: Vec<ProviderChoice<'a>>,
}

/// One provider's way to it: all of these are asked.
#[derive(Debug)]
pub(crate) struct ProviderChoice<'a> {
    pub(crate) provider: &'a Provider,
    pub(crate) asks: Vec<Ask<'a>>,
    /// The request that says a token's pools, where they must be known first.
    pub(crate) pools: Option<Ask<'a>>,
}

/// The providers of a table, in the order in which they are asked. Errors: there is none of that name.
pub(crate) fn providers<'a>(
    table: &TableSchema,
    live: &LiveTable,
    known: &'a Providers,
) -> Result<Vec<Cow<'a, Provider>>, LiveError> {
    let fills = |provider: &Provider| provider.filling(table.name).next().is_some();
    let giving = |id: &String| {
        let reason = match named(known, id) {
            Ok(provider) if fills(provider) => return Ok(Cow::Borrowed(provider)),
            Ok(provider) => LiveError::LacksTable {
                provider: id.clone(),
                table: table.name,
                has: provider.tables(),
            },
            Err(reason) => reason.into(),
        };
        let usable = known.values().filter(|provider| fills(provider));
        Err(LiveError::UnusableProvider {
            reason: Box::new(reason),
            table: table.name,
            usable: usable.map(|provider| provider.id.clone()).collect(),
        })
    };
    match &live.from {
        LiveSource::Providers(ids) => ids.iter().map(giving).collect(),
        LiveSource::Url(url) => described_by(table, url).map(|provider| vec![Cow::Owned(provider)]),
    }
}

/// The provider that a table's own `url` describes.
fn described_by(table: &TableSchema, url: &LiveUrl) -> Result<Provider, LiveError> {
    let schema = model::schema::table(table.name).ok_or(LiveError::NoTable)?;
    let each = match (url.url.has("token"), url.url.has("symbol")) {
        (true, _) => RequestScope::Token,
        (false, true) => RequestScope::Coin,
        (false, false) => RequestScope::Once,
    };
    let request = ProviderRequest {
        name: table.name.to_owned(),
        each,
        tables: vec![FilledTable {
            table: schema.name,
            rows: url.rows.clone(),
            mapping: url.mapping.clone(),
            lenient: false,
            skip: Vec::new(),
            needs: Vec::new(),
            signs: None,
        }],
        pages: 1,
        ..ProviderRequest::default()
    };
    Ok(Provider {
        name: "a URL".to_owned(),
        home: url.url.clone(),
        chains: model::chain::CHAINS
            .iter()
            .filter_map(|row| Some((Chain::known(row.short_name)?, row.short_name.to_owned())))
            .collect(),
        requests: vec![request],
        ..Provider::new(&format!("{}.url", table.name), ProviderOrigin::Dataset)
    })
}

/// What the plan is made of.
#[derive(Clone, Copy)]
pub(crate) struct Needs<'a> {
    pub(crate) schema: &'static TableSchema,
    pub(crate) live: &'a LiveTable,
    pub(crate) tokens: &'a [LiveToken],
    pub(crate) watchlist: &'a [Address],
    pub(crate) pools: &'a [PoolRow],
    pub(crate) accounts: &'a [AccountRow],
    /// The dataset, for requests about its posts and holders.
    pub(crate) dataset: Option<&'a Dataset>,
    /// Whether the user asked for the refresh.
    pub(crate) by_hand: bool,
    pub(crate) state: &'a RefreshState,
    /// Whether rows of an earlier fetch are there.
    pub(crate) is_kept: bool,
    pub(crate) now: Time,
}

/// Plans a refresh of the table.
pub(crate) fn plan<'a>(needs: Needs<'_>, providers: &'a [Cow<'a, Provider>]) -> Vec<Wanted<'a>> {
    let table = needs.schema.name;
    let once: Vec<ProviderChoice<'a>> = providers
        .iter()
        .map(|provider| ProviderChoice {
            provider,
            asks: provider
                .filling(table)
                .filter(|request| request.each == RequestScope::Once)
                .flat_map(|request| needs.asks(provider, request, &RequestTarget::default()))
                .collect(),
            pools: None,
        })
        .filter(|choice| !choice.asks.is_empty())
        .collect();
    let of_tokens = needs.tokens.iter().filter(|token| {
        needs.live.tokens == LiveTokens::All || needs.watchlist.contains(&token.address)
    });
    let tokens = of_tokens.flat_map(|token| {
        let choices: Vec<ProviderChoice<'a>> = providers
            .iter()
            .flat_map(|provider| needs.choices(provider, token))
            .collect();
        if table != "candles" {
            return vec![Wanted {
                token: Some(token.address),
                choices,
            }];
        }
        // One provider may have a length of candles that another lacks.
        let of = |interval: &Interval| {
            let only = |choice: &ProviderChoice<'a>| {
                let asks: Vec<Ask<'a>> = choice
                    .asks
                    .iter()
                    .filter(|ask| ask.interval == Some(*interval))
                    .cloned()
                    .collect();
                (!asks.is_empty()).then(|| ProviderChoice {
                    provider: choice.provider,
                    asks,
                    pools: choice.pools.clone(),
                })
            };
            Wanted {
                token: Some(token.address),
                choices: choices.iter().filter_map(only).collect(),
            }
        };
        needs.live.intervals.iter().map(of).collect()
    });
    let once = (!once.is_empty()).then_some(Wanted {
        token: None,
        choices: once,
    });
    // A token without a choice is known to nobody, which is told; but of a list nobody asks by token, and a token without accounts is
    // no stranger.
    let social = |request: &ProviderRequest| request.each.is_social();
    let listed = once.is_some()
        || providers
            .iter()
            .any(|provider| provider.filling(table).any(social));
    once.into_iter()
        .chain(tokens.filter(move |wanted| !listed || !wanted.choices.is_empty()))
        .collect()
}

impl Needs<'_> {
    /// The ways in which the provider may know the token: one for each of its chains.
    fn choices<'a>(&self, provider: &'a Provider, token: &LiveToken) -> Vec<ProviderChoice<'a>> {
        let is_coin = token
            .symbol
            .as_ref()
            .is_some_and(|symbol| Address::coin(symbol) == token.address);
        let about = |chain: Option<&Chain>| RequestTarget {
            token: Some(token.address),
            symbol: token.symbol.clone(),
            chain: chain.cloned(),
            chains: token.chains.clone(),
            ..RequestTarget::default()
        };
        let mut choices = Vec::new();
        for request in provider.filling(self.schema.name) {
            if request.by_hand && !self.by_hand {
                continue;
            }
            match request.each {
                // Two tokens may have one symbol: only a coin is asked for by it.
                RequestScope::Coin if is_coin => self.add(
                    &mut choices,
                    provider,
                    self.asks(provider, request, &about(None)),
                    None,
                ),
                RequestScope::Token if !is_coin => {
                    // A request that needs no chain asks for all of them.
                    let any = !needs_chain(provider, request);
                    let chains = token
                        .chains
                        .iter()
                        .filter(|chain| any || provider.chain(chain).is_some());
                    for chain in chains.take(if any { 1 } else { usize::MAX }) {
                        self.add(
                            &mut choices,
                            provider,
                            self.asks(provider, request, &about(Some(chain))),
                            None,
                        );
                    }
                }
                RequestScope::Pool if !is_coin => {
                    for chain in token
                        .chains
                        .iter()
                        .filter(|chain| provider.chain(chain).is_some())
                    {
                        let about = about(Some(chain));
                        let pool = self.pool_of(token.address, chain);
                        let first = provider
                            .filling("pools")
                            .find(|request| request.each == RequestScope::Token)
                            .filter(|_| pool.is_none());
                        let pools = first.map(|request| Ask {
                            provider,
                            request,
                            about: about.clone(),
                            interval: None,
                            span: None,
                            present: None,
                        });
                        if pool.is_some() || pools.is_some() {
                            self.add(
                                &mut choices,
                                provider,
                                self.asks(provider, request, &RequestTarget { pool, ..about }),
                                pools,
                            );
                        }
                    }
                }
                RequestScope::Account | RequestScope::Post | RequestScope::Holder => {
                    for target in self.social_targets(provider, request, token.address) {
                        let target = RequestTarget {
                            chain: token.chains.first().cloned(),
                            symbol: token.symbol.clone(),
                            token: Some(token.address),
                            ..target
                        };
                        let asks = self.asks(provider, request, &target);
                        self.add(&mut choices, provider, asks, None);
                    }
                }
                RequestScope::Once
                | RequestScope::Search
                | RequestScope::Coin
                | RequestScope::Token
                | RequestScope::Pool => {}
            }
        }
        choices
    }

    /// The token's accounts, posts or holders that the request is sent for.
    fn social_targets(
        &self,
        provider: &Provider,
        request: &ProviderRequest,
        token: Address,
    ) -> Vec<RequestTarget> {
        let platform = provider.platform.as_deref().unwrap_or_default();
        match request.each {
            RequestScope::Account => {
                let wanted = request.role.as_deref().unwrap_or(PROJECT);
                let is_asked = |account: &&AccountRow| {
                    account.token_address == token
                        && account.platform == platform
                        && account.role.as_deref().unwrap_or(PROJECT) == wanted
                };
                let accounts = self.accounts.iter().filter(is_asked);
                let target = |account: &AccountRow| RequestTarget {
                    account: Some(account.clone()),
                    ..RequestTarget::default()
                };
                accounts.map(target).take(ACCOUNTS_MAX).collect()
            }
            RequestScope::Post => {
                let Some(dataset) = self.dataset else {
                    return Vec::new();
                };
                let posts = dataset.posts_of(&token);
                // Posts are requested again while they are young, to see whether they still exist; reactions where there are most.
                let checks = self.schema.name == "posts";
                let oldest = self.now.0 - request.again.unwrap_or(i64::MAX / 2);
                let mut ranked: Vec<(i64, String)> = posts
                    .social()
                    .filter(|post| post.platform.as_deref() == Some(platform))
                    .filter(|post| post.gone_at.is_none() && post.published_at.0 >= oldest)
                    .filter(|post| checks || post.dropped.is_none())
                    .map(|post| {
                        let rank = if checks {
                            post.published_at.0
                        } else {
                            post.engagement.unwrap_or(0)
                        };
                        (rank, post.post_id)
                    })
                    .collect();
                ranked.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
                ranked.truncate(request.most);
                // Its id on the platform is without the name of the platform.
                let prefix = format!("{platform}:");
                let target = |(_, id): (i64, String)| RequestTarget {
                    post: Some(id.strip_prefix(&prefix).unwrap_or(&id).to_owned()),
                    ..RequestTarget::default()
                };
                ranked.into_iter().map(target).collect()
            }
            RequestScope::Holder => {
                let Some(dataset) = self.dataset else {
                    return Vec::new();
                };
                let holders = dataset.holders_of(&token).part(0..request.batch);
                let holders: Vec<Address> = holders.iter().map(|row| row.holder_address).collect();
                let target = RequestTarget {
                    holders,
                    ..RequestTarget::default()
                };
                [target]
                    .into_iter()
                    .filter(|target| !target.holders.is_empty())
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    /// Adds asks as a choice of their own, or to the one of the same chain: a provider may need several requests for a table.
    fn add<'a>(
        &self,
        choices: &mut Vec<ProviderChoice<'a>>,
        provider: &'a Provider,
        asks: Vec<Ask<'a>>,
        pools: Option<Ask<'a>>,
    ) {
        let Some(first) = asks.first() else { return };
        let chain = first.about.chain.clone();
        let is_whole = self.schema.grows != Grows::ByParts && !self.live.together;
        match choices
            .iter_mut()
            .find(|choice| is_whole && choice.asks[0].about.chain == chain)
        {
            Some(choice) => choice.asks.extend(asks),
            None => choices.push(ProviderChoice {
                provider,
                asks,
                pools,
            }),
        }
    }

    /// The pool that the token's candles are fetched from: the one used last time, or the most liquid pool.
    pub(crate) fn pool_of(&self, token: Address, chain: &Chain) -> Option<Address> {
        self.state
            .pool_of(token, chain)
            .or_else(|| most_liquid(self.pools, token, chain))
    }

    /// The request for each interval and each span that is missing.
    fn asks<'a>(
        &self,
        provider: &'a Provider,
        request: &'a ProviderRequest,
        about: &RequestTarget,
    ) -> Vec<Ask<'a>> {
        let intervals: Vec<Option<Interval>> = if self.schema.name == "candles" {
            let known = if request.intervals.is_empty() {
                &provider.intervals
            } else {
                &request.intervals
            };
            let given = |interval: &&Interval| known.is_empty() || known.contains(interval);
            self.live
                .intervals
                .iter()
                .filter(given)
                .map(|interval| Some(*interval))
                .collect()
        } else {
            vec![None]
        };
        let mut asks = Vec::new();
        for interval in intervals {
            let ask = Ask {
                provider,
                request,
                about: about.clone(),
                interval,
                span: None,
                present: Some(self.now.0),
            };
            if !is_of_spans(self.schema, request) {
                asks.push(ask);
                continue;
            }
            let start = self.now.0 - self.live.history;
            let known = self
                .state
                .asked
                .get(&ask.key())
                .and_then(|asked| asked.covered)
                .filter(|_| self.is_kept);
            match known {
                None => asks.extend(ask.parts(start, self.now.0)),
                // Posts of the last days come again, because their counts grow.
                Some((_, to)) if request.again.is_some() => {
                    let again = request.again.unwrap_or_default().max(ask.step());
                    let from = to.min(self.now.0) - again;
                    asks.extend(ask.parts(from.max(start), self.now.0));
                }
                Some((from, to)) => {
                    let step = ask.step();
                    // The last row may still be forming: it is asked for again, with the one before it, as some give what comes after a
                    // time. The oldest part comes first: a gap after a failure is no part of what is covered.
                    let mut parts = ask.parts((to - step).min(self.now.0), self.now.0);
                    parts.reverse();
                    asks.extend(parts);
                    if start + step < from {
                        asks.extend(ask.parts(start, from));
                    }
                }
            }
        }
        asks
    }
}

/// Whether a placeholder of its URL is the chain.
fn needs_chain(provider: &Provider, request: &ProviderRequest) -> bool {
    let home = request.home.as_ref().unwrap_or(&provider.home);
    home.has("chain")
        || request.path.has("chain")
        || request.query.iter().any(|(_, value)| value.has("chain"))
}

/// Whether rows of a span of time can be asked for.
fn is_of_spans(schema: &TableSchema, request: &ProviderRequest) -> bool {
    let holes = |name: &str| {
        request.path.has(name) || request.query.iter().any(|(_, value)| value.has(name))
    };
    let pages = request
        .next
        .iter()
        .any(|(_, next)| matches!(next, NextPage::Oldest(_) | NextPage::Newest(_)));
    let again = request.again.is_some() && request.each != RequestScope::Post;
    schema.grows == Grows::ByParts
        && (again || pages || ["from", "to", "before"].into_iter().any(holes))
}

/// The most liquid of the token's pools on the chain.
pub(crate) fn most_liquid(pools: &[PoolRow], token: Address, chain: &Chain) -> Option<Address> {
    let of_token = pools.iter().filter(|pool| {
        pool.chain == *chain
            && (pool.token0 == token || pool.token1 == token || pool.tokens.contains(&token))
    });
    let liquidity = |pool: &PoolRow| pool.liquidity.unwrap_or(0.0);
    of_token
        .max_by(|a, b| {
            liquidity(a)
                .total_cmp(&liquidity(b))
                .then(b.address.cmp(&a.address))
        })
        .map(|pool| pool.address)
}

/// The hosts of providers that are asked for accounts, posts or holders as soon as the dataset has some.
pub(crate) fn social_hosts(
    table: &TableSchema,
    providers: &[Cow<'_, Provider>],
    wire: &RemoteClient,
    hosts: &mut BTreeMap<String, u64>,
) {
    for provider in providers {
        if provider
            .filling(table.name)
            .any(|request| request.each.is_social())
        {
            let home = elsewhere(wire, provider).or_else(|| provider.home.fill(&|_| None));
            if let Some(origin) = home.as_deref().and_then(origin) {
                hosts.entry(origin).or_default();
            }
        }
    }
}

/// The hosts that a plan may ask, with the number of requests that are sure.
pub(crate) fn hosts(plan: &[Wanted<'_>], wire: &RemoteClient, hosts: &mut BTreeMap<String, u64>) {
    for wanted in plan {
        for (place, choice) in wanted.choices.iter().enumerate() {
            for ask in choice.pools.iter().chain(&choice.asks) {
                if let Some(origin) = origin_of(ask, elsewhere(wire, ask.provider).as_deref()) {
                    // The others are asked where the first does not know something.
                    *hosts.entry(origin).or_default() += u64::from(place == 0);
                }
            }
        }
    }
}

/// The origin that a request goes to.
pub(crate) fn origin_of(ask: &Ask<'_>, other: Option<&str>) -> Option<String> {
    let filled = Ask {
        about: RequestTarget {
            pool: ask.about.pool.or(ask.about.token),
            ..ask.about.clone()
        },
        ..ask.clone()
    };
    let url = filled
        .page(&first_page(ask), other, wire::web::WebVersion::default())?
        .url;
    origin(&url)
}
