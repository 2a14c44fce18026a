//! THE table of anomaly codes: the word, its part, its weight, whether it is fatal, whether it is a power or behaviour. The words are
//! stable API. No test lives here.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

/// The part of the answer that an anomaly belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    Code,
    Transactions,
    Holders,
}

/// Whether an anomaly is something that happened, or a power that somebody may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Nature {
    /// Fatal always.
    Fatal,
    Behaviour,
    /// Discounted by who holds the power.
    Latent,
}

macro_rules! codes {
    ($($variant:ident $word:literal $part:ident $nature:ident $weight:literal $meaning:literal;)*) => {
        /// An anomaly by its stable code.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum AnomalyCode { $(#[doc = $meaning] $variant),* }

        impl AnomalyCode {
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            fn row(self) -> (&'static str, Part, Nature, f64, &'static str) {
                match self { $(Self::$variant => ($word, Part::$part, Nature::$nature, $weight, $meaning)),* }
            }
        }
    };
}

codes! {
    KnownScam "KNOWN_SCAM" Code Fatal 0.95 "the address is a known scam";
    SellBlocked "SELL_BLOCKED" Code Fatal 0.95 "what was bought cannot be sold";
    SellTax "SELL_TAX" Code Behaviour 0.9 "part of what is sold does not arrive; over half of it is fatal";
    PublicDrain "PUBLIC_DRAIN" Code Fatal 0.9 "a stranger can take a holder's balance";
    OwnerDrain "OWNER_DRAIN" Code Latent 0.8 "the owner can take a holder's or the pair's balance";
    EventLie "EVENT_LIE" Code Behaviour 0.8 "the log tells of transfers that were none, or is silent on one";
    HiddenMint "HIDDEN_MINT" Code Behaviour 0.8 "supply or the owner's balance rises without a word in the log";
    TaxRaisable "TAX_RAISABLE" Code Latent 0.6 "the owner can raise the tax by 20 points or more";
    OwnershipReturns "OWNERSHIP_RETURNS" Code Behaviour 0.6 "a power survives the giving up of ownership";
    Blacklist "BLACKLIST" Code Latent 0.4 "the owner can stop one holder's sales";
    ExternalGate "EXTERNAL_GATE" Code Latent 0.4 "transfers hang on another contract that the owner chooses";
    Impersonates "IMPERSONATES" Code Behaviour 0.5 "it bears the name or symbol of a listed token";
    SimilarToScam "SIMILAR_TO_SCAM" Code Behaviour 0.7 "its code resembles a known scam more than any template";
    SelfDestruct "SELFDESTRUCT" Code Behaviour 0.4 "the contract can be destroyed";
    DelegatecallAny "DELEGATECALL_ANY" Code Behaviour 0.4 "the contract runs code of the caller's choice";
    PublicMint "PUBLIC_MINT" Code Behaviour 0.3 "a stranger can mint without paying";
    BuyBlockable "BUY_BLOCKABLE" Code Latent 0.25 "the owner can stop all purchases";
    Pausable "PAUSABLE" Code Latent 0.15 "the owner can stop all sales";
    Proxy "PROXY" Code Latent 0.15 "its code can be replaced";
    OwnerMint "OWNER_MINT" Code Latent 0.08 "the owner can mint, visibly";
    Unverified "UNVERIFIED" Code Behaviour 0.08 "its source is not in the dataset";
    LiquidityPulled "LIQUIDITY_PULLED" Transactions Behaviour 0.8 "most of a pool's liquidity was taken at once";
    OneWayFlow "ONE_WAY_FLOW" Transactions Behaviour 0.7 "many buy and hardly anybody sells";
    SellFailures "SELL_FAILURES" Transactions Behaviour 0.7 "sales fail";
    PrivilegedSellers "PRIVILEGED_SELLERS" Transactions Behaviour 0.6 "only the owner's own circle sells";
    BalanceMismatch "BALANCE_MISMATCH" Transactions Behaviour 0.6 "balances are not what the transfers add up to";
    MintAfterLaunch "MINT_AFTER_LAUNCH" Transactions Behaviour 0.5 "supply was made after trading began";
    WashTrading "WASH_TRADING" Transactions Behaviour 0.5 "the same tokens go round among the same traders";
    CreatorDump "CREATOR_DUMP" Transactions Behaviour 0.5 "the creator sold soon after launch";
    SerialDeployer "SERIAL_DEPLOYER" Transactions Behaviour 0.5 "the creator made scams, or many tokens at once";
    Sniped "SNIPED" Transactions Behaviour 0.3 "much of the supply was bought in the first blocks";
    AirdropSpam "AIRDROP_SPAM" Transactions Behaviour 0.3 "most receivers were sent one amount and never acted";
    AmountDigits "AMOUNT_DIGITS" Transactions Behaviour 0.05 "the first digits of amounts are not those of organic ones";
    LpUnlocked "LP_UNLOCKED" Holders Behaviour 0.5 "liquidity is neither burned nor locked";
    LpCreator "LP_CREATOR" Holders Behaviour 0.4 "the creator holds the liquidity";
    Top10Concentration "TOP10_CONCENTRATION" Holders Behaviour 0.4 "ten holders have much of the supply";
    CreatorShare "CREATOR_SHARE" Holders Behaviour 0.35 "creator and owner hold much of the supply";
    NakamotoLow "NAKAMOTO_LOW" Holders Behaviour 0.3 "hardly anybody is needed for a majority";
    HhiHigh "HHI_HIGH" Holders Behaviour 0.3 "the supply is concentrated";
    SybilHolders "SYBIL_HOLDERS" Holders Behaviour 0.3 "many of the largest holders look like one";
    FewHolders "FEW_HOLDERS" Holders Behaviour 0.15 "there are few holders";
    GiniExtreme "GINI_EXTREME" Holders Behaviour 0.1 "the supply is spread extremely unevenly";
}

impl AnomalyCode {
    /// As it is answered: `SELL_BLOCKED`.
    pub fn word(self) -> &'static str {
        self.row().0
    }

    pub fn part(self) -> Part {
        self.row().1
    }

    pub fn weight(self) -> f64 {
        self.row().3
    }

    /// Whether it is fatal whatever its strength. (SELL_TAX is by its figure.)
    pub fn fatal(self) -> bool {
        self.row().2 == Nature::Fatal
    }

    /// Whether it is a power, which counts by who holds it.
    pub fn latent(self) -> bool {
        self.row().2 == Nature::Latent
    }

    /// What it means, for the person: part of a sentence.
    pub fn meaning(self) -> &'static str {
        self.row().4
    }

    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.word() == word)
    }

    /// The codes of a part.
    pub fn of(part: Part) -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(move |code| code.part() == part)
    }
}

impl PartialOrd for AnomalyCode {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// By the word, as ties among anomalies are broken.
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
    fn forty_two_codes_have_a_word_each_and_a_weight_below_one() {
        let words: BTreeSet<&str> = AnomalyCode::ALL.iter().map(|code| code.word()).collect();
        assert_eq!((words.len(), AnomalyCode::ALL.len()), (42, 42));
        for part in [(Part::Code, 21), (Part::Transactions, 12), (Part::Holders, 9)] {
            assert_eq!(AnomalyCode::of(part.0).count(), part.1, "{part:?}");
        }
        for code in AnomalyCode::ALL {
            assert!(code.weight() > 0.0 && code.weight() < 1.0 && AnomalyCode::parse(code.word()) == Some(*code), "{code:?}");
        }
    }

    #[test]
    fn powers_are_latent_and_three_codes_are_fatal_always() {
        let words = |of: fn(AnomalyCode) -> bool| AnomalyCode::ALL.iter().filter(|c| of(**c)).map(|c| c.word()).collect::<Vec<_>>();
        assert_eq!(words(AnomalyCode::fatal), ["KNOWN_SCAM", "SELL_BLOCKED", "PUBLIC_DRAIN"]);
        let latent = ["OWNER_DRAIN", "TAX_RAISABLE", "BLACKLIST", "EXTERNAL_GATE", "BUY_BLOCKABLE", "PAUSABLE", "PROXY", "OWNER_MINT"];
        assert_eq!(words(AnomalyCode::latent), latent);
    }
}
