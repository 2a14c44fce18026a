//! API keys: their source, creation, listing and revocation, and checking the key that a client sends. A key is revealed only to a caller
//! that explicitly asks for it: no log, error or Debug output contains one.

use std::{
    fmt,
    net::IpAddr,
    path::{Path, PathBuf},
    sync::{
        Mutex, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};

use sha2::{Digest, Sha256};
use subtle::{Choice, ConstantTimeEq};

pub use crate::error::KeyError;
use model::{
    locks::{Locked as _, SharedLock as _},
    private_files::{copy_aside, exclusively, read_text, read_whole_text, write_atomic},
    system::FileId,
    time::Time,
};

/// Environment variable with the only key; it takes precedence over all files.
pub const ENVIRONMENT: &str = "TOKENDECK_API_KEY";

const FILE: &str = "keys";
const FILE_BYTES_MAX: u64 = 64 << 10;
const KEYS_MAX: usize = 200;
pub(crate) const KEY_CHARS_MAX: usize = 256;
/// A shorter key causes a warning.
const KEY_CHARS_WEAK: usize = 32;
/// A shorter key is refused on addresses that other machines can reach.
const KEY_CHARS_OFF_LOOPBACK: usize = 16;
/// Milliseconds for which a change of the file may go unnoticed while valid keys are sent.
const CHECK_INTERVAL_MS: u64 = 200;
/// A file modified this recently may change again without its modification time changing.
const YOUNG: Duration = Duration::from_millis(50);
const HEADER: &str = "# API keys of tokendeck, one per line, each followed by its creation time. Keep this file private (mode 0600).\n";

/// Source of the keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    /// `TOKENDECK_API_KEY`.
    Environment,
    /// `[api] keys_file`.
    Configured(PathBuf),
    /// The state directory.
    State(PathBuf),
    /// None: the key ends with the program.
    Memory,
}

/// A key, with the attributes that may be shown anywhere.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey {
    /// Public id of the key: the first digits of its SHA-256.
    pub id: String,
    /// Creation time, as the file gives it.
    pub created: Option<String>,
    secret: String,
}

impl ApiKey {
    fn new(secret: &str, created: Option<&str>) -> Self {
        Self {
            id: format!(
                "k_{}",
                const_hex::encode(&Sha256::digest(secret.as_bytes())[..5])
            ),
            created: created.map(str::to_owned),
            secret: secret.to_owned(),
        }
    }

    /// The key itself, for its owner.
    pub fn reveal(&self) -> &str {
        &self.secret
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key")
            .field("id", &self.id)
            .field("created", &self.created)
            .finish_non_exhaustive()
    }
}

/// The valid API keys.
pub struct Keys {
    source: KeySource,
    held: RwLock<LoadedKeys>,
    started: Instant,
    /// Time of the last check of the file, in milliseconds after `started`.
    checked: AtomicU64,
    /// Held while the file is read, so that it is read once.
    reading: Mutex<()>,
}

/// A SHA-256, in words that are quick to compare.
type Sha = [u64; 4];

#[derive(Default)]
struct LoadedKeys {
    keys: Vec<ApiKey>,
    digests: Vec<Sha>,
    /// Stamp of the file when it was read; `None` when it must be read again.
    stamp: Option<Stamp>,
    warnings: Vec<String>,
}

/// Attributes that change with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    bytes: u64,
    /// Of the file itself: it is replaced, not rewritten.
    file: FileId,
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys")
            .field("source", &self.source)
            .field("keys", &self.list())
            .finish_non_exhaustive()
    }
}

impl Keys {
    /// Loads the keys from the first source that exists: the environment, `keys_file`, the state directory, where a key is created on first
    /// start.
    pub fn open(state_dir: &Path, keys_file: Option<&Path>) -> Result<Self, KeyError> {
        let variable = std::env::var_os(ENVIRONMENT).filter(|value| !value.is_empty());
        let variable = match variable.map(std::ffi::OsString::into_string) {
            None => None,
            Some(Ok(text)) => Some(text),
            Some(Err(_)) => return Err(KeyError::EnvironmentNotText),
        };
        Self::open_with(variable.as_deref(), keys_file, state_dir)
    }

    /// Like `open`, with the environment's key as an argument.
    pub fn open_with(
        variable: Option<&str>,
        keys_file: Option<&Path>,
        state_dir: &Path,
    ) -> Result<Self, KeyError> {
        if let Some(secret) = variable {
            if !well_formed(secret) {
                return Err(KeyError::EnvironmentMalformed);
            }
            let keys = Self::holding(KeySource::Environment, vec![ApiKey::new(secret, None)]);
            if secret.len() < KEY_CHARS_WEAK {
                let warning = format!(
                    "`{ENVIRONMENT}` has {} characters and is easy to guess; use {KEY_CHARS_WEAK} or more, such as a key from `tokendeck \
                    key new`",
                    secret.len()
                );
                keys.held.writing().warnings.push(warning);
            }
            return Ok(keys);
        }
        if let Some(path) = keys_file {
            let keys = Self::holding(KeySource::Configured(path.to_owned()), Vec::new());
            let held = read(path, &keys.source)?;
            if held.keys.is_empty() {
                return Err(KeyError::NoKey(path.to_owned()));
            }
            keys.hold(held);
            return Ok(keys);
        }
        let path = state_dir.join(FILE);
        let keys = Self::holding(KeySource::State(path.clone()), Vec::new());
        // Two first starts at once must not create two keys, the second overwriting the first.
        exclusively(state_dir, || {
            let held = if path.exists() {
                read(&path, &keys.source)?
            } else {
                LoadedKeys::default()
            };
            if held.keys.is_empty() {
                append(&path, &generate()?)
            } else {
                Ok(())
            }
        })?;
        keys.hold(read(&path, &keys.source)?);
        Ok(keys)
    }

    /// A single key that lasts as long as the program, for when nothing can be written.
    pub fn in_memory() -> Result<Self, KeyError> {
        Ok(Self::holding(KeySource::Memory, vec![generate()?]))
    }

    pub fn source(&self) -> &KeySource {
        &self.source
    }

    /// Whether `header`, the value of `x-api-key`, is one of the keys. Takes the same time for every wrong key.
    pub fn accepts(&self, header: &[u8]) -> bool {
        // No key is longer, so a longer header is wrong without hashing the rest.
        let digest = sha(&header[..header.len().min(KEY_CHARS_MAX + 1)]);
        let now = self.started.elapsed().as_millis() as u64;
        if now.saturating_sub(self.checked.load(Ordering::Relaxed)) >= CHECK_INTERVAL_MS {
            self.look();
        }
        // A key created a moment ago must be accepted, so a miss checks the file before it is final.
        self.matches(&digest) || (self.look() && self.matches(&digest))
    }

    /// The newest key, to show.
    pub fn show(&self) -> Option<ApiKey> {
        self.look();
        self.held().keys.last().cloned()
    }

    /// Every key, oldest first.
    pub fn list(&self) -> Vec<ApiKey> {
        self.look();
        self.held().keys.clone()
    }

    /// Warnings for the user: a file that others can read, lines that are no keys.
    pub fn warnings(&self) -> Vec<String> {
        self.look();
        self.held().warnings.clone()
    }

    /// Reason why these keys are too weak for an address that other machines can reach; `None` where they are strong enough.
    pub fn refused_on(&self, address: IpAddr) -> Option<String> {
        let shortest = self.held().keys.iter().map(|key| key.secret.len()).min()?;
        (!address.is_loopback() && shortest < KEY_CHARS_OFF_LOOPBACK).then(|| {
            format!(
                "{address} is reachable from other machines, and a key of {shortest} characters is easy to guess; use keys of \
                {KEY_CHARS_OFF_LOOPBACK} or more characters (`tokendeck key new` creates one), or listen on 127.0.0.1"
            )
        })
    }

    /// Creates and stores another key; running servers accept it at once.
    pub fn new_key(&self) -> Result<ApiKey, KeyError> {
        let key = generate()?;
        match self.file()? {
            None => {
                let mut keys = self.list();
                keys.push(key.clone());
                self.hold(LoadedKeys::of(keys));
            }
            Some(path) => {
                exclusively(folder(path), || {
                    let count = read(path, &self.source).map_or(0, |held| held.keys.len());
                    if count >= KEYS_MAX {
                        return Err(KeyError::TooMany { count });
                    }
                    append(path, &key)
                })?;
                self.forget();
            }
        }
        Ok(key)
    }

    /// Revokes a key, given its id or the key itself; running servers refuse it within `CHECK_INTERVAL_MS`.
    pub fn revoke(&self, id_or_key: &str) -> Result<ApiKey, KeyError> {
        let find = |keys: &[ApiKey]| {
            let wanted = id_or_key.trim();
            let found = keys.iter().find(|key| {
                key.id == wanted || bool::from(key.secret.as_bytes().ct_eq(wanted.as_bytes()))
            });
            found.cloned().ok_or(KeyError::Unknown)
        };
        let Some(path) = self.file()? else {
            let mut keys = self.list();
            let key = find(&keys)?;
            keys.retain(|known| *known != key);
            self.hold(LoadedKeys::of(keys));
            return Ok(key);
        };
        let key = exclusively(folder(path), || {
            let key = find(&read(path, &self.source)?.keys)?;
            let text = text_to_change(path).map_err(|error| unreadable(path, error))?;
            let kept: String = text
                .split_inclusive('\n')
                .filter(|line| line.split_whitespace().next() != Some(&key.secret))
                .collect();
            write_atomic(path, kept.as_bytes())?;
            Ok::<_, KeyError>(key)
        })?;
        self.forget();
        Ok(key)
    }

    fn holding(source: KeySource, keys: Vec<ApiKey>) -> Self {
        Self {
            source,
            held: RwLock::new(LoadedKeys::of(keys)),
            started: Instant::now(),
            checked: AtomicU64::new(0),
            reading: Mutex::new(()),
        }
    }

    fn held(&self) -> std::sync::RwLockReadGuard<'_, LoadedKeys> {
        self.held.reading()
    }

    fn hold(&self, held: LoadedKeys) {
        *self.held.writing() = held;
    }

    /// Forces the file to be read at the next check.
    fn forget(&self) {
        self.held.writing().stamp = None;
    }

    /// Compares with every key, even after a match.
    fn matches(&self, digest: &Sha) -> bool {
        let held = self.held();
        held.digests
            .iter()
            .fold(Choice::from(0), |found, known| found | known.ct_eq(digest))
            .into()
    }

    /// The file of the keys; `None` for keys in memory, an error for a key that cannot be changed from here.
    fn file(&self) -> Result<Option<&Path>, KeyError> {
        match &self.source {
            KeySource::Environment => Err(KeyError::EnvironmentFixed),
            KeySource::Configured(path) | KeySource::State(path) => Ok(Some(path)),
            KeySource::Memory => Ok(None),
        }
    }

    /// Reads the file again if it changed; returns whether it was read. A missing or unreadable file leaves no valid key.
    fn look(&self) -> bool {
        let (KeySource::Configured(path) | KeySource::State(path)) = &self.source else {
            return false;
        };
        self.checked
            .store(self.started.elapsed().as_millis() as u64, Ordering::Relaxed);
        let now = Stamp::of(path);
        if now.is_some() && now == self.held().stamp {
            return false;
        }
        let _one = self.reading.locked();
        let held = read(path, &self.source).unwrap_or_else(|error| LoadedKeys {
            warnings: vec![error.to_string()],
            ..LoadedKeys::default()
        });
        let warned = self.held().warnings == held.warnings;
        if !warned {
            held.warnings
                .iter()
                .for_each(|warning| tracing::warn!("{warning}"));
        }
        self.hold(held);
        true
    }
}

impl LoadedKeys {
    fn of(keys: Vec<ApiKey>) -> Self {
        Self {
            digests: keys.iter().map(|key| sha(key.secret.as_bytes())).collect(),
            keys,
            ..Self::default()
        }
    }
}

impl Stamp {
    fn of(path: &Path) -> Option<Self> {
        let about = std::fs::metadata(path).ok()?;
        Some(Self {
            modified: about.modified().ok(),
            bytes: about.len(),
            file: FileId::of(path).ok()?,
        })
    }

    /// Whether the file is old enough for another change to show.
    fn settled(&self) -> bool {
        self.modified
            .and_then(|time| time.elapsed().ok())
            .is_some_and(|age| age > YOUNG)
    }
}

/// Reads a file of keys: one per line, anything after it is a remark.
fn read(path: &Path, source: &KeySource) -> Result<LoadedKeys, KeyError> {
    // Taken before the content is read: a change in between shows at the next check.
    let stamp = Stamp::of(path).filter(Stamp::settled);
    let text = read_text(path, FILE_BYTES_MAX).map_err(|error| unreadable(path, error))?;
    let mut keys: Vec<ApiKey> = Vec::new();
    let mut warnings: Vec<String> = too_open(path, source).into_iter().collect();
    for (i, line) in text.lines().enumerate() {
        let mut words = line.split_whitespace();
        let Some(secret) = words.next().filter(|word| !word.starts_with('#')) else {
            continue;
        };
        if !well_formed(secret) || keys.len() == KEYS_MAX {
            let expected = format!(
                "expected at most {KEYS_MAX} keys of 1 to {KEY_CHARS_MAX} visible ASCII characters"
            );
            warnings.push(format!(
                "line {} of `{}` is ignored; {expected}",
                i + 1,
                path.display()
            ));
            continue;
        }
        if secret.len() < KEY_CHARS_WEAK {
            warnings.push(format!(
                "line {} of `{}` is a short key that is easy to guess; `tokendeck key new` creates a longer one",
                i + 1,
                path.display()
            ));
        }
        if keys.iter().all(|key| key.secret != secret) {
            keys.push(ApiKey::new(secret, words.next()));
        }
    }
    Ok(LoadedKeys {
        stamp,
        warnings,
        ..LoadedKeys::of(keys)
    })
}

/// Warning about the file's mode, if other users may read it.
fn too_open(path: &Path, source: &KeySource) -> Option<String> {
    let mode = model::system::mode_for_others(&std::fs::metadata(path).ok()?)?;
    let what = if matches!(source, KeySource::State(_)) {
        "the keys"
    } else {
        "the configured keys"
    };
    Some(format!(
        "{what} in `{}` can be read by other users (mode {mode:04o}); run chmod 600 on the file",
        path.display()
    ))
}

/// The file's text, which is written again. Of a damaged one a copy is kept.
fn text_to_change(path: &Path) -> std::io::Result<String> {
    let text = read_text(path, FILE_BYTES_MAX)?;
    if read_whole_text(path, FILE_BYTES_MAX).is_err() {
        copy_aside(path)?;
    }
    Ok(text)
}

fn append(path: &Path, key: &ApiKey) -> Result<(), KeyError> {
    let mut text = match text_to_change(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => HEADER.to_owned(),
        Err(error) => return Err(unreadable(path, error)),
    };
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&key.secret);
    text.push(' ');
    text.push_str(key.created.as_deref().unwrap_or_default());
    text.push('\n');
    Ok(write_atomic(path, text.as_bytes())?)
}

/// Generates a key of 256 bits from the system's random source.
fn generate() -> Result<ApiKey, KeyError> {
    let mut random = [0u8; 32];
    getrandom::fill(&mut random).map_err(KeyError::NoRandomness)?;
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |age| age.as_millis() as i64);
    Ok(ApiKey::new(
        &format!("td_{}", const_hex::encode(random)),
        Some(&Time(now).to_string()),
    ))
}

fn sha(bytes: &[u8]) -> Sha {
    let mut words = Sha::default();
    for (word, bytes) in words.iter_mut().zip(Sha256::digest(bytes).chunks_exact(8)) {
        *word = bytes
            .iter()
            .fold(0, |word, byte| word << 8 | u64::from(*byte));
    }
    words
}

fn well_formed(secret: &str) -> bool {
    (1..=KEY_CHARS_MAX).contains(&secret.len())
        && secret.bytes().all(|byte| byte.is_ascii_graphic())
}

fn folder(path: &Path) -> &Path {
    path.parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

fn unreadable(path: &Path, error: std::io::Error) -> KeyError {
    KeyError::Unreadable {
        path: path.to_owned(),
        error,
    }
}
