//! The question behind GET /tokens/{token_address}.

use super::{
    Question,
    holders::{balance_fetch_keys, lacks_balances, require_balances},
    known_token,
    parameter::TOKEN,
    progress::Progress,
    request::request,
    snapshot::Snapshot,
};
use analysis::token::{Thresholds, TokenDetail, detail};
use model::{
    address::Address,
    error::{Code, Problem, Result},
};
use store::in_place::FetchKey;

request! {
    TokenQuestion at "/tokens/{token_address}" {
        token_address: Address = TOKEN,
    }
}

impl Question for TokenQuestion {
    type Answer = TokenDetail;
    const NAME: &'static str = "token";
    const SUMMARY: &'static str = "Detailed information for a token.";
    const NEEDS: &'static [&'static str] = &["candles", "posts", "holders"];

    fn fetch_keys(&self, snapshot: &Snapshot) -> Vec<FetchKey> {
        balance_fetch_keys(snapshot, &self.token_address)
    }

    /// Checks the token's own balances only; `fetch_keys` would also collect the holders that are counted apart.
    fn needs_fetch(&self, snapshot: &Snapshot) -> bool {
        lacks_balances(snapshot, &self.token_address)
    }

    fn answer(&self, snapshot: &Snapshot, _: &Progress) -> Result<TokenDetail> {
        let token = known_token(snapshot, &self.token_address)?;
        require_balances(snapshot, &self.token_address)?;
        let settings = &snapshot.settings;
        let thresholds = Thresholds {
            whale_usd: settings.whale_usd,
            medium_usd: settings.medium_usd,
            whale_change_percent: settings.whale_change_percent,
        };
        let summary = snapshot
            .market
            .of(&snapshot.dataset, &self.token_address)
            .ok_or_else(|| Problem::new(Code::Defect, "The token has no figures: a defect of the program."))?;
        Ok(detail(&snapshot.dataset, token, summary, thresholds))
    }
}
