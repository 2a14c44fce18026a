//! Alerts: conditions that are looked at with each new generation of the data. One fires for a token when it did not hold at the look
//! before and holds now. What held and what fired are written in one step, so that nothing fires twice and nothing is lost, however
//! the program ends.

use std::{collections::HashSet, path::Path, time::SystemTime};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::{
    Jobs, KeptJobs,
    store::{NewAlert, Store, Watched},
};
use crate::{
    dataset::{address::Address, time::Time},
    deck::{Deck, DeckEvent, fetch},
    error::{Code, Problem, Result},
    question::{
        filter::TEXT_CHARS_MAX,
        json::{invalid, members, pointer, text, well_formed},
        parameter::{EXAMPLE_TOKEN, clip},
        progress::Progress,
        search::holding::Holding,
        snapshot::Snapshot,
    },
};

/// Alerts of one dataset.
pub const ALERTS_MAX: usize = 1_000;
/// Tokens that one alert may hold for: one that holds for more tells nothing.
const HOLDING_MAX: usize = 5_000;

/// A condition that is looked at with each new generation of the data.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Alert {
    pub alert_id: String,
    /// The token it is about; null where it is about every token.
    pub token_address: Option<Address>,
    /// What people called the token when the alert was made.
    pub symbol: Option<String>,
    /// As `where` of GET /tokens has it.
    pub condition: String,
    pub created_at: Time,
    /// Tokens that met it at the last look.
    pub holds: u64,
    /// When it was looked at last.
    pub checked_at: Time,
    /// Why the last look failed; what held before it still counts. Null while it can be looked at.
    pub problem: Option<String>,
    /// How often it fired.
    pub fired: u64,
    pub last_fired_at: Option<Time>,
}

/// An alert that fired for a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FiredAlert {
    /// Counts up.
    pub fired_id: u64,
    pub alert_id: String,
    pub token_address: Address,
    pub symbol: Option<String>,
    pub condition: String,
    /// When the data were looked at.
    pub fired_at: Time,
}

/// The alerts of the dataset, and what fired.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct AlertList {
    /// The newest first.
    pub alerts: Vec<Alert>,
    /// The latest that fired, newest first; those of removed alerts too.
    pub fired: Vec<FiredAlert>,
}

/// The body of POST /alerts.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(deny_unknown_fields, example = json!({ "token_address": EXAMPLE_TOKEN, "condition": "price>20" }))]
pub struct AlertBody {
    /// Without it the alert is about every token.
    #[schemars(default)]
    pub token_address: Option<Address>,
    /// As `where` of GET /tokens has it: `price>20`, `score<40`, `pattern:bull_flag`.
    #[schemars(length(min = 1, max = TEXT_CHARS_MAX))]
    pub condition: String,
}

impl AlertBody {
    /// Well formed first (400), then every value (422, naming its JSON pointer). What the condition means the data decide.
    pub fn parse(body: &[u8]) -> Result<Self> {
        let (mut token_address, mut condition) = (None, None);
        for (name, value) in members("", well_formed(body)?)? {
            let at = pointer("", &name);
            match name.as_str() {
                "token_address" if value.get() == "null" => {}
                "token_address" => {
                    let wrong = || {
                        invalid(
                            &at,
                            &format!(
                                "`{}` is not an address: expected a string of 0x and 40 hexadecimal digits, or coin:BTC",
                                clip(value.get())
                            ),
                        )
                    };
                    token_address = Some(text(value).as_deref().and_then(Address::asked).ok_or_else(wrong)?);
                }
                "condition" => {
                    let wrong = || invalid(&at, &format!("`{}`: expected a text as in `price>20`", clip(value.get())));
                    condition = Some(text(value).ok_or_else(wrong)?);
                }
                _ => return Err(invalid(&at, "no such member: expected `condition`, and `token_address` for one token")),
            }
        }
        let condition = condition.ok_or_else(|| invalid("/condition", "it is missing: expected a text as in `price>20`"))?;
        Ok(Self { token_address, condition: condition.trim().to_owned() })
    }
}

impl Jobs {
    /// Puts up an alert; when this returns, it is on disk. Waits for the data and the disk: not for a thread that draws or serves.
    pub fn add_alert(&self, wish: &AlertBody) -> Result<Alert> {
        let shared = self.workers.shared();
        add(&shared.store, &shared.deck, wish)
    }

    pub fn remove_alert(&self, id: &str) -> Result<()> {
        self.workers.shared().store.remove_alert(id)
    }

    /// The alerts of the dataset that is open, and the `limit` latest that fired.
    pub fn alerts(&self, limit: u64) -> Result<AlertList> {
        let shared = self.workers.shared();
        let folder = shared.deck.snapshot().map_or_else(|_| shared.deck.folder(), |snapshot| snapshot.dataset.folder.clone());
        shared.store.alerts(&dataset(&folder), limit)
    }

    pub fn fired_alert(&self, fired_id: u64) -> Result<Option<FiredAlert>> {
        let fired = self.workers.shared().store.fired_after(fired_id.saturating_sub(1))?;
        Ok(fired.into_iter().next().filter(|fired| fired.fired_id == fired_id))
    }
}

impl KeptJobs {
    /// As `Jobs::add_alert`, of data that were loaded for it.
    pub fn add_alert(&self, deck: &Deck, wish: &AlertBody) -> Result<Alert> {
        add(&self.0, deck, wish)
    }

    pub fn remove_alert(&self, id: &str) -> Result<()> {
        self.0.remove_alert(id)
    }

    pub fn alerts(&self, folder: &Path, limit: u64) -> Result<AlertList> {
        self.0.alerts(&dataset(folder), limit)
    }
}

/// The problem that there is no such alert.
pub(super) fn no_alert(id: &str) -> Problem {
    Problem::new(Code::AlertNotFound, format!("No alert `{}`: GET /alerts lists the alerts there are.", clip(id)))
}

/// Puts an alert into the store. What holds already does not fire: it has to stop holding first.
fn add(store: &Store, deck: &Deck, wish: &AlertBody) -> Result<Alert> {
    let snapshot = deck.whole_snapshot()?;
    let held = holding(deck, &snapshot, wish, &Progress::default()).map_err(|problem| match problem.code {
        // It came in a body, where what is wrong is named by its pointer.
        Code::InvalidParameter => invalid("/condition", problem.detail.trim_start_matches("`condition`: ").trim_end_matches('.')),
        Code::TokenNotFound => invalid("/token_address", problem.detail.trim_end_matches('.')),
        _ => problem,
    })?;
    let symbol = wish.token_address.and_then(|token| symbol(&snapshot, &token));
    let (condition, token) = (wish.condition.clone(), wish.token_address);
    store.add_alert(&NewAlert { dataset: dataset(&snapshot.dataset.folder), token, symbol, condition, held, at: now() })
}

/// The tokens that meet it now.
fn holding(deck: &Deck, snapshot: &Snapshot, wish: &AlertBody, progress: &Progress) -> Result<Vec<Address>> {
    if let Some(token) = &wish.token_address {
        fetch(snapshot, std::slice::from_ref(token), progress)?;
    }
    let wanted = Holding { condition: wish.condition.clone(), token: wish.token_address };
    let found = deck.find_in(snapshot, &wanted, progress)?;
    if found.len() > HOLDING_MAX {
        let detail = format!("`condition` holds for {} tokens, which tells nothing: narrow it to at most {HOLDING_MAX}.", found.len());
        return Err(Problem::new(Code::InvalidParameter, detail));
    }
    Ok(found)
}

fn symbol(snapshot: &Snapshot, token: &Address) -> Option<String> {
    snapshot.dataset.token(token)?.row.symbol.as_deref().map(clip)
}

/// The folder by which alerts of one dataset are told from those of another.
fn dataset(folder: &Path) -> String {
    folder.canonicalize().unwrap_or_else(|_| folder.to_owned()).to_string_lossy().into_owned()
}

fn now() -> Time {
    Time(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64))
}

/// Looks at every alert of the dataset; false when it was told to stop in between.
pub(super) fn look(store: &Store, deck: &Deck, snapshot: &Snapshot, progress: &Progress) -> Result<bool> {
    for watched in store.watched(&dataset(&snapshot.dataset.folder))? {
        if progress.cancelled() {
            return Ok(false);
        }
        look_at(store, deck, snapshot, &watched, progress)?;
    }
    Ok(true)
}

fn look_at(store: &Store, deck: &Deck, snapshot: &Snapshot, watched: &Watched, progress: &Progress) -> Result<()> {
    let wish = AlertBody { token_address: watched.token, condition: watched.condition.clone() };
    let holds = match holding(deck, snapshot, &wish, &progress.quiet()) {
        Ok(holds) => holds,
        Err(problem) if problem.code == Code::Cancelled => return Ok(()),
        // What cannot be looked at has not stopped holding.
        Err(problem) => return store.not_checked(&watched.id, &problem.detail, now()),
    };
    let before: HashSet<Address> = watched.held.iter().copied().collect();
    let fired: Vec<(Address, Option<String>)> =
        holds.iter().filter(|token| !before.contains(*token)).map(|token| (*token, symbol(snapshot, token))).collect();
    // A token that is not in the data has not stopped holding either.
    let gone = watched.held.iter().filter(|token| snapshot.dataset.token(token).is_none());
    let held: Vec<Address> = holds.iter().chain(gone).copied().collect();
    store.checked(watched, &held, &fired, now())
}

/// Tells listeners of what fired after `last`; the last one told.
pub(super) fn tell(store: &Store, deck: &Deck, last: u64) -> u64 {
    let fired = store.fired_after(last).unwrap_or_default();
    let last = fired.last().map_or(last, |fired| fired.fired_id);
    for fired in fired {
        let name = fired.symbol.clone().unwrap_or_else(|| fired.token_address.short());
        deck.tell(DeckEvent::AlertFired { fired_id: fired.fired_id, says: format!("{name}: {}", fired.condition) });
    }
    last
}
