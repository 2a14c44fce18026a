//! Adding a token while the program runs: the providers find it, the dataset stores it, and the feed fetches its rows.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use super::{Feeds, QueryService};
use crate::error::ServiceError;
pub use load::live::find::{FoundToken, FoundTokens};
use load::{
    live::{
        RefreshWatch, Unwatched,
        create::{SOCIAL, create},
        find::{FindContext, find, keep_coin, search_hosts},
    },
    manifest::FILE,
    provider,
};
use model::wall_clock::now;

/// Stops a search when its task is canceled.
struct Stops<F>(F);

impl<F: Fn() -> bool + Send + Sync> RefreshWatch for Stops<F> {
    fn is_stopped(&self) -> bool {
        (self.0)()
    }
}

impl QueryService {
    /// Opens the live dataset in the folder, or creates one without tokens. Nothing is fetched before a token is added. Returns whether
    /// there are rows.
    pub fn begin_live(self: &Arc<Self>, folder: &Path) -> Result<bool, ServiceError> {
        if !folder.join(FILE).exists() {
            let providers = provider::all(self.options.feed.own_providers.as_deref(), None)
                .map_err(ServiceError::Providers)?;
            create(folder, &[], &self.social_providers(), &providers, None)
                .map_err(ServiceError::Create)?;
        }
        self.open(folder);
        let has_rows = folder.join(load::live_files::FOLDER).is_dir();
        if has_rows {
            self.load_in_background();
        }
        Ok(has_rows)
    }

    /// The providers of posts that need no key, and those whose key is there.
    fn social_providers(&self) -> Vec<&'static str> {
        let has_key = |id: &&str| {
            let wire = self.options.wire.as_ref();
            *id != SOCIAL[0] || wire.is_some_and(|wire| wire.has_provider_key(id))
        };
        SOCIAL.into_iter().filter(has_key).collect()
    }

    fn with_search<T>(
        &self,
        watch: Arc<dyn RefreshWatch>,
        work: impl FnOnce(&FindContext<'_>) -> Result<T, ServiceError>,
    ) -> Result<T, ServiceError> {
        let Feeds {
            folder,
            manifest,
            providers,
        } = self.feeds()?.ok_or(ServiceError::NotLive)?;
        if manifest
            .tables
            .get("tokens")
            .is_none_or(|tokens| tokens.live.is_none())
        {
            return Err(ServiceError::NotLive);
        }
        let wire = self.options.wire.as_ref().ok_or(ServiceError::NoNetwork)?;
        work(&FindContext {
            dataset: &folder,
            providers: &providers,
            wire,
            now: now(),
            watch,
        })
    }

    /// Hosts that a search contacts and that the user has not allowed yet, with the number of requests. Errors: the dataset has no live
    /// `tokens` table.
    pub fn search_hosts(&self) -> Result<BTreeMap<String, u64>, ServiceError> {
        self.with_search(Arc::new(Unwatched), |context| {
            let mut hosts = search_hosts(context);
            hosts.retain(|origin, _| {
                context.wire.asks_first() && context.wire.may_ask(context.dataset, origin).is_err()
            });
            Ok(hosts)
        })
    }

    /// The tokens that are meant by an address, a symbol or a name.
    pub fn find_tokens(
        &self,
        words: &str,
        stopped: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Result<FoundTokens, ServiceError> {
        self.with_search(Arc::new(Stops(stopped)), |context| {
            let found = find(context, words).map_err(ServiceError::Live)?;
            match (found.tokens.is_empty(), found.failures.first()) {
                (false, _) => Ok(found),
                (true, Some(failure)) => Err(ServiceError::Search(failure.clone())),
                (true, None) => Err(ServiceError::NoMatch {
                    words: words.to_owned(),
                }),
            }
        })
    }

    /// Stores a token that was found, and fetches its rows.
    pub fn add_token(
        self: &Arc<Self>,
        found: &FoundTokens,
        token: &FoundToken,
    ) -> Result<(), ServiceError> {
        self.with_search(Arc::new(Unwatched), |context| {
            found.keep(context, token).map_err(ServiceError::Live)
        })?;
        self.fetch_added();
        Ok(())
    }

    /// Stores a coin without a contract, and fetches its rows.
    pub fn add_coin(self: &Arc<Self>, symbol: &str) -> Result<(), ServiceError> {
        self.with_search(Arc::new(Unwatched), |context| {
            keep_coin(context.dataset, symbol, context.now).map_err(ServiceError::Live)
        })?;
        self.fetch_added();
        Ok(())
    }

    fn fetch_added(self: &Arc<Self>) {
        self.load_in_background();
        self.refresh_feed();
    }
}
