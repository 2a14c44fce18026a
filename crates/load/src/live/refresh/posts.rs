//! What a refresh does with posts and people: which posts are about a token, which of them count, and which no longer exist.

use std::collections::{HashMap, HashSet};

use polars::prelude::{DataFrame, PolarsResult};

use super::{LiveMarket, Run};
use crate::{
    Dataset,
    live::{
        LiveError,
        ask::{Ask, LiveToken},
        dropped::{self, Dropped, MatchedPost},
        forget::{self, Rechecked},
        matching::{MatchToken, Matcher},
        pages::AskOutcome,
    },
};
use frames::frame_rows::{FromFrame as _, column, integers, parsed};
use model::{
    address::Address,
    format::plural,
    rows::{AccountRow, PersonRow},
    social,
    time::Time,
};

/// Posts that were requested by id, those that came back, and those that the service states to be deleted.
#[derive(Default)]
pub(super) struct RecheckedPosts {
    asked: HashSet<String>,
    returned: HashSet<String>,
    deleted: HashSet<String>,
}

/// The accounts by the names of their platforms, also where a row has a URL; the id of one that is among the people is filled in.
pub(super) fn own_accounts(
    rows: impl IntoIterator<Item = AccountRow>,
    people: &[PersonRow],
) -> Vec<AccountRow> {
    let mut accounts: Vec<AccountRow> = rows.into_iter().map(social::own_account).collect();
    let name = |platform: &str, handle: &str| (platform.to_owned(), handle.to_lowercase());
    let mut ids: HashMap<(String, String), Option<&str>> = accounts
        .iter()
        .filter(|row| row.account_id.is_none())
        .map(|row| (name(&row.platform, &row.account), None))
        .collect();
    let platforms: HashSet<String> = ids.keys().map(|(platform, _)| platform.clone()).collect();
    for person in people {
        let Some(handle) = person.handle.as_ref() else {
            continue;
        };
        if platforms.contains(&person.platform)
            && let Some(id) = ids.get_mut(&name(&person.platform, handle))
        {
            *id = Some(&person.author_id);
        }
    }
    for row in &mut accounts {
        let id = ids
            .get(&name(&row.platform, &row.account))
            .copied()
            .flatten();
        row.account_id = row.account_id.take().or_else(|| id.map(str::to_owned));
    }
    accounts
}

impl Run<'_> {
    /// What decides which posts are about a token.
    pub(super) fn matcher(&self) -> Matcher {
        let token = |token: &LiveToken| MatchToken {
            address: token.address,
            symbol: token.symbol.clone(),
            name: token.name.clone(),
            chains: token.chains.clone(),
            listed: token.listed,
        };
        // All tokens of the dataset, also if the refresh is for one: another may have the same symbol.
        let all = self.context.rows.map(LiveMarket::tokens_of);
        let mut tokens: Vec<MatchToken> = all.iter().flatten().map(token).collect();
        let known: HashSet<Address> = tokens.iter().map(|token| token.address).collect();
        let new = self.context.market.tokens.iter();
        tokens.extend(
            new.filter(|token| !known.contains(&token.address))
                .map(token),
        );
        Matcher::new(&tokens, &self.accounts)
    }

    /// Notes what is known of people: it decides whether their posts count, also if the people are not stored.
    pub(super) fn take_people<'f>(&mut self, frames: impl Iterator<Item = &'f DataFrame>) {
        let rows = frames.flat_map(PersonRow::rows);
        let named = rows.map(|row| ((row.platform.clone(), row.author_id.clone()), row));
        self.people.extend(named);
    }

    /// Notes whether a post that was requested by its id still exists.
    pub(super) fn recheck(&mut self, ask: &Ask<'_>, outcome: &AskOutcome) {
        let Some(post) = ask.post_id() else { return };
        match outcome {
            AskOutcome::Rows(fetched) if fetched.fault.is_none() => {
                let posts = fetched.frames.iter().filter(|(table, _)| *table == "posts");
                let ids =
                    posts.flat_map(|(_, frame)| parsed(frame, "post_id", |id| Some(id.to_owned())));
                self.rechecked.returned.extend(ids.flatten());
            }
            AskOutcome::Unknown => {
                self.rechecked.deleted.insert(post.clone());
            }
            _ => return,
        }
        self.rechecked.asked.insert(post);
    }

    /// What is known of a person: from this refresh, or from the dataset.
    fn person(&self, platform: &str, id: &str) -> Option<&PersonRow> {
        let key = (platform.to_owned(), id.to_owned());
        self.people.get(&key).or_else(|| {
            let stored = self.context.rows.map_or(&[][..], Dataset::people);
            let place = stored.binary_search_by(|row| {
                (row.platform.as_str(), row.author_id.as_str()).cmp(&(platform, id))
            });
            stored.get(place.ok()?)
        })
    }

    /// Marks posts that do not count. Posts of the last days come again in each refresh, so the frame has all that belong together.
    pub(super) fn mark_dropped(&self, frame: DataFrame) -> PolarsResult<DataFrame> {
        let text = |column: &str| parsed(&frame, column, |text| Some(text.to_owned()));
        let [ids, platforms, authors, titles, given] =
            ["post_id", "platform", "author_id", "title", "dropped"].map(text);
        let tokens = parsed(&frame, "token_address", Address::or_coin);
        let times = integers(&frame, "published_at");
        let post = |row: usize| {
            let platform = platforms[row].as_deref().unwrap_or_default();
            let author = authors[row].as_deref();
            let person = author.and_then(|id| self.person(platform, id));
            MatchedPost {
                token: tokens[row].unwrap_or_default(),
                post_id: ids[row].as_deref().unwrap_or_default(),
                platform,
                author_id: author,
                published_at: Time(times[row].unwrap_or_default()),
                text: titles[row].as_deref().unwrap_or_default(),
                is_bot: person.is_some_and(|person| person.bot == Some(true)),
                score: person.and_then(|person| person.score),
                is_list: given[row].as_deref() == Some(Dropped::List.word()),
            }
        };
        let posts: Vec<MatchedPost<'_>> = (0..frame.height()).map(post).collect();
        let reasons = dropped::dropped(&posts);
        let words = reasons.iter().map(|reason| reason.map(Dropped::word));
        let column = column("dropped", words);
        let mut frame = frame;
        frame.with_column(column)?;
        Ok(frame)
    }

    /// Deletes the texts of posts that no longer exist. Returns a note about them.
    pub(super) fn mark_gone(&mut self) -> Result<Option<String>, LiveError> {
        let posts = std::mem::take(&mut self.rechecked);
        if posts.asked.is_empty() {
            return Ok(None);
        }
        let rechecked = Rechecked {
            asked: &posts.asked,
            returned: &posts.returned,
            deleted: &posts.deleted,
        };
        let gone = forget::mark_gone(self.context.dataset, rechecked, self.context.now)?;
        let count = plural(gone.len() as u64, "post", "posts");
        let note = format!("deleted the texts of {count} that no longer exist");
        Ok((!gone.is_empty()).then_some(note))
    }
}
