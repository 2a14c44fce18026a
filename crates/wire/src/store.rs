//! Object stores, built from the sources of `config.toml`. A place without a source is accessed without keys.

use std::sync::Arc;

use object_store::{
    ClientOptions, ObjectStore,
    aws::AmazonS3ConfigKey,
    azure,
    client::{HttpRequest, HttpRequestBody},
    gcp::{self, GoogleConfigKey},
    http::HttpBuilder,
};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};

use super::{
    client::{Connector, TimeoutsAndRetries},
    fault::{AccessKind, AskedStore, Fault, PRIVATE_ADDRESS},
    keys,
    place::{Scheme, UrlPattern, is_private_host},
    source::{Source, SourceKind},
};

/// A store, with its description for faults.
pub(super) struct Store {
    pub(super) store: Arc<dyn ObjectStore>,
    pub(super) asked: AskedStore,
}

/// Opens the store of a place; files of Hugging Face are fetched by `hub`.
pub(super) async fn open(
    place: &UrlPattern,
    sources: &[Source],
    timeouts: &TimeoutsAndRetries,
) -> Result<Store, Fault> {
    let source = sources.iter().find(|source| source.has(place));
    if source.is_none() {
        if place.scheme == Scheme::Http {
            return Err(Fault::Refused(
                "is not encrypted; use https://, or add it to `[sources]` in config.toml"
                    .to_owned(),
            ));
        }
        if place.host().is_some_and(is_private_host) {
            return Err(Fault::Refused(format!(
                "has {PRIVATE_ADDRESS}, which a dataset may not use; add it to `[sources]` in config.toml"
            )));
        }
    }
    if let Some(reason) = source.and_then(Source::fault) {
        return Err(Fault::Refused(format!("belongs to a source that {reason}")));
    }
    let mut headers = HeaderMap::new();
    let token = source
        .map(|source| source.token_env.as_str())
        .filter(|name| !name.is_empty());
    if let Some(name) = token {
        let value = std::env::var(name).ok().filter(|token| !token.is_empty());
        let header = value.and_then(|token| HeaderValue::from_str(&format!("Bearer {token}")).ok());
        let mut header = header.ok_or_else(|| {
            Fault::Refused(format!(
                "needs a token from the variable `{name}`, which is not set"
            ))
        })?;
        header.set_sensitive(true);
        headers.insert(AUTHORIZATION, header);
    }
    let address = source.map_or("", |source| {
        if source.kind == SourceKind::Https {
            &source.url
        } else {
            &source.endpoint
        }
    });
    let plain = address.to_ascii_lowercase().starts_with("http://");
    let connector = Connector {
        timeouts: timeouts.clone(),
        named: source.is_some(),
        plain,
        headers,
    };
    let options = ClientOptions::new().with_allow_http(plain);
    let asked = asked(place, source);
    let odd = |error: object_store::Error| asked.fault(&error);
    // Each kind of store has its own builder type, with the same settings.
    macro_rules! built {
        ($builder:expr) => {{
            let builder = $builder
                .with_http_connector(connector)
                .with_client_options(options)
                .with_retry(timeouts.retry());
            Arc::new(builder.build().map_err(odd)?)
        }};
    }
    let store: Arc<dyn ObjectStore> = match place.scheme {
        Scheme::S3 => {
            let builder = keys::s3(place, source, &connector).await?;
            let region = builder.get_config_value(&AmazonS3ConfigKey::Region);
            require_uri(
                "region",
                region.map(|region| format!("https://s3.{region}.amazonaws.com")),
            )?;
            for key in [AmazonS3ConfigKey::Endpoint, AmazonS3ConfigKey::S3Endpoint] {
                require_uri("endpoint", builder.get_config_value(&key))?;
            }
            built!(builder)
        }
        Scheme::Gs => {
            let builder = gcs(place, source);
            require_uri(
                "endpoint",
                builder.get_config_value(&GoogleConfigKey::BaseUrl),
            )?;
            built!(builder)
        }
        Scheme::Az => built!(azure(place, source)?),
        Scheme::Https | Scheme::Http => built!(HttpBuilder::new().with_url(place.origin())),
        Scheme::Hf => return Err(Fault::Refused("is not an object store".to_owned())),
    };
    Ok(Store { store, asked })
}

/// Checks a text that begins every URL of a store, which would panic at its first request. The text may contain a key, so the error does not.
fn require_uri(setting: &str, text: Option<String>) -> Result<(), Fault> {
    let mut request = HttpRequest::new(HttpRequestBody::empty());
    let valid = text.is_none_or(|text| text.parse().map(|uri| *request.uri_mut() = uri).is_ok());
    let why = || {
        format!(
            "belongs to a source whose `{setting}` does not form a valid URL; correct it in config.toml or in the environment"
        )
    };
    if valid {
        Ok(())
    } else {
        Err(Fault::Refused(why()))
    }
}

/// Describes the store of the place for faults.
fn asked(place: &UrlPattern, source: Option<&Source>) -> AskedStore {
    let web = matches!(place.scheme, Scheme::Https | Scheme::Http);
    AskedStore {
        name: source.map_or_else(|| place.root.clone(), |source| source.name.clone()),
        root: place.root.clone(),
        access: match source {
            None => AccessKind::Public,
            Some(source) if source.anonymous => AccessKind::Anonymous,
            Some(_) => AccessKind::Keys,
        },
        web,
        keys: match place.scheme {
            Scheme::Gs => "GOOGLE_APPLICATION_CREDENTIALS and similar variables, or `buckets`",
            Scheme::Az => "AZURE_STORAGE_ACCOUNT_KEY and similar variables, or `account`",
            _ => "AWS_ACCESS_KEY_ID and similar variables, ~/.aws, or `profile`",
        },
    }
}

fn gcs(place: &UrlPattern, source: Option<&Source>) -> gcp::GoogleCloudStorageBuilder {
    let keys = source.is_some_and(|source| !source.anonymous);
    let builder = if keys {
        gcp::GoogleCloudStorageBuilder::from_env()
    } else {
        gcp::GoogleCloudStorageBuilder::new().with_skip_signature(true)
    };
    let builder = match source
        .map(|source| source.endpoint.as_str())
        .filter(|endpoint| !endpoint.is_empty())
    {
        Some(endpoint) => builder.with_base_url(endpoint),
        None => builder,
    };
    builder.with_bucket_name(&place.root)
}

fn azure(
    place: &UrlPattern,
    source: Option<&Source>,
) -> Result<azure::MicrosoftAzureBuilder, Fault> {
    let source = source.ok_or_else(|| {
        Fault::Refused("belongs to an unknown storage account; add a source with `account` and `buckets` to config.toml".to_owned())
    })?;
    let builder = if source.anonymous {
        azure::MicrosoftAzureBuilder::new().with_skip_signature(true)
    } else {
        azure::MicrosoftAzureBuilder::from_env()
    };
    let builder = if source.endpoint.is_empty() {
        builder
    } else {
        builder.with_endpoint(source.endpoint.clone())
    };
    Ok(builder
        .with_account(&source.account)
        .with_container_name(&place.root))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_whose_urls_cannot_be_requested_is_not_built() {
        for (text, valid) in [
            ("http://127.0.0.1:9000", true),
            ("https://[2001:db8::1]:9000/minio/", true),
            ("https://s3.eu-west-1.amazonaws.com", true),
            ("http://127.0.0.1:9000/%zz x", false),
            ("https://s3.eu west 1.amazonaws.com", false),
            ("http://", false),
        ] {
            assert_eq!(
                require_uri("endpoint", Some(text.to_owned())).is_ok(),
                valid,
                "{text}"
            );
        }
        assert_eq!(require_uri("endpoint", None), Ok(()));
    }
}
