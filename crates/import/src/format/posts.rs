//! Posts without an id: derives one from their content, so that importing a file twice yields the same posts.

use sha3::{Digest, Keccak256};

use super::super::rows::{self, Edited};
use load::read::RowSource;

/// The derived column.
pub(super) const MADE: &str = "made id";

/// Adds an id to each row: derived from its link, else from the other columns that identify it.
pub(super) fn with_ids(
    rows: Box<dyn RowSource>,
    link: Option<String>,
    others: Vec<String>,
) -> Box<dyn RowSource> {
    Edited::over(rows, [MADE], move |batch| {
        let links = link.as_ref().map(|name| rows::cells(batch, name));
        let others: Vec<Vec<Option<String>>> =
            others.iter().map(|name| rows::cells(batch, name)).collect();
        let id = |row: usize| {
            let text =
                |cell: &Option<String>| cell.as_deref().unwrap_or_default().trim().to_owned();
            let link = links
                .as_ref()
                .map(|links| text(&links[row]))
                .filter(|link| !link.is_empty());
            let told = link.map_or_else(
                || others.iter().map(|cells| text(&cells[row])).collect(),
                |link| vec![link],
            );
            // A post without any of them has no id and is rejected.
            if told.iter().all(String::is_empty) {
                return None;
            }
            let hash = Keccak256::digest(told.join("\u{1f}").as_bytes());
            hash.first_chunk()
                .map(|first| format!("{:016x}", u64::from_be_bytes(*first)))
        };
        let ids: Vec<Option<String>> = (0..batch.height).map(id).collect();
        rows::put(batch, MADE, ids);
    })
}
