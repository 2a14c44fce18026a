//! The table of the 55 checks: code, part, question, weight, whether it is fatal, a behavior or an owner privilege, its title, and the texts
//! for a finding and for none. The codes are stable API. No check is implemented here.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

/// Part of the response that a finding belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    Code,
    Transactions,
    Holders,
}

/// The questions that the checks are grouped by, in display order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub enum Group {
    #[serde(rename = "can_i_sell")]
    Sell,
    #[serde(rename = "what_does_it_cost")]
    Cost,
    #[serde(rename = "who_can_change_it")]
    Change,
    #[serde(rename = "who_holds_it")]
    Hold,
    #[serde(rename = "where_is_the_liquidity")]
    Liquidity,
    #[serde(rename = "who_made_it")]
    Maker,
    #[serde(rename = "what_it_resembles")]
    Likeness,
}

impl Group {
    pub const ALL: [Self; 7] = [
        Self::Sell,
        Self::Cost,
        Self::Change,
        Self::Hold,
        Self::Liquidity,
        Self::Maker,
        Self::Likeness,
    ];

    /// Spelling in responses, such as `can_i_sell`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Sell => "can_i_sell",
            Self::Cost => "what_does_it_cost",
            Self::Change => "who_can_change_it",
            Self::Hold => "who_holds_it",
            Self::Liquidity => "where_is_the_liquidity",
            Self::Maker => "who_made_it",
            Self::Likeness => "what_it_resembles",
        }
    }

    /// Text of the question.
    pub fn title(self) -> &'static str {
        match self {
            Self::Sell => "Can I sell?",
            Self::Cost => "What does it cost?",
            Self::Change => "Who can change it?",
            Self::Hold => "Who holds it?",
            Self::Liquidity => "Where is the liquidity?",
            Self::Maker => "Who created it?",
            Self::Likeness => "What is it similar to?",
        }
    }
}

/// Whether a finding is fatal, observed behavior, or a privilege that the owner may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Nature {
    /// Always fatal.
    Fatal,
    Behaviour,
    /// An owner privilege: discounted by who holds it.
    Privilege,
}

/// Table row of a code.
struct Row {
    word: &'static str,
    part: Part,
    group: Group,
    nature: Nature,
    weight: f64,
    title: &'static str,
    meaning: &'static str,
    passed: &'static str,
}

macro_rules! codes {
    ($($variant:ident $word:literal $part:ident $group:ident $nature:ident $weight:literal $title:literal $meaning:literal $passed:literal;)*) => {
        /// A check by its stable code.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum AnomalyCode { $(#[doc = $meaning] $variant),* }

        impl AnomalyCode {
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            fn row(self) -> Row {
                match self {
                    $(Self::$variant => Row {
                        word: $word,
                        part: Part::$part,
                        group: Group::$group,
                        nature: Nature::$nature,
                        weight: $weight,
                        title: $title,
                        meaning: $meaning,
                        passed: $passed,
                    }),*
                }
            }
        }
    };
}

codes! {
    KnownScam "KNOWN_SCAM" Code Likeness Fatal 0.95 "Known scam" "the address is a known scam" "not in `scams`, and no label marks it as a scam";
    SellBlocked "SELL_BLOCKED" Code Sell Fatal 0.95 "Selling blocked" "bought tokens cannot be sold (honeypot)" "bought tokens could be sold";
    SimulatorAware "SIMULATOR_AWARE" Code Sell Fatal 0.95 "Detects simulation" "a trade has a different result when it looks simulated" "the \
        same trade had the same result under different conditions";
    ClosesLater "CLOSES_LATER" Code Sell Behaviour 0.9 "Selling blocked later" "selling fails later, or for some holders" "selling also worked later, repeatedly, and for other holders";
    Cooldown "COOLDOWN" Code Sell Behaviour 0.03 "Sell cooldown" "a holder must wait some blocks before selling" "no wait was needed before selling";
    Limit "LIMIT" Code Sell Behaviour 0.3 "Trade size limit" "the size of a trade is limited" "a fifth of the pool could be bought and \
        sold per transaction";
    BuyTax "BUY_TAX" Code Cost Behaviour 0.9 "Buy tax" "buys are taxed; fatal above 50%" "buys are not taxed";
    SellTax "SELL_TAX" Code Cost Behaviour 0.9 "Sell tax" "sells are taxed; fatal above 50%" "sells are not taxed";
    PublicDrain "PUBLIC_DRAIN" Code Change Fatal 0.9 "Anyone can take tokens" "anyone can take a holder's tokens" "no outside caller could take a holder's tokens";
    OwnerDrain "OWNER_DRAIN" Code Change Privilege 0.8 "Owner can take tokens" "the owner can take tokens from a holder or the pool" "no owner call took other holders' tokens";
    EventLie "EVENT_LIE" Code Hold Behaviour 0.8 "False Transfer events" "Transfer events don't match the actual transfers" "Transfer events match the actual transfers";
    HiddenMint "HIDDEN_MINT" Code Change Behaviour 0.8 "Hidden minting" "supply or the owner's balance can grow without a Transfer event" "no balance grew without a Transfer event";
    TaxRaisable "TAX_RAISABLE" Code Cost Privilege 0.6 "Owner can raise tax" "the owner can raise the tax by 20 percentage points or more" "no owner call raised the tax";
    OwnershipReturns "OWNERSHIP_RETURNS" Code Change Behaviour 0.6 "Renouncing not final" "an owner privilege survives renouncing ownership" "no privilege survived renouncing ownership";
    Blacklist "BLACKLIST" Code Sell Privilege 0.4 "Owner can blacklist" "the owner can block an individual holder from selling" "no owner call blocked an individual holder";
    ExternalGate "EXTERNAL_GATE" Code Sell Privilege 0.4 "External transfer gate" "transfers depend on another contract that the owner chooses" "transfers \
        don't depend on a contract that the owner chooses";
    PersonalTax "PERSONAL_TAX" Code Sell Privilege 0.4 "Owner can tax one holder" "the owner can raise one holder's tax by 20 percentage points or more" "no owner call raised the tax of one holder alone";
    LimitChangeable "LIMIT_CHANGEABLE" Code Sell Privilege 0.15 "Owner can lower limit" "the owner can lower the maximum sell" "no owner call lowered the maximum sell";
    Whitelist "WHITELIST" Code Sell Behaviour 0.0 "Tax exemptions" "the owner can exempt addresses from the tax (information only)" "no owner call exempted an address from a tax";
    ExternalCall "EXTERNAL_CALL" Code Change Behaviour 0.0 "External call" "a transfer calls another contract (information only)" "a transfer calls no other contract";
    Impersonates "IMPERSONATES" Code Likeness Behaviour 0.5 "Impersonates a token" "the token uses the name or symbol of a token with at \
        least 20 times its liquidity" "no token on its chain with its name or symbol has 20 times its liquidity";
    SimilarToScam "SIMILAR_TO_SCAM" Code Likeness Behaviour 0.7 "Similar to a scam" "its code is unusually similar to a known scam" "no known scam's code is unusually similar";
    SelfDestruct "SELFDESTRUCT" Code Change Behaviour 0.4 "Self-destruct" "SELFDESTRUCT can send away all of the contract's coins" "no \
        call sent away the contract's coins with SELFDESTRUCT";
    DelegatecallAny "DELEGATECALL_ANY" Code Change Behaviour 0.4 "Runs the caller's code" "the contract can execute caller-supplied code" "no call executed caller-supplied code";
    PublicMint "PUBLIC_MINT" Code Change Behaviour 0.3 "Anyone can mint" "anyone can mint for free" "no outside caller could mint for free";
    BuyBlockable "BUY_BLOCKABLE" Code Sell Privilege 0.25 "Owner can block buys" "the owner can block all buys" "no owner call blocked all buys";
    Pausable "PAUSABLE" Code Sell Privilege 0.15 "Owner can block sells" "the owner can block all sells" "no owner call blocked all sells";
    Proxy "PROXY" Code Change Privilege 0.15 "Proxy contract" "its code can be replaced (proxy)" "the contract does not delegate its \
        behavior to another contract";
    OwnerRescue "OWNER_RESCUE" Code Change Behaviour 0.0 "Owner can rescue tokens" "the owner can withdraw tokens sent to the contract by mistake (information only)" "no owner call withdrew the contract's own tokens";
    OwnerMint "OWNER_MINT" Code Change Privilege 0.08 "Owner can mint" "the owner can mint, with a Transfer event" "no owner call minted tokens";
    Unverified "UNVERIFIED" Code Maker Behaviour 0.08 "Source code unknown" "its source code is not in the dataset" "its source code is known (contracts)";
    LiquidityPulled "LIQUIDITY_PULLED" Transactions Liquidity Behaviour 0.8 "Liquidity removed" "most of a pool's liquidity was removed \
        within a day" "no pool lost most of its liquidity within a day";
    OneWayFlow "ONE_WAY_FLOW" Transactions Sell Behaviour 0.7 "One-way trading" "many wallets buy, almost none sell" "wallets both buy and sell";
    SellFailures "SELL_FAILURES" Transactions Sell Behaviour 0.7 "Failing sells" "sell transactions fail" "sell transactions succeed";
    PrivilegedSellers "PRIVILEGED_SELLERS" Transactions Sell Behaviour 0.6 "Only insiders sell" "only owner-linked wallets sell" "wallets not linked to the owner also sell";
    BalanceMismatch "BALANCE_MISMATCH" Transactions Hold Behaviour 0.6 "Balances don't add up" "balances don't match the transfers" "balances match the transfers";
    MintAfterLaunch "MINT_AFTER_LAUNCH" Transactions Change Behaviour 0.5 "Minted after launch" "tokens were minted after trading began" "almost \
        nothing was minted after liquidity was first added";
    WashTrading "WASH_TRADING" Transactions Cost Behaviour 0.5 "Wash trading" "the same wallets trade tokens in circles" "almost no circular trading";
    CreatorDump "CREATOR_DUMP" Transactions Maker Behaviour 0.5 "Creator sold early" "the creator sold soon after launch" "the creator sold little in the first 7 days";
    SerialDeployer "SERIAL_DEPLOYER" Transactions Maker Behaviour 0.5 "Serial deployer" "the creator deployed scams, or many tokens in a short time" "the \
        creator deployed no known scams, and not many tokens in a short time";
    Sniped "SNIPED" Transactions Hold Behaviour 0.3 "Sniped at launch" "much of the supply was bought in the first blocks" "little was bought in the first blocks";
    AirdropSpam "AIRDROP_SPAM" Transactions Hold Behaviour 0.3 "Spam airdrop" "most recipients got the same amount from one sender and \
        never sent a transfer" "most \
        recipients did not get the same amount from one sender";
    AmountDigits "AMOUNT_DIGITS" Transactions Cost Behaviour 0.05 "Unusual amounts" "first digits of amounts deviate from Benford's law" "first digits of amounts follow Benford's law";
    LpUnlocked "LP_UNLOCKED" Holders Liquidity Behaviour 0.5 "Liquidity not locked" "some or all LP tokens are neither burned nor locked" "LP tokens are burned or locked";
    LpCreator "LP_CREATOR" Holders Liquidity Behaviour 0.4 "Creator holds LP tokens" "the creator holds at least half of the LP tokens" "the creator holds less than half of the LP tokens";
    Top10Concentration "TOP10_CONCENTRATION" Holders Hold Behaviour 0.4 "Top 10 concentration" "the top 10 holders own much of the supply" "the top 10 holders do not own much of the supply";
    CreatorShare "CREATOR_SHARE" Holders Hold Behaviour 0.35 "Creator's share" "the creator and owner hold much of the supply" "the creator and owner hold little";
    NakamotoLow "NAKAMOTO_LOW" Holders Hold Behaviour 0.3 "Few holders own most" "a few holders own more than 50% of the supply" "no 3 \
        holders together own more than 50%";
    HhiHigh "HHI_HIGH" Holders Hold Behaviour 0.3 "Concentrated supply" "the supply is concentrated" "the supply is not concentrated";
    SybilHolders "SYBIL_HOLDERS" Holders Hold Behaviour 0.6 "Linked holders" "many of the largest holders look linked" "few of the largest holders look linked";
    BundledLaunch "BUNDLED_LAUNCH" Holders Hold Behaviour 0.4 "Bundled launch" "addresses that bought together in the first blocks bought much of \
        the supply" "addresses that bought together in the first blocks bought little or nothing";
    InsiderHeavy "INSIDER_HEAVY" Holders Hold Behaviour 0.4 "Insiders hold much" "addresses linked to the creator or to purchases in the first \
        blocks hold much of the supply" "addresses linked to the creator or to purchases in the first blocks hold little";
    FundedByScammer "FUNDED_BY_SCAMMER" Holders Maker Behaviour 0.5 "Funded by a scam" "a known scam paid for the first transactions of the creator \
        or of large holders" "no known scam paid for the first transactions of the creator or of large holders";
    FewHolders "FEW_HOLDERS" Holders Hold Behaviour 0.15 "Few holders" "the token has few holders" "the token has many holders";
    GiniExtreme "GINI_EXTREME" Holders Hold Behaviour 0.1 "Uneven distribution" "the supply is distributed extremely unevenly" "the supply is not distributed extremely unevenly";
}

impl AnomalyCode {
    /// Spelling in responses, such as `SELL_BLOCKED`.
    pub fn word(self) -> &'static str {
        self.row().word
    }

    pub fn part(self) -> Part {
        self.row().part
    }

    pub fn weight(self) -> f64 {
        self.row().weight
    }

    /// Whether it is fatal whatever its strength. (SELL_TAX is fatal above a threshold.)
    pub fn fatal(self) -> bool {
        self.row().nature == Nature::Fatal
    }

    /// Whether it is an owner privilege: its strength is discounted by who holds it.
    pub fn is_power(self) -> bool {
        self.row().nature == Nature::Privilege
    }

    /// Title in words, such as `Selling blocked`.
    pub fn title(self) -> &'static str {
        self.row().title
    }

    /// Meaning of a finding, as a clause.
    pub fn meaning(self) -> &'static str {
        self.row().meaning
    }

    /// Meaning of a passed check, as a clause.
    pub fn passed(self) -> &'static str {
        self.row().passed
    }

    /// The question that it belongs to.
    pub fn group(self) -> Group {
        self.row().group
    }

    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.word() == word)
    }

    /// All codes of a part.
    pub fn of(part: Part) -> impl Iterator<Item = Self> {
        Self::ALL
            .iter()
            .copied()
            .filter(move |code| code.part() == part)
    }
}

impl PartialOrd for AnomalyCode {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Ordered by code, which breaks ties among findings.
impl Ord for AnomalyCode {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.word().cmp(other.word())
    }
}

impl Serialize for AnomalyCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

impl JsonSchema for AnomalyCode {
    fn schema_name() -> Cow<'static, str> {
        "AnomalyCode".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let words: Vec<&str> = Self::ALL.iter().map(|code| code.word()).collect();
        json_schema!({ "type": "string", "enum": words })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn fifty_five_codes_have_a_word_each_and_a_weight_below_one() {
        let words: BTreeSet<&str> = AnomalyCode::ALL.iter().map(|code| code.word()).collect();
        let titles: BTreeSet<&str> = AnomalyCode::ALL.iter().map(|code| code.title()).collect();
        assert_eq!(
            (words.len(), titles.len(), AnomalyCode::ALL.len()),
            (55, 55, 55)
        );
        for part in [
            (Part::Code, 31),
            (Part::Transactions, 12),
            (Part::Holders, 12),
        ] {
            assert_eq!(AnomalyCode::of(part.0).count(), part.1, "{part:?}");
        }
        for code in AnomalyCode::ALL {
            // What is information only weighs nothing.
            assert_eq!(
                code.weight() > 0.0,
                !matches!(
                    code,
                    AnomalyCode::OwnerRescue | AnomalyCode::Whitelist | AnomalyCode::ExternalCall
                ),
                "{code:?}"
            );
            assert!(
                code.weight() < 1.0 && AnomalyCode::parse(code.word()) == Some(*code),
                "{code:?}"
            );
        }
    }

    #[test]
    fn a_group_is_spelled_as_in_responses() {
        for group in Group::ALL {
            assert_eq!(serde_json::to_value(group).unwrap(), group.word());
        }
    }

    #[test]
    fn powers_are_named_and_four_codes_are_fatal_always() {
        let words = |of: fn(AnomalyCode) -> bool| {
            AnomalyCode::ALL
                .iter()
                .filter(|c| of(**c))
                .map(|c| c.word())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            words(AnomalyCode::fatal),
            [
                "KNOWN_SCAM",
                "SELL_BLOCKED",
                "SIMULATOR_AWARE",
                "PUBLIC_DRAIN"
            ]
        );
        let powers = [
            "OWNER_DRAIN",
            "TAX_RAISABLE",
            "BLACKLIST",
            "EXTERNAL_GATE",
            "PERSONAL_TAX",
            "LIMIT_CHANGEABLE",
            "BUY_BLOCKABLE",
            "PAUSABLE",
            "PROXY",
            "OWNER_MINT",
        ];
        assert_eq!(words(AnomalyCode::is_power), powers);
    }
}
