//! The user's levels and notes: one file, saved at every change.

use std::{
    collections::BTreeMap,
    fmt::Display,
    path::{Path, PathBuf},
};

use color_eyre::eyre::{Report, Result, eyre};

use model::{
    address::Address,
    annotations::{Annotation, Annotations, TokenAnnotations, apply},
    private_files::{exclusively, read_whole_text, write_atomic},
};

const FILE: &str = "annotations.json";
const FILE_BYTES_MAX: u64 = 8 << 20;

#[derive(Debug)]
pub struct AnnotationFile {
    folder: PathBuf,
    annotations: Annotations,
}

impl AnnotationFile {
    /// Loads the annotations from `state_dir`; empty if there are none, or they are unreadable.
    pub fn open(state_dir: &Path) -> Self {
        let annotations = read(&state_dir.join(FILE)).unwrap_or_else(|reason| {
            tracing::warn!("{reason}");
            Annotations::new()
        });
        Self {
            folder: state_dir.to_owned(),
            annotations,
        }
    }

    pub fn annotations(&self) -> &Annotations {
        &self.annotations
    }

    /// Makes the change and saves it; changes by another process are preserved.
    pub fn set(&mut self, token: Address, annotation: &Annotation) -> Result<()> {
        self.annotations = exclusively(&self.folder, || {
            let path = self.folder.join(FILE);
            // A file that cannot be read is never written over.
            let mut annotations = read(&path)?;
            apply(&mut annotations, token, annotation).map_err(Report::msg)?;
            let written: BTreeMap<String, &TokenAnnotations> = annotations
                .iter()
                .map(|(token, kept)| (token.to_string(), kept))
                .collect();
            let text = serde_json::to_vec_pretty(&written)
                .map_err(|error| eyre!("cannot save the levels and notes: {error}"))?;
            write_atomic(&path, &text).map_err(Report::msg)?;
            Ok::<_, Report>(annotations)
        })?;
        Ok(())
    }
}

fn read(path: &Path) -> Result<Annotations> {
    let refused = |why: &dyn Display| {
        eyre!(
            "cannot read the levels and notes in `{}`: {why}; repair the file or move it away",
            path.display()
        )
    };
    let text = match read_whole_text(path, FILE_BYTES_MAX) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Annotations::new()),
        Err(error) => return Err(refused(&error)),
    };
    let written: BTreeMap<String, TokenAnnotations> =
        serde_json::from_str(&text).map_err(|error| refused(&error))?;
    let by_token = written.into_iter().map(|(token, kept)| {
        let address = Address::parse(&token)
            .ok_or_else(|| refused(&format!("`{token}` is not an address")))?;
        Ok((address, kept))
    });
    by_token.collect()
}

#[cfg(test)]
mod tests {
    use model::annotations::UserLevel;

    use super::*;

    #[test]
    fn what_two_programs_set_down_is_kept_of_both_and_a_broken_file_is_not_written_over() {
        let folder = tempfile::tempdir().expect("a folder");
        let (mut one, mut two) = (
            AnnotationFile::open(folder.path()),
            AnnotationFile::open(folder.path()),
        );
        let token = Address([7; 20]);
        one.set(
            token,
            &Annotation::Level(UserLevel::new("entry", 7.5).expect("a level")),
        )
        .expect("kept");
        two.set(token, &Annotation::Note("watch the unlock".to_owned()))
            .expect("kept");
        let again = AnnotationFile::open(folder.path());
        let kept = &again.annotations()[&token];
        assert_eq!(
            (kept.levels.len(), kept.note.as_str()),
            (1, "watch the unlock")
        );
        std::fs::write(folder.path().join(FILE), "{").expect("written");
        let problem = one
            .set(token, &Annotation::Note("new".to_owned()))
            .expect_err("refused")
            .to_string();
        assert!(
            problem.contains("repair the file or move it away"),
            "{problem}"
        );
        assert_eq!(
            std::fs::read_to_string(folder.path().join(FILE)).expect("the file"),
            "{"
        );
    }
}
