//! The query behind GET /tokens/{token_address}/flows: net flows of a token's groups of addresses, and what its largest holders paid.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Dated, Query, known_token,
    parameter::{ParameterKind, TOKEN, parameter},
    request::request,
    snapshot::Snapshot,
    view::View,
};
use analysis::{
    clusters::clusters_of,
    flows::{
        NoFlows,
        groups::{GroupFlow, GroupFlows, GroupInput, group_flows},
    },
    growth::{WhaleChange, WhaleTrend},
    token::unburned_supply,
};
use load::Dataset;
use model::{
    address::Address, data::AddressRows as _, error::Result, format, progress::Progress, time::Time,
};

/// Transfers of a token from which its detail is computed with the slow queries.
pub(super) const MANY_TRANSFERS: u64 = 100_000;

request! {
    TokenFlowsQuery at "/tokens/{token_address}/flows" {
        token_address: Address = TOKEN,
        days: bool = parameter("days", ParameterKind::Flag, "Add each group's net flow on each of the last 30 days."),
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TokenFlows {
    pub token_address: Address,
    /// Time of the token's first transfer in the data.
    pub flows_from: Option<Time>,
    /// Time of the token's last transfer, where the 1, 7 and 30 days end.
    pub flows_to: Option<Time>,
    /// Trend of the whales' balance over 7 days, from their flows; null if it is unknown who the whales are.
    pub whale_accumulation_trend: Option<WhaleTrend>,
    /// The change behind the trend.
    pub whale_change: Option<WhaleChange>,
    /// Whales, new wallets, exchanges, the creator, the largest holders, contracts, and all holders. The flows of exchanges, contracts and
    /// holders add up to the tokens minted minus burned; the other groups are parts of these.
    pub groups: Vec<GroupFlow>,
    /// Reason for an empty list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

impl Query for TokenFlowsQuery {
    type Answer = TokenFlows;
    const NAME: &'static str = "token_flows";
    const SUMMARY: &'static str = "Get a token's net flows by group of addresses.";
    const NEEDS: &'static [&'static str] = &["candles", "holders", "transfers"];
    const DATED: Dated = Dated::Always;
    const HEAVY: bool = true;

    fn as_of(&self, _: &Snapshot, answer: &TokenFlows) -> Option<Time> {
        answer.flows_to
    }

    fn answer(&self, view: &View<'_>, progress: &Progress) -> Result<TokenFlows> {
        let token_address = self.token_address;
        known_token(view, &token_address)?;
        let flows = flows_of(view, token_address, progress)?;
        let missing = flows.as_ref().err().map(|why| {
            let why = lacks(&view.dataset, &token_address, why);
            view.dataset.absence_reason("transfers").unwrap_or(why)
        });
        let flows = flows.ok();
        let whales = flows
            .as_ref()
            .and_then(|flows| flows.whale_change(view.settings.whale_change_percent));
        let (flows_from, flows_to) = flows
            .as_ref()
            .map(|flows| (flows.first, flows.last))
            .unzip();
        let groups = match flows {
            Some(flows) if self.days => flows.groups,
            flows => flows.map_or_else(Vec::new, GroupFlows::without_days),
        };
        Ok(TokenFlows {
            token_address,
            flows_from,
            flows_to,
            whale_accumulation_trend: whales.map(|change| change.trend),
            whale_change: whales,
            groups,
            missing,
        })
    }
}

/// The token's creator, and the wallets of its cluster.
fn creators(view: &View<'_>, token: Address, progress: &Progress) -> Result<Vec<Address>> {
    let row = view.dataset.contracts().first(&token);
    let Some(creator) = row.and_then(|row| row.creator) else {
        return Ok(Vec::new());
    };
    let mut step = Ok(());
    let mut go_on = |done, total| {
        step = progress.step(done as u64, total as u64);
        step.is_ok()
    };
    let clusters = clusters_of(&view.dataset, &token, &mut go_on);
    step?;
    let cluster = clusters
        .ok()
        .and_then(|clusters| clusters.of(&creator).cloned());
    Ok(cluster.map_or_else(|| vec![creator], |cluster| cluster.members))
}

/// The flows of a token's groups. Errors: rows cannot be fetched; canceled; the token is unknown.
pub(super) fn flows_of(
    view: &View<'_>,
    token_address: Address,
    progress: &Progress,
) -> Result<std::result::Result<GroupFlows, NoFlows>> {
    let dataset = &view.dataset;
    let token = known_token(view, &token_address)?;
    for table in TokenFlowsQuery::NEEDS {
        view.bring(table, &[token_address], progress)?;
    }
    let summary = view.market.of(dataset, &token_address);
    let creators = creators(view, token_address, progress)?;
    let input = GroupInput {
        creators: &creators,
        price: summary.and_then(|summary| summary.price),
        supply: unburned_supply(dataset, token),
        whale_usd: view.settings.whale_usd,
    };
    let mut step = Ok(());
    let mut go_on = |done, total| {
        step = progress.step(done as u64, total as u64);
        step.is_ok()
    };
    let flows = group_flows(dataset, &token_address, &input, &mut go_on);
    step?;
    Ok(flows)
}

/// Why the flows of a token are unknown.
pub(super) fn lacks(dataset: &Dataset, token_address: &Address, why: &NoFlows) -> String {
    match why {
        NoFlows::LeftOut {
            needed_since,
            here_since,
        } => format!(
            "this needs the transfers since {} UTC, but of the {} in `transfers`, which is queried in place, only those since {} UTC are read",
            needed_since.minute_text(),
            format::count(dataset.transfers_listed(token_address)),
            here_since.minute_text()
        ),
        NoFlows::Decimals => {
            "`tokens` has no decimals for this token, and amounts in `transfers` are in base units"
                .to_owned()
        }
        NoFlows::Times | NoFlows::Canceled => {
            "`transfers` has no transfer of this token with a time".to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::queries::tests;

    const TOKENS: &str = "token_address,symbol,name,chain,decimals\n0x1,ONE,One,eth,1\n0x2,TWO,Two,eth,\n0x3,NONE,None,eth,1";
    /// 0xa has all tokens of 0x1, and gives a quarter to a new wallet in the last week.
    const TRANSFERS: &str = "token_address,timestamp,block_number,transaction_hash,log_index,from_address,to_address,value
        0x1,2026-01-01T00:00:00Z,1,0x01,0,0x0,0xa,10000
        0x1,2026-03-05T12:00:00Z,2,0x02,0,0xa,0xb,2500
        0x1,2026-03-08T12:00:00Z,3,0x03,0,0xa,0xc,10
        0x2,2026-03-08T12:00:00Z,4,0x04,0,0xa,0xc,10";
    const CANDLES: &str = "token_address,timestamp,open,high,low,close,interval\n0x1,2026-03-05,2,2,2,2,1d\n0x1,2026-03-08,4,4,4,4,1d";

    fn flows(tables: &[(&str, &str)], token: &str) -> Value {
        let address = format!("0x{token:0>40}");
        let path = [("token_address", address.as_str())];
        let answer =
            tests::answered::<TokenFlowsQuery>(&tests::snapshot(tables), &path, "days=true");
        serde_json::to_value(answer.expect("an answer")).expect("JSON")
    }

    fn group<'a>(flows: &'a Value, name: &str) -> &'a Value {
        let mut groups = flows["groups"].as_array().expect("groups").iter();
        groups.find(|group| group["group"] == name).expect(name)
    }

    #[test]
    fn net_flows_are_in_tokens_and_in_usd_at_the_closes_of_their_days() {
        let priced = flows(
            &[
                ("tokens", TOKENS),
                ("transfers", TRANSFERS),
                ("candles", CANDLES),
            ],
            "1",
        );
        let fresh = group(&priced, "fresh");
        assert_eq!(
            (&fresh["members"], &fresh["net_1d"], &fresh["net_7d"]),
            (
                &json!(2),
                &json!({ "tokens": 1.0, "usd": 4.0 }),
                &json!({ "tokens": 251.0, "usd": 504.0 })
            ),
            "{priced}"
        );
        assert!(
            fresh["days"]
                .as_array()
                .is_some_and(|days| !days.is_empty()),
            "{fresh}"
        );
        // What the new wallets received, the large holder sent: together nothing moved.
        assert_eq!(group(&priced, "holders")["net_7d"]["tokens"], 0.0);
        let plain = flows(&[("tokens", TOKENS), ("transfers", TRANSFERS)], "1");
        assert_eq!(
            group(&plain, "fresh")["net_7d"],
            json!({ "tokens": 251.0, "usd": null })
        );
        assert_eq!(plain["whale_accumulation_trend"], Value::Null, "no price");
    }

    #[test]
    fn a_token_without_flows_has_the_reason() {
        let tables = [("tokens", TOKENS), ("transfers", TRANSFERS)];
        for (tables, token, why) in [
            (&tables[..1], "1", "transfers"),
            (
                &tables,
                "3",
                "`transfers` has no transfer of this token with a time",
            ),
            (&tables, "2", "`tokens` has no decimals for this token"),
        ] {
            let empty = flows(tables, token);
            assert_eq!(empty["groups"], json!([]), "{empty}");
            let missing = empty["missing"].as_str().unwrap_or_default();
            assert!(missing.contains(why), "{token}: {missing}");
        }
    }
}
