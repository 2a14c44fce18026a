//! Function signatures of tokens, proxies, pools and lockers from published standards and ABIs, for displaying calls by name. Selectors are
//! computed: the first four bytes of the signature's Keccak-256 hash (Solidity ABI specification). Names prove nothing, and no finding
//! depends on them.

use revm::primitives::keccak256;

use super::abi::Selector;

/// A signature a line; lines that begin with `#` name the topic or source of those below.
const SIGNATURES: &str = include_str!("signatures.txt");

fn signatures() -> impl Iterator<Item = &'static str> {
    SIGNATURES.lines().filter(|line| !line.starts_with('#'))
}

fn selector(signature: &str) -> Selector {
    let hash = keccak256(signature);
    [hash[0], hash[1], hash[2], hash[3]]
}

/// Published name of the function with this selector, without arguments; `None` if unknown. Takes a tenth of a millisecond: for many
/// look-ups, use `SelectorNames`.
pub(super) fn name(wanted: Selector) -> Option<&'static str> {
    signatures()
        .find(|signature| selector(signature) == wanted)
        .map(name_of)
}

fn name_of(signature: &'static str) -> &'static str {
    signature.split('(').next().unwrap_or_default()
}

/// Selectors in ascending order with their function names, each hashed once.
pub(super) struct SelectorNames(Vec<(Selector, &'static str)>);

impl SelectorNames {
    pub(super) fn new() -> Self {
        let mut names: Vec<_> = signatures()
            .map(|signature| (selector(signature), name_of(signature)))
            .collect();
        names.sort_unstable();
        Self(names)
    }

    /// As the function `name`.
    pub(super) fn of(&self, wanted: Selector) -> Option<&'static str> {
        self.0
            .binary_search_by_key(&wanted, |(selector, _)| *selector)
            .ok()
            .map(|at| self.0[at].1)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use demo::contracts::contracts;

    #[test]
    fn selectors_are_the_published_ones() {
        // From the standards' texts and block explorers.
        for (selector, name_of) in [
            (0xa905_9cbb, "transfer"),
            (0x23b8_72dd, "transferFrom"),
            (0x095e_a7b3, "approve"),
            (0x70a0_8231, "balanceOf"),
            (0x1816_0ddd, "totalSupply"),
            (0xdd62_ed3e, "allowance"),
            (0x40c1_0f19, "mint"),
            (0x4296_6c68, "burn"),
            (0x79cc_6790, "burnFrom"),
            (0x8da5_cb5b, "owner"),
            (0xf2fd_e38b, "transferOwnership"),
            (0x7150_18a6, "renounceOwnership"),
            (0xd505_accf, "permit"),
            (0x3659_cfe6, "upgradeTo"),
            (0x4f1e_f286, "upgradeToAndCall"),
            (0x5c60_da1b, "implementation"),
            (0x8456_cb59, "pause"),
            (0x0902_f1ac, "getReserves"),
            (0xc9c6_5396, "createPair"),
            (0x0ecb_93c0, "addBlackList"),
            (0x2f2f_f15d, "grantRole"),
        ] {
            assert_eq!(
                name(u32::to_be_bytes(selector)),
                Some(name_of),
                "{selector:08x}"
            );
        }
        assert_eq!(name([0xDE, 0xAD, 0xBE, 0xEF]), None);
        let names = SelectorNames::new();
        for wanted in signatures().map(selector).chain([[0xDE, 0xAD, 0xBE, 0xEF]]) {
            assert_eq!(names.of(wanted), name(wanted));
        }
        for signature in contracts().flat_map(|contract| &contract.functions) {
            // Functions invented for the demo contracts have no published name.
            let named = name(selector(signature));
            assert!(
                named.is_none() || named == signature.split('(').next(),
                "{signature}"
            );
        }
    }

    #[test]
    fn every_signature_is_one_and_stands_for_itself_alone() {
        let mut seen: BTreeMap<Selector, &str> = BTreeMap::new();
        for signature in signatures() {
            let (name, rest) = signature.split_once('(').unwrap_or_default();
            let plain = |text: &str| {
                text.chars()
                    .all(|c| c.is_ascii_alphanumeric() || "_,[]()".contains(c))
            };
            assert!(
                !name.is_empty() && rest.ends_with(')') && plain(signature),
                "{signature}"
            );
            assert_eq!(
                rest.matches(')').count(),
                rest.matches('(').count() + 1,
                "{signature}"
            );
            // Canonical types only: `uint` would give another selector.
            let types = [
                "address", "bool", "string", "bytes", "uint", "int", "bytes4", "bytes32",
            ];
            for word in rest
                .split(|c: char| !c.is_ascii_alphanumeric())
                .filter(|word| !word.is_empty())
            {
                let kind = word.trim_end_matches(|c: char| c.is_ascii_digit());
                let sized = word.len() > kind.len();
                assert!(
                    types.contains(&kind) && (sized || !["uint", "int"].contains(&word)),
                    "{signature}: {word}"
                );
            }
            if let Some(other) = seen.insert(selector(signature), signature) {
                panic!("{signature} and {other} are one");
            }
        }
        assert!((300..=500).contains(&seen.len()), "{}", seen.len());
    }
}
