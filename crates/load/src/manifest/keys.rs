//! The list of all `dataset.toml` keys. The parser, errors, `schema --template` and `docs/own-data.md` read it.

/// A key of `dataset.toml`.
#[derive(Debug)]
pub struct MappingKey {
    pub name: &'static str,
    pub place: KeyPlace,
    /// An example line of `dataset.toml`.
    pub example: &'static str,
    pub meaning: &'static str,
}

/// Where a key is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyPlace {
    /// At the top level, for the whole dataset.
    Dataset,
    /// Under `[tables.TABLE]`.
    Table,
    /// Under `[tables.TABLE.columns]`, for one column.
    Column,
    /// Both; on a table it is the default for the columns it fits.
    Both,
}

/// Builds a key from its name, place, example and meaning.
macro_rules! keys {
    ($($name:literal $place:ident $example:literal $meaning:literal;)*) => {
        &[$(MappingKey { name: $name, place: KeyPlace::$place, example: $example, meaning: $meaning }),*]
    };
}

pub const MAPPING_KEYS: &[MappingKey] = keys! {
    "title" Dataset "title = \"Majors\"" "Name of the dataset";
    "license" Dataset "license = \"CC BY-NC 4.0\"" "Terms of use";
    "synthetic" Dataset "synthetic = true" "The data is synthetic; the header shows this";
    "social" Dataset "social = { window = \"7d\", smart = \"score\", keep = \"90d\" }"
        "Social metrics: the window before the newest post in which posts count (default: all posts); who counts as a smart follower: `score`, `holder` or `list`; when the texts of fetched posts are deleted (default: never)";
    "tables" Dataset "[tables.candles]" "The keys of one table follow";
    "path" Table "path = [\"daily.parquet\", \"klines/**/*.parquet\"]"
        "Files, folders or globs, relative to dataset.toml. Folders named `key=value` become columns";
    "source" Table "source = \"warehouse\"" "Query the rows from this `[sources.NAME]` of config.toml. For contracts, transfers and holder_counts without `table`: the node that supplies them";
    "table" Table "table = \"ethereum.token_transfers\"" "The source's table";
    "query" Table "query = \"SELECT pair AS pool, … FROM dex.sync\"" "A SELECT to use instead of `table`";
    "final" Table "final = true" "Read only the latest version of each row (ReplacingMergeTree and similar engines)";
    "read" Table "read = \"in place\""
        "Candles, holders or transfers only: leave the rows at the source and query them per token. Default: `\"bring\"`, download them";
    "provider" Table "provider = [\"geckoterminal\", \"binance\"]"
        "Live table: the providers to use (see `tokendeck providers`). For each token, the first that knows it";
    "url" Table "url = \"https://api.example.org/prices?token={token}\""
        "Live table: the URL to request. `{token}`, `{chain}` and `{symbol}` are replaced for each token";
    "rows" Table "rows = \"data.items\"" "With `url`: the path of the rows in the JSON response; `*` matches every field or element";
    "every" Table "every = \"5m\"" "Live table: the refresh interval while tokendeck runs. `\"start\"`: once per start. Default: on demand";
    "history" Table "history = \"2y\"" "Live table: how far back the first fetch goes. Default: one year";
    "interval" Table "interval = [\"1h\", \"1d\"]" "Live candles: the intervals. Default: 1d";
    "tokens" Table "tokens = \"watchlist\"" "Live table: fetch only the tokens of the watchlist. Default: all tokens";
    "together" Table "together = false"
        "Live table: whether the rows of all providers are put together. Default: true for posts, accounts, people, follows and reactions, false for other tables";
    "from_block" Table "from_block = 12369621"
        "Transfers and holder_counts from a node: the first block to read. Default: each token's creation block";
    "header" Table "header = false" "The file has no header. Its columns are named 1, 2, 3, …";
    "skip" Table "skip = 1" "Lines to skip before the header, or before the first row";
    "coin" Table "coin = \"BTC\"" "Every row belongs to this coin, which has no contract. A cell can contain `coin:BTC` instead";
    "columns" Table "columns = { timestamp = \"ts\", open = \"price.open\" }"
        "tokendeck column = your column. `price.open` selects a field of an object, `prices.1` the first element of a list";
    "from" Column "columns.fee = { from = \"fee_ppm\", scale = 1e-6 }" "The source column, if you set other keys too";
    "set" Table "set = { chain = \"eth\" }" "A constant for every row. An empty string drops the column, so that it isn't fetched";
    "where" Table "where = { interval = [\"1d\", \"1h\"], timestamp = { min = \"2024-01-01\" }, token_address = { in = \"tokens\" } }"
        "Keep only rows whose value is one of these, lies between `min` and `max` (inclusive), or is a token in the dataset";
    "values" Both "values = { token_address = { ETH = \"0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2\" } }" "Replace values of a column";
    "null" Both "null = [\"-\", \"n/a\"]" "Strings that mean \"no value\"";
    "decimal" Both "decimal = \",\"" "The decimal separator. Default: detected from the cells";
    "format" Both "format = \"%m/%d/%Y\"" "The time format";
    "unit" Both "unit = \"raw\""
        "Amounts: `raw` (base units, scaled by the token's decimals) or `whole`. Volumes and prices: `usd` or `token`";
    "scale" Column "columns.fee = { scale = 1e-6 }" "Multiply numbers by this factor";
    "approximate" Column "columns.value = { approximate = true }"
        "Accept amounts that passed through floating point, and mark them as approximate";
    "split" Both "split = \";\"" "The separator between list elements";
    "item" Column "columns.token1 = { from = \"tokens\", item = 2 }" "The list element to use: the first is 1, the last is -1";
    "explode" Both "explode = \"fee\"" "Create one row per list element";
};

/// The keys allowed at that place.
pub(crate) fn names(place: KeyPlace) -> Vec<&'static str> {
    let fits = |key: &&MappingKey| {
        key.place == place || key.place == KeyPlace::Both && place != KeyPlace::Dataset
    };
    MAPPING_KEYS
        .iter()
        .filter(fits)
        .map(|key| key.name)
        .collect()
}

/// The table of keys in Markdown.
pub fn keys_table() -> String {
    let mut text = String::from("| level | key | meaning |\n|---|---|---|\n");
    for key in MAPPING_KEYS
        .iter()
        .filter(|key| key.place != KeyPlace::Dataset)
    {
        let place = match key.place {
            KeyPlace::Dataset => "dataset",
            KeyPlace::Table => "table",
            KeyPlace::Column => "column",
            KeyPlace::Both => "either",
        };
        text.push_str(&format!(
            "| {place} | `{}` | {} |\n",
            key.example, key.meaning
        ));
    }
    text
}
