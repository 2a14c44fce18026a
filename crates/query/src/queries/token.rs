//! The query behind GET /tokens/{token_address}.

use super::{
    Query,
    flows::{MANY_TRANSFERS, flows_of},
    known_token,
    parameter::{EXPLAIN, TOKEN},
    request::request,
    snapshot::Snapshot,
    view::View,
};
use analysis::token::{Thresholds, TokenDetail, detail};
use model::{
    address::Address,
    error::{Code, Problem, Result},
    progress::Progress,
    time::Time,
};

request! {
    TokenQuery at "/tokens/{token_address}" {
        token_address: Address = TOKEN,
        explain: bool = EXPLAIN,
    }
}

impl Query for TokenQuery {
    type Answer = TokenDetail;
    const NAME: &'static str = "token";
    const SUMMARY: &'static str = "Get a token.";
    const NEEDS: &'static [&'static str] = &["candles", "posts", "holders"];

    /// Transfers may have to be fetched, too.
    fn waits(&self, snapshot: &Snapshot) -> bool {
        let dataset = &snapshot.dataset;
        let mut fetched = ["candles", "posts", "holders", "transfers"].iter();
        fetched.any(|table| dataset.engine_rows(table).is_some())
    }

    fn as_of(&self, snapshot: &Snapshot, _: &TokenDetail) -> Option<Time> {
        snapshot
            .market
            .of(&snapshot.dataset, &self.token_address)?
            .newest()
    }

    fn answer(&self, view: &View<'_>, progress: &Progress) -> Result<TokenDetail> {
        let token = known_token(view, &self.token_address)?;
        view.bring("holders", &[self.token_address], progress)?;
        let settings = &view.settings;
        let thresholds = Thresholds {
            whale_usd: settings.whale_usd,
            medium_usd: settings.medium_usd,
            whale_change_percent: settings.whale_change_percent,
        };
        let summary = view
            .market
            .of(&view.dataset, &self.token_address)
            .ok_or_else(|| {
                Problem::new(
                    Code::Defect,
                    "Internal error: the token has no market data.",
                )
            })?;
        // Many transfers are too much work for one trend; then, and before they are loaded, `holder_counts` has it.
        let transfers = view.dataset.transfers_listed(&self.token_address);
        let is_loaded = view.require(&["transfers"]).is_ok();
        let flows = if is_loaded && (1..=MANY_TRANSFERS).contains(&transfers) {
            flows_of(view, self.token_address, progress)?.ok()
        } else {
            None
        };
        let detail = detail(&view.dataset, token, summary, thresholds, flows);
        Ok(if self.explain { detail } else { detail.plain() })
    }
}
