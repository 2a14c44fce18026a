//! API keys. (A stand-in: the real one comes with the jobs.)

use std::path::{Path, PathBuf};

#[derive(Debug)]
pub struct Keys {
    keys: Vec<String>,
    file: Option<PathBuf>,
}

impl Keys {
    pub fn open(state_dir: Option<&Path>, keys_file: Option<&Path>) -> Result<Self, String> {
        if let Some(key) = std::env::var("TOKENDECK_API_KEY").ok().filter(|key| !key.is_empty()) {
            return Ok(Self { keys: vec![key], file: None });
        }
        let file = keys_file.map(Path::to_owned).or_else(|| state_dir.map(|dir| dir.join("keys"))).ok_or("there is no state directory")?;
        let text = match std::fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if keys_file.is_some() => return Err(format!("the keys in `{}` cannot be read: {error}", file.display())),
            Err(_) => String::new(),
        };
        let mut keys = Self { keys: text.lines().map(str::to_owned).collect(), file: Some(file) };
        if keys.keys.is_empty() {
            keys.add()?;
        }
        Ok(keys)
    }

    pub fn list(&self) -> Vec<String> {
        self.keys.clone()
    }

    pub fn add(&mut self) -> Result<String, String> {
        let mut bytes = [0_u8; 32];
        getrandom::fill(&mut bytes).map_err(|error| format!("no random bytes: {error}"))?;
        let key: String =
            bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(|n| char::from(b"0123456789abcdef"[usize::from(n)])).collect();
        self.keys.push(key.clone());
        self.save()?;
        Ok(key)
    }

    pub fn revoke(&mut self, start: &str) -> Result<usize, String> {
        let before = self.keys.len();
        self.keys.retain(|key| !key.starts_with(start));
        self.save()?;
        Ok(before - self.keys.len())
    }

    fn save(&self) -> Result<(), String> {
        let file = self.file.as_ref().ok_or("the key is given by TOKENDECK_API_KEY: change it there")?;
        let dir = file.parent().unwrap_or(Path::new(""));
        std::fs::create_dir_all(dir)
            .and_then(|()| std::fs::write(file, self.keys.join("\n")))
            .map_err(|error| format!("the keys cannot be written: {error}"))
    }
}
