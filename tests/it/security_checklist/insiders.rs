//! Bundles at launch, insiders and payers that are known scams: found where they are, and nowhere else.

use super::{HOLDERS, TOKEN, TOKENS, alice, check};
use model::progress::Progress;
use query::queries::{Query as _, clusters::ClustersQuery, view::View};
use security::{AnomalyCode, CheckState, SecurityInference};

/// ALICE with a pool that is opened in block 100, and these rows of `transfers` (block, transaction, sender, recipient, whole tokens),
/// `funding` (payer, recipient, minute) and `scams`.
fn launched(
    steps: &[(u64, u64, u64, u64, u64)],
    funding: &[(u64, u64, u64)],
    scams: &[u64],
) -> SecurityInference {
    let address = |number: u64| format!("0x{number:040x}");
    let opening = [(90, 1, 0, 0x2001, 1_000), (100, 2, 0x2001, 0x2002, 600)];
    let rows = opening.iter().chain(steps).enumerate();
    let transfers: Vec<String> = rows
        .map(|(nth, (block, transaction, from, to, value))| {
            format!(
                "{TOKEN},2026-01-01T{:02}:{:02}:00Z,{block},0x{transaction:064x},{},{},{value}000000000000000000,{nth}\n",
                block / 60,
                block % 60,
                address(*from),
                address(*to)
            )
        })
        .collect();
    let funding: Vec<String> = funding
        .iter()
        .map(|(from, to, minute)| {
            format!(
                "{},{},2025-12-31T00:{minute:02}:00Z\n",
                address(*from),
                address(*to)
            )
        })
        .collect();
    let scams: Vec<String> = scams
        .iter()
        .map(|scam| format!("{},,phishing\n", address(*scam)))
        .collect();
    let (transfers, funding, scams) = (transfers.concat(), funding.concat(), scams.concat());
    alice(&[
        ("tokens", TOKENS),
        (
            "transfers",
            &format!(
                "token_address,timestamp,block_number,transaction_hash,from_address,to_address,value,log_index\n{transfers}"
            ),
        ),
        (
            "funding",
            &format!(
                "from_address,to_address,timestamp\n{funding}{},{},2025-12-01T00:00:00Z\n",
                address(0x8001),
                address(0x8002)
            ),
        ),
        (
            "pools",
            &format!(
                "address,dex_id,chain,token0,token1,liquidity\n{},x,eth,{TOKEN},{},100000\n",
                address(0x2002),
                address(0x2003)
            ),
        ),
        (
            "contracts",
            &format!(
                "token_address,bytecode,creator\n{TOKEN},,{}\n",
                address(0x2001)
            ),
        ),
        (
            "scams",
            &format!(
                "address,name,scam_type\n{}{scams}",
                format_args!("{},,phishing\n", address(0x9999))
            ),
        ),
        ("holders", HOLDERS),
    ])
}

#[test]
fn bundles_insiders_and_payers_are_found_where_they_are_and_nowhere_else() {
    let buy = |block, transaction, wallet, value| (block, transaction, 0x2002, wallet, value);
    // Four buy in one transaction at launch; or in four transactions, different amounts.
    let one: Vec<_> = (0..4)
        .map(|nth| buy(101, 7, 0x3001 + nth, 50 + 20 * nth))
        .collect();
    let four: Vec<_> = (0..4)
        .map(|nth| buy(101, 7 + nth, 0x3001 + nth, 20 + 40 * nth))
        .collect();
    for (steps, state) in [(&one, CheckState::Found), (&four, CheckState::Passed)] {
        let answer = launched(steps, &[], &[]);
        let bundled = check(&answer, AnomalyCode::BundledLaunch);
        assert_eq!(bundled.state, state, "{bundled:?}");
    }
    // The creator gives three tokens without a purchase, and holds the rest with them; three strangers buy.
    let given: Vec<_> = (0..3)
        .map(|nth| (200 + nth, 20 + nth, 0x2001, 0x1001 + nth, 100))
        .collect();
    let bought: Vec<_> = (0..3)
        .map(|nth| buy(200 + 100 * nth, 20 + nth, 0x1001 + nth, 80 + 9 * nth))
        .collect();
    for (steps, state) in [(&given, CheckState::Found), (&bought, CheckState::Passed)] {
        let answer = launched(steps, &[], &[]);
        let inside = check(&answer, AnomalyCode::InsiderHeavy);
        assert_eq!(inside.state, state, "{inside:?}");
    }
    for (scams, state) in [
        (&[0x7001][..], CheckState::Found),
        (&[], CheckState::Passed),
    ] {
        let answer = launched(&bought, &[(0x7001, 0x1001, 5)], scams);
        let paid = check(&answer, AnomalyCode::FundedByScammer);
        assert_eq!(paid.state, state, "{paid:?}");
    }
    let without = alice(&[("tokens", TOKENS), ("holders", HOLDERS)]);
    for code in [
        AnomalyCode::BundledLaunch,
        AnomalyCode::InsiderHeavy,
        AnomalyCode::FundedByScammer,
    ] {
        assert_eq!(check(&without, code).state, CheckState::NotChecked);
    }
}

/// Wallets that bought together at launch, and a deployer with friends.
#[test]
fn the_demo_has_two_planted_clusters() {
    let demo = super::demo();
    for (symbol, members, share, creator, kind) in [
        ("ASTROCAT", 48, 0.25, false, "bundle"),
        ("FROGKING", 4, 0.02, true, "funded_together"),
    ] {
        let mut tokens = demo.dataset.tokens().iter();
        let token = tokens
            .find(|token| token.row.symbol.as_deref() == Some(symbol))
            .expect("a token of the demo");
        let answer = ClustersQuery::first(token.row.token_address)
            .answer(&View::new(&demo), &Progress::default())
            .expect("an answer");
        let largest = &answer.clusters[0];
        assert!(
            largest.members_total == members
                && largest.share > share
                && largest.creator == creator
                && largest.edges.iter().any(|edge| edge.kind == kind),
            "{symbol}: {largest:?}"
        );
    }
}
