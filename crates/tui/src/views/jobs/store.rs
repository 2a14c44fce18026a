//! A cached read of the job store and its pending calls; the store is on disk, so every call runs off the drawing thread.

use std::{sync::Arc, time::Duration};

use tokio::sync::broadcast::{Receiver, error::TryRecvError};

use crate::views::{
    prelude::*,
    task::{self, BackgroundTask},
};
use query::{
    document::{self, Document},
    jobs::{Job, JobBody, Jobs, TaskProgress},
    service::{QueryService, ServiceEvent},
};

/// Jobs shown; the API pages through older ones.
const JOBS_SHOWN: u64 = 250;
/// Polling interval of a running job's progress.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// One read of the store.
#[derive(Debug, Default)]
pub(super) struct JobsRead {
    pub(super) jobs: Vec<Job>,
    /// Number of all jobs, including those not shown.
    pub(super) total: u64,
    /// Task progress of the watched job.
    pub(super) progress: Option<(String, Vec<TaskProgress>)>,
}

/// A job's report, ready for display.
#[derive(Debug)]
pub(super) struct ReportText {
    pub(super) job_id: String,
    pub(super) status: &'static str,
    /// The text to copy.
    pub(super) json: String,
    /// The source of the page.
    pub(super) document: Document,
}

/// A job started here: its id, and its token's display name.
type Started = (String, String);

#[derive(Debug, Default)]
pub(super) struct StoredJobs {
    pub(super) reading: JobsRead,
    pub(super) problem: Option<Problem>,
    /// The store was read at least once.
    pub(super) read: bool,
    pub(super) report: Option<Result<ReportText, Problem>>,
    listing: Option<BackgroundTask<JobsRead>>,
    report_task: Option<BackgroundTask<ReportText>>,
    /// Pending starts and terminations; they end by themselves.
    changes: Vec<BackgroundTask<Option<Started>>>,
    /// Jobs started here and not ended yet; their end is announced.
    started: Vec<Started>,
    pause: Option<BackgroundTask<()>>,
    news: Option<Receiver<ServiceEvent>>,
    /// The displayed jobs may be outdated.
    stale: bool,
}

impl StoredJobs {
    /// Polls pending calls and reads the store again after changes; `watched` is the job whose tasks are on screen.
    pub(super) fn refresh(&mut self, context: &Context<'_>, watched: Option<&str>) {
        let Some(jobs) = context.jobs else { return };
        self.take_deck_events(context.service);
        if let Some(outcome) = task::take(&mut self.listing) {
            self.read = true;
            match outcome {
                Ok(reading) => (self.reading, self.problem) = (reading, None),
                Err(problem) => self.problem = Some(problem),
            }
        }
        if let Some(outcome) = task::take(&mut self.report_task) {
            self.report = Some(outcome);
        }
        let started = &mut self.started;
        self.changes.retain_mut(|change| match change.poll() {
            Some(outcome) => {
                started.extend(outcome.ok().flatten());
                false
            }
            None => true,
        });
        self.announce_ended(context.service);
        let running = self.reading.jobs.iter().any(|job| !job.status.ended());
        if task::take(&mut self.pause).is_some() {
            self.stale |= running;
        }
        if self.stale && self.listing.is_none() {
            self.stale = false;
            let (jobs, watched) = (Arc::clone(jobs), watched.map(str::to_owned));
            self.listing = Some(BackgroundTask::start(context.wake, move |_| {
                let (total, listed) = jobs.list(1, JOBS_SHOWN)?;
                let progress =
                    watched.and_then(|id| jobs.progress(&id).ok().map(|progress| (id, progress)));
                Ok(JobsRead {
                    jobs: listed,
                    total,
                    progress,
                })
            }));
        }
        if running && self.pause.is_none() && self.listing.is_none() {
            self.pause = Some(BackgroundTask::pause(context.wake, POLL_INTERVAL));
        }
    }

    /// Announces the end of each job started here, once.
    fn announce_ended(&mut self, service: &QueryService) {
        let jobs = &self.reading.jobs;
        self.started.retain(|(id, name)| {
            let Some(job) = jobs
                .iter()
                .find(|job| job.job_id == *id && job.status.ended())
            else {
                return true;
            };
            service.notify(ServiceEvent::Notice(format!(
                "deep analysis of {name} is {}; its report is in Jobs",
                job.status.word()
            )));
            false
        });
    }

    /// Marks the jobs as outdated if the query service announced a change.
    fn take_deck_events(&mut self, service: &QueryService) {
        let Some(news) = &mut self.news else {
            self.news = Some(service.listen());
            self.stale = true;
            return;
        };
        loop {
            match news.try_recv() {
                Ok(ServiceEvent::JobUpdated(_)) | Err(TryRecvError::Lagged(_)) => self.stale = true,
                Ok(_) => {}
                Err(TryRecvError::Empty | TryRecvError::Closed) => return,
            }
        }
    }

    /// Another job is watched: its tasks must be read.
    pub(super) fn mark_stale(&mut self) {
        self.stale = true;
    }

    /// Starts one job of these tokens.
    pub(super) fn start(&mut self, tokens: Vec<Address>, name: String, context: &Context<'_>) {
        self.run_change(context, move |jobs| {
            let job = jobs.create(&match tokens[..] {
                [token_address] => JobBody::One { token_address },
                _ => JobBody::Several {
                    token_addresses: tokens,
                },
            })?;
            let says = format!("deep analysis of {name} is queued as {}", job.job_id);
            Ok((says, Some((job.job_id, name))))
        });
    }

    pub(super) fn terminate(&mut self, id: String, context: &Context<'_>) {
        self.run_change(context, move |jobs| {
            jobs.terminate(&id).map(|job| {
                (
                    format!("{} was stopped; its results are kept", job.job_id),
                    None,
                )
            })
        });
    }

    /// Runs a change of the store and announces its result.
    fn run_change<C>(&mut self, context: &Context<'_>, change: C)
    where
        C: FnOnce(&Jobs) -> model::error::Result<(String, Option<Started>)> + Send + 'static,
    {
        let Some(jobs) = context.jobs.map(Arc::clone) else {
            return;
        };
        let service = Arc::clone(context.service);
        self.changes
            .push(BackgroundTask::start(context.wake, move |_| {
                let (said, started) =
                    change(&jobs).unwrap_or_else(|problem| (problem.detail, None));
                service.notify(ServiceEvent::Notice(said));
                Ok(started)
            }));
        self.stale = true;
    }

    pub(super) fn open_report(&mut self, id: String, context: &Context<'_>) {
        let Some(jobs) = context.jobs.map(Arc::clone) else {
            return;
        };
        let (service, own) = (Arc::clone(context.service), context.annotations.clone());
        self.report_task = Some(BackgroundTask::start(context.wake, move |progress| {
            let report = jobs.report(&id)?;
            let json = serde_json::to_string_pretty(&report).unwrap_or_default();
            let mut document = document::of_job(&service, &report, progress)?;
            document.annotate(report.tokens.iter().map(|token| token.token_address), &own);
            Ok(ReportText {
                job_id: id,
                status: report.status.word(),
                document,
                json,
            })
        }));
    }

    pub(super) fn reads_report(&self) -> bool {
        self.report_task.is_some()
    }

    pub(super) fn close_report(&mut self) {
        (self.report, self.report_task) = (None, None);
    }
}
