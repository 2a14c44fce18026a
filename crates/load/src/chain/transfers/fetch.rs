//! Reads the transfers of tokens from a node, one span of blocks after another, and stores each as it arrives.

use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use serde_json::Value;

use super::{
    event::{TRANSFER, TransferEvent},
    rows::{self, TimedEvent},
    span::SpanSize,
    start,
    state::{BlockMark, LogState, RowFiles},
};
use model::{address::Address, format::plural, progress::Cancelled, wall_clock::now};
use wire::{
    Fault,
    node::{CallRefusal, ChainNode, NodeBlock, NodeCall},
};

/// Rows after which, and time after which, what was read is kept.
const KEEP_ROWS: usize = 20_000;
const KEEP_EVERY: Duration = Duration::from_secs(10);
/// Faults in a row that may come of asking for too much.
const TRIES_MAX: u32 = 5;
/// Spans in a row whose blocks were taken back while they were read.
const REORGANISED_MAX: u32 = 3;
/// Blocks whose hashes are compared at once.
const MARKS_AT_ONCE: usize = 32;

/// Called with the blocks done, and all blocks. Fails if no thread waits any more.
pub(crate) type BlockStep<'a> = &'a dyn Fn(u64, u64) -> Result<(), Cancelled>;

/// A node's answer to some spans.
enum SpansRead {
    /// All of them, or the first ones; the number is that of the token with the most events.
    Whole(usize),
    /// None, because the request was too large; the node's message, and whether the message shows that.
    TooMuch(String, bool),
    /// The chain was reorganized meanwhile.
    Reorganised,
}

/// A span with its last block.
struct Span {
    to: u64,
    block: NodeBlock,
    events: Vec<TransferEvent>,
}

pub(super) struct TransferFetch<'a> {
    node: ChainNode,
    files: &'a RowFiles,
    state: &'a mut LogState,
    tokens: &'a [Address],
    /// The newest final block.
    end: u64,
    step: BlockStep<'a>,
    told: Cell<(u64, u64)>,
    pending: Vec<TimedEvent>,
    kept: Instant,
    pub(super) notes: Vec<String>,
}

impl<'a> TransferFetch<'a> {
    pub(super) fn new(
        node: ChainNode,
        files: &'a RowFiles,
        state: &'a mut LogState,
        tokens: &'a [Address],
        step: BlockStep<'a>,
    ) -> Self {
        let (told, kept) = (Cell::new((0, 0)), Instant::now());
        Self {
            node,
            files,
            state,
            tokens,
            end: 0,
            step,
            told,
            pending: Vec::new(),
            kept,
            notes: Vec::new(),
        }
    }

    /// Reads everything up to the newest block that is `depth` blocks old. What was read stays, whatever the outcome.
    pub(super) fn run(&mut self, depth: u64, from_block: Option<u64>) -> Result<(), Fault> {
        let (newest, _) = self.node.newest(true, &self.stopped())?;
        self.end = newest.number.saturating_sub(depth);
        self.heal()?;
        self.compare(newest.number)?;
        self.begin(from_block)?;
        let read = self.sweep();
        self.keep()?;
        read?;
        if self.state.files.is_empty() {
            // A table without rows is a file too.
            let file = rows::frame(&[]).and_then(|none| self.files.write(self.state, none));
            self.state.files.push(file?);
        }
        self.state.revision += u64::from(self.state.end != self.end);
        (self.state.at, self.state.end) = (Some(now().0), self.end);
        Ok(self.files.save(self.state)?)
    }

    fn stopped(&self) -> impl Fn() -> bool + use<'_, 'a> {
        || {
            let (done, total) = self.told.get();
            (self.step)(done, total).is_err()
        }
    }

    /// Reads again what was in files that are gone.
    fn heal(&mut self) -> Result<(), Fault> {
        self.files.clean(self.state);
        let gone = self
            .state
            .files
            .iter()
            .filter(|file| !self.files.is_there(file))
            .map(|file| file.first)
            .min();
        match gone {
            None => Ok(()),
            Some(0) => Ok(self.files.reset(self.state)?),
            Some(first) => Ok(self.files.cut(self.state, first - 1)?),
        }
    }

    /// Goes back to the newest block that is still the chain's.
    fn compare(&mut self, newest: u64) -> Result<(), Fault> {
        let (marks, later): (Vec<BlockMark>, Vec<BlockMark>) = self
            .state
            .marks
            .iter()
            .rev()
            .cloned()
            .partition(|mark| mark.block <= newest);
        let behind = later.first().map(|last| {
            let said = format!(
                "is at block {newest}, behind block {}, which was read before; retry later",
                last.block
            );
            Fault::Unavailable(said)
        });
        if let (Some(behind), true) = (&behind, marks.is_empty()) {
            return Err(behind.clone());
        }
        // Nearly always the newest one is.
        let (newest, others) = marks.split_at(marks.len().min(1));
        for some in [newest]
            .into_iter()
            .filter(|newest| !newest.is_empty())
            .chain(others.chunks(MARKS_AT_ONCE))
        {
            let answers = self
                .node
                .ask(
                    some.iter()
                        .map(|mark| NodeCall::block(mark.block))
                        .collect(),
                    &self.stopped(),
                )?
                .answers;
            let is_same = |(mark, answer): &(&BlockMark, Result<Value, CallRefusal>)| {
                let block = answer.as_ref().ok().and_then(NodeBlock::read);
                block.is_some_and(|block| const_hex::encode_prefixed(block.hash) == mark.hash)
            };
            let Some((mark, _)) = some.iter().zip(answers).find(is_same) else {
                continue;
            };
            if let (Some(behind), true) = (behind, mark.block == marks[0].block) {
                return Err(behind);
            }
            if mark.block < marks[0].block {
                self.notes.push(format!(
                    "the blocks after {} were reorganized and are read again",
                    mark.block
                ));
                self.files.cut(self.state, mark.block)?;
            }
            return Ok(());
        }
        if !marks.is_empty() {
            self.notes.push(
                "none of the blocks read before is still part of the chain; all are read again"
                    .to_owned(),
            );
            self.files.reset(self.state)?;
        }
        Ok(())
    }

    /// Finds where tokens begin that were not read before.
    fn begin(&mut self, from_block: Option<u64>) -> Result<(), Fault> {
        if let (Some(from @ 1..), true) = (from_block, self.state.named.is_empty()) {
            // Older programs did not keep it.
            self.state.named = self
                .state
                .next
                .keys()
                .map(|token| (token.clone(), from))
                .collect();
        }
        if self
            .state
            .named
            .values()
            .any(|first| from_block.is_none_or(|from| from < *first))
        {
            self.notes.push("`from_block` in dataset.toml is earlier than before, or was removed; all blocks are read again".to_owned());
            self.files.reset(self.state)?;
        }
        let fresh: Vec<Address> = self
            .tokens
            .iter()
            .filter(|token| self.state.next_of(token).is_none())
            .copied()
            .collect();
        if fresh.is_empty() {
            return Ok(());
        }
        if let Some(from) = from_block {
            let first: Vec<(String, u64)> = fresh
                .iter()
                .map(|token| (token.to_string(), from))
                .collect();
            self.state.next.extend(first.iter().cloned());
            self.state
                .named
                .extend(first.into_iter().filter(|(_, from)| *from > 0));
            return Ok(());
        }
        let starts = start::find(&self.node, &fresh, self.end, &self.stopped())?;
        self.state.next.extend(
            starts
                .found
                .iter()
                .map(|(token, block)| (token.to_string(), *block)),
        );
        self.state
            .next
            .extend(starts.unknown.iter().map(|token| (token.to_string(), 0)));
        if let Some(first) = starts.unknown.first() {
            self.notes.push(format!(
                "the node does not keep the state of old blocks, so the creation blocks of {} of the tokens, such as `{first}`, are \
                    unknown; their transfers are read from block 0 on. To avoid this, use an archive node or set `from_block` in \
                    dataset.toml",
                starts.unknown.len()
            ));
        }
        if let Some(first) = starts.absent.first() {
            let one = "of the tokens is not read because it has";
            let tokens = plural(
                starts.absent.len() as u64,
                one,
                "of the tokens are not read because they have",
            );
            self.notes.push(format!(
                "{tokens} no contract at block {}, such as `{first}`",
                self.end
            ));
        }
        Ok(())
    }

    /// The lowest block that is still to be read.
    fn cursor(&self) -> Option<u64> {
        self.tokens
            .iter()
            .filter_map(|token| self.state.next_of(token))
            .filter(|next| *next <= self.end)
            .min()
    }

    fn sweep(&mut self) -> Result<(), Fault> {
        let mut size = SpanSize::new(self.state.span);
        let (mut tries, mut reorganised) = (0, 0);
        let first = self.cursor().unwrap_or_default();
        while let Some(cursor) = self.cursor() {
            self.told
                .set((cursor - first.min(cursor), self.end + 1 - first));
            if self.stopped()() {
                return Err(Fault::Stopped);
            }
            match self.spans(&size.plan(cursor, self.end), size.addresses) {
                Ok(SpansRead::Whole(events)) => {
                    (tries, reorganised) = (0, 0);
                    size.answered(events);
                }
                Ok(SpansRead::TooMuch(said, true)) if !size.narrow() => {
                    return Err(Fault::Unavailable(format!(
                        "rejected a request for the logs of a single block and contract: {said}"
                    )));
                }
                Ok(SpansRead::TooMuch(_, true)) => {}
                // Nodes refuse in many words.
                Ok(SpansRead::TooMuch(said, false)) => {
                    tries += 1;
                    if tries > TRIES_MAX || !size.narrow() {
                        return Err(Fault::Unavailable(format!(
                            "rejected requests for logs: {said}"
                        )));
                    }
                }
                Ok(SpansRead::Reorganised) => {
                    reorganised += 1;
                    if reorganised > REORGANISED_MAX {
                        return Err(Fault::Unavailable(
                            "kept reorganizing blocks while they were read; retry later".to_owned(),
                        ));
                    }
                }
                Err(Fault::TooMuch(said)) => {
                    tries += 1;
                    if tries > TRIES_MAX || !size.narrow() {
                        return Err(Fault::TooMuch(said));
                    }
                }
                Err(fault) => return Err(fault),
            }
            self.state.span = size.blocks;
            if self.pending.len() >= KEEP_ROWS || self.kept.elapsed() >= KEEP_EVERY {
                self.keep()?;
            }
        }
        Ok(())
    }

    /// Reads the spans, or the first of them.
    fn spans(&mut self, plan: &[(u64, u64)], addresses: usize) -> Result<SpansRead, Fault> {
        let next: BTreeMap<Address, u64> = self
            .tokens
            .iter()
            .filter_map(|token| Some((*token, self.state.next_of(token)?)))
            .filter(|(_, next)| *next <= self.end)
            .collect();
        let (mut calls, mut counts) = (Vec::new(), Vec::new());
        for (from, to) in plan {
            let tokens: Vec<[u8; 20]> = next
                .iter()
                .filter(|(_, next)| *next <= to)
                .map(|(token, _)| token.0)
                .collect();
            let filters = tokens.chunks(addresses.max(1));
            counts.push(filters.len());
            calls.extend(filters.map(|some| NodeCall::logs(some, &[Some(TRANSFER)], *from, *to)));
            // The block comes last: a node answers a batch in order.
            calls.push(NodeCall::block(*to));
        }
        let mut answers = self.node.ask(calls, &self.stopped())?.answers.into_iter();
        let (mut read, mut refusal) = (Vec::new(), None);
        for ((from, to), count) in plan.iter().zip(counts) {
            let logs: Vec<_> = answers.by_ref().take(count).collect();
            let block = answers
                .next()
                .and_then(Result::ok)
                .and_then(|block| NodeBlock::read(&block));
            if refusal.is_some() {
                continue;
            }
            let block = block
                .ok_or_else(|| Fault::Unavailable(format!("has no block {to}; retry later")))?;
            match logs
                .into_iter()
                .collect::<Result<Vec<Value>, CallRefusal>>()
            {
                Ok(logs) => read.push(Span {
                    to: *to,
                    block,
                    events: events(&logs, (*from, *to), &next)?,
                }),
                Err(said) => refusal = Some(said),
            }
        }
        if let (Some(refusal), true) = (refusal, read.is_empty()) {
            return Ok(SpansRead::TooMuch(refusal.message, refusal.is_too_much));
        }
        let most = read
            .iter()
            .map(|span| span.events.len())
            .max()
            .unwrap_or_default();
        Ok(if self.take(read)? {
            SpansRead::Whole(most)
        } else {
            SpansRead::Reorganised
        })
    }

    /// Adds the times of the events' blocks, and takes the spans as read. False where blocks were taken back meanwhile.
    fn take(&mut self, spans: Vec<Span>) -> Result<bool, Fault> {
        let all = || spans.iter().flat_map(|span| &span.events);
        let mut blocks: BTreeMap<u64, NodeBlock> =
            spans.iter().map(|span| (span.to, span.block)).collect();
        let wanted: BTreeSet<u64> = all()
            .filter(|event| event.timestamp.is_none() && !blocks.contains_key(&event.block))
            .map(|event| event.block)
            .collect();
        if !wanted.is_empty() {
            let answers = self
                .node
                .ask(
                    wanted.iter().map(|block| NodeCall::block(*block)).collect(),
                    &self.stopped(),
                )?
                .answers;
            for (number, answer) in wanted.iter().zip(answers) {
                let Some(block) = answer.ok().and_then(|block| NodeBlock::read(&block)) else {
                    return Ok(false);
                };
                blocks.insert(*number, block);
            }
        }
        let is_other = |event: &TransferEvent| {
            blocks
                .get(&event.block)
                .is_some_and(|block| block.hash != event.block_hash)
        };
        if all().any(is_other) {
            return Ok(false);
        }
        for span in spans {
            let time = |event: &TransferEvent| {
                event
                    .timestamp
                    .or_else(|| Some(blocks.get(&event.block)?.timestamp))
                    .unwrap_or_default()
            };
            let timed = |event: TransferEvent| {
                let milliseconds = i64::try_from(time(&event))
                    .unwrap_or_default()
                    .saturating_mul(1_000);
                (event, milliseconds)
            };
            self.pending.extend(span.events.into_iter().map(timed));
            for token in self.tokens {
                if let Some(next) = self
                    .state
                    .next
                    .get_mut(&token.to_string())
                    .filter(|next| **next <= span.to)
                {
                    *next = span.to + 1;
                }
            }
            self.state
                .mark(span.to, &span.block.hash, span.block.timestamp);
        }
        Ok(true)
    }

    /// Writes the fetched rows, and then records that they are stored.
    fn keep(&mut self) -> Result<(), Fault> {
        self.kept = Instant::now();
        let pending = std::mem::take(&mut self.pending);
        if pending.is_empty() {
            self.files.save(self.state)?;
        } else {
            self.files.append(self.state, rows::frame(&pending)?)?;
        }
        Ok(())
    }
}

/// The transfers among the logs that were not read before, in the order of the chain.
fn events(
    logs: &[Value],
    (from, to): (u64, u64),
    next: &BTreeMap<Address, u64>,
) -> Result<Vec<TransferEvent>, Fault> {
    let odd = || Fault::Unavailable("returned an unreadable log".to_owned());
    let mut events = Vec::new();
    for log in logs.iter().map(|logs| logs.as_array().ok_or_else(odd)) {
        for event in log? {
            let event = TransferEvent::read(event).map_err(|()| odd())?;
            let is_asked = |event: &TransferEvent| {
                (from..=to).contains(&event.block)
                    && next
                        .get(&event.token)
                        .is_some_and(|next| event.block >= *next)
            };
            events.extend(event.filter(is_asked));
        }
    }
    events.sort_by_key(|event| (event.block, event.log_index));
    events.dedup_by_key(|event| (event.block, event.log_index));
    Ok(events)
}
