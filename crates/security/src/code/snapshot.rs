//! Findings that need the dataset's storage dump: whether anyone can still use a privilege, and whether a former owner can.

use revm::primitives::U256;

use super::{
    super::{Anomaly, PrivilegeHolder},
    CodeInput, Slot, abi,
    deployment::{self, AssumedSlots, DeployedBy, Deployment},
    effects::{Baseline, Caller, FunctionEffect, Privilege},
    execution::baseline,
    findings,
    functions::Function,
    machine::Machine,
    outside, privileges,
    trade_simulation::Scene,
};
use model::address::Address;

/// Inputs of the snapshot analysis.
pub(super) struct SnapshotInput<'a> {
    pub(super) functions: &'a [Function],
    pub(super) holder: PrivilegeHolder,
    /// Whether the snapshot is not known to be incomplete.
    pub(super) whole: bool,
    /// Whether all slots are known, so that a role in none of them is unused.
    pub(super) all_slots: bool,
    pub(super) input: &'a CodeInput<'a>,
}

const UNOWNED: &str = "renounced: the owner is the zero address";
const NO_ROLE: &str = "unused: no address has the role in the dataset's storage";
const ROLE_UNKNOWN: &str = "the holder of the role is unknown";

/// Description of the parts missing from the snapshot, as far as the dataset shows; `None` if complete.
pub(super) fn lacks(
    machine: &mut Machine<'_>,
    deployment: &Deployment,
    input: &CodeInput<'_>,
) -> Option<String> {
    if deployment.deployed_by != DeployedBy::Snapshot {
        return None;
    }
    if input.supply_known
        && machine.ask(deployment.token, abi::TOTAL_SUPPLY, &[]) == Some(U256::ZERO)
    {
        return Some("it has no supply, but the token has one".into());
    }
    let empty = |holder: &&Address| {
        let holder = U256::from_be_slice(&holder.0);
        machine.ask(deployment.token, abi::BALANCE_OF, &[holder]) == Some(U256::ZERO)
    };
    let (missing, all) = (
        input.holders.iter().filter(empty).count(),
        input.holders.len(),
    );
    (missing > 0 && 2 * missing >= all)
        .then(|| format!("{missing} of the {all} largest holders have no balance in it"))
}

/// Further anomalies, besides those of the powers that work in the contract's present state.
pub(super) fn beside(
    machine: &mut Machine<'_>,
    deployment: &Deployment,
    before: &Baseline<'_>,
    effects: &[FunctionEffect],
    asked: &SnapshotInput<'_>,
) -> Vec<Anomaly> {
    let mut found = Vec::new();
    let gone = before.owner == Some(U256::ZERO);
    if gone {
        let (unowned, _) = effects_if_assumed(
            machine,
            deployment,
            before,
            asked.functions,
            AssumedSlots::Owner,
        );
        let mut kept = privileges(machine, deployment, before, effects);
        // In an incomplete storage, the owner's slot may be among the missing ones.
        let (mut holder, mut why) = if asked.whole {
            (PrivilegeHolder::Nobody, UNOWNED)
        } else {
            (asked.holder, ROLE_UNKNOWN)
        };
        if kept.is_empty() {
            kept = privileges::taken_back(machine, before, &unowned, asked.functions);
            // Whoever regains ownership has all its powers.
            if !kept.is_empty() {
                (holder, why) = (PrivilegeHolder::Account, "");
            }
        }
        found.extend(findings::kept(&kept));
        found.extend(findings::held(&unowned, holder, why));
    } else {
        found.extend(findings::held(
            &effects_if_assumed(
                machine,
                deployment,
                before,
                asked.functions,
                AssumedSlots::Owner,
            )
            .0,
            asked.holder,
            "",
        ));
    }
    let (effects, roles) = effects_if_assumed(
        machine,
        deployment,
        before,
        asked.functions,
        AssumedSlots::Roles,
    );
    if !effects.is_empty() {
        let (holder, why) = if !gone && granted(machine, before, asked.functions, &roles) {
            (asked.holder, "")
        } else if asked.all_slots && !given(asked.input) {
            (PrivilegeHolder::Nobody, NO_ROLE)
        } else {
            (asked.holder, ROLE_UNKNOWN)
        };
        findings::add_new(&mut found, findings::held(&effects, holder, why));
    }
    found
}

/// Whether any mapping entry of the snapshot is 1. A slot does not reveal the mapping or the key.
fn given(input: &CodeInput<'_>) -> bool {
    let yes = |(slot, word): &Slot| {
        U256::from_be_bytes(*slot) >= MAPPED_MIN && U256::from_be_bytes(*word) == U256::ONE
    };
    input.storage.unwrap_or_default().iter().any(yes)
}

/// Slots from here on are entries of mappings and lists.
const MAPPED_MIN: U256 = U256::from_limbs([1 << 16, 0, 0, 0]);

/// Whether the owner can grant the roles: then their powers are the owner's.
fn granted(
    machine: &mut Machine<'_>,
    before: &Baseline<'_>,
    functions: &[Function],
    roles: &[U256],
) -> bool {
    let scene = before.scene;
    functions
        .iter()
        .filter(|function| !function.standard())
        .any(|function| {
            privileges::argument_sets(scene, &before.balances, scene.owner)
                .into_iter()
                .take(2)
                .any(|filling| {
                    let mark = machine.mark();
                    let outcome = machine.call(scene.owner, scene.token, function.call(&filling).0);
                    let gives = outcome.writes.iter().any(|(at, slot)| {
                        *at == scene.token
                            && roles.contains(slot)
                            && !machine.evm_state().slot(*at, *slot).is_zero()
                    });
                    machine.rollback(mark);
                    gives
                })
        })
}

/// Effects available to our owner if placed in the empty owner slots or roles, and the role slots. Restores the world.
fn effects_if_assumed(
    machine: &mut Machine<'_>,
    deployment: &Deployment,
    was: &Baseline<'_>,
    functions: &[Function],
    slots: AssumedSlots,
) -> (Vec<FunctionEffect>, Vec<U256>) {
    let mark = machine.mark();
    let mut heir = Deployment {
        privileged: Vec::new(),
        roles: Vec::new(),
        ..*deployment
    };
    let mut effects = Vec::new();
    if deployment::assume_ownership(machine, &mut heir, functions, slots) {
        let scene = Scene {
            owner: heir.owner,
            ..was.scene.clone()
        };
        let now = baseline(machine, &scene, false);
        effects =
            privileges::powers(machine, &now, functions, &[], privileges::Whose::Known).effects;
        effects.retain(|effect| effect.call.caller == Caller::Owner);
        outside::keep_proven(machine, &scene, &mut effects);
    }
    machine.rollback(mark);
    (effects, heir.roles)
}

/// Effects available to the owner (or, if unknown, to an authorized address) but not to any caller.
fn privileges(
    machine: &mut Machine<'_>,
    deployment: &Deployment,
    before: &Baseline<'_>,
    effects: &[FunctionEffect],
) -> Vec<FunctionEffect> {
    let who = if deployment.owner_known {
        Caller::Owner
    } else {
        Caller::Privileged
    };
    let mut open_to_all = |effect: &FunctionEffect| {
        let mark = machine.mark();
        let outcome = machine.call(
            before.scene.people.stranger,
            effect.call.to,
            effect.call.data.clone(),
        );
        machine.rollback(mark);
        outcome.ok && !outcome.writes.is_empty()
    };
    // A contract has rules of its own: what it can do is said where that is, and is nobody's return.
    let of = |effect: &&FunctionEffect| {
        (effect.call.caller == who || effect.call.caller == Caller::Recognized)
            && !effect.call.by_contract
    };
    effects
        .iter()
        .filter(of)
        .filter(|effect| effect.power != Privilege::Renounce && !open_to_all(effect))
        .cloned()
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::{
        AnomalyCode,
        code::{Budget, CodeInput, CodeReport, DeployedBy, Opening, inspect},
    };
    use demo::contracts::{Identity, contract};
    use model::address::Address;

    const OWNER: Address = Address([0xA1; 20]);
    /// Storage slots of the handmade contracts.
    const SUPPLY: u8 = 2;
    const OWNER_AT: u8 = 3;
    const FEE: u8 = 4;
    const PAUSED: u8 = 6;
    const OLD_OWNER_AT: u8 = 9;
    const OPEN: u8 = 11;

    fn word(value: u128) -> [u8; 32] {
        let mut word = [0; 32];
        word[16..].copy_from_slice(&value.to_be_bytes());
        word
    }

    fn place(address: Address) -> [u8; 32] {
        let mut word = [0; 32];
        word[12..].copy_from_slice(&address.0);
        word
    }

    fn simulate(name: &str, owner: Option<Address>, slots: &[(u8, [u8; 32])]) -> CodeReport {
        let code = contract(name)
            .expect("a planted contract")
            .code(&Identity::default());
        let supply = (SUPPLY, word(Identity::default().supply));
        let storage: Vec<_> = [supply]
            .iter()
            .chain(slots)
            .map(|(slot, value)| (word((*slot).into()), *value))
            .collect();
        let input = CodeInput {
            runtime: &code.runtime,
            creation: Some(&code.creation),
            storage: Some(&storage),
            owner,
            has_source: true,
            ..CodeInput::default()
        };
        inspect(&input, &Budget::default(), &|| false)
    }

    fn strengths(report: &CodeReport) -> Vec<(&'static str, f64)> {
        let mut found: Vec<_> = report
            .anomalies
            .iter()
            .map(|anomaly| {
                (
                    anomaly.code.word(),
                    (anomaly.strength * 100.0).round() / 100.0,
                )
            })
            .collect();
        found.sort_by(|a, b| a.0.cmp(b.0));
        found
    }

    /// Description, contract name, known owner, storage slots, and the expected codes with their strengths.
    type Case = (
        &'static str,
        &'static str,
        Option<Address>,
        Vec<(u8, [u8; 32])>,
        &'static [(&'static str, f64)],
    );

    #[test]
    fn what_the_storage_shows_is_a_fact_and_a_power_of_nobody_weighs_nothing() {
        let owned = (OWNER_AT, place(OWNER));
        let cases: Vec<Case> = vec![
            (
                "an owner who is there",
                "owner_mint",
                None,
                vec![owned],
                &[("OWNER_MINT", 1.0)],
            ),
            (
                "an owner who has gone",
                "owner_mint",
                Some(OWNER),
                vec![],
                &[("OWNER_MINT", 0.0)],
            ),
            (
                "an owner who has gone and is unknown",
                "owner_mint",
                None,
                vec![(OWNER_AT, word(0))],
                &[("OWNER_MINT", 0.0)],
            ),
            (
                "a renounced blacklist",
                "blacklist",
                Some(OWNER),
                vec![],
                &[("BLACKLIST", 0.0)],
            ),
            (
                "a power kept in secret",
                "shadow_owner",
                Some(OWNER),
                vec![(OLD_OWNER_AT, place(OWNER))],
                &[("OWNERSHIP_RETURNS", 0.2), ("OWNER_MINT", 1.0)],
            ),
            (
                "a power kept by one unknown",
                "shadow_owner",
                None,
                vec![(OLD_OWNER_AT, place(OWNER))],
                &[("OWNERSHIP_RETURNS", 0.2), ("OWNER_MINT", 1.0)],
            ),
            (
                "no power kept",
                "shadow_owner",
                Some(OWNER),
                vec![],
                &[("OWNER_MINT", 0.0)],
            ),
            (
                "a way back",
                "owner_returns",
                Some(OWNER),
                vec![(OLD_OWNER_AT, place(OWNER))],
                &[("OWNERSHIP_RETURNS", 0.2), ("OWNER_MINT", 1.0)],
            ),
            (
                "no way back",
                "owner_returns",
                Some(OWNER),
                vec![],
                &[("OWNER_MINT", 0.0)],
            ),
            (
                "trading shut",
                "launch_switch",
                None,
                vec![owned],
                &[("PAUSABLE", 1.0)],
            ),
            (
                "trading shut for good",
                "launch_switch",
                Some(OWNER),
                vec![],
                &[("SELL_BLOCKED", 1.0)],
            ),
            (
                "trading open",
                "launch_switch",
                None,
                vec![owned, (OPEN, word(1))],
                &[],
            ),
            (
                "paused",
                "pausable",
                None,
                vec![owned, (PAUSED, word(1))],
                &[("PAUSABLE", 1.0)],
            ),
            (
                "not paused",
                "pausable",
                None,
                vec![owned],
                &[("PAUSABLE", 1.0)],
            ),
            (
                "a renounced pause",
                "pausable",
                Some(OWNER),
                vec![],
                &[("PAUSABLE", 0.0)],
            ),
            (
                "a fee of 30%",
                "tax_raisable",
                None,
                vec![(FEE, word(30))],
                &[("BUY_TAX", 0.6), ("SELL_TAX", 0.6), ("TAX_RAISABLE", 0.0)],
            ),
            ("no fee", "tax_capped", None, vec![owned], &[]),
            ("nothing", "honest", None, vec![], &[]),
        ];
        let mut wrong = Vec::new();
        for (what, name, owner, slots, expected) in cases {
            let report = simulate(name, owner, &slots);
            assert_eq!(report.deployed_by, Some(DeployedBy::Snapshot), "{what}");
            let found = strengths(&report);
            if found != expected {
                wrong.push(format!("{what}: {found:?}, expected {expected:?}"));
            }
            assert!(
                report
                    .anomalies
                    .iter()
                    .all(|anomaly| anomaly.fatal == (anomaly.code == AnomalyCode::SellBlocked)),
                "{what}"
            );
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn a_power_without_a_holder_says_that_it_is_renounced() {
        let report = simulate("owner_mint", Some(OWNER), &[]);
        assert!(
            report.anomalies[0]
                .sentence
                .ends_with("(renounced: the owner is the zero address)"),
            "{:?}",
            report.anomalies
        );
        let report = simulate("launch_switch", Some(OWNER), &[]);
        assert_eq!(report.opening, Some(Opening::StorageWrite));
        assert!(
            report.anomalies[0]
                .sentence
                .contains("even after owner calls"),
            "{:?}",
            report.anomalies
        );
    }
}
