//! THE table of what may be said of a table and of a column in `dataset.toml`. Reading, errors, `schema --template` and the README come
//! from it.

/// Something that may be said.
#[derive(Debug)]
pub struct MappingKey {
    pub name: &'static str,
    pub place: Place,
    /// A line of `dataset.toml` that says it.
    pub example: &'static str,
    pub meaning: &'static str,
}

/// Where it may be said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Of the whole dataset.
    Dataset,
    /// Under `[tables.TABLE]`.
    Table,
    /// Of one column, under `[tables.TABLE.columns]`.
    Column,
    /// Either; of a table it holds for every column it fits that does not say otherwise.
    Both,
}

const fn key(name: &'static str, place: Place, example: &'static str, meaning: &'static str) -> MappingKey {
    MappingKey { name, place, example, meaning }
}

pub const MAPPING_KEYS: &[MappingKey] = &[
    key("title", Place::Dataset, "title = \"Majors\"", "what the dataset is called"),
    key("license", Place::Dataset, "license = \"CC BY-NC 4.0\"", "under which terms it may be used"),
    key("synthetic", Place::Dataset, "synthetic = true", "the data are invented, which the header then says"),
    key("tables", Place::Dataset, "[tables.candles]", "what follows is about this table"),
    key(
        "path",
        Place::Table,
        "path = [\"daily.parquet\", \"klines/**/*.parquet\"]",
        "files, folders or patterns, relative to dataset.toml; folders named `key=value` are columns too",
    ),
    key("source", Place::Table, "source = \"warehouse\"", "the rows are asked for: which `[sources.NAME]` of config.toml has them"),
    key("table", Place::Table, "table = \"ethereum.token_transfers\"", "of a source: its table"),
    key("query", Place::Table, "query = \"SELECT pair AS pool, … FROM dex.sync\"", "of a source: any SELECT, in place of a table"),
    key(
        "final",
        Place::Table,
        "final = true",
        "of a source: of rows that were written more than once, the last (ReplacingMergeTree and its like)",
    ),
    key(
        "read",
        Place::Table,
        "read = \"in place\"",
        "of a source, and of candles: all rows stay there, and those of a token are fetched once they are asked for; else \"bring\"",
    ),
    key("header", Place::Table, "header = false", "the file has no header: its columns are called 1, 2, 3, …"),
    key("skip", Place::Table, "skip = 1", "lines before the header, or before the first row"),
    key("coin", Place::Table, "coin = \"BTC\"", "every row is of this coin, which has no contract; `coin:BTC` in a cell says the same"),
    key(
        "columns",
        Place::Table,
        "columns = { timestamp = \"ts\", open = \"price.open\" }",
        "ours = theirs; `price.open` is a member of an object, `prices.1` an element of a list (the first is 1)",
    ),
    key("from", Place::Column, "columns.fee = { from = \"fee_ppm\", scale = 1e-6 }", "the source column, where more is said of it"),
    key("set", Place::Table, "set = { chain = \"eth\" }", "a constant for every row"),
    key(
        "where",
        Place::Table,
        "where = { interval = [\"1d\", \"1h\"], timestamp = { min = \"2024-01-01\" }, token_address = { in = \"tokens\" } }",
        "keeps rows with one of the values, from `min` to `max` (both included), or of a token of the dataset",
    ),
    key(
        "values",
        Place::Both,
        "values = { token_address = { ETH = \"0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2\" } }",
        "replaces values of a column",
    ),
    key("null", Place::Both, "null = [\"-\", \"n/a\"]", "texts that stand for no value"),
    key("decimal", Place::Both, "decimal = \",\"", "the sign before decimals; else what the column's own cells show"),
    key("format", Place::Both, "format = \"%m/%d/%Y\"", "how times are written"),
    key(
        "unit",
        Place::Both,
        "unit = \"raw\"",
        "amounts: `raw` (smallest units, by the token's decimals) or `whole`; volumes and prices: `usd` or `token`",
    ),
    key("scale", Place::Column, "columns.fee = { scale = 1e-6 }", "numbers are multiplied by it"),
    key(
        "approximate",
        Place::Column,
        "columns.value = { approximate = true }",
        "amounts that went through a floating-point number are read all the same, and said to be so",
    ),
    key("split", Place::Both, "split = \";\"", "the sign between the elements of a list"),
    key("item", Place::Column, "columns.token1 = { from = \"tokens\", item = 2 }", "the element of the list to take, the first being 1"),
    key("explode", Place::Both, "explode = \"fee\"", "a row for each element of a list"),
];

/// The names of what may be said there.
pub(super) fn names(place: Place) -> Vec<&'static str> {
    let fits = |key: &&MappingKey| key.place == place || key.place == Place::Both && place != Place::Dataset;
    MAPPING_KEYS.iter().filter(fits).map(|key| key.name).collect()
}

/// The table of mapping keys in Markdown.
pub fn keys_table() -> String {
    let mut text = String::from("| where | key | what it does |\n|---|---|---|\n");
    for key in MAPPING_KEYS.iter().filter(|key| key.place != Place::Dataset) {
        let place = match key.place {
            Place::Dataset => "dataset",
            Place::Table => "table",
            Place::Column => "column",
            Place::Both => "either",
        };
        text.push_str(&format!("| {place} | `{}` | {} |\n", key.example, key.meaning));
    }
    text
}
