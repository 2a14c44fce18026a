//! The query behind GET /addresses/{address}/tokens: the tokens in the data that an address holds.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Query,
    holders::labels,
    list::{Listed as _, Rows, SORT, conditions, filter_and_sort, listed, only, sort},
    order::Order,
    paging::{page_of, page_range, paged},
    parameter::{Arguments, PAGE, Parameter, ParameterKind, parameter},
    request::{ParameterValue, request},
    tables::{columns, loaded_table, order::RowQuery, remote::RemoteQuery},
    tabular::tabular,
    view::View,
};
use analysis::{
    clusters::clusters_of,
    flows::cost::costs,
    token::{share, unburned_supply},
};
use frames::{cell::in_frame, rows::Frames as _};
use model::{
    address::Address,
    data::AddressRows as _,
    error::{Code, Problem, Result},
    progress::Progress,
    scalar::Scalar,
    time::Time,
};
use table::filter::{self, AddressOf, Filter};

/// Maximum number of tokens per address if the holders are queried in place, with one query per token.
const TOKENS_MAX: u64 = 100;
const ADDRESS: Parameter = parameter("address", ParameterKind::Holder, "Address of a holder.");

request! {
    /// A page of the tokens that an address holds, the most worth first.
    HeldTokensQuery at "/addresses/{address}/tokens" {
        address: AccountAddress = ADDRESS,
        filter: Filter = conditions::<HeldToken>(),
        sort: Vec<Order> = sort::<HeldToken>(Some("-value,symbol"), SORT),
        /// Members out of `HeldToken::MEMBERS`; empty: all.
        only: Vec<&'static str> = only::<HeldToken>(),
        page: u64 = PAGE,
        limit: u64 = parameter("limit", ParameterKind::Integer { min: 1, max: 250, default: 50 }, "Tokens per page."),
    }
}

/// An address that need not be a token's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AccountAddress(pub Address);

impl ParameterValue for AccountAddress {
    fn read(arguments: &Arguments<'_>, parameter: &Parameter) -> Result<Self> {
        arguments.holder(parameter.name).map(Self)
    }

    fn written(&self) -> Option<Cow<'_, str>> {
        self.0.written()
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HeldTokens {
    pub address: Address,
    /// Known labels of the address: burn, exchange, …
    pub labels: Vec<String>,
    pub page: u64,
    pub limit: u64,
    pub total: u64,
    /// Highest value first, unless `sort` is given.
    pub tokens: Rows<HeldToken>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HeldToken {
    pub token_address: Address,
    pub symbol: Option<String>,
    /// In whole tokens.
    pub balance: Option<f64>,
    /// Fraction of the supply that is not burned, or of the sum of all holders' balances if the supply is unknown. Null for a burn address.
    pub share: Option<f64>,
    /// Balance at the token's price, USD.
    pub value: Option<f64>,
    /// From `transfers`: the first one that the address received from a pool, router or exchange.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_purchase: Option<Time>,
    /// From `transfers` and `candles`: profit of the tokens it sent, USD, by the average cost method; each transfer counts as a trade at the
    /// close of its day. Omitted if it sent none of known cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub realized_profit: Option<f64>,
    /// From `transfers`: fraction of the token's free supply that the address's cluster owns, and the number of its members.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_share: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_members: Option<u64>,
}

impl Query for HeldTokensQuery {
    type Answer = HeldTokens;
    const NAME: &'static str = "held_tokens";
    const SUMMARY: &'static str = "List the tokens an address holds.";
    const NEEDS: &'static [&'static str] = &["holders"];
    const HEAVY: bool = true;

    paged!(HeldTokens);

    fn answer(&self, view: &View<'_>, progress: &Progress) -> Result<HeldTokens> {
        let dataset = &view.dataset;
        let table = loaded_table(view, "holders")?;
        let condition = format!("holder_address={}", self.address.0);
        let filter = filter::parse(&condition, &columns::for_filter(table))
            .map_err(|error| Problem::new(Code::Defect, error.message))?;
        let query = RowQuery {
            filter,
            ..RowQuery::all(table.schema)
        };
        let rows = if let Some(remote) = RemoteQuery::of(view, table, &query, progress)? {
            let (rows, total) = remote.page(0..TOKENS_MAX, &[])?;
            if total > TOKENS_MAX {
                return Err(remote.refusal(&format!(
                    "`{}` holds more than {TOKENS_MAX} tokens, the maximum",
                    self.address.0
                )));
            }
            rows
        } else {
            let (places, _) = query.matching_rows(&table.rows, progress)?;
            table.rows.at(
                &places,
                0..places.len(),
                Some(&["token_address", "balance"]),
            )
        };
        let mut tokens = Vec::new();
        for row in 0..rows.height() {
            let Scalar::Text(address) = in_frame(&rows, "token_address", row) else {
                continue;
            };
            let Some(token_address) = Address::parse(&address) else {
                continue;
            };
            let balance = match in_frame(&rows, "balance", row) {
                Scalar::Float(balance) => Some(balance),
                _ => None,
            };
            if balance == Some(0.0) {
                continue;
            }
            // For the share, what all of its holders have.
            let view = view.part(1);
            view.bring("holders", &[token_address], progress)?;
            let token = dataset.token(&token_address);
            let price = view
                .market
                .of(dataset, &token_address)
                .and_then(|token| token.price);
            let supply = token.and_then(|token| unburned_supply(dataset, token));
            let share = share(dataset, &self.address.0, balance, supply);
            let symbol = token.and_then(|token| token.row.symbol.clone());
            tokens.push(HeldToken {
                token_address,
                symbol,
                balance,
                share,
                value: price.zip(balance).map(|(price, balance)| price * balance),
                first_purchase: None,
                realized_profit: None,
                cluster_share: None,
                cluster_members: None,
            });
        }
        let page = page_range(self.page, self.limit);
        let names_history = HeldToken::MEMBERS[PLAIN_MEMBERS..]
            .iter()
            .any(|name| self.filter.names(name) || self.sort.iter().any(|by| by.column == *name));
        if names_history {
            self.add_history(&mut tokens, view, progress)?;
        }
        filter_and_sort(&mut tokens, &self.filter, &self.sort);
        if !names_history {
            let end = page.end.min(tokens.len());
            self.add_history(&mut tokens[page.start.min(end)..end], view, progress)?;
        }
        Ok(HeldTokens {
            address: self.address.0,
            labels: labels(dataset, &self.address.0),
            page: self.page,
            limit: self.limit,
            total: tokens.len() as u64,
            tokens: Rows::new(
                page_of(tokens.into_iter(), self.page, self.limit).collect(),
                &self.only,
            ),
        })
    }
}

impl HeldTokensQuery {
    /// What the tokens' transfers show of the address. Transfers queried in place are not fetched.
    fn add_history(
        &self,
        tokens: &mut [HeldToken],
        view: &View<'_>,
        progress: &Progress,
    ) -> Result<()> {
        let (dataset, address) = (&view.dataset, self.address.0);
        if dataset.engine_rows("transfers").is_some() || view.require(&["transfers"]).is_err() {
            return Ok(());
        }
        for token in tokens {
            let of = &token.token_address;
            if dataset.transfers().count(of) == 0 {
                continue;
            }
            let mut step = Ok(());
            let mut go_on = |done, total| {
                step = progress.step(done as u64, total as u64);
                step.is_ok()
            };
            let costs = costs(dataset, of, &[address], &mut go_on).unwrap_or_default();
            let clusters = clusters_of(dataset, of, &mut go_on).unwrap_or_default();
            step?;
            if let Some(cost) = costs.get(&address) {
                token.first_purchase = cost.first_purchase;
                token.realized_profit = cost.realized_profit();
            }
            if let Some(cluster) = clusters.of(&address) {
                token.cluster_share = Some(cluster.share);
                token.cluster_members = Some(cluster.members.len() as u64);
            }
        }
        Ok(())
    }
}

tabular!(HeldTokensQuery, tokens of HeldToken);

listed!(HeldToken {
    "token_address": Text ["token"].addresses(AddressOf::Tokens) = |row| Scalar::text(row.token_address.to_string());
    "symbol": Text [] = |row| row.symbol.as_deref().into();
    "balance": Number [] = |row| row.balance.into();
    "share": Number [].fraction() = |row| row.share.into();
    "value": Number [] = |row| row.value.into();
    "first_purchase": Time [] = |row| row.first_purchase.into();
    "realized_profit": Number [] = |row| row.realized_profit.into();
    "cluster_share": Number [].fraction() = |row| row.cluster_share.into();
    "cluster_members": Number [] = |row| row.cluster_members.into();
});

/// The first members, which need no transfers.
const PLAIN_MEMBERS: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queries::{
        holders::HoldersQuery,
        snapshot::Snapshot,
        tests::{answered, parsed, snapshot},
    };

    fn market() -> Snapshot {
        snapshot(&[
            (
                "tokens",
                "token_address,symbol,name,chain,decimals,price,total_supply\n0x1,A,A,eth,0,2,200\n0x2,B,B,eth,0,,\n0x3,C,C,eth,,1,",
            ),
            (
                "holders",
                "token_address,holder_address,balance\n0x1,0xa,60\n0x1,0xb,40\n0x1,0xdead,100\n0x2,0xa,5\n0x2,0xc,15\n0x2,0xb,0\n0x3,0xb,1",
            ),
            ("labels", "address,label,chain\n0xdead,burn,eth\n0xdead,burn,base\n0xdead,dead,eth"),
            (
                "transfers",
                "token_address,timestamp,block_number,transaction_hash,from_address,to_address,value,log_index
                 0x1,2026-01-01T00:00:00Z,1,0x01,0xc,0xa,60,1
                 0x1,2026-03-01T00:00:00Z,2,0x02,0xa,0xb,7,1",
            ),
        ])
    }

    const A: [(&str, &str); 1] = [(
        "token_address",
        "0x0000000000000000000000000000000000000001",
    )];

    #[test]
    fn an_address_has_what_it_holds_of_every_token() {
        let path = [("address", "0x000000000000000000000000000000000000000a")];
        let answer = answered::<HeldTokensQuery>(&market(), &path, "").expect("an answer");
        let rows: Vec<_> = answer
            .tokens
            .iter()
            .map(|token| {
                (
                    token.symbol.as_deref(),
                    token.balance,
                    token.share,
                    token.value,
                )
            })
            .collect();
        // Of A 100 are burned: 100 remain. B has no supply: of what is held; it has no price either.
        assert_eq!(
            rows,
            [
                (Some("A"), Some(60.0), Some(0.6), Some(120.0)),
                (Some("B"), Some(5.0), Some(0.25), None)
            ]
        );
        let nobody = [("address", "0x00000000000000000000000000000000000000ff")];
        assert_eq!(
            answered::<HeldTokensQuery>(&market(), &nobody, "")
                .expect("an answer")
                .total,
            0
        );
    }

    #[test]
    fn a_burn_address_has_no_share_and_what_is_empty_is_not_listed() {
        let held = |path: &str| {
            answered::<HeldTokensQuery>(&market(), &[("address", path)], "").expect("an answer")
        };
        let burned = held("0x000000000000000000000000000000000000dead");
        assert_eq!(
            burned.labels.len(),
            2,
            "each label once: {:?}",
            burned.labels
        );
        assert_eq!(
            (
                burned.tokens[0].balance,
                burned.tokens[0].share,
                burned.tokens[0].value
            ),
            (Some(100.0), None, Some(200.0))
        );
        let symbols: Vec<_> = held("0x000000000000000000000000000000000000000b")
            .tokens
            .iter()
            .map(|token| token.symbol.clone())
            .collect();
        assert_eq!(symbols, [Some("A".to_owned()), Some("C".to_owned())]);
    }

    #[test]
    fn holders_have_shares_and_flows_where_they_are_asked_for() {
        let plain = answered::<HoldersQuery>(&market(), &A, "").expect("an answer");
        assert!(
            plain
                .holders
                .iter()
                .all(|holder| holder.share.is_none() && holder.in_7d.is_none())
                && plain.flows_to.is_none()
        );
        let answer = answered::<HoldersQuery>(&market(), &A, "flows=true").expect("an answer");
        let of = |last: u8| {
            answer
                .holders
                .iter()
                .find(|holder| holder.holder_address.0[19] == last)
                .expect("the holder")
        };
        assert_eq!(
            (of(0xa).share, of(0xa).in_7d, of(0xa).out_7d, of(0xa).in_30d),
            (Some(0.6), Some(0.0), Some(7.0), Some(0.0))
        );
        assert_eq!(
            (
                of(0xb).share,
                of(0xb).in_30d,
                of(0xb)
                    .first_seen
                    .map(|time| time.to_string()[..10].to_owned())
                    .as_deref()
            ),
            (Some(0.4), Some(7.0), Some("2026-03-01"))
        );
        assert_eq!(
            (answer.total, answer.flows_missing, of(0xad).share),
            (3, None, None)
        );
        // A condition or an order on them asks for them too.
        for (query, left) in [
            ("where=out_7d>0", 1),
            ("where=share>0.3&sort=-in_30d", 2),
            ("sort=-share", 3),
            ("where=first_seen<2026-02", 1),
        ] {
            assert_eq!(
                answered::<HoldersQuery>(&market(), &A, query)
                    .expect("an answer")
                    .total,
                left,
                "{query}"
            );
        }
        // Shares alone read no transfer.
        for (query, reads) in [
            ("where=share>0.3", false),
            ("only=share", false),
            ("sort=-in_7d", true),
            ("flows=true", true),
            ("", false),
        ] {
            let question = parsed::<HoldersQuery>(&A, query).expect("a question");
            let answer = question
                .answer(&View::new(&market()), &Progress::default())
                .expect("an answer");
            assert_eq!(
                (question.heavy(&market()), answer.flows_to.is_some()),
                (reads, reads),
                "{query}"
            );
        }
        // Without decimals amounts have no unit.
        let path = [(
            "token_address",
            "0x0000000000000000000000000000000000000003",
        )];
        let unknown = answered::<HoldersQuery>(&market(), &path, "flows=true").expect("an answer");
        assert!(
            unknown
                .flows_missing
                .is_some_and(|why| why.contains("decimals"))
                && unknown.holders[0].share == Some(1.0)
        );
    }
}
