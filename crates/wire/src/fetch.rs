//! Lists a store and fetches byte ranges of objects. Every range is requested with `If-Match` on the listed ETag, and its length is
//! checked: bytes of another version, or of another range, are never passed on.

use std::{io, ops::Range, sync::Arc, time::Duration};

use futures_util::StreamExt;
use object_store::{GetOptions, GetRange, ObjectMeta, ObjectStoreExt, path::Path};

use super::{Fault, Object, RemoteClient, Scheme, UrlPattern, store::Store};

/// Receives bytes as they arrive, on a thread of the wire.
pub trait ByteSink: Send + Sync {
    /// Stores the bytes at offset `at`. An error ends the fetch.
    fn take(&self, at: u64, bytes: &[u8]) -> io::Result<()>;
    /// The range has arrived in full, or failed.
    fn end(&self, range: Range<u64>, outcome: Result<(), Fault>);
}

/// A running fetch of a range. Dropping it cancels the fetch, and its sink receives no more.
#[derive(Debug)]
pub struct PartFetch(tokio::task::AbortHandle);

impl Drop for PartFetch {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The ETag, or the modification time without one. Azure lists ETags without the quotation marks that other stores include.
fn version_tag(meta: &ObjectMeta) -> Option<String> {
    let quoted = |tag: &String| {
        if tag.ends_with('"') {
            tag.clone()
        } else {
            format!("\"{tag}\"")
        }
    };
    meta.e_tag.as_ref().map(quoted).or_else(|| dated(meta))
}

/// Modification time in seconds, as the headers of a response have no finer time.
fn dated(meta: &ObjectMeta) -> Option<String> {
    let seconds = meta.last_modified.timestamp();
    (seconds > 0).then(|| format!("changed {seconds}"))
}

/// Whether a response is of the object that was listed. Some servers list no ETags and respond with one: there the modification time
/// decides.
fn is_same(meta: &ObjectMeta, object: &Object) -> bool {
    meta.size == object.bytes
        && (object.pinned
            || version_tag(meta) == object.version_tag
            || (object.version_tag.is_some() && dated(meta) == object.version_tag))
}

/// ETag for `If-Match`, where it is no weak one.
fn condition(object: &Object) -> Option<String> {
    object
        .version_tag
        .clone()
        .filter(|tag| tag.starts_with('"') && !object.pinned)
}

impl UrlPattern {
    fn key(&self) -> Result<Path, Fault> {
        let path = match self.scheme {
            Scheme::Https | Scheme::Http => Path::from_url_path(&self.path),
            _ => Path::parse(self.path.trim_end_matches('/')),
        };
        path.map_err(|_| Fault::Refused("has a path that cannot be requested".to_owned()))
    }
}

impl RemoteClient {
    pub(super) async fn in_store(
        &self,
        place: &UrlPattern,
        most: usize,
    ) -> Result<Vec<Object>, Fault> {
        let held = self.store(place).await?;
        let _asking = self.ask(&held.asked.name);
        let _place = self.places.acquire().await;
        let object = |meta: &ObjectMeta, url: String| Object {
            url,
            source: held.asked.name.clone(),
            bytes: meta.size,
            version_tag: version_tag(meta),
            modified: (meta.last_modified.timestamp() > 0)
                .then(|| meta.last_modified.timestamp_millis()),
            pinned: false,
        };
        if !place.is_pattern() && !place.path.ends_with('/') {
            let meta = held
                .store
                .head(&place.key()?)
                .await
                .map_err(|error| held.asked.fault(&error))?;
            return Ok(vec![object(&meta, place.url(&place.path))]);
        }
        let prefix = Path::parse(place.fixed().trim_end_matches('/'))
            .map_err(|_| Fault::Refused("has a path that cannot be listed".to_owned()))?;
        let mut listing = held.store.list(Some(&prefix));
        let mut found = Vec::new();
        while let Some(meta) = listing.next().await {
            let meta = meta.map_err(|error| held.asked.fault(&error))?;
            if found.len() == most {
                return Err(Fault::Refused(format!(
                    "has more than {most} objects under `{}`; use a longer prefix",
                    place.fixed()
                )));
            }
            found.push(object(&meta, place.url(meta.location.as_ref())));
        }
        Ok(found)
    }

    /// Starts to fetch a range of the object.
    pub fn fetch(
        self: &Arc<Self>,
        object: &Object,
        range: Range<u64>,
        sink: Arc<dyn ByteSink>,
    ) -> Result<PartFetch, Fault> {
        let (wire, object) = (Arc::clone(self), object.clone());
        let work = async move {
            let outcome = wire.part(&object, range.clone(), &*sink).await;
            sink.end(range, outcome);
        };
        Ok(PartFetch(self.runtime()?.spawn(work).abort_handle()))
    }

    async fn part(
        &self,
        object: &Object,
        range: Range<u64>,
        sink: &dyn ByteSink,
    ) -> Result<(), Fault> {
        let place = UrlPattern::parse(&object.url)?;
        let place = if place.scheme == Scheme::Hf {
            super::hub::place(&place, object)?
        } else {
            place
        };
        let key = place.key()?;
        let held = self.store(&place).await?;
        let mut at = range.start;
        let mut tries = 0;
        loop {
            let _place = self.places.acquire().await;
            let _asking = self.ask(&object.source);
            let before = at;
            let outcome = self
                .stream(&held, &key, object, Some(&mut at), range.end, sink)
                .await;
            let fault = match outcome {
                Ok(()) => return Ok(()),
                Err(Fault::NoParts) => {
                    let whole = self
                        .stream(&held, &key, object, None, range.end, sink)
                        .await;
                    // It sends neither parts nor the whole.
                    return whole.map_err(|fault| {
                        if fault == Fault::NoParts {
                            Fault::Unavailable(fault.to_string())
                        } else {
                            fault
                        }
                    });
                }
                Err(fault @ Fault::Unavailable(_)) => fault,
                Err(fault) => return Err(fault),
            };
            // Received bytes are kept, so only tries without any are counted.
            tries = if at > before { 0 } else { tries + 1 };
            if tries > 1 {
                return Err(fault);
            }
            tokio::time::sleep(self.options.timeouts.backoff.min(Duration::from_secs(1))).await;
        }
    }

    /// Fetches from `at` to `end`; without `at` the whole object, as some servers support no ranges.
    async fn stream(
        &self,
        held: &Store,
        key: &Path,
        object: &Object,
        at: Option<&mut u64>,
        end: u64,
        sink: &dyn ByteSink,
    ) -> Result<(), Fault> {
        let (mut whole, end, parts) = (
            0,
            if at.is_some() { end } else { object.bytes },
            at.is_some(),
        );
        let at = at.unwrap_or(&mut whole);
        self.afford(end - *at)?;
        let range = parts.then_some(GetRange::Bounded(*at..end));
        let asked = held
            .store
            .get_opts(
                key,
                GetOptions {
                    range,
                    if_match: condition(object),
                    ..GetOptions::default()
                },
            )
            .await;
        let result = asked.map_err(|error| match error {
            // It was there when it was listed.
            object_store::Error::NotFound { .. } => Fault::Changed,
            error => held.asked.fault(&error),
        })?;
        if !is_same(&result.meta, object) {
            return Err(Fault::Changed);
        }
        let mut stream = result.into_stream();
        while let Some(bytes) = stream.next().await {
            let bytes = bytes.map_err(|error| held.asked.fault(&error))?;
            self.count(bytes.len() as u64);
            if bytes.len() as u64 > end - *at {
                return Err(Fault::Unavailable(
                    "sent more bytes than requested".to_owned(),
                ));
            }
            sink.take(*at, &bytes).map_err(|error| {
                Fault::Failed(format!(
                    "cannot be stored: {error}; free disk space, or set another folder in `[cache] dir`"
                ))
            })?;
            *at += bytes.len() as u64;
        }
        if *at < end {
            Err(Fault::Unavailable(
                "was interrupted on every try".to_owned(),
            ))
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_the_same_however_its_tag_is_written() {
        let at = |milliseconds: i64, tag: Option<&str>| ObjectMeta {
            location: "a".into(),
            last_modified: chrono::DateTime::from_timestamp_millis(milliseconds).expect("a time"),
            size: 1,
            e_tag: tag.map(str::to_owned),
            version: None,
        };
        let meta = |tag| at(0, tag);
        let listed = version_tag(&meta(Some("0x8D1")));
        assert_eq!(listed, version_tag(&meta(Some("\"0x8D1\""))));
        assert_eq!(
            version_tag(&meta(Some("W/\"0x8D1\""))).as_deref(),
            Some("W/\"0x8D1\"")
        );
        assert_eq!(version_tag(&meta(None)), None);
        let object = |meta: &ObjectMeta| Object {
            url: String::new(),
            source: String::new(),
            bytes: 1,
            version_tag: version_tag(meta),
            modified: None,
            pinned: false,
        };
        // A listing without ETags, in milliseconds, and responses with them, in seconds.
        let listed = object(&at(5_169, None));
        assert!(
            is_same(&at(5_000, Some("\"a\"")), &listed)
                && !is_same(&at(6_000, Some("\"a\"")), &listed)
        );
        assert!(!is_same(
            &at(5_000, Some("\"b\"")),
            &object(&at(5_000, Some("\"a\"")))
        ));
        assert!(
            !is_same(&at(0, Some("\"a\"")), &object(&at(0, None)))
                && is_same(&at(0, None), &object(&at(0, None)))
        );
    }
}
