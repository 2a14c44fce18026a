//! What the storage of the dataset shows that storage at zero cannot: whether anybody is left to use a power, and whether one who gave
//! the ownership up still does.

use revm::primitives::U256;

use super::{
    super::{Anomaly, PowerHolder},
    before,
    effects::{Before, Caller, Effect, Power},
    findings,
    functions::Function,
    machine::Machine,
    powers,
    stage::{self, Claims, Stage, Standing},
    trial::Scene,
    world::STRANGER,
};

/// What is to be said beside the powers that work as the contract stands.
pub(super) fn beside(
    machine: &mut Machine<'_>,
    stage: &Stage,
    before: &Before<'_>,
    effects: &[Effect],
    functions: &[Function],
    holder: PowerHolder,
) -> Vec<Anomaly> {
    let mut found = Vec::new();
    let gone = before.owner == Some(U256::ZERO);
    if gone {
        let unowned = claimed(machine, stage, before, functions, Claims::Places);
        let mut kept = privileges(machine, stage, before, effects);
        let mut holder = PowerHolder::Nobody;
        if kept.is_empty() {
            kept = powers::taken_back(machine, before, &unowned, functions);
            // Who takes the place back has all that goes with it.
            if !kept.is_empty() {
                holder = PowerHolder::Account;
            }
        }
        found.extend(findings::kept(&kept));
        found.extend(findings::held(&unowned, holder));
    }
    // Who has a role that the contract keeps for each address cannot be read from slots.
    let unknown = if gone { Claims::Roles } else { Claims::All };
    found.extend(findings::held(&claimed(machine, stage, before, functions, unknown), holder));
    found
}

/// What our owner could do who stood in the places that are empty. Leaves the world as it was.
fn claimed(machine: &mut Machine<'_>, stage: &Stage, was: &Before<'_>, functions: &[Function], claims: Claims) -> Vec<Effect> {
    let mark = machine.mark();
    let mut heir = Stage { standing: Standing::Snapshot, masters: Vec::new(), ..*stage };
    let mut effects = Vec::new();
    if stage::claim(machine, &mut heir, functions, claims) {
        let scene = Scene::new(&heir, was.scene.hand);
        let now = before(machine, &scene, false);
        effects = powers::powers(machine, &now, functions, &[]);
        effects.retain(|effect| effect.caller == Caller::Owner);
    }
    machine.rollback(mark);
    effects
}

/// What works for the one who owned it, or whom it obeys where nobody knows who that was, and for no stranger.
fn privileges(machine: &mut Machine<'_>, stage: &Stage, before: &Before<'_>, effects: &[Effect]) -> Vec<Effect> {
    let who = if stage.owner_known { Caller::Owner } else { Caller::Master };
    let mut open_to_all = |effect: &Effect| {
        let mark = machine.mark();
        let outcome = machine.call(STRANGER, before.scene.token, effect.data.clone());
        machine.rollback(mark);
        outcome.ok && !outcome.writes.is_empty()
    };
    effects.iter().filter(|effect| effect.caller == who && effect.power != Power::Renounce && !open_to_all(effect)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use crate::{
        analysis::security::{
            AnomalyCode,
            code::{Budget, CodeInput, CodeReport, Opening, Standing, inspect},
        },
        dataset::{
            address::Address,
            demo::contracts::{Identity, contract},
        },
    };

    const OWNER: Address = Address([0xA1; 20]);
    /// Where the hand-made contracts keep things.
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

    fn look(name: &str, owner: Option<Address>, slots: &[(u8, [u8; 32])]) -> CodeReport {
        let code = contract(name).expect("a planted contract").code(&Identity::default());
        let supply = (SUPPLY, word(Identity::default().supply));
        let storage: Vec<_> = [supply].iter().chain(slots).map(|(slot, value)| (word((*slot).into()), *value)).collect();
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
        let mut found: Vec<_> =
            report.anomalies.iter().map(|anomaly| (anomaly.code.word(), (anomaly.strength * 100.0).round() / 100.0)).collect();
        found.sort_by(|a, b| a.0.cmp(b.0));
        found
    }

    /// What is tried, with which contract, whoever the dataset says owns it, the slots, and the codes with their strengths.
    type Case = (&'static str, &'static str, Option<Address>, Vec<(u8, [u8; 32])>, &'static [(&'static str, f64)]);

    #[test]
    fn what_the_storage_shows_is_a_fact_and_a_power_of_nobody_weighs_nothing() {
        let owned = (OWNER_AT, place(OWNER));
        let cases: Vec<Case> = vec![
            ("an owner who is there", "owner_mint", None, vec![owned], &[("OWNER_MINT", 1.0)]),
            ("an owner who has gone", "owner_mint", Some(OWNER), vec![], &[("OWNER_MINT", 0.0)]),
            ("an owner who has gone and nobody knows", "owner_mint", None, vec![(OWNER_AT, word(0))], &[("OWNER_MINT", 0.0)]),
            ("a blacklist of nobody's", "blacklist", Some(OWNER), vec![], &[("BLACKLIST", 0.0), ("PAUSABLE", 0.0)]),
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
            ("no power kept", "shadow_owner", Some(OWNER), vec![], &[("OWNER_MINT", 0.0)]),
            (
                "a way back",
                "owner_returns",
                Some(OWNER),
                vec![(OLD_OWNER_AT, place(OWNER))],
                &[("OWNERSHIP_RETURNS", 0.2), ("OWNER_MINT", 1.0)],
            ),
            ("no way back", "owner_returns", Some(OWNER), vec![], &[("OWNER_MINT", 0.0)]),
            ("trading shut", "launch_switch", None, vec![owned], &[("PAUSABLE", 1.0)]),
            ("trading shut for good", "launch_switch", Some(OWNER), vec![], &[("SELL_BLOCKED", 1.0)]),
            ("trading open", "launch_switch", None, vec![owned, (OPEN, word(1))], &[]),
            ("paused", "pausable", None, vec![owned, (PAUSED, word(1))], &[("PAUSABLE", 1.0)]),
            ("not paused", "pausable", None, vec![owned], &[("PAUSABLE", 1.0)]),
            ("a pause of nobody's", "pausable", Some(OWNER), vec![], &[("PAUSABLE", 0.0)]),
            ("a fee of 30 %", "tax_raisable", None, vec![(FEE, word(30))], &[("SELL_TAX", 0.6), ("TAX_RAISABLE", 0.0)]),
            ("no fee", "tax_capped", None, vec![owned], &[]),
            ("nothing", "honest", None, vec![], &[]),
        ];
        let mut wrong = Vec::new();
        for (what, name, owner, slots, expected) in cases {
            let report = look(name, owner, &slots);
            assert_eq!(report.standing, Some(Standing::Snapshot), "{what}");
            let found = strengths(&report);
            if found != expected {
                wrong.push(format!("{what}: {found:?}, expected {expected:?}"));
            }
            assert!(report.anomalies.iter().all(|anomaly| anomaly.fatal == (anomaly.code == AnomalyCode::SellBlocked)), "{what}");
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn a_power_of_nobody_says_so() {
        let report = look("owner_mint", Some(OWNER), &[]);
        assert!(report.anomalies[0].sentence.ends_with("(nobody can: its owner is the zero address)"), "{:?}", report.anomalies);
        let report = look("launch_switch", Some(OWNER), &[]);
        assert_eq!(report.opening, Some(Opening::Flip));
        assert!(report.anomalies[0].sentence.contains("whatever the owner calls"), "{:?}", report.anomalies);
    }
}
