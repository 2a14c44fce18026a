//! Amounts that a token's holders received and sent, and their shares, as far as a request needs them.

use std::collections::HashMap;

use super::{Holder, HoldersQuery, PLAIN_MEMBERS, SHARED_MEMBERS};
use crate::queries::{flows::lacks, list::Listed as _, view::View};
use analysis::{
    flows::{Flow, flows},
    token::{share, unburned_supply},
};
use load::Dataset;
use model::{address::Address, error::Result, progress::Progress, time::Time};

/// What is known beside the balances.
pub(super) struct KnownFlows {
    of: HashMap<Address, Flow>,
    supply: Option<f64>,
    /// The token's last transfer.
    pub(super) last: Option<Time>,
    /// Why nothing of the transfers is known.
    pub(super) missing: Option<String>,
}

impl HoldersQuery {
    /// Whether the request names one of these members.
    fn names(&self, members: &[&'static str]) -> bool {
        let named = |name: &&'static str| {
            self.only.contains(name)
                || self.filter.names(name)
                || self.sort.iter().any(|by| by.column == *name)
        };
        members.iter().any(named)
    }

    /// Whether every transfer of the token must be read.
    pub(super) fn needs_transfers(&self) -> bool {
        self.flows || self.names(&Holder::MEMBERS[SHARED_MEMBERS..])
    }

    /// Brings the holders and what else the request names. Flows and supply; `None` where it names none of their members.
    pub(super) fn flows(&self, view: &View<'_>, progress: &Progress) -> Result<Option<KnownFlows>> {
        let token_address = self.token_address;
        view.bring("holders", &[token_address], progress)?;
        if !self.needs_transfers() && !self.names(&Holder::MEMBERS[PLAIN_MEMBERS..]) {
            return Ok(None);
        }
        let dataset = &view.dataset;
        let token = dataset.token(&token_address);
        let supply = token.and_then(|token| unburned_supply(dataset, token));
        if !self.needs_transfers() {
            return Ok(Some(KnownFlows {
                of: HashMap::new(),
                supply,
                last: None,
                missing: None,
            }));
        }
        view.require(&["transfers"])?;
        view.bring("transfers", &[token_address], progress)?;
        let all = dataset.holders_of_source(&token_address);
        let addresses: Vec<Address> = match &all {
            Some(rows) => rows.iter().map(|row| row.holder_address).collect(),
            None => dataset
                .holders_of(&token_address)
                .iter()
                .map(|row| row.holder_address)
                .collect(),
        };
        let mut step = Ok(());
        let mut go_on = |done, total| {
            step = progress.step(done as u64, total as u64);
            step.is_ok()
        };
        let known = flows(dataset, &token_address, &addresses, &mut go_on);
        step?;
        let lacks = known
            .as_ref()
            .err()
            .map(|why| lacks(dataset, &token_address, why));
        let missing = lacks.map(|lacks| dataset.absence_reason("transfers").unwrap_or(lacks));
        let (last, of) = known.ok().unzip();
        Ok(Some(KnownFlows {
            of: of.unwrap_or_default(),
            supply,
            last,
            missing,
        }))
    }
}

impl KnownFlows {
    pub(super) fn add_to(&self, holder: &mut Holder, dataset: &Dataset) {
        holder.share = share(dataset, &holder.holder_address, holder.balance, self.supply);
        let Some(flow) = self.of.get(&holder.holder_address) else {
            return;
        };
        holder.first_seen = flow.first_seen;
        (holder.in_7d, holder.in_30d) = (flow.received[0], flow.received[1]);
        (holder.out_7d, holder.out_30d) = (flow.sent[0], flow.sent[1]);
    }
}
