//! One node: batches over HTTP, split if the node refuses their size, repeated if it is busy or omits results. Interpreting the results
//! belongs to the caller.

use std::{
    fmt,
    sync::{
        Mutex, OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use reqwest::{
    Client, Response, StatusCode, Url,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue},
    redirect,
};
use serde_json::Value;

use super::{
    answer::{self, BatchAnswer, CallOutcome, CallRefusal},
    method::{NodeCall, ReadMethod},
};
use crate::{
    Fault, RemoteClient, amount,
    client::{BodyFault, Connector, TimeoutsAndRetries, body, retry_after},
    fault::UNTRUSTED,
    locked,
    source::{Source, is_loopback, node_address},
};

/// Maximum bytes of an answer.
const ANSWER_MAX: u64 = 32 << 20;
/// Calls of a batch, before the node says that it takes fewer.
const BATCH_NEAR: usize = 1_000;
const BATCH_FAR: usize = 100;
/// Batches sent at once.
const BATCHES_AT_ONCE: usize = 4;
/// Round trips after which a batch is given up, however it progresses.
const TRIPS_MAX: u32 = 1_024;
/// Longest wait that a node may ask for.
const WAIT_MAX: Duration = Duration::from_mins(1);
/// How long a failed node is used only after all others.
const REST: Duration = Duration::from_secs(30);

/// Why a batch has no answer.
enum BatchFault {
    /// The batch has more calls than the node accepts.
    TooLarge,
    /// A retry may succeed: after this long if the node gave a time; the fault applies if it never does.
    Later(Option<Duration>, Fault),
    Final(Fault),
}

/// A node, with what was learnt of it.
pub(super) struct NodeServer {
    pub(super) source: Source,
    client: Client,
    url: Url,
    /// The id of its chain, once it was fetched.
    chain_id: OnceLock<u64>,
    batch_size: BatchSize,
    /// When it last failed.
    failed: Mutex<Option<Instant>>,
}

/// Without its URL, which may have a key.
impl fmt::Debug for NodeServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeServer")
            .field("source", &self.source.name)
            .finish_non_exhaustive()
    }
}

impl NodeServer {
    pub(super) fn new(source: Source, timeouts: &TimeoutsAndRetries) -> Result<Self, Fault> {
        let (url, token) = node_address(&source)?;
        let url =
            Url::parse(&url).map_err(|_| Fault::Refused("has an invalid `url`".to_owned()))?;
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(token) = token {
            let odd = |_| {
                Fault::Refused(format!(
                    "has an access token, in the variable `{}`, with characters that cannot be sent in a header",
                    source.token_env
                ))
            };
            let mut value = HeaderValue::from_str(&format!("Bearer {token}")).map_err(odd)?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let timeouts = TimeoutsAndRetries {
            read_timeout: source.timeout(),
            ..timeouts.clone()
        };
        let connector = Connector {
            timeouts,
            named: true,
            plain: url.scheme() == "http",
            headers,
        };
        // A redirect must not send the key elsewhere.
        let client = connector
            .builder()
            .redirect(redirect::Policy::none())
            .timeout(source.timeout())
            .build();
        let client = client.map_err(|_| Fault::Failed("cannot be contacted".to_owned()))?;
        let near = url
            .host_str()
            .is_some_and(|host| is_loopback(host.trim_matches(['[', ']'])));
        let batch_size = BatchSize::new(if near { BATCH_NEAR } else { BATCH_FAR });
        Ok(Self {
            source,
            client,
            url,
            chain_id: OnceLock::new(),
            batch_size,
            failed: Mutex::default(),
        })
    }

    /// Whether it failed a short while ago.
    pub(super) fn rests(&self) -> bool {
        locked(&self.failed).is_some_and(|failed| failed.elapsed() < REST)
    }

    /// Runs all calls, in their order. The first batch also fetches the chain's id: results from a node of another chain are never used.
    pub(super) async fn answer(
        &self,
        wire: &RemoteClient,
        calls: &[NodeCall],
        chain_id: Option<u64>,
        trips: &AtomicU32,
    ) -> Result<Vec<Result<Value, CallRefusal>>, Fault> {
        let asked = NodeCall::chain_id();
        let first = (chain_id.is_some() && self.chain_id.get().is_none()).then_some(&asked);
        let all: Vec<&NodeCall> = first.into_iter().chain(calls).collect();
        let answers = self
            .complete(wire, &all, trips)
            .await
            .and_then(|answers| self.of_chain(chain_id, answers, first.is_some()));
        // One that is asked for too much does not fail.
        let failed = answers
            .as_ref()
            .is_err_and(|fault| !matches!(fault, Fault::TooMuch(_)));
        *locked(&self.failed) = failed.then(Instant::now);
        answers
    }

    /// Takes the answer about the chain's id off the others. Errors: it is another chain.
    fn of_chain(
        &self,
        expected: Option<u64>,
        mut answers: Vec<Result<Value, CallRefusal>>,
        asked: bool,
    ) -> Result<Vec<Result<Value, CallRefusal>>, Fault> {
        if asked {
            let id = answers.remove(0).ok().and_then(|id| answer::number(&id));
            let id = id.ok_or_else(|| self.misunderstood())?;
            self.chain_id.get_or_init(|| id);
        }
        match (expected, self.chain_id.get()) {
            (Some(expected), Some(id)) if expected != *id => Err(Fault::Refused(format!(
                "is a node of the chain {id}, but [sources.{}] in config.toml has chain = \"{}\", which is {expected}; correct `chain` or `url`: no data from this node is used",
                self.source.name, self.source.chain
            ))),
            _ => Ok(answers),
        }
    }

    fn misunderstood(&self) -> Fault {
        Fault::Unavailable(format!(
            "sent an unreadable response; check that `url` in [sources.{}] of config.toml is a node's JSON-RPC endpoint",
            self.source.name
        ))
    }

    /// Sends batches until every call has an answer.
    async fn complete(
        &self,
        wire: &RemoteClient,
        calls: &[&NodeCall],
        trips: &AtomicU32,
    ) -> Result<Vec<Result<Value, CallRefusal>>, Fault> {
        let mut answers: Vec<Option<Result<Value, CallRefusal>>> = vec![None; calls.len()];
        let mut tries = 0;
        for _ in 0..TRIPS_MAX {
            let open: Vec<usize> = (0..calls.len())
                .filter(|call| answers[*call].is_none())
                .collect();
            if open.is_empty() {
                return Ok(answers.into_iter().flatten().collect());
            }
            let batches: Vec<&[usize]> = open
                .chunks(self.batch_size.most())
                .take(BATCHES_AT_ONCE)
                .collect();
            trips.fetch_add(1, Ordering::Relaxed);
            let outcomes =
                join_all(batches.iter().map(|batch| self.batch(wire, calls, batch))).await;
            let (mut progress, mut wait, mut why) = (false, None, None);
            for (batch, outcome) in batches.iter().zip(outcomes) {
                match outcome {
                    Ok(replies) => {
                        if replies.len() == batch.len() {
                            self.batch_size.took(batch.len());
                        }
                        for (id, outcome) in
                            replies.into_iter().filter(|(id, _)| batch.contains(id))
                        {
                            match outcome {
                                CallOutcome::Value(value) => answers[id] = Some(Ok(value)),
                                CallOutcome::Refused(refusal) => answers[id] = Some(Err(refusal)),
                                CallOutcome::NoState(said) => return Err(self.no_state(&said)),
                                // Fewer calls at once would not make it smaller.
                                CallOutcome::LeftOut if calls[id].method == ReadMethod::GetLogs => {
                                    answers[id] = Some(Err(CallRefusal::too_large()));
                                }
                                CallOutcome::LeftOut => self.batch_size.refused(batch.len()),
                                CallOutcome::Busy => {
                                    (wait, why) = (Some(wait.unwrap_or_default()), Some(busy(429)));
                                }
                            }
                            progress |= answers[id].is_some();
                        }
                    }
                    Err(BatchFault::TooLarge) if batch.len() > 1 => {
                        self.batch_size.refused(batch.len());
                        progress = true;
                    }
                    Err(BatchFault::TooLarge) => {
                        return Err(Fault::TooMuch(
                            "rejects even a single call as too large".to_owned(),
                        ));
                    }
                    Err(BatchFault::Later(after, fault)) => {
                        wait = Some(
                            wait.unwrap_or(Duration::ZERO)
                                .max(after.unwrap_or_default()),
                        );
                        why = Some(fault);
                    }
                    Err(BatchFault::Final(fault)) => return Err(fault),
                }
            }
            tries = if progress { 0 } else { tries + 1 };
            if tries > wire.options.timeouts.retries {
                return Err(why.unwrap_or_else(|| {
                    Fault::Unavailable("left calls of a batch unanswered".to_owned())
                }));
            }
            if let Some(after) = wait.or_else(|| (!progress).then_some(Duration::ZERO)) {
                let timeouts = &wire.options.timeouts;
                let backoff =
                    (timeouts.backoff * 2u32.pow(tries.min(6) as u32)).min(timeouts.backoff_max);
                tokio::time::sleep(backoff.max(after)).await;
            }
        }
        Err(Fault::Unavailable(
            "left calls of a batch unanswered".to_owned(),
        ))
    }

    fn no_state(&self, said: &str) -> Fault {
        Fault::NoState(format!(
            "has no state of that block ({said}): it was pruned or is not synced yet; retry, or add an archive node of `{}` to config.toml",
            self.source.chain
        ))
    }

    /// Sends one batch.
    async fn batch(
        &self,
        wire: &RemoteClient,
        calls: &[&NodeCall],
        ids: &[usize],
    ) -> Result<Vec<(usize, CallOutcome)>, BatchFault> {
        let requests: Vec<Value> = ids.iter().map(|id| calls[*id].request(*id)).collect();
        // Some nodes take no batches at all.
        let body = if let [single] = &requests[..] {
            single.to_string()
        } else {
            Value::Array(requests).to_string()
        };
        let _asking = wire.ask(&self.source.name);
        let sent = self.client.post(self.url.clone()).body(body).send().await;
        let response = sent.map_err(|error| self.request_fault(&error))?;
        if !response.status().is_success() {
            return Err(self.status_fault(&response, ids.len()));
        }
        let bytes = self.body(wire, response).await?;
        match answer::read(&bytes) {
            BatchAnswer::Calls(replies) => Ok(replies),
            BatchAnswer::Whole(CallOutcome::Busy) => Err(BatchFault::Later(None, busy(429))),
            BatchAnswer::Whole(CallOutcome::NoState(said)) => {
                Err(BatchFault::Final(self.no_state(&said)))
            }
            // A node says in many words that it takes no batches, or none so large.
            BatchAnswer::Whole(_) if ids.len() > 1 => Err(BatchFault::TooLarge),
            BatchAnswer::Whole(CallOutcome::Refused(CallRefusal {
                message,
                is_too_much: true,
                ..
            })) => Err(BatchFault::Final(Fault::TooMuch(format!(
                "rejected the call: {message}"
            )))),
            BatchAnswer::Whole(CallOutcome::Refused(CallRefusal { message, .. })) => Err(
                BatchFault::Final(Fault::Unavailable(format!("rejected the call: {message}"))),
            ),
            BatchAnswer::Whole(_) => Err(BatchFault::TooLarge),
            BatchAnswer::Broken => Err(BatchFault::Later(None, cut_off())),
            BatchAnswer::NotJson => Err(BatchFault::Final(self.misunderstood())),
        }
    }

    async fn body(&self, wire: &RemoteClient, response: Response) -> Result<Vec<u8>, BatchFault> {
        body(response, ANSWER_MAX, |bytes| wire.count(bytes))
            .await
            .map_err(|fault| match fault {
                BodyFault::TooLarge => BatchFault::Final(Fault::TooMuch(format!(
                    "sent more than {}, the largest response accepted",
                    amount(ANSWER_MAX)
                ))),
                BodyFault::Broken(error) => self.request_fault(&error),
            })
    }

    /// Fault for a response of that status.
    fn status_fault(&self, response: &Response, calls: usize) -> BatchFault {
        let (status, name) = (response.status(), &self.source.name);
        let is_final = |words: String| BatchFault::Final(Fault::Unavailable(words));
        match status.as_u16() {
            413 => BatchFault::TooLarge,
            400 | 422 if calls > 1 => BatchFault::TooLarge,
            429 | 500.. => match retry_after(response.headers()) {
                Some(after) if after > WAIT_MAX => is_final(format!(
                    "returned {} and asks you to wait {} s",
                    status.as_u16(),
                    after.as_secs()
                )),
                after => BatchFault::Later(after, busy(status.as_u16())),
            },
            300..=399 => is_final(format!(
                "redirects to another address; set `url` in [sources.{name}] of config.toml to that address"
            )),
            401 | 403 => is_final(format!(
                "requires a valid key; check `token_env` and `url_env` in [sources.{name}] of config.toml"
            )),
            _ => is_final(format!(
                "returned {}; check that `url` in [sources.{name}] of config.toml is a node's JSON-RPC endpoint",
                status.as_u16()
            )),
        }
    }

    /// Fault for a request without a response.
    fn request_fault(&self, error: &reqwest::Error) -> BatchFault {
        let chain = || {
            std::iter::successors(
                Some(error as &(dyn std::error::Error + 'static)),
                |&error| error.source(),
            )
        };
        let name = &self.source.name;
        if error.is_timeout() && !error.is_connect() {
            let seconds = self.source.timeout().as_secs();
            let words = format!(
                "timed out after {seconds} s; raise `timeout_seconds` in [sources.{name}] of config.toml"
            );
            return BatchFault::Final(Fault::TooMuch(words));
        }
        BatchFault::Final(Fault::Unavailable(
            if chain().any(|error| error.to_string().contains("certificate")) {
                UNTRUSTED.to_owned()
            } else if error.is_connect() {
                format!("is unreachable; check the `url` of [sources.{name}] in config.toml")
            } else {
                return BatchFault::Later(None, cut_off());
            },
        ))
    }
}

fn cut_off() -> Fault {
    Fault::Unavailable("was interrupted on every try".to_owned())
}

fn busy(status: u16) -> Fault {
    Fault::Unavailable(if status == StatusCode::TOO_MANY_REQUESTS {
        "rejected every try because its rate limit was exceeded; retry later, or add another node to config.toml"
            .to_owned()
    } else {
        format!("returned {status} on every try: the node is busy or broken")
    })
}

// Number of calls per batch to a node: fewer after a refusal, more again after successes. Sends no requests.

/// Full batches after which more calls are tried, at first.
const PATIENCE: u32 = 16;
/// The same after many refusals: a node that never takes more is seldom asked in vain.
const PATIENCE_MAX: u32 = 1_024;

/// Calls of a batch, as the node takes them.
#[derive(Debug)]
pub(super) struct BatchSize {
    /// Calls per batch for a node that never refused one.
    first: usize,
    now: Mutex<Learnt>,
}

#[derive(Debug, Clone, Copy)]
struct Learnt {
    most: usize,
    /// Full batches accepted since the last change.
    taken: u32,
    patience: u32,
}

impl BatchSize {
    pub(super) fn new(first: usize) -> Self {
        Self {
            first,
            now: Mutex::new(Learnt {
                most: first,
                taken: 0,
                patience: PATIENCE,
            }),
        }
    }

    pub(super) fn most(&self) -> usize {
        locked(&self.now).most.max(1)
    }

    /// The node refused a batch of this size.
    pub(super) fn refused(&self, sent: usize) {
        let mut now = locked(&self.now);
        // Of several batches sent at once each is refused.
        if sent / 2 < now.most {
            *now = Learnt {
                most: (sent / 2).max(1),
                taken: 0,
                patience: (now.patience * 2).min(PATIENCE_MAX),
            };
        }
    }

    /// The node answered a batch of this size.
    pub(super) fn took(&self, sent: usize) {
        let mut now = locked(&self.now);
        if sent < now.most || now.most >= self.first {
            return;
        }
        now.taken += 1;
        if now.taken >= now.patience {
            (now.most, now.taken) = ((now.most * 2).min(self.first), 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_that_was_refused_is_tried_again_after_a_while_and_ever_later() {
        let size = BatchSize::new(100);
        let refusals = |rounds: u32| {
            let mut refused = 0;
            for _ in 0..rounds {
                let most = size.most();
                if most > 40 {
                    size.refused(most);
                    refused += 1;
                } else {
                    size.took(most);
                }
            }
            refused
        };
        assert_eq!((refusals(10), size.most()), (2, 25));
        let (soon, late) = (refusals(1_000), refusals(1_000));
        assert!(soon > late && late > 0, "{soon} {late}");
        // It takes more from now on.
        for _ in 0..10_000 {
            size.took(size.most());
        }
        assert_eq!(size.most(), 100);
        size.took(3);
        assert_eq!(size.most(), 100);
    }
}
