//! Messages to a webhook that the user's configuration names: one small JSON body each. Redirects are not followed and responses are not
//! read. Chat services put a token into the URL, so only its host is ever shown, also in errors.

use std::{fmt, sync::Arc, time::Duration};

use reqwest::{Client, Url, header::CONTENT_TYPE, redirect};

use super::{WebFault, request_fault};
use crate::{Fault, RemoteClient, client::Connector, locked, place::is_private_host};

/// Longest time for a message to be taken.
const POST_TIME: Duration = Duration::from_secs(10);

/// URL that messages are posted to: https, or http on this machine or in its network.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookUrl(Url);

impl WebhookUrl {
    /// Parses a URL; `None` if it is not a valid one, or contains a user.
    pub fn parse(text: &str) -> Option<Self> {
        let url = Url::parse(text)
            .ok()
            .filter(|url| url.username().is_empty() && url.password().is_none())?;
        let host = url.host_str().filter(|host| !host.is_empty())?;
        let allowed = url.scheme() == "https" || (url.scheme() == "http" && is_private_host(host));
        allowed.then_some(Self(url))
    }

    /// Scheme, host and port.
    pub fn origin(&self) -> String {
        self.0.origin().ascii_serialization()
    }
}

impl fmt::Debug for WebhookUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WebhookUrl").field(&self.origin()).finish()
    }
}

impl RemoteClient {
    /// Posts the JSON, with one retry if the server fails. The error continues "`ORIGIN` …".
    pub fn post(
        self: &Arc<Self>,
        webhook: &WebhookUrl,
        json: Vec<u8>,
        stopped: &dyn Fn() -> bool,
    ) -> Result<(), Fault> {
        let (wire, webhook) = (Arc::clone(self), webhook.clone());
        self.wait(stopped, async move { wire.post_json(&webhook, json).await })
    }

    async fn post_json(&self, webhook: &WebhookUrl, json: Vec<u8>) -> Result<(), Fault> {
        let client = self.webhook_client(webhook)?;
        let mut is_retry = false;
        loop {
            let status = {
                let _asking = self.ask(&webhook.origin());
                let sent = client
                    .post(webhook.0.clone())
                    .header(CONTENT_TYPE, "application/json")
                    .body(json.clone())
                    .send()
                    .await;
                sent.map_err(|error| match request_fault(&error) {
                    WebFault::Later(..) if error.is_timeout() => {
                        Fault::Unavailable("did not respond in time".to_owned())
                    }
                    WebFault::Later(..) => Fault::CutOff,
                    WebFault::Final(fault) => fault,
                })?
                .status()
            };
            match status.as_u16() {
                200..=299 => return Ok(()),
                300..=399 => {
                    return Err(Fault::Refused(
                        "redirects to another address; use that address instead".to_owned(),
                    ));
                }
                500.. if !is_retry => {
                    is_retry = true;
                    tokio::time::sleep(self.options.timeouts.backoff).await;
                }
                number => return Err(Fault::Unavailable(format!("returned {number}"))),
            }
        }
    }

    fn webhook_client(&self, webhook: &WebhookUrl) -> Result<Client, Fault> {
        let key = (format!("webhook {}", webhook.origin()), true);
        if let Some(client) = locked(&self.services.clients).get(&key) {
            return Ok(client.clone());
        }
        let plain = webhook.0.scheme() == "http";
        let connector = Connector {
            timeouts: self.options.timeouts.clone(),
            named: true,
            plain,
            headers: reqwest::header::HeaderMap::new(),
        };
        let client = connector
            .builder()
            .redirect(redirect::Policy::none())
            .timeout(POST_TIME)
            .build();
        let client = client.map_err(|_| Fault::Failed("cannot be contacted".to_owned()))?;
        locked(&self.services.clients).insert(key, client.clone());
        Ok(client)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_go_encrypted_or_stay_in_the_network() {
        for good in [
            "https://hooks.example.org/T0/secret",
            "http://127.0.0.1:9/x",
            "http://nas/x",
            "https://10.0.0.1/x?key=1",
        ] {
            assert!(WebhookUrl::parse(good).is_some(), "{good}");
        }
        for wrong in [
            "",
            "hooks.example.org/x",
            "http://hooks.example.org/x",
            "ftp://nas/x",
            "https://me:pw@h.org/x",
            "https://:pw@h.org/x",
        ] {
            assert!(WebhookUrl::parse(wrong).is_none(), "{wrong}");
        }
        let shown = format!(
            "{:?}",
            WebhookUrl::parse("https://hooks.example.org/T0/secret")
        );
        assert!(
            shown.contains("https://hooks.example.org") && !shown.contains("secret"),
            "{shown}"
        );
    }
}
