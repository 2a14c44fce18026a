//! Token data shared by the transaction and holder checks: creator and owner, pools, and the role of each address. Loaded once for all
//! checks. No check is implemented here.

use std::collections::HashSet;

pub use analysis::roles::AddressRole;
use analysis::roles::{ROLE_LABELS, Roles, named};

use super::{EVIDENCE_ROWS_MAX, EvidenceRow, check_log::NeededInput, own_pools::OwnPools};
use model::data::Data;
use model::{
    address::Address,
    chain::Chain,
    rows::{ContractRow, LabelRow},
    time::Time,
    token::Token,
};

/// Markdown table of the labels of each role.
pub fn labels_table() -> String {
    let listed = |words: &[&str]| {
        words
            .iter()
            .map(|word| format!("`{word}`"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let mut text = "| counts as | labels |\n|---|---|\n".to_owned();
    for (role, words) in ROLE_LABELS {
        text.push_str(&format!("| {} | {} |\n", role.word(), listed(words)));
    }
    text.push_str(&format!("| scam | {} |\n", listed(SCAM_LABELS)));
    text
}

/// Labels that mark an address as a scam.
const SCAM_LABELS: &[&str] = &[
    "scam",
    "phish",
    "phishing",
    "phish-hack",
    "exploit",
    "honeypot",
    "rug_pull",
    "rug-pull",
];

/// Labels of venue operators and token issuers: next to one of them, a scam label is just as likely to be about an attack on the address, or
/// to be a mistake.
const TRUSTED_LABELS: &[&str] = &[
    "token",
    "tokens",
    "token-contract",
    "token contract",
    "erc20",
    "erc-20",
    "stablecoin",
    "issuer",
    "wrapped",
    "defi",
];

/// A scam report about an address.
#[derive(Debug, Clone, PartialEq)]
pub struct ScamReport {
    /// Continuation of "the address is": the description, its source and table.
    pub how: String,
    /// Whether no other label contradicts it.
    pub decisive: bool,
    /// Supporting rows of the dataset, then contradicting ones.
    pub rows: Vec<EvidenceRow>,
}

/// The dataset's scam report about an address, if any. A row of `scams` is decisive; a label is, unless the address also has a venue's or
/// an issuer's label.
pub fn scam_report(dataset: &dyn Data, address: &Address) -> Option<ScamReport> {
    let row = |table, note: String| EvidenceRow {
        note: Some(note),
        ..EvidenceRow::of(table, *address)
    };
    if let Some(scam) = dataset.scams().first(address) {
        let kind = scam
            .scam_type
            .map_or_else(String::new, |kind| format!(" ({kind})"));
        let source = scam
            .source
            .unwrap_or_else(|| "an unnamed source".to_owned());
        let note = joined([scam.name.as_deref(), Some(&source)]);
        return Some(ScamReport {
            how: format!("a known scam{kind}, reported by {source} (scams)"),
            decisive: true,
            rows: vec![row("scams", note)],
        });
    }
    let labels = dataset.labels_of(address);
    let scam = |row: &LabelRow| named(row, SCAM_LABELS);
    let label = labels.iter().find(|row| scam(row))?;
    let others: Vec<&LabelRow> = labels
        .iter()
        .filter(|row| !scam(row) && trusted(row))
        .collect();
    let told = |row: &LabelRow| {
        joined([
            Some(&*row.label),
            row.name.as_deref(),
            row.chain.as_ref().map(Chain::as_str),
            row.source.as_deref(),
        ])
    };
    let beside = match others.as_slice() {
        [] => String::new(),
        others => {
            let words: Vec<&str> = others.iter().map(|row| row.label.as_str()).collect();
            format!(
                "; it is also labeled {}, so this is not decisive",
                words.join(" and ")
            )
        }
    };
    let source = label
        .source
        .as_deref()
        .map_or_else(String::new, |source| format!(" by {source}"));
    let name = label
        .name
        .as_deref()
        .map_or_else(String::new, |name| format!(", “{name}”"));
    let how = format!("labeled {}{source} (labels{name}){beside}", label.label);
    let rows = labels
        .iter()
        .filter(|row| scam(row))
        .chain(others.iter().copied());
    let rows = rows
        .take(EVIDENCE_ROWS_MAX)
        .map(|label| row("labels", told(label)))
        .collect();
    Some(ScamReport {
        how,
        decisive: others.is_empty(),
        rows,
    })
}

fn trusted(row: &LabelRow) -> bool {
    let venue = |(role, words): &(AddressRole, &[&str])| {
        // Anybody may create a pool or a locker; a DEX has an operator.
        let runs = matches!(
            role,
            AddressRole::Exchange | AddressRole::Bridge | AddressRole::Router
        ) || *role == AddressRole::Pool && !row.label.contains("pool");
        runs && !row.label.eq_ignore_ascii_case("pair") && named(row, words)
    };
    named(row, TRUSTED_LABELS) || ROLE_LABELS.iter().any(venue)
}

fn joined<const N: usize>(parts: [Option<&str>; N]) -> String {
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// A token and the data around it.
#[derive(Debug)]
pub struct TokenContext<'a> {
    pub dataset: &'a dyn Data,
    pub token: &'a Token,
    pub address: Address,
    /// Its row of `contracts`, if any.
    pub contract: Option<ContractRow>,
    pub creator: Option<Address>,
    pub owner: Option<Address>,
    /// Pools that trade it: those large enough to be informative first, each group by descending liquidity.
    pub pools: Vec<Address>,
    /// Number of informative pools; smaller ones are not informative.
    pub informative: usize,
    /// Pools with the token as the quote side.
    pub quoted: HashSet<Address>,
    pub roles: Roles<'a>,
}

impl<'a> TokenContext<'a> {
    pub fn new(dataset: &'a dyn Data, token: &'a Token) -> Self {
        let address = token.row.token_address;
        let OwnPools {
            own: pools,
            informative,
            quoted,
        } = OwnPools::new(dataset, &address);
        let contract = dataset.contracts().first(&address);
        let (creator, owner) = contract
            .as_ref()
            .map_or((None, None), |row| (row.creator, row.owner));
        Self {
            dataset,
            token,
            address,
            contract,
            creator,
            owner,
            pools,
            informative,
            quoted,
            roles: Roles::new(dataset, &address),
        }
    }

    pub fn role(&self, address: &Address) -> AddressRole {
        self.roles.role(address)
    }

    /// Missing input of the checks without a trade: a pool with the token as the base token, or its trades.
    pub fn no_trades(&self) -> NeededInput {
        if self.pools.is_empty() {
            self.no_pool()
        } else {
            NeededInput::Trades
        }
    }

    /// Missing input of the liquidity checks of a token that is the base token of no pool.
    pub fn no_pool(&self) -> NeededInput {
        if self.quoted.is_empty() {
            NeededInput::Pools
        } else {
            NeededInput::OwnPools
        }
    }

    /// Whether the address is the creator or the owner.
    pub fn insider(&self, address: &Address) -> bool {
        Some(*address) == self.creator || Some(*address) == self.owner
    }

    /// Sender of the address's first funding.
    pub fn funder(&self, address: &Address) -> Option<Address> {
        self.dataset
            .funders_of(address)
            .first()
            .map(|row| row.from_address)
    }

    /// Whether the address is the creator or the owner, or was first funded by one of them.
    pub fn circle(&self, address: &Address) -> bool {
        self.insider(address)
            || self
                .funder(address)
                .is_some_and(|funder| self.insider(&funder))
    }

    /// Base units per whole token; `None` if the decimals are unknown.
    pub fn unit(&self) -> Option<f64> {
        self.token
            .row
            .decimals
            .filter(|digits| (0..=77).contains(digits))
            .map(|digits| 10_f64.powi(digits as i32))
    }

    /// In whole tokens, as given by the dataset.
    pub fn total_supply(&self) -> Option<f64> {
        self.token
            .row
            .total_supply
            .filter(|supply| supply.is_finite() && *supply > 0.0)
    }

    /// Latest time in the dataset's data on the token, from which the remaining term of a lock is counted. `transfer` is the time of its
    /// last transfer.
    pub fn as_of(&self, transfer: Option<Time>) -> Option<Time> {
        let counts = self
            .dataset
            .holder_counts_of(&self.address)
            .last()
            .map(|row| row.date.start());
        let close = self
            .dataset
            .latest_close(&self.address)
            .map(|(time, _)| time);
        counts.max(close).max(transfer)
    }

    /// Display role of an address: creator, owner, or its first label.
    pub fn title(&self, address: &Address) -> Option<String> {
        if Some(*address) == self.creator {
            return Some("creator".to_owned());
        }
        if Some(*address) == self.owner {
            return Some("owner".to_owned());
        }
        self.dataset
            .labels_of(address)
            .first()
            .map(|row| row.label.clone())
    }
}
