//! The table of the 52 checks: code, part, question, weight, whether it is fatal, a behaviour or a power, and the texts for a finding and
//! for none. The codes are stable API. No check is implemented here.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

/// Part of the response that an anomaly belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    Code,
    Transactions,
    Holders,
}

/// A user's questions about a token, in display order: each check belongs to one of them.
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
    pub const ALL: [Self; 7] = [Self::Sell, Self::Cost, Self::Change, Self::Hold, Self::Liquidity, Self::Maker, Self::Likeness];

    /// Text of the question.
    pub fn title(self) -> &'static str {
        match self {
            Self::Sell => "can I sell",
            Self::Cost => "what does it cost",
            Self::Change => "who can change it",
            Self::Hold => "who holds it",
            Self::Liquidity => "where is the liquidity",
            Self::Maker => "who made it",
            Self::Likeness => "what it resembles",
        }
    }
}

/// Whether an anomaly is fatal, observed behaviour, or a power that somebody may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Nature {
    /// Always fatal.
    Fatal,
    Behaviour,
    /// Discounted by the holder of the power.
    Power,
}

/// Table row of a code.
struct Row {
    word: &'static str,
    part: Part,
    group: Group,
    nature: Nature,
    weight: f64,
    meaning: &'static str,
    passed: &'static str,
}

macro_rules! codes {
    ($($variant:ident $word:literal $part:ident $group:ident $nature:ident $weight:literal $meaning:literal $passed:literal;)*) => {
        /// An anomaly by its stable code.
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
                        meaning: $meaning,
                        passed: $passed,
                    }),*
                }
            }
        }
    };
}

codes! {
    KnownScam "KNOWN_SCAM" Code Likeness Fatal 0.95 "the address is a known scam" "no row of `scams` names it, no label calls it a scam";
    SellBlocked "SELL_BLOCKED" Code Sell Fatal 0.95 "what was bought cannot be sold" "what was bought was sold again";
    SimulatorAware "SIMULATOR_AWARE" Code Sell Fatal 0.95 "a trade comes out otherwise when it looks simulated" "the same trade under other circumstances brought the same";
    ClosesLater "CLOSES_LATER" Code Sell Behaviour 0.9 "sales end later, or for some" "sales went through later, again, and for others too";
    Cooldown "COOLDOWN" Code Sell Behaviour 0.03 "a sale has to wait some blocks" "a sale need not wait";
    Limit "LIMIT" Code Sell Behaviour 0.3 "there is a largest trade" "a fifth of the pool can be bought and sold at once";
    BuyTax "BUY_TAX" Code Cost Behaviour 0.9 "part of what is bought does not arrive; over half of it is fatal" "all of a purchase arrives";
    SellTax "SELL_TAX" Code Cost Behaviour 0.9 "part of what is sold does not arrive; over half of it is fatal" "all of a sale arrives";
    PublicDrain "PUBLIC_DRAIN" Code Change Fatal 0.9 "a stranger can take a holder's balance" "no call of a stranger takes what is not theirs";
    OwnerDrain "OWNER_DRAIN" Code Change Power 0.8 "the owner can take a holder's or the pair's balance" "no call of the owner takes what is not theirs";
    EventLie "EVENT_LIE" Code Hold Behaviour 0.8 "the contract logs transfers that did not happen, or leaves one out" "the log holds every transfer that happened and no other";
    HiddenMint "HIDDEN_MINT" Code Change Behaviour 0.8 "supply or the owner's balance grows without a Transfer event" "no balance grew without a Transfer event";
    TaxRaisable "TAX_RAISABLE" Code Cost Power 0.6 "the owner can raise the tax by 20 points or more" "no call of the owner raised the tax";
    OwnershipReturns "OWNERSHIP_RETURNS" Code Change Behaviour 0.6 "a power survives the giving up of ownership" "no power was left to an owner who gave it up";
    Blacklist "BLACKLIST" Code Sell Power 0.4 "the owner can stop one holder's sales" "no call of the owner stopped one holder alone";
    ExternalGate "EXTERNAL_GATE" Code Sell Power 0.4 "transfers hang on another contract that the owner chooses" "transfers ask no contract of the owner's choice";
    PersonalTax "PERSONAL_TAX" Code Sell Power 0.4 "the owner can raise the tax of one holder by 20 points or more" "no call of the owner raised one holder's tax alone";
    LimitChangeable "LIMIT_CHANGEABLE" Code Sell Power 0.15 "the owner can lower the largest sale" "no call of the owner lowered the largest sale";
    Whitelist "WHITELIST" Code Sell Behaviour 0.0 "the owner can exempt some from the tax; information only" "no call of the owner exempted anyone from a tax";
    ExternalCall "EXTERNAL_CALL" Code Change Behaviour 0.0 "a transfer asks another contract; information only" "a transfer asks no other contract";
    Impersonates "IMPERSONATES" Code Likeness Behaviour 0.5 "it bears the name or symbol of a far larger token" "no token on its chain with its name or symbol has 20 times its liquidity";
    SimilarToScam "SIMILAR_TO_SCAM" Code Likeness Behaviour 0.7 "its code resembles a known scam more than tokens resemble each other" "no known scam's code is more alike than tokens are";
    SelfDestruct "SELFDESTRUCT" Code Change Behaviour 0.4 "all its coins can be sent away" "no call sent its coins away by SELFDESTRUCT";
    DelegatecallAny "DELEGATECALL_ANY" Code Change Behaviour 0.4 "the contract runs code of the caller's choice" "no call made it run code of the caller's choice";
    PublicMint "PUBLIC_MINT" Code Change Behaviour 0.3 "a stranger can mint without paying" "no call of a stranger made tokens for nothing";
    BuyBlockable "BUY_BLOCKABLE" Code Sell Power 0.25 "the owner can stop all purchases" "no call of the owner stopped all purchases";
    Pausable "PAUSABLE" Code Sell Power 0.15 "the owner can stop all sales" "no call of the owner stopped all sales";
    Proxy "PROXY" Code Change Power 0.15 "its code can be replaced" "its code names no other contract that decides its behaviour";
    OwnerRescue "OWNER_RESCUE" Code Change Behaviour 0.0 "the owner can take tokens that were sent to the contract by mistake; information only" "no call of the owner took tokens of the contract itself";
    OwnerMint "OWNER_MINT" Code Change Power 0.08 "the owner can mint, visibly" "no call of the owner made tokens";
    Unverified "UNVERIFIED" Code Maker Behaviour 0.08 "its source is not in the dataset" "its source is known (contracts)";
    LiquidityPulled "LIQUIDITY_PULLED" Transactions Liquidity Behaviour 0.8 "most of a pool's liquidity was taken at once" "no pool lost most of its liquidity within a day";
    OneWayFlow "ONE_WAY_FLOW" Transactions Sell Behaviour 0.7 "many buy and hardly anybody sells" "people buy and sell";
    SellFailures "SELL_FAILURES" Transactions Sell Behaviour 0.7 "sales fail" "sales go through";
    PrivilegedSellers "PRIVILEGED_SELLERS" Transactions Sell Behaviour 0.6 "only the owner's own circle sells" "others than the owner's circle sell";
    BalanceMismatch "BALANCE_MISMATCH" Transactions Hold Behaviour 0.6 "balances are not what the transfers add up to" "balances are what the transfers add up to";
    MintAfterLaunch "MINT_AFTER_LAUNCH" Transactions Change Behaviour 0.5 "supply was made after trading began" "hardly anything was minted after the first liquidity";
    WashTrading "WASH_TRADING" Transactions Cost Behaviour 0.5 "the same tokens go round among the same traders" "hardly anything goes round among the same traders";
    CreatorDump "CREATOR_DUMP" Transactions Maker Behaviour 0.5 "the creator sold soon after launch" "the creator sold little in the first 7 days";
    SerialDeployer "SERIAL_DEPLOYER" Transactions Maker Behaviour 0.5 "the creator made scams, or many tokens at once" "no scam and no series of tokens by its creator is known";
    Sniped "SNIPED" Transactions Hold Behaviour 0.3 "much of the supply was bought in the first blocks" "little was bought in the first blocks";
    AirdropSpam "AIRDROP_SPAM" Transactions Hold Behaviour 0.3 "most receivers were sent one amount and never acted" "most receivers were not sent one amount by one sender";
    AmountDigits "AMOUNT_DIGITS" Transactions Cost Behaviour 0.05 "the first digits of amounts are not those of organic ones" "first digits of amounts are those of organic ones";
    LpUnlocked "LP_UNLOCKED" Holders Liquidity Behaviour 0.5 "liquidity is neither burned nor locked" "liquidity is burned or locked";
    LpCreator "LP_CREATOR" Holders Liquidity Behaviour 0.4 "the creator holds the liquidity" "the creator holds less than half of the liquidity";
    Top10Concentration "TOP10_CONCENTRATION" Holders Hold Behaviour 0.4 "ten holders have much of the supply" "ten holders do not have much";
    CreatorShare "CREATOR_SHARE" Holders Hold Behaviour 0.35 "creator and owner hold much of the supply" "creator and owner hold little";
    NakamotoLow "NAKAMOTO_LOW" Holders Hold Behaviour 0.3 "few holders have over 50 % of the supply" "many holders are needed for over 50 % of the supply";
    HhiHigh "HHI_HIGH" Holders Hold Behaviour 0.3 "the supply is concentrated" "the supply is spread";
    SybilHolders "SYBIL_HOLDERS" Holders Hold Behaviour 0.6 "many of the largest holders look like one" "few of the largest holders look like one";
    FewHolders "FEW_HOLDERS" Holders Hold Behaviour 0.15 "there are few holders" "there are many holders";
    GiniExtreme "GINI_EXTREME" Holders Hold Behaviour 0.1 "the supply is spread extremely unevenly" "the supply is not spread extremely unevenly";
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

    /// Whether it is a power: its strength is discounted by its holder.
    pub fn is_power(self) -> bool {
        self.row().nature == Nature::Power
    }

    /// Meaning of a finding, as part of a sentence.
    pub fn meaning(self) -> &'static str {
        self.row().meaning
    }

    /// Meaning of a passed check, as part of a sentence.
    pub fn passed(self) -> &'static str {
        self.row().passed
    }

    /// Question that it is listed under.
    pub fn group(self) -> Group {
        self.row().group
    }

    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.word() == word)
    }

    /// All codes of a part.
    pub fn of(part: Part) -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(move |code| code.part() == part)
    }
}

impl PartialOrd for AnomalyCode {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Ordered by code, which breaks ties among anomalies.
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
    fn fifty_two_codes_have_a_word_each_and_a_weight_below_one() {
        let words: BTreeSet<&str> = AnomalyCode::ALL.iter().map(|code| code.word()).collect();
        assert_eq!((words.len(), AnomalyCode::ALL.len()), (52, 52));
        for part in [(Part::Code, 31), (Part::Transactions, 12), (Part::Holders, 9)] {
            assert_eq!(AnomalyCode::of(part.0).count(), part.1, "{part:?}");
        }
        for code in AnomalyCode::ALL {
            // What is information only weighs nothing.
            assert_eq!(
                code.weight() > 0.0,
                !matches!(code, AnomalyCode::OwnerRescue | AnomalyCode::Whitelist | AnomalyCode::ExternalCall),
                "{code:?}"
            );
            assert!(code.weight() < 1.0 && AnomalyCode::parse(code.word()) == Some(*code), "{code:?}");
        }
    }

    #[test]
    fn powers_are_named_and_four_codes_are_fatal_always() {
        let words = |of: fn(AnomalyCode) -> bool| AnomalyCode::ALL.iter().filter(|c| of(**c)).map(|c| c.word()).collect::<Vec<_>>();
        assert_eq!(words(AnomalyCode::fatal), ["KNOWN_SCAM", "SELL_BLOCKED", "SIMULATOR_AWARE", "PUBLIC_DRAIN"]);
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
