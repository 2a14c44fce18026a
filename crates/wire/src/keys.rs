//! Credentials: keys of S3 from the environment, `~/.aws`, or the container's or machine's metadata service, and the password of a
//! ClickHouse user. They are passed to the store or the client and stored nowhere else.

use std::{
    collections::HashMap,
    fs,
    io::Read as _,
    path::PathBuf,
    process::{ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use object_store::{
    ClientOptions,
    aws::{AmazonS3Builder, resolve_bucket_region},
};

use super::{client::Connector, fault::Fault, place::UrlPattern, source::Source};

/// Maximum size of a file of `~/.aws` in bytes.
const FILE_MAX: u64 = 1 << 20;
/// Time limit of a command of the user that prints keys: they may have to confirm it elsewhere.
const COMMAND_TIME: Duration = Duration::from_mins(1);
/// Poll interval for its end.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Store builder with the credentials of its source.
pub(super) async fn s3(
    place: &UrlPattern,
    source: Option<&Source>,
    connector: &Connector,
) -> Result<AmazonS3Builder, Fault> {
    let Some(source) = source else {
        let options = ClientOptions::new()
            .with_connect_timeout(connector.timeouts.connect_timeout)
            .with_timeout(connector.timeouts.read_timeout);
        let region = resolve_bucket_region(&place.root, &options)
            .await
            .map_err(|error| of_unnamed(&place.root, &error))?;
        return Ok(AmazonS3Builder::new()
            .with_skip_signature(true)
            .with_region(region)
            .with_bucket_name(&place.root));
    };
    let found = if source.anonymous {
        Credentials::None
    } else {
        // Files and a command of the user: not on the thread that requests run on.
        let profile = source.profile.clone();
        let found = tokio::task::spawn_blocking(move || find(&profile)).await;
        found.map_err(|_| Fault::Failed("failed: internal error".to_owned()))??
    };
    let mut region = source.region.clone();
    let mut builder = match found {
        Credentials::Environment => AmazonS3Builder::from_env().with_skip_signature(false),
        Credentials::Static(keys) => {
            let mut builder = AmazonS3Builder::new()
                .with_access_key_id(keys.id)
                .with_secret_access_key(keys.secret);
            if let Some(token) = keys.token {
                builder = builder.with_token(token);
            }
            if region.is_empty() {
                region = keys.region.unwrap_or_default();
            }
            builder
        }
        Credentials::Machine => AmazonS3Builder::new(),
        Credentials::None => AmazonS3Builder::new().with_skip_signature(true),
    };
    if !source.endpoint.is_empty() {
        builder = builder
            .with_endpoint(source.endpoint.trim_end_matches('/'))
            .with_allow_http(connector.plain);
    }
    if !region.is_empty() {
        builder = builder.with_region(region);
    }
    Ok(builder.with_bucket_name(&place.root))
}

/// Fault for a bucket that no source covers, and that Amazon's S3, which is tried instead, does not give.
fn of_unnamed(bucket: &str, error: &object_store::Error) -> Fault {
    let says = error.to_string();
    let why = if says.contains("not found") {
        "Amazon S3 has no bucket of that name"
    } else if says.contains("parse the region") {
        "Amazon S3 does not report its region"
    } else {
        "Amazon S3 is unreachable"
    };
    Fault::Unavailable(format!(
        "is in none of your sources, and {why}; add `{bucket}` to `buckets` of its source in config.toml, or correct its name"
    ))
}

/// The password of the source's user, if it has one.
pub(super) fn password(source: &Source) -> Result<Option<String>, Fault> {
    if !source.password_env.is_empty() {
        let name = &source.password_env;
        let value = std::env::var(name).ok().filter(|value| !value.is_empty());
        return value.map(Some).ok_or_else(|| {
            Fault::Refused(format!(
                "needs a password from the variable `{name}`, which is not set"
            ))
        });
    }
    if source.password_file.is_empty() {
        return Ok(None);
    }
    let path = &source.password_file;
    let small = fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() <= FILE_MAX);
    let text = if small {
        fs::read_to_string(path).ok()
    } else {
        None
    };
    let text = text.ok_or_else(|| {
        Fault::Refused("needs a password from its `password_file`, which cannot be read".to_owned())
    })?;
    Ok(Some(text.trim_end_matches(['\r', '\n']).to_owned()))
}

/// Where credentials were found.
enum Credentials {
    /// In environment variables that the store reads itself: static keys, a web identity or a container's service.
    Environment,
    Static(Keys),
    /// The machine is one of Amazon's and may have a role.
    Machine,
    None,
}

/// Keys of a profile. Not for printing: there is no `Debug`.
struct Keys {
    id: String,
    secret: String,
    token: Option<String>,
    region: Option<String>,
}

fn find(profile: &str) -> Result<Credentials, Fault> {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let in_environment = set("AWS_ACCESS_KEY_ID") && set("AWS_SECRET_ACCESS_KEY")
        || set("AWS_WEB_IDENTITY_TOKEN_FILE") && set("AWS_ROLE_ARN")
        || set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")
        || set("AWS_CONTAINER_CREDENTIALS_FULL_URI");
    // A profile that the user named for this source takes precedence over the environment, which is for everything.
    if profile.is_empty() && in_environment {
        return Ok(Credentials::Environment);
    }
    let named = if profile.is_empty() {
        std::env::var("AWS_PROFILE").unwrap_or_default()
    } else {
        profile.to_owned()
    };
    let name = if named.is_empty() { "default" } else { &named };
    if let Some(keys) = of_profile(name)? {
        return Ok(Credentials::Static(keys));
    }
    if !named.is_empty() {
        return Err(Fault::Refused(format!(
            "needs the AWS profile `{named}`, which is missing from ~/.aws or has no keys"
        )));
    }
    Ok(if is_amazons() {
        Credentials::Machine
    } else {
        Credentials::None
    })
}

/// The keys of a profile: static ones, or those that its `credential_process` prints.
fn of_profile(name: &str) -> Result<Option<Keys>, Fault> {
    let file = |variable: &str, usual: &str| {
        let named = std::env::var_os(variable)
            .filter(|path| !path.is_empty())
            .map(PathBuf::from);
        named.or_else(|| Some(std::env::home_dir()?.join(".aws").join(usual)))
    };
    let mut entries = HashMap::new();
    for (path, title) in [
        (
            file("AWS_CONFIG_FILE", "config"),
            if name == "default" {
                name.to_owned()
            } else {
                format!("profile {name}")
            },
        ),
        (
            file("AWS_SHARED_CREDENTIALS_FILE", "credentials"),
            name.to_owned(),
        ),
    ] {
        let small = |path: &PathBuf| {
            fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() <= FILE_MAX)
        };
        let text = path
            .filter(small)
            .and_then(|path| fs::read_to_string(path).ok())
            .unwrap_or_default();
        entries.extend(section(&text, &title));
    }
    let mut take = |key: &str| entries.remove(key).filter(|value| !value.is_empty());
    let region = take("region");
    if let (Some(id), Some(secret)) = (take("aws_access_key_id"), take("aws_secret_access_key")) {
        return Ok(Some(Keys {
            id,
            secret,
            token: take("aws_session_token"),
            region,
        }));
    }
    let Some(process) = take("credential_process") else {
        return Ok(None);
    };
    printed(&process, region).map(Some).ok_or_else(|| {
        Fault::Refused(format!(
            "needs keys from `credential_process` of the AWS profile `{name}`, which printed none; run it yourself to see why"
        ))
    })
}

/// Entries of a section of an INI file.
fn section(text: &str, title: &str) -> HashMap<String, String> {
    let mut inside = false;
    let mut entries = HashMap::new();
    for line in text
        .lines()
        .map(str::trim)
        .filter(|line| !line.starts_with(['#', ';']))
    {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            inside = name.0.split_whitespace().eq(title.split_whitespace());
        } else if let Some((key, value)) = line.split_once('=').filter(|_| inside) {
            entries.insert(key.trim().to_ascii_lowercase(), value.trim().to_owned());
        }
    }
    entries
}

/// Keys printed by a command of the user: `{"Version": 1, "AccessKeyId": …}`.
fn printed(command: &str, region: Option<String>) -> Option<Keys> {
    let text: serde_json::Value = serde_json::from_slice(&output(command, COMMAND_TIME)?).ok()?;
    let member = |name: &str| {
        text.get(name)
            .and_then(serde_json::Value::as_str)
            .map(str::to_owned)
    };
    Some(Keys {
        id: member("AccessKeyId")?,
        secret: member("SecretAccessKey")?,
        token: member("SessionToken"),
        region,
    })
}

/// Output of the command; none where it fails, or does not end in time.
fn output(line: &str, time: Duration) -> Option<Vec<u8>> {
    let mut child = model::system::shell(line)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let until = Instant::now() + time;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Some(status),
            Ok(None) if Instant::now() < until => thread::sleep(POLL_INTERVAL),
            Ok(None) | Err(_) => {
                child.kill().ok();
                child.wait().ok();
                break None;
            }
        }
    };
    // A child of a killed command may hold the output open for long: it is not read then.
    status.filter(ExitStatus::success)?;
    let mut printed = Vec::new();
    child
        .stdout
        .take()?
        .take(FILE_MAX)
        .read_to_end(&mut printed)
        .ok()?;
    Some(printed)
}

/// Whether this is a machine of Amazon's, whose metadata service has keys; elsewhere a request to it would only cost time.
fn is_amazons() -> bool {
    let says = |file: &str| {
        fs::read_to_string(file).is_ok_and(|text| text.to_ascii_lowercase().contains("amazon"))
    };
    says("/sys/class/dmi/id/sys_vendor") || says("/sys/class/dmi/id/board_vendor")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_read() {
        let text = "# mine\n[default]\naws_access_key_id = A\n[profile  work]\n; old\nRegion=eu-west-1\ncredential_process = echo a=b\n[other]\nregion = x";
        let work = section(text, "profile work");
        assert_eq!(
            (
                work["region"].as_str(),
                work["credential_process"].as_str(),
                work.len()
            ),
            ("eu-west-1", "echo a=b", 2)
        );
        assert_eq!(section(text, "default").len(), 1);
        assert!(section(text, "none").is_empty());
    }

    #[test]
    fn a_command_of_the_persons_own_gives_keys() {
        let keys = printed(
            r#"echo '{"Version": 1, "AccessKeyId": "A", "SecretAccessKey": "B"}'"#,
            None,
        );
        assert!(keys.is_some_and(
            |keys| (keys.id.as_str(), keys.secret.as_str(), keys.token) == ("A", "B", None)
        ));
        assert_eq!(
            output("sleep 60", Duration::from_millis(50)),
            None,
            "it is not waited for"
        );
        for command in ["echo '{}'", "exit 1", "echo nothing"] {
            assert!(printed(command, None).is_none(), "{command}");
        }
    }
}
