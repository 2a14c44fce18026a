//! Amounts that a token's holders received and sent, and their shares, as far as a request needs them.

use std::collections::HashMap;

use super::{Holder, HoldersQuestion, PLAIN_MEMBERS, SHARED_MEMBERS};
use crate::question::{list::Listed as _, progress::Progress, snapshot::Snapshot};
use analysis::{
    flows::{Flow, flows},
    token::{share, unburned_supply},
};
use model::{address::Address, error::Result, time::Time};
use store::Dataset;

/// What is known beside the balances.
pub(super) struct KnownFlows {
    of: HashMap<Address, Flow>,
    supply: Option<f64>,
    /// The token's last transfer.
    pub(super) last: Option<Time>,
    /// Why nothing of the transfers is known.
    pub(super) missing: Option<String>,
}

impl HoldersQuestion {
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

    /// Flows and supply; `None` where the request names none of their members.
    pub(super) fn flows(
        &self,
        snapshot: &Snapshot,
        progress: &Progress,
    ) -> Result<Option<KnownFlows>> {
        if !self.needs_transfers() && !self.names(&Holder::MEMBERS[PLAIN_MEMBERS..]) {
            return Ok(None);
        }
        let dataset = &snapshot.dataset;
        let token = dataset.token(&self.token_address);
        let supply = token.and_then(|token| unburned_supply(dataset, token));
        if !self.needs_transfers() {
            return Ok(Some(KnownFlows {
                of: HashMap::new(),
                supply,
                last: None,
                missing: None,
            }));
        }
        snapshot.require(&["transfers"])?;
        let all = dataset.holders_of_source(&self.token_address)?;
        let addresses: Vec<Address> = match &all {
            Some(rows) => rows.iter().map(|row| row.holder_address).collect(),
            None => dataset
                .holders_of(&self.token_address)
                .iter()
                .map(|row| row.holder_address)
                .collect(),
        };
        let mut step = Ok(());
        let known = flows(
            dataset,
            &self.token_address,
            &addresses,
            &mut |done, total| {
                step = progress.step(done as u64, total as u64);
                step.is_ok()
            },
        )?;
        step?;
        let missing = known.is_none().then(|| {
            let lacks = || match token.and_then(|token| token.row.decimals) {
                None => "`tokens` has no decimals for this token, and amounts in `transfers` are in base units".to_owned(),
                Some(_) => "`transfers` has no transfer of this token with a time".to_owned(),
            };
            dataset.absence_reason("transfers").unwrap_or_else(lacks)
        });
        let (last, of) = known.unzip();
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
