//! SHA-256 of a list of fields. Each field is prefixed with its length, so that lists that differ only in where a field ends have different
//! hashes.

use sha2::{Digest, Sha256};

/// Hash of the fields added so far.
#[derive(Default)]
pub struct FieldHash(Sha256);

impl FieldHash {
    pub fn of(fields: impl IntoIterator<Item: AsRef<[u8]>>) -> Self {
        let mut hash = Self::default();
        fields.into_iter().for_each(|field| hash.add(field));
        hash
    }

    pub fn add(&mut self, field: impl AsRef<[u8]>) {
        let field = field.as_ref();
        self.0.update((field.len() as u64).to_le_bytes());
        self.0.update(field);
    }

    pub fn finish(self) -> [u8; 32] {
        self.0.finalize().into()
    }

    /// The first half of the hash as text, used as a file name.
    pub fn file_name(self) -> String {
        const_hex::encode(&self.finish()[..16])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_in_the_cache_stay_the_same() {
        assert_eq!(
            FieldHash::of(["a", "bc"]).file_name(),
            "9a8acca1b6c6c0befd3fbc756aed625d"
        );
        assert_ne!(
            FieldHash::of(["ab", "c"]).finish(),
            FieldHash::of(["a", "bc"]).finish()
        );
    }
}
