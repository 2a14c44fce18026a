//! Shortened paths of source files: files differ at the end, so the beginning is cut.

use widgets::text;

/// `…/candles_hourly.parquet`: the last folders and the name that fit, or the end of the name.
pub(super) fn cut(path: &str, cells: usize) -> String {
    let path = text::clean(path);
    if text::width(&path) <= cells {
        return path.into_owned();
    }
    let tails = |at: usize| path.get(at..).filter(|tail| text::width(tail) < cells);
    let folder = path.char_indices().filter(|(_, c)| matches!(c, '/' | '\\')).find_map(|(at, _)| tails(at));
    match folder.or_else(|| path.char_indices().find_map(|(at, _)| tails(at))) {
        Some(tail) if cells > 0 => format!("…{tail}"),
        _ => text::truncate(&path, cells).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_path_stays() {
        let cases = [
            ("a/b.csv", 20, "a/b.csv"),
            ("market/eth/candles_hourly.parquet", 29, "…/eth/candles_hourly.parquet"),
            ("market/eth/candles_hourly.parquet", 26, "…/candles_hourly.parquet"),
            ("market/eth/candles_hourly.parquet", 12, "…rly.parquet"),
            ("candles_hourly.parquet", 10, "…y.parquet"),
            ("漢字/漢字.csv", 8, "…字.csv"),
            ("abc", 1, "…"),
            ("abc", 0, ""),
        ];
        for (path, cells, shown) in cases {
            assert_eq!(cut(path, cells), shown, "{path} in {cells}");
            assert!(text::width(&cut(path, cells)) <= cells);
        }
    }
}
