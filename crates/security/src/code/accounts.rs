//! The accounts of a world: traders, owner and exchange. They are derived from the data and the token, so that no contract can know them, and
//! the same query gives the same bytes.

use revm::primitives::{Address, B256, U256, keccak256};

use model::chain_state::Word;

use super::live::Venue;

/// What the made-up accounts and figures of a world are derived from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Seed(B256);

impl Seed {
    /// `data`: hash of the block that the state is of, or digest of the dataset.
    pub(super) fn new(data: &Word, token: Option<Address>) -> Self {
        Self(keccak256(
            [data.as_slice(), token.unwrap_or_default().as_slice()].concat(),
        ))
    }

    /// Another one, derived from this.
    pub(super) fn apart(self, what: &str) -> Self {
        Self(self.word(what))
    }

    pub(super) fn word(self, what: &str) -> B256 {
        keccak256([self.0.as_slice(), what.as_bytes()].concat())
    }

    pub(super) fn address(self, what: &str) -> Address {
        Address::from_word(self.word(what))
    }

    /// A number from `low` to `high`, both included.
    pub(super) fn number(self, what: &str, low: u64, high: u64) -> u64 {
        let word = U256::from_be_bytes(self.word(what).0);
        low + u64::try_from(word % U256::from((high - low).saturating_add(1))).unwrap_or_default()
    }
}

/// The accounts of a world.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Accounts {
    pub(super) owner: Address,
    pub(super) stranger: Address,
    /// Two holders, so that a power over one differs from a power over all.
    pub(super) holder: Address,
    pub(super) other: Address,
    /// An account without tokens.
    pub(super) newcomer: Address,
    /// Where the token stands, unless a constructor puts it elsewhere.
    pub(super) token: Address,
    /// The pool of the token, the router that sellers go through, the factory and the coin that it trades against: those of the chain's first
    /// exchange where it is known.
    pub(super) pair: Address,
    pub(super) router: Address,
    pub(super) factory: Address,
    pub(super) coin: Address,
    /// A router of another exchange.
    pub(super) other_router: Address,
    /// A contract that is passed to functions that set one which the token consults.
    pub(super) gate: Address,
}

impl Accounts {
    /// `venue`: the chain's first exchange; `token`: where the token stands on the chain.
    pub(super) fn new(seed: Seed, token: Option<Address>, venue: Option<&Venue<'_>>) -> Self {
        let made = |what: &str| seed.address(what);
        let token = token.unwrap_or_else(|| made("token"));
        let people = Self {
            owner: made("owner"),
            stranger: made("stranger"),
            holder: made("holder"),
            other: made("other holder"),
            newcomer: made("newcomer"),
            token,
            pair: made("pair"),
            router: made("router"),
            factory: made("factory"),
            coin: made("coin"),
            other_router: made("another router"),
            gate: made("gate"),
        };
        let people = match venue {
            Some(Venue { exchange, quote }) => Self {
                router: exchange.router,
                factory: exchange.factory,
                coin: quote.address,
                ..people
            },
            None => people,
        };
        people.with_token_at(token, venue)
    }

    /// The same people, with the token and its pool elsewhere.
    pub(super) fn with_token_at(self, token: Address, venue: Option<&Venue<'_>>) -> Self {
        let pool = |venue: &Venue<'_>| venue.pool(token);
        Self {
            token,
            pair: venue.map_or(self.pair, pool),
            ..self
        }
    }

    /// The people without code.
    pub(super) fn persons(&self) -> [Address; 5] {
        [
            self.owner,
            self.stranger,
            self.holder,
            self.other,
            self.newcomer,
        ]
    }
}
