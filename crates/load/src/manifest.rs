//! `dataset.toml`: the dataset's title, the location of its tables, and the mapping of their columns to the schema. Parsed and validated
//! here; applied by the loader.

pub mod columns;
mod engine;
pub mod keys;
pub(crate) mod live;
mod social;
pub mod unit;

use std::{collections::HashMap, fmt};

use toml::de::DeValue;

use self::{
    columns::read_columns,
    keys::{KeyPlace, names},
};
use crate::provider::Computed;
use model::{
    address::Address,
    chain::Chain,
    schema::{TABLES, TableSchema},
    social::SocialSettings,
    toml_reader::{TomlDocument, TomlEntry, TomlError},
};

pub use self::{
    live::{Every, LiveSource, LiveTable, LiveTokens, LiveUrl},
    unit::Unit,
};

/// File name in the dataset's folder.
pub const FILE: &str = "dataset.toml";

/// The contents of `dataset.toml`; all empty without that file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Manifest {
    pub title: Option<String>,
    pub license: Option<String>,
    pub synthetic: bool,
    pub social: SocialSettings,
    pub tables: HashMap<&'static str, TableManifest>,
}

/// The section of one table.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TableManifest {
    /// Files, folders or globs, relative to `dataset.toml`. Empty: files named after the table.
    pub path: Vec<String>,
    /// Mappings by schema column.
    pub columns: HashMap<&'static str, ColumnManifest>,
    /// Constants by schema column.
    pub set: HashMap<&'static str, String>,
    /// The `where` conditions, by schema column or by column of the file.
    pub filters: Vec<(String, RowFilter)>,
    /// Whether text files have no header, so that columns are named by number.
    pub headless: bool,
    /// Lines of text files to skip before the header, or before the first row.
    pub skip: usize,
    /// Set if the rows are read from an engine instead of files.
    pub engine: Option<EngineTable>,
    /// For contracts: the node that returns code and state, in addition to the rows of files.
    pub node: Option<String>,
    /// For transfers and holder counts: the node whose logs they are built from.
    pub logs: Option<LogTable>,
    /// For tokens: whether a node returns symbols and names if the files lack these columns.
    pub named_by_node: bool,
    /// Set for a live table, whose rows are fetched in addition to those of files.
    pub live: Option<LiveTable>,
}

/// A table or query of a source in config.toml.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineTable {
    pub source: String,
    pub from: Relation,
    /// FINAL: only the last version of each row.
    pub last: bool,
    /// In place: the rows are at the engine, and the rows of a token are fetched on demand.
    pub in_place: bool,
}

/// A table that is built from the logs of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogTable {
    pub source: String,
    /// The first block that is read; by default, the block in which each token was created.
    pub from_block: Option<u64>,
}

/// The relation in the FROM clause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Relation {
    Table(String),
    Query(String),
}

/// A filter condition.
#[derive(Debug, Clone, PartialEq)]
pub enum RowFilter {
    /// Is one of the values.
    OneOf(Vec<String>),
    /// From `min` to `max`, both included.
    Between {
        min: Option<String>,
        max: Option<String>,
    },
    /// Is a token of the dataset.
    Tokens,
}

impl FromIterator<String> for RowFilter {
    fn from_iter<I: IntoIterator<Item = String>>(values: I) -> Self {
        Self::OneOf(values.into_iter().collect())
    }
}

/// The mapping of a file's column to a schema column.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ColumnManifest {
    /// The column in the file; by default, found by name or alias.
    pub from: Option<String>,
    /// Factor applied to numbers.
    pub scale: Option<f64>,
    /// Time format, in strftime syntax.
    pub format: Option<String>,
    /// Delimiter of list elements.
    pub split: Option<String>,
    /// The list element to use, counting from 1, or from the end: -1 is the last.
    pub item: Option<i64>,
    /// Whether every list element becomes a row.
    pub explode: bool,
    /// Unit of the values, if it is not the schema's.
    pub unit: Option<Unit>,
    /// Whether to accept amounts that are floating-point numbers, whose last digits are lost.
    pub approximate: bool,
    /// Decimal separator; by default, inferred from the cells.
    pub decimal: Option<Decimal>,
    /// Texts replaced before parsing.
    pub values: HashMap<String, String>,
    /// For responses of providers: how the column is computed from fields.
    pub computed: Option<Computed>,
}

impl ColumnManifest {
    /// Whether the source has the column, or fields that it is computed from.
    pub fn is_mapped(&self) -> bool {
        self.from.is_some() || self.computed.is_some()
    }

    /// The path of the field that the column is read from; `None` if it is computed from several.
    pub fn path(&self) -> Option<String> {
        match &self.computed {
            Some(Computed::Cut { from, .. }) => Some(from.clone()),
            Some(_) => None,
            None => self.from.clone(),
        }
    }
}

impl Manifest {
    /// Parses the text of a `dataset.toml`.
    pub fn parse(text: &str) -> Result<Self, TomlError> {
        let document = TomlDocument::parse(text)?;
        let mut manifest = Self::default();
        for member in document.entries() {
            match member.key {
                "title" => manifest.title = Some(member.text()?),
                "license" => manifest.license = Some(member.text()?),
                "synthetic" => manifest.synthetic = member.boolean()?,
                "social" => manifest.social = social::read(&member)?,
                "tables" => manifest.tables = read_tables(&member)?.into_iter().collect(),
                _ => return Err(member.unknown("key", &names(KeyPlace::Dataset))),
            }
        }
        if manifest
            .tables
            .get("contracts")
            .is_some_and(|contracts| contracts.node.is_some())
        {
            manifest.tables.entry("tokens").or_default().named_by_node = true;
        }
        Ok(manifest)
    }
}

/// Reads the sections of a field `tables`, in document order.
pub fn read_tables(
    member: &TomlEntry<'_>,
) -> Result<Vec<(&'static str, TableManifest)>, TomlError> {
    let read = |table: TomlEntry<'_>| {
        let names: Vec<_> = TABLES.iter().map(|schema| schema.name).collect();
        let schema = TABLES
            .iter()
            .find(|schema| schema.name == table.key)
            .ok_or_else(|| table.unknown("table", &names))?;
        let read = read_table(schema, table.table()?)?;
        let mut columns = read.columns.iter();
        if let Some((column, _)) = columns.find(|(_, column)| column.computed.is_some()) {
            return Err(table.error(format!(
                "`{}.{column}`: `sum`, `text`, `cut` and `plain` are only for providers",
                schema.name
            )));
        }
        Ok((schema.name, read))
    };
    member.table()?.into_iter().map(read).collect()
}

pub(crate) fn read_table(
    schema: &TableSchema,
    mut members: Vec<TomlEntry<'_>>,
) -> Result<TableManifest, TomlError> {
    let mut table = TableManifest::default();
    // Columns first, as settings of the whole table are spread over them.
    let columns = members
        .iter()
        .find(|member| member.key == "columns")
        .cloned();
    if let Some(member) = &columns {
        table.columns = read_columns(schema, member)?;
    }
    members.sort_by_key(|member| member.key != "explode");
    for member in &members {
        match member.key {
            "columns" | "source" | "table" | "query" | "final" | "read" | "from_block" => {}
            key if live::KEYS.contains(&key) => {}
            "path" => table.path = member.texts()?,
            "set" => {
                for constant in member.table()? {
                    let column = columns::ours(schema, &constant)?;
                    table.set.insert(column.name, constant.scalar()?);
                }
            }
            "where" => {
                for kept in member.table()? {
                    table
                        .filters
                        .push((kept.key.to_owned(), read_row_filter(&kept)?));
                }
            }
            "header" => table.headless = !member.boolean()?,
            "skip" => table.skip = member.integer(0, SKIP_MAX)? as usize,
            "coin" => {
                let coin = member.text()?;
                let column = schema
                    .columns
                    .first()
                    .filter(|_| schema.column("token_address").is_some());
                if column.is_none() || coin.trim().is_empty() {
                    return Err(member.wrong(
                        "must be the symbol of a coin, in a table whose rows belong to one token",
                    ));
                }
                table
                    .set
                    .entry("token_address")
                    .or_insert_with(|| Address::coin(&coin).to_string());
                if schema.name == "tokens" {
                    table
                        .set
                        .entry("chain")
                        .or_insert_with(|| Chain::of_coin(&coin).to_string());
                }
            }
            "null" => columns::spread_null(schema, member, &mut table.columns)?,
            "values" => columns::spread_values(schema, member, &mut table.columns)?,
            "explode" => {
                for name in member
                    .texts()
                    .map_err(|_| member.wrong("must name the column: `explode = \"COLUMN\"`"))?
                {
                    let column = columns::named(schema, member, &name)?;
                    table.columns.entry(column.name).or_default().explode = true;
                }
            }
            "format" | "split" | "unit" | "decimal" => {
                columns::spread(schema, member, &mut table.columns)?;
            }
            _ => return Err(member.unknown("key", &names(KeyPlace::Table))),
        }
    }
    table.live = live::read(schema, &members, &mut table)?;
    table.node = engine::node(schema, &members)?;
    table.logs = engine::logs(schema, &members)?;
    table.engine = if table.node.is_some() || table.logs.is_some() {
        None
    } else {
        engine::read(schema, &members)?
    };
    let both = table.set.keys().find(|name| {
        table
            .columns
            .get(*name)
            .is_some_and(|column| column.from.is_some())
    });
    if let (Some(name), Some(columns)) = (both, columns) {
        return Err(columns.error(format!(
            "`{}.{name}` has both a constant in `set` and a column in `columns`; keep one",
            schema.name
        )));
    }
    Ok(table)
}

/// Upper limit of `skip`.
const SKIP_MAX: i64 = 10_000;

fn read_row_filter(member: &TomlEntry<'_>) -> Result<RowFilter, TomlError> {
    let DeValue::Table(_) = member.value else {
        return member.scalars().map(RowFilter::OneOf);
    };
    let (mut min, mut max) = (None, None);
    for bound in member.table()? {
        match bound.key {
            "min" => min = Some(bound.scalar()?),
            "max" => max = Some(bound.scalar()?),
            "in" if bound.text()? == "tokens" => return Ok(RowFilter::Tokens),
            "in" => {
                return Err(
                    bound.wrong("must be \"tokens\"; write values as a list: [\"1d\", \"1h\"]")
                );
            }
            _ => return Err(bound.unknown("key", &["min", "max", "in"])),
        }
    }
    Ok(RowFilter::Between { min, max })
}

// Decimal separators.

/// The decimal separator; the other sign may separate thousands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decimal {
    Point,
    Comma,
}

impl Decimal {
    /// The decimal separator and the thousands separator.
    pub fn signs(self) -> (u8, u8) {
        match self {
            Self::Point => (b'.', b','),
            Self::Comma => (b',', b'.'),
        }
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Point => "decimal points",
            Self::Comma => "decimal commas",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_read() {
        let manifest = Manifest::parse(
            r#"
            title = "Majors"
            license = "CC BY-NC 4.0"
            synthetic = true
            [tables.candles]
            path = ["candles_daily.parquet", "/data/klines/**/*.parquet"]
            format = "%m/%d/%Y"
            columns = { token_address = "token", timestamp = "ts" }
            where = { interval = ["1d", "1h"] }
            [tables.fee_tiers]
            columns = { fee = { from = "fee_ppm", scale = 1e-6, split = ";", explode = true } }
            [tables.fee_tiers.set]
            chain = 1
            [tables.posts.values.token_address]
            ETH = "0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee"
            [tables.holders]
            unit = "raw"
            values = { ETH = "0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee" }
            [tables.pools.columns]
            token1 = { from = "tokens", item = 2 }
            [tables.transfers]
            header = false
            skip = 2
            decimal = ","
            null = ["n/a"]
            coin = "BTC"
            columns = { block_number = 3, value = { from = "amounts.whole", unit = "whole", approximate = true } }
            where = { timestamp = { min = "2024-01-01" }, token_address = { in = "tokens" } }
            "#,
        )
        .expect("valid");
        assert_eq!(
            (manifest.title.as_deref(), manifest.synthetic),
            (Some("Majors"), true)
        );
        let candles = &manifest.tables["candles"];
        assert_eq!(candles.path.len(), 2);
        assert_eq!(candles.columns["timestamp"].from.as_deref(), Some("ts"));
        assert_eq!(
            candles.columns["timestamp"].format.as_deref(),
            Some("%m/%d/%Y")
        );
        assert_eq!(
            candles.filters,
            [(
                "interval".to_owned(),
                ["1d".to_owned(), "1h".to_owned()].into_iter().collect()
            )]
        );
        let fee = &manifest.tables["fee_tiers"].columns["fee"];
        assert_eq!(
            (fee.scale, fee.split.as_deref(), fee.explode),
            (Some(1e-6), Some(";"), true)
        );
        assert_eq!(manifest.tables["fee_tiers"].set["chain"], "1");
        assert!(
            manifest.tables["posts"].columns["token_address"]
                .values
                .contains_key("ETH")
        );
        assert!(
            manifest.tables["holders"].columns["holder_address"]
                .values
                .contains_key("ETH")
        );
        assert_eq!(
            manifest.tables["holders"].columns["balance"].unit,
            Some(Unit::Raw)
        );
        assert_eq!(manifest.tables["pools"].columns["token1"].item, Some(2));
        let transfers = &manifest.tables["transfers"];
        assert_eq!((transfers.headless, transfers.skip), (true, 2));
        assert_eq!(
            transfers.set["token_address"],
            Address::coin("BTC").to_string()
        );
        assert_eq!(transfers.columns["block_number"].from.as_deref(), Some("3"));
        let value = &transfers.columns["value"];
        assert_eq!(
            (value.unit, value.approximate, value.decimal),
            (Some(Unit::Whole), true, Some(Decimal::Comma))
        );
        assert_eq!(value.values["n/a"], "");
        assert_eq!(
            transfers.filters[0].1,
            RowFilter::Between {
                min: Some("2024-01-01".to_owned()),
                max: None
            }
        );
        assert_eq!(transfers.filters[1].1, RowFilter::Tokens);
        let logs = Manifest::parse("[tables.transfers]\nsource = 'mainnet'\nfrom_block = 12")
            .expect("valid");
        assert_eq!(
            logs.tables["transfers"].logs,
            Some(LogTable {
                source: "mainnet".to_owned(),
                from_block: Some(12)
            })
        );
        let asked = Manifest::parse(
            "[tables.posts]\nsource = 'warehouse'\ntable = 'social.posts'\nfinal = true",
        )
        .expect("valid");
        let from = Relation::Table("social.posts".to_owned());
        assert_eq!(
            asked.tables["posts"].engine,
            Some(EngineTable {
                source: "warehouse".to_owned(),
                from,
                last: true,
                in_place: false
            })
        );
    }

    #[test]
    fn an_error_names_the_line_the_fault_and_what_is_right() {
        for (text, expected) in [
            (
                "titel = 'x'",
                "line 1: unknown key `titel`; did you mean `title`?",
            ),
            (
                "\n[tables.candels]",
                "line 2: unknown table `candels`; did you mean `candles`?",
            ),
            (
                "[tables.candles.columns]\ntokn_address = 'a'",
                "line 2: unknown column `tokn_address`; did you mean `token_address`?",
            ),
            (
                "[tables.candles]\npaht = 'a'",
                "line 2: unknown key `paht`; did you mean `path`?",
            ),
            (
                "[tables.candles.columns]\nopen = { form = 'a' }",
                "line 2: unknown key `form`; did you mean `from`?",
            ),
            (
                "synthetic = 'yes'",
                "line 1: `synthetic` must be true or false",
            ),
            (
                "[tables.candles]\npath = 3",
                "line 2: `path` must be a string or a list of strings",
            ),
            (
                "[tables.candles.columns]\nopen = { scale = 'x' }",
                "line 2: `scale` must be a number",
            ),
            (
                "[tables.candles.columns]\ntimestamp = { scale = 2 }",
                "line 2: `scale` is for numbers, but `timestamp` is a time: ISO 8601 or epoch",
            ),
            (
                "[tables.holders]\nunit = 'wei'",
                "line 2: `unit` must be \"raw\", \"whole\", \"usd\" or \"token\"",
            ),
            (
                "[tables.holders.columns]\nbalance = { unit = 'usd' }",
                "line 2: `unit` of `balance` must be \"whole\", \"raw\" or \"token\"",
            ),
            (
                "[tables.holders.columns]\nholder_address = { unit = 'raw' }",
                "line 2: `unit` is for amounts, volumes and prices, but `holder_address` is an address: 0x and 40 hex digits",
            ),
            (
                "[tables.transfers.columns]\nvalue = { scale = 2 }",
                "line 2: `scale` must be a power of ten, such as 1e18, for whole numbers that must stay exact",
            ),
            (
                "[tables.candles]\ndecimal = ';'",
                "line 2: `decimal` must be \",\" or \".\"",
            ),
            (
                "[tables.candles]\nwhere = { interval = { in = 'x' } }",
                "line 2: `in` must be \"tokens\"; write values as a list: [\"1d\", \"1h\"]",
            ),
            (
                "[tables.gas]\ncoin = 'BTC'",
                "line 2: `coin` must be the symbol of a coin, in a table whose rows belong to one token",
            ),
            (
                "[tables.posts]\nsource = 'warehouse'",
                "line 2: `source` needs a `table` or a `query`",
            ),
            (
                "[tables.posts]\ntable = 'posts'",
                "line 2: `table` needs a `source`: a [sources.NAME] of config.toml",
            ),
            (
                "[tables.transfers]\nsource = ''",
                "line 2: `source` must be the name of a source: a [sources.NAME] of config.toml",
            ),
            (
                "[tables.transfers]\nsource = 'w'\npath = 'x.csv'",
                "line 3: `path` and `source` cannot be combined; keep one",
            ),
            (
                "[tables.transfers]\nsource = 'w'\nfrom_block = -1",
                "line 3: `from_block` must be a whole number from 0 to 9007199254740992",
            ),
            (
                "[tables.posts]\nfrom_block = 1",
                "line 2: `from_block` is only for transfers and holder_counts whose `source` is a node",
            ),
            (
                "[tables.posts]\nsource = 'w'\nquery = 'select 1'\ntable = 'x'",
                "line 4: `table` and `query` cannot be combined; keep one",
            ),
            (
                "[tables.posts]\nsource = 'w'\nquery = 'select 1'\nfinal = true",
                "line 4: `final` is only for a `table`; write FINAL in the query",
            ),
            (
                "[tables.posts]\nsource = 'w'\ntable = 'x'\nread = 'in place'",
                "line 4: `read` must be \"bring\": only candles, holders and transfers can be queried in place",
            ),
            (
                "[tables.candles]\nsource = 'w'\ntable = 'x'\nread = 'there'",
                "line 4: `read` must be \"bring\" or \"in place\"",
            ),
            (
                "[tables.posts]\nsource = 'w'\ntable = 'x'\npath = 'x.csv'",
                "line 4: `path` and `source` cannot be combined; keep one",
            ),
            (
                "[tables.dexes]\nset={chain='eth'}\ncolumns={chain='x'}",
                "line 3: `dexes.chain` has both a constant in `set` and a column in `columns`; keep one",
            ),
            (
                "[tables.candles]\nexplode = true",
                "line 2: `explode` must name the column: `explode = \"COLUMN\"`",
            ),
            (
                "[tables.pools.columns]\ntoken0 = { item = 0 }",
                "line 2: `item` must be 1 for the first element, or -1 for the last",
            ),
            (
                "[tables.posts]\nvalues = { ETH = 'x' }",
                "line 2: `values` must contain addresses, unless it names its column: [tables.posts.values.COLUMN]",
            ),
        ] {
            assert_eq!(Manifest::parse(text).expect_err(text).to_string(), expected);
        }
        assert_eq!(
            Manifest::parse("\ntitle = \n").expect_err("no value").line,
            2
        );
    }
}
