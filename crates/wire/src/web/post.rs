//! Messages to a webhook that the user's configuration names: one small JSON body each, signed if there is a secret. Redirects are not
//! followed and responses are not read. Chat services put a token into the URL, so only its host is ever shown, also in errors.

use std::{fmt, sync::Arc, time::Duration};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use reqwest::{Client, Url, header::CONTENT_TYPE, redirect};
use ring::hmac;

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

/// What begins the text of a secret.
const SECRET_PREFIX: &str = "whsec_";
/// Bytes of a secret.
const SECRET_BYTES: std::ops::RangeInclusive<usize> = 24..=64;

/// The secret that messages are signed with, so that the recipient knows that they come from here and when. Source of the format: Standard
/// Webhooks 1.0.0, symmetric signatures.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookSecret(Vec<u8>);

impl WebhookSecret {
    /// Parses `whsec_` and 24 to 64 bytes in base64.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = BASE64_STANDARD.decode(text.strip_prefix(SECRET_PREFIX)?);
        let bytes = bytes
            .ok()
            .filter(|bytes| SECRET_BYTES.contains(&bytes.len()))?;
        Some(Self(bytes))
    }

    /// The signature of the message with this id, sent at this time in seconds since 1970.
    fn sign(&self, id: &str, seconds: i64, body: &[u8]) -> String {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &self.0);
        let mut signed = hmac::Context::with_key(&key);
        signed.update(format!("{id}.{seconds}.").as_bytes());
        signed.update(body);
        format!("v1,{}", BASE64_STANDARD.encode(signed.sign()))
    }
}

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookSecret(…)")
    }
}

/// A message to a webhook.
#[derive(Debug, Clone)]
pub struct WebhookMessage {
    /// The same whenever the message is sent again.
    pub id: String,
    /// Seconds since 1970.
    pub seconds: i64,
    pub json: Vec<u8>,
    pub secret: Option<WebhookSecret>,
}

impl RemoteClient {
    /// Posts the message, with one retry if the server fails. The error continues "`ORIGIN` …".
    pub fn post(
        self: &Arc<Self>,
        webhook: &WebhookUrl,
        message: WebhookMessage,
        stopped: &dyn Fn() -> bool,
    ) -> Result<(), Fault> {
        let (wire, webhook) = (Arc::clone(self), webhook.clone());
        self.wait(
            stopped,
            async move { wire.post_json(&webhook, message).await },
        )
    }

    async fn post_json(&self, webhook: &WebhookUrl, message: WebhookMessage) -> Result<(), Fault> {
        let client = self.webhook_client(webhook)?;
        let mut is_retry = false;
        loop {
            let status = {
                let _asking = self.ask(&webhook.origin());
                let mut request = client
                    .post(webhook.0.clone())
                    .header(CONTENT_TYPE, "application/json");
                if let Some(secret) = &message.secret {
                    let signature = secret.sign(&message.id, message.seconds, &message.json);
                    request = request
                        .header("webhook-id", &message.id)
                        .header("webhook-timestamp", message.seconds)
                        .header("webhook-signature", signature);
                }
                let sent = request.body(message.json.clone()).send().await;
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
    fn a_signature_is_that_of_the_standard() {
        // The example of the Standard Webhooks specification.
        let secret = WebhookSecret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").expect("good");
        assert_eq!(
            secret.sign(
                "msg_p5jXN8AQM9LWM0D4loKWxJek",
                1_614_265_330,
                br#"{"test": 2432232314}"#
            ),
            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
        );
        assert_eq!(format!("{secret:?}"), "WebhookSecret(…)");
        let bytes = |count| format!("whsec_{}", BASE64_STANDARD.encode(vec![7; count]));
        for (text, is_good) in [
            (bytes(23), false),
            (bytes(24), true),
            (bytes(64), true),
            (bytes(65), false),
            ("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".to_owned(), false),
            ("whsec_?".to_owned(), false),
        ] {
            assert_eq!(WebhookSecret::parse(&text).is_some(), is_good, "{text}");
        }
    }

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
