//! The endpoint handlers: the query service answers queries, the store handles jobs and alerts, and the rest comes from the API's own
//! state. No routing and no access checks.

use std::sync::Arc;

use hyper::header::{HeaderValue, LOCATION};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    call::{Answered, Call, HandlerStep},
    datasets,
    endpoint::DEEP_ANALYSIS,
    format::{AnswerFormat, REPORT_FORMATS},
    reply::{self, IfNoneMatch, Reply},
    rows,
};
use model::error::{Code, Problem, Result};
use query::{
    document::{self, DocumentForm},
    jobs::{JobBody, Jobs, JobsWanted},
    queries::{
        BodyQuery, Query, alert_body::AlertBody, known_token, paging::Paging, parameter::PAGE,
        tabular::Tabular,
    },
    service::cached::CachedAnswer,
};

/// Answers a query from the cache, or on the service's pool.
pub(super) fn ask<Q: Query>(call: &Call<'_>) -> Answered {
    // Fast path: a cached target in canonical form need not be parsed.
    if let Ok(snapshot) = call.ready::<Q>()
        && let Some(cached) = call.api.service.cached_by_key::<Q>(&snapshot, call.target)
    {
        return Ok(HandlerStep::Now(cached_reply(&cached, call.if_none_match)));
    }
    answer(call, Q::parse(&call.arguments()?)?)
}

/// Answers a list query in the negotiated format.
pub(super) fn list<Q: Tabular>(call: &Call<'_>) -> Answered {
    let arguments = call.arguments()?;
    let format = AnswerFormat::negotiated(&arguments, call.headers)?;
    let question = Q::parse(&arguments)?;
    let all = !arguments.given("limit") && !arguments.given("page");
    match format.form {
        None => answer(call, question),
        Some(form) => rows::stream(call, question, all, format, form),
    }
}

fn answer<Q: Query>(call: &Call<'_>, question: Q) -> Answered {
    let service = &call.api.service;
    let snapshot = call.ready::<Q>()?;
    // Refused at once: on the pool that would cost more than a cached answer.
    if let Some(token) = question.token() {
        known_token(&snapshot, &token)?;
    }
    if let Some(cached) = service.cached_by_key::<Q>(&snapshot, &question.key()) {
        return Ok(HandlerStep::Now(cached_reply(&cached, call.if_none_match)));
    }
    if call.if_none_match.given() {
        // A client has this generation's entity tag only from its answer, which has not changed.
        let etag = question.etag(&snapshot);
        if call.if_none_match.lists(&etag) {
            return Ok(HandlerStep::Now(reply::tagged(
                &bytes::Bytes::new(),
                &etag,
                call.if_none_match,
            )));
        }
    }
    let any_tag = call.if_none_match.matches("");
    let pending = service.ask_of(snapshot, question, || {});
    Ok(HandlerStep::later(async move {
        let cached = pending.await?;
        let reply = cached_reply(&cached, IfNoneMatch::default());
        Ok(if any_tag {
            reply::into_not_modified(&reply)
        } else {
            reply
        })
    }))
}

/// Returns the answer with its entity tag and links, or 304 if the client's copy is current.
fn cached_reply<A>(cached: &CachedAnswer<A>, if_none_match: IfNoneMatch<'_>) -> Reply {
    let mut reply = reply::tagged(&cached.json, &cached.etag, if_none_match);
    if let Some(links) = &cached.links {
        reply::link(&mut reply, links);
    }
    reply::date(&mut reply, cached.as_of);
    reply
}

/// As `cached_reply`, to a request with a body, whose answers have no entity tag.
fn untagged<A>(cached: &CachedAnswer<A>) -> Reply {
    let mut reply = reply::json(200, cached.json.clone());
    reply::date(&mut reply, cached.as_of);
    reply
}

/// Answers a query with a body.
pub(super) fn ask_with_body<Q: BodyQuery>(call: &Call<'_>, body: &[u8]) -> Answered {
    let question = Q::parse_request(&call.arguments()?, body)?;
    let snapshot = call.ready::<Q>()?;
    if let Some(cached) = call
        .api
        .service
        .cached_by_key::<Q>(&snapshot, &question.key())
    {
        return Ok(HandlerStep::Now(untagged(&cached)));
    }
    let pending = call.api.service.ask_of(snapshot, question, || {});
    Ok(HandlerStep::later(async move {
        Ok(untagged(&*pending.await.map_err(Q::refused)?))
    }))
}

pub(super) fn create_job(call: &Call<'_>, body: &[u8]) -> Answered {
    let request = JobBody::parse(body, call.arguments()?.tokens())?;
    with_jobs(call, move |jobs| {
        let job = jobs.create(&request)?;
        let mut reply = reply::rendered(202, &job)?;
        if let Ok(location) = HeaderValue::from_str(&format!("/deep-analysis/jobs/{}", job.job_id))
        {
            reply.headers_mut().insert(LOCATION, location);
        }
        Ok(reply)
    })
}

pub(super) fn list_jobs(call: &Call<'_>) -> Answered {
    let arguments = call.arguments()?;
    let wanted = JobsWanted {
        filter: arguments.conditions("where")?,
        sort: arguments.orders("sort")?,
        only: arguments.words("only")?,
        page: arguments.integer(PAGE.name)?,
        limit: arguments.integer("limit")?,
    };
    let target = format!("{}jobs?{}", DEEP_ANALYSIS[0], call.query);
    with_jobs(call, move |jobs| {
        let list = jobs.select(&wanted)?;
        let mut reply = reply::rendered(200, &list)?;
        if let Some(links) = (Paging::Page {
            page: list.page,
            limit: list.limit,
            total: list.total,
        })
        .links(&target)
        {
            reply::link(&mut reply, &links);
        }
        Ok(reply)
    })
}

pub(super) fn job(call: &Call<'_>) -> Answered {
    let id = call.arguments()?.identifier("job_id").to_owned();
    with_jobs(call, move |jobs| reply::rendered(200, &jobs.job(&id)?))
}

pub(super) fn terminate_job(call: &Call<'_>) -> Answered {
    let arguments = call.arguments()?;
    let id = arguments.identifier("job_id").to_owned();
    if arguments.flag("purge")? {
        return with_jobs(call, move |jobs| {
            jobs.purge(&id)
                .map(|()| reply::empty(hyper::StatusCode::NO_CONTENT))
        });
    }
    with_jobs(call, move |jobs| {
        reply::rendered(200, &jobs.terminate(&id)?)
    })
}

pub(super) fn report(call: &Call<'_>) -> Answered {
    let arguments = call.arguments()?;
    let id = arguments.identifier("job_id").to_owned();
    let word = AnswerFormat::negotiated_among(REPORT_FORMATS, &arguments, call.headers)?.word;
    let form = DocumentForm::ALL.iter().find(|form| form.word() == word);
    let Some(form) = form else {
        return with_jobs(call, move |jobs| {
            let mut reply = reply::rendered(200, &jobs.report(&id)?)?;
            reply::vary(&mut reply);
            Ok(reply)
        });
    };
    let jobs = jobs(call)?;
    let drawing = call.api.service.work(move |service, progress| {
        document::of_job(service, &jobs.report(&id)?, progress)
            .map(|document| document.write(*form))
    });
    Ok(HandlerStep::later(async move {
        let mut reply = reply::page(*form, drawing.await?);
        reply::vary(&mut reply);
        Ok(reply)
    }))
}

pub(super) fn alerts(call: &Call<'_>) -> Answered {
    let arguments = call.arguments()?;
    let (limit, before) = (arguments.integer("limit")?, arguments.integer("before")?);
    with_jobs(call, move |jobs| {
        reply::rendered(200, &jobs.alerts(limit, before)?)
    })
}

pub(super) fn add_alert(call: &Call<'_>, body: &[u8]) -> Answered {
    let request = AlertBody::parse(body, call.arguments()?.tokens())?;
    let jobs = jobs(call)?;
    // On the service's pool, since the condition is evaluated for every token.
    let adding = call.api.service.work(move |_, progress| {
        jobs.add_alert(&request, progress)
            .map_err(AlertBody::refused)
    });
    Ok(HandlerStep::later(async move {
        reply::rendered(201, &adding.await?)
    }))
}

pub(super) fn remove_alert(call: &Call<'_>) -> Answered {
    let id = call.arguments()?.identifier("alert_id").to_owned();
    with_jobs(call, move |jobs| {
        jobs.remove_alert(&id)
            .map(|()| reply::empty(hyper::StatusCode::NO_CONTENT))
    })
}

fn jobs(call: &Call<'_>) -> Result<Arc<Jobs>> {
    let none = || {
        Problem::new(
            Code::Busy,
            "Jobs are unavailable: the state folder is not writable.",
        )
    };
    call.api.jobs.as_ref().map(Arc::clone).ok_or_else(none)
}

/// Calls `ask` off the request threads, since the jobs' store blocks on a file.
fn with_jobs(
    call: &Call<'_>,
    ask: impl FnOnce(&Jobs) -> Result<Reply> + Send + 'static,
) -> Answered {
    let jobs = jobs(call)?;
    Ok(HandlerStep::later(async move {
        let asked = tokio::task::spawn_blocking(move || ask(&jobs)).await;
        asked.unwrap_or_else(|_| {
            Err(Problem::new(
                Code::Defect,
                "Internal error in the job store.",
            ))
        })
    }))
}

pub(super) fn datasets(call: &Call<'_>) -> Answered {
    let (service, snapshot) = (&call.api.service, call.snapshot()?);
    let is_newest = service
        .snapshot()
        .is_ok_and(|newest| newest.generation == snapshot.generation);
    // What is said of the newest data is not said of others.
    let (stale, feeds) = if is_newest {
        (service.stale(), service.feed_tables())
    } else {
        (None, Vec::new())
    };
    Ok(HandlerStep::Now(reply::rendered(
        200,
        &datasets::describe(&snapshot, stale, feeds),
    )?))
}

/// Whether the server is up and has data.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Health {
    /// `ok`, or `loading` until the first dataset is loaded.
    status: &'static str,
    /// The program's version.
    version: &'static str,
    /// Present while responses use older data because the last load failed; GET /datasets has the reason.
    #[serde(skip_serializing_if = "is_false")]
    stale: bool,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde requires this signature"
)]
fn is_false(stale: &bool) -> bool {
    !stale
}

pub(super) fn healthz(call: &Call<'_>) -> Answered {
    let status = if call.api.service.complete_snapshot().is_ok() {
        "ok"
    } else {
        "loading"
    };
    Ok(HandlerStep::Now(reply::rendered(
        200,
        &Health {
            status,
            version: env!("CARGO_PKG_VERSION"),
            stale: call.api.service.stale().is_some(),
        },
    )?))
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "all handlers have the same return type"
)]
pub(super) fn metrics(call: &Call<'_>) -> Answered {
    Ok(HandlerStep::Now(reply::reply(
        200,
        "text/plain; version=0.0.4; charset=utf-8",
        call.api.metrics.text(&call.api.service),
    )))
}
