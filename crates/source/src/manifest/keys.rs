//! THE table of `dataset.toml` keys. The parser, errors, `schema --template` and `docs/own-data.md` read it.

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
    /// Both; on a table it is the default of the columns it fits.
    Both,
}

/// Builds a key from its name, place, example and meaning.
macro_rules! keys {
    ($($name:literal $place:ident $example:literal $meaning:literal;)*) => {
        &[$(MappingKey { name: $name, place: KeyPlace::$place, example: $example, meaning: $meaning }),*]
    };
}

pub const MAPPING_KEYS: &[MappingKey] = keys! {
    "title" Dataset "title = \"Majors\"" "the dataset's name";
    "license" Dataset "license = \"CC BY-NC 4.0\"" "under which terms it may be used";
    "synthetic" Dataset "synthetic = true" "the data are invented, which the header then says";
    "tables" Dataset "[tables.candles]" "what follows is about this table";
    "path" Table "path = [\"daily.parquet\", \"klines/**/*.parquet\"]"
        "files, folders or patterns, relative to dataset.toml; folders named `key=value` are columns too";
    "source" Table "source = \"warehouse\"" "the rows are queried: which `[sources.NAME]` of config.toml has them; of contracts, transfers and holder_counts, and without a table: the node that says them";
    "table" Table "table = \"ethereum.token_transfers\"" "of a source: its table";
    "query" Table "query = \"SELECT pair AS pool, … FROM dex.sync\"" "of a source: any SELECT, in place of a table";
    "final" Table "final = true" "of a source: of rows that were written more than once, the last (ReplacingMergeTree and similar engines)";
    "read" Table "read = \"in place\""
        "of a source, and of candles, holders or transfers: the rows stay there, and an answer queries those of its token; else \"bring\"";
    "provider" Table "provider = [\"geckoterminal\", \"binance\"]"
        "the rows come by themselves: which provider is asked (`tokendeck providers`); of several, for each token the first that knows it";
    "url" Table "url = \"https://api.example.org/prices?token={token}\""
        "the rows come by themselves, from this service; `{token}`, `{chain}`, `{symbol}` stand for those of each token";
    "rows" Table "rows = \"data.items\"" "of a url: the place of the rows in its JSON answer; `*` for every member or element";
    "every" Table "every = \"5m\"" "of rows that come by themselves: how often, while the program runs; \"start\": at each start; else when asked";
    "history" Table "history = \"2y\"" "how far back the first fetch goes; one year if it is not said";
    "interval" Table "interval = [\"1h\", \"1d\"]" "of candles that come by themselves: their lengths; 1d if it is not said";
    "tokens" Table "tokens = \"watchlist\"" "whose rows come by themselves: all tokens, or those of the watchlist";
    "from_block" Table "from_block = 12369621"
        "of transfers and holder_counts by a node: the first block that is read; else that of each token's creation";
    "header" Table "header = false" "the file has no header: its columns are called 1, 2, 3, …";
    "skip" Table "skip = 1" "lines before the header, or before the first row";
    "coin" Table "coin = \"BTC\"" "every row is of this coin, which has no contract; `coin:BTC` in a cell says the same";
    "columns" Table "columns = { timestamp = \"ts\", open = \"price.open\" }"
        "ours = theirs; `price.open` is a member of an object, `prices.1` an element of a list (the first is 1)";
    "from" Column "columns.fee = { from = \"fee_ppm\", scale = 1e-6 }" "the source column, where more is said of it";
    "set" Table "set = { chain = \"eth\" }" "a constant for every row; an empty one leaves the column out: nothing of it is fetched";
    "where" Table "where = { interval = [\"1d\", \"1h\"], timestamp = { min = \"2024-01-01\" }, token_address = { in = \"tokens\" } }"
        "keeps rows with one of the values, from `min` to `max` (both included), or of a token of the dataset";
    "values" Both "values = { token_address = { ETH = \"0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2\" } }" "replaces values of a column";
    "null" Both "null = [\"-\", \"n/a\"]" "texts that stand for no value";
    "decimal" Both "decimal = \",\"" "the decimal sign; otherwise as the column's cells show";
    "format" Both "format = \"%m/%d/%Y\"" "how times are written";
    "unit" Both "unit = \"raw\""
        "amounts: `raw` (smallest units, by the token's decimals) or `whole`; volumes and prices: `usd` or `token`";
    "scale" Column "columns.fee = { scale = 1e-6 }" "numbers are multiplied by it";
    "approximate" Column "columns.value = { approximate = true }"
        "amounts that went through a floating-point number are read all the same, and said to be so";
    "split" Both "split = \";\"" "the sign between the elements of a list";
    "item" Column "columns.token1 = { from = \"tokens\", item = 2 }" "the element of the list to take, the first being 1, the last -1";
    "explode" Both "explode = \"fee\"" "a row for each element of a list";
};

/// The keys allowed at that place.
pub(crate) fn names(place: KeyPlace) -> Vec<&'static str> {
    let fits = |key: &&MappingKey| key.place == place || key.place == KeyPlace::Both && place != KeyPlace::Dataset;
    MAPPING_KEYS.iter().filter(fits).map(|key| key.name).collect()
}

/// The table of keys in Markdown.
pub fn keys_table() -> String {
    let mut text = String::from("| where | key | meaning |\n|---|---|---|\n");
    for key in MAPPING_KEYS.iter().filter(|key| key.place != KeyPlace::Dataset) {
        let place = match key.place {
            KeyPlace::Dataset => "dataset",
            KeyPlace::Table => "table",
            KeyPlace::Column => "column",
            KeyPlace::Both => "either",
        };
        text.push_str(&format!("| {place} | `{}` | {} |\n", key.example, key.meaning));
    }
    text
}
