//! Alerts: conditions evaluated on each new generation of the data. An alert fires for a token on the transition from not meeting to
//! meeting its condition. A check and its firings are one transaction, so that none is lost or duplicated, however the program ends.

use std::{
    collections::HashMap,
    path::{Component, Path, PathBuf},
};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::{
    Jobs, KeptJobs,
    request::address,
    store::{JobStore, NewAlert},
};
use crate::{
    dataset::{address::Address, shelf::Want, time::Time, wall_clock::now},
    deck::{Deck, fetch},
    error::{Code, Problem, Result},
    question::{
        filter::TEXT_CHARS_MAX,
        holders::balances_wanted,
        json::{invalid, members, pointer, text, well_formed},
        parameter::{EXAMPLE_TOKEN, clip},
        progress::Progress,
        search::holding::{ConditionMatch, MatchedTokens},
        snapshot::Snapshot,
    },
};

/// Maximum number of alerts per dataset.
pub const ALERTS_MAX: usize = 1_000;
/// Maximum number of tokens that may meet an alert's condition: beyond it the condition is meaningless.
pub(super) const HOLDING_MAX: usize = 5_000;

/// A condition that is checked with each new generation of the data.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Alert {
    pub alert_id: String,
    /// The token it is about; null where it is about every token.
    pub token_address: Option<Address>,
    /// The token's symbol when the alert was made.
    pub symbol: Option<String>,
    /// The condition, written as `where` of GET /tokens.
    pub condition: String,
    pub created_at: Time,
    /// Tokens that met it at the last check.
    pub holds: u64,
    /// When it was checked last.
    pub checked_at: Time,
    /// Why the last check failed, `holds` being that of the check before; null where it did not.
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
    /// When the data were checked.
    pub fired_at: Time,
}

impl Alert {
    /// Subject of the alert: the token's symbol, else its short address, else `any token`.
    pub fn about(&self) -> String {
        about(self.symbol.as_deref(), self.token_address.as_ref())
    }
}

impl FiredAlert {
    /// Subject of the firing: the token's symbol, else its short address.
    pub fn about(&self) -> String {
        about(self.symbol.as_deref(), Some(&self.token_address))
    }

    /// Message for the user: token and condition.
    pub fn says(&self) -> String {
        format!("{}: {}", self.about(), self.condition)
    }
}

fn about(symbol: Option<&str>, token: Option<&Address>) -> String {
    symbol.map(str::to_owned).or_else(|| token.map(Address::short)).unwrap_or_else(|| "any token".to_owned())
}

/// A listener's read position per dataset: the last firing received. A new listener starts at the last one delivered to the user before the
/// program started.
#[derive(Debug, Default)]
pub struct Heard(HashMap<String, u64>);

/// A `fired_id` greater than any real one: the largest integer that every JSON reader represents exactly.
pub const FIRED_ID_MAX: u64 = (1 << 53) - 1;

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
    /// Written as `where` of GET /tokens: `price>20`, `score<40`, `pattern:bull_flag`.
    #[schemars(length(min = 1, max = TEXT_CHARS_MAX))]
    pub condition: String,
}

impl AlertBody {
    /// Parses the body. Errors: 400 if malformed, then 422 for each invalid value, by JSON pointer. The condition is parsed later, with the
    /// data.
    pub fn parse(body: &[u8]) -> Result<Self> {
        let (mut token_address, mut condition) = (None, None);
        for (name, value) in members("", well_formed(body)?)? {
            let at = pointer("", &name);
            match name.as_str() {
                "token_address" if value.get() == "null" => {}
                "token_address" => token_address = Some(address(&at, value)?),
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

    /// Maps a problem with a body's alert to the member's JSON pointer.
    pub fn refused(problem: Problem) -> Problem {
        match problem.code {
            Code::InvalidParameter => invalid("/condition", problem.detail.trim_start_matches("`condition`: ").trim_end_matches('.')),
            Code::TokenNotFound => invalid("/token_address", problem.detail.trim_end_matches('.')),
            _ => problem,
        }
    }
}

impl Jobs {
    /// Adds an alert; on return it is on disk. Blocks on data and disk, so must not be called on a drawing or serving thread.
    pub fn add_alert(&self, wish: &AlertBody, progress: &Progress) -> Result<Alert> {
        let shared = self.workers.shared();
        add(&shared.store, &shared.deck, wish, progress)
    }

    pub fn remove_alert(&self, id: &str) -> Result<()> {
        self.workers.shared().store.remove_alert(id)
    }

    /// Returns the open dataset's alerts, and the `limit` latest firings before this `fired_id`.
    pub fn alerts(&self, limit: u64, before: u64) -> Result<AlertList> {
        self.workers.shared().store.alerts(&self.dataset(), limit, before)
    }

    /// Calls `hear` with each firing of the open dataset that `heard` has not received, oldest first, and marks them as delivered: no
    /// process announces them again after a restart.
    pub fn news(&self, heard: &mut Heard, mut hear: impl FnMut(FiredAlert)) -> Result<()> {
        let shared = self.workers.shared();
        let dataset = self.dataset();
        let mut last = match heard.0.get(&dataset) {
            Some(last) => *last,
            None => shared.told_before(&dataset)?,
        };
        loop {
            let page = shared.store.fired_after(&dataset, last)?;
            let Some(newest) = page.last().map(|fired| fired.fired_id) else { return Ok(()) };
            page.into_iter().for_each(&mut hear);
            last = newest;
            heard.0.insert(dataset.clone(), last);
            shared.store.set_told(&dataset, last)?;
        }
    }

    fn dataset(&self) -> String {
        let deck = &self.workers.shared().deck;
        dataset(&deck.snapshot().map_or_else(|_| deck.folder(), |snapshot| snapshot.dataset.folder.clone()))
    }
}

impl KeptJobs {
    /// Like `Jobs::add_alert`, on the data that the deck has loaded.
    pub fn add_alert(&self, deck: &Deck, wish: &AlertBody) -> Result<Alert> {
        add(&self.0, deck, wish, &Progress::default())
    }

    pub fn remove_alert(&self, id: &str) -> Result<()> {
        self.0.remove_alert(id)
    }

    pub fn alerts(&self, folder: &Path, limit: u64) -> Result<AlertList> {
        self.0.alerts(&dataset(folder), limit, FIRED_ID_MAX)
    }
}

/// The problem `alert_not_found`.
pub(super) fn no_alert(id: &str) -> Problem {
    Problem::new(Code::AlertNotFound, format!("No alert `{}`: GET /alerts lists the alerts there are.", clip(id)))
}

/// Adds an alert to the store. Tokens that already meet the condition do not fire until they have stopped meeting it.
fn add(store: &JobStore, deck: &Deck, wish: &AlertBody, progress: &Progress) -> Result<Alert> {
    let snapshot = deck.whole_snapshot()?;
    let held = held(deck, &snapshot, wish, progress)?;
    let symbol = wish.token_address.and_then(|token| symbol(&snapshot, &token));
    let (condition, token) = (wish.condition.clone(), wish.token_address);
    let dataset = dataset(&snapshot.dataset.folder);
    store.add_alert(&NewAlert { dataset, token, symbol, condition, held: held.holds, digest: *snapshot.digest(), at: now() })
}

/// Returns the tokens that currently meet the condition, and those without a value for it.
pub(super) fn held(deck: &Deck, snapshot: &Snapshot, wish: &AlertBody, progress: &Progress) -> Result<MatchedTokens> {
    let mut wants = Vec::new();
    if let Some(token) = &wish.token_address {
        wants.push(Want::Chart(*token));
        wants.extend(balances_wanted(snapshot, token));
    }
    let _here = fetch(snapshot, &wants, progress)?;
    let wanted = ConditionMatch { condition: wish.condition.clone(), token: wish.token_address };
    let found = deck.find_in(snapshot, &wanted, progress)?;
    let count = found.holds.len();
    if count > HOLDING_MAX {
        let detail = format!("`condition` holds for {count} tokens, too many to be of use: narrow it to at most {HOLDING_MAX}.");
        return Err(Problem::new(Code::InvalidParameter, detail));
    }
    Ok(found)
}

pub(super) fn symbol(snapshot: &Snapshot, token: &Address) -> Option<String> {
    snapshot.dataset.token(token)?.row.symbol.as_deref().map(clip)
}

/// Returns the absolute path that identifies a dataset for its alerts. Links are not resolved and the disk is not read, so that a
/// redirected link, or a temporarily missing folder, stays the same dataset.
pub(super) fn dataset(folder: &Path) -> String {
    let mut whole = PathBuf::new();
    for part in std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned()).components() {
        match part {
            Component::ParentDir => drop(whole.pop()),
            part => whole.push(part),
        }
    }
    whole.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dataset_is_named_by_its_absolute_folder() {
        let here = std::env::current_dir().expect("a folder");
        for (given, whole) in
            [("/data/current", "/data/current"), ("/data/current/", "/data/current"), ("/data/./x/../current", "/data/current")]
        {
            assert_eq!(dataset(Path::new(given)), whole);
        }
        assert_eq!(dataset(Path::new("market")), here.join("market").to_string_lossy());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_another_folder_is_the_same_dataset() {
        let folder = tempfile::tempdir().expect("a folder");
        let link = folder.path().join("current");
        for day in ["monday", "tuesday"] {
            std::fs::create_dir(folder.path().join(day)).expect("a folder");
            std::fs::remove_file(&link).ok();
            std::os::unix::fs::symlink(folder.path().join(day), &link).expect("a link");
            assert_eq!(dataset(&link), link.to_string_lossy());
        }
    }
}
