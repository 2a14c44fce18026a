//! Lists the provider descriptions in `assets/providers`, so that adding a provider is adding a file.

use std::{
    env, fs,
    io::{self, Write as _},
    path::Path,
};

fn main() -> io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/providers");
    writeln!(io::stdout(), "cargo::rerun-if-changed={}", folder.display())?;
    let mut files: Vec<_> = fs::read_dir(&folder)?
        .flatten()
        .map(|entry| entry.path())
        .collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "toml"));
    files.sort();
    let mut list = String::from("&[\n");
    for file in files {
        let id = file
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let path = file.canonicalize()?.to_string_lossy().into_owned();
        list.push_str(&format!("    ({id:?}, include_str!({path:?})),\n"));
    }
    list.push(']');
    fs::write(
        Path::new(&env::var("OUT_DIR").map_err(io::Error::other)?).join("providers.rs"),
        list,
    )
}
