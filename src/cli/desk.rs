//! Adapts the API server to the dashboard's API view: start and stop on its own threads, request log and metrics. The
//! only place where the two front ends meet.

use std::{
    net::TcpListener,
    sync::{Arc, Mutex},
    time::Duration,
};

use color_eyre::eyre::{Report, Result};
use tokio::{runtime::Runtime, sync::oneshot};

use crate::config::plain_reason;
use api::{self, Api, metrics::LATENCY_MICROS};
use model::{locks::Locked as _, logged_request::LoggedRequest};
use tui::views::{
    task::Wake,
    view::{ApiServerHandle, ApiState},
};

/// Interval at which new requests wake the dashboard.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

pub(super) struct ApiControl {
    api: Arc<Api>,
    listen: String,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    state: ApiState,
    running: Option<Running>,
    wake: Option<Wake>,
}

/// A running server; dropping the sender stops it.
struct Running {
    stop: oneshot::Sender<()>,
    runtime: Runtime,
}

impl ApiControl {
    pub(super) fn new(api: Arc<Api>, listen: &str) -> Arc<Self> {
        Arc::new(Self {
            api,
            listen: listen.to_owned(),
            inner: Mutex::default(),
        })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.locked()
    }

    fn run(&self) -> Result<(String, Running)> {
        let refuse = |error: std::io::Error| {
            let reason = format!(
                "the API cannot listen on `{}`: {}",
                self.listen,
                plain_reason(&error)
            );
            Report::new(error).wrap_err(reason)
        };
        let listener = TcpListener::bind(&self.listen).map_err(refuse)?;
        listener.set_nonblocking(true).map_err(refuse)?;
        let address = listener.local_addr().map_err(refuse)?;
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder
            .worker_threads(2)
            .thread_name("api")
            .enable_all()
            .build()
            .map_err(refuse)?;
        let (stop, stopped) = oneshot::channel::<()>();
        let api = Arc::clone(&self.api);
        runtime.spawn(async move {
            if let Ok(listener) = tokio::net::TcpListener::from_std(listener) {
                api::serve(
                    listener,
                    api,
                    async move { stopped.await.unwrap_or_default() },
                )
                .await;
            }
        });
        self.wake_on_requests(&runtime);
        Ok((format!("http://{address}"), Running { stop, runtime }))
    }

    /// Wakes the dashboard after new requests.
    fn wake_on_requests(&self, runtime: &Runtime) {
        let Some(wake) = self.lock().wake.clone() else {
            return;
        };
        let api = Arc::clone(&self.api);
        runtime.spawn(async move {
            let mut seen = api.log.total();
            loop {
                tokio::time::sleep(POLL_INTERVAL).await;
                let total = api.log.total();
                if total != seen {
                    seen = total;
                    wake();
                }
            }
        });
    }
}

fn is_in_use(reason: &Report) -> bool {
    let error = reason.downcast_ref::<std::io::Error>();
    error.is_some_and(|error| error.kind() == std::io::ErrorKind::AddrInUse)
}

impl ApiServerHandle for ApiControl {
    fn state(&self) -> ApiState {
        self.lock().state.clone()
    }

    fn key(&self) -> Option<String> {
        self.api.keys.show().map(|key| key.reveal().to_owned())
    }

    fn requests(&self, limit: usize) -> Vec<LoggedRequest> {
        self.api.log.recent(limit)
    }

    fn histogram(&self) -> Vec<(u64, u64)> {
        let open = [u64::MAX];
        LATENCY_MICROS
            .iter()
            .chain(&open)
            .copied()
            .zip(self.api.metrics.latency().counts)
            .collect()
    }

    fn start(&self) -> ApiState {
        if self.lock().running.is_some() {
            return self.state();
        }
        let outcome = self.run();
        let mut inner = self.lock();
        inner.state = match outcome {
            Ok((base, running)) => {
                inner.running = Some(running);
                ApiState::Listening(base)
            }
            Err(reason) if is_in_use(&reason) => ApiState::Taken(reason.to_string()),
            Err(reason) => ApiState::Failed(reason.to_string()),
        };
        inner.state.clone()
    }

    fn stop(&self) {
        let running = {
            let mut inner = self.lock();
            inner.state = ApiState::Off;
            inner.running.take()
        };
        if let Some(running) = running {
            running.stop.send(()).ok();
            // On its own thread, so that the dashboard does not wait for requests in flight.
            let end = move || running.runtime.shutdown_timeout(Duration::from_secs(5));
            // If no thread can be started, dropping the closure ends the runtime.
            std::thread::Builder::new()
                .name("api-end".into())
                .spawn(end)
                .ok();
        }
    }

    fn listen(&self, wake: Wake) {
        self.lock().wake = Some(wake);
    }
}
