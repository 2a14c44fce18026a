//! `dataset.toml`: what the data are called, where the tables lie, and how their columns become ours. It is read and checked here;
//! following it is the loader's.

pub(crate) mod columns;
mod walk;

use std::collections::HashMap;

pub(crate) use self::walk::{line_of, nearest};
use self::{
    columns::read_columns,
    walk::{Entry, Members, Toml, Walk},
};
use super::schema::{TABLES, TableSchema};

/// The file's name in the dataset's folder.
pub const FILE: &str = "dataset.toml";

/// What `dataset.toml` says; everything empty without one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Manifest {
    pub title: Option<String>,
    pub license: Option<String>,
    pub synthetic: bool,
    pub tables: HashMap<&'static str, TableManifest>,
}

/// What it says of one table.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TableManifest {
    /// Files, folders or globs, relative to the file. Empty: what is named after the table.
    pub path: Vec<String>,
    /// By column of ours.
    pub columns: HashMap<&'static str, ColumnManifest>,
    /// Constants by column of ours.
    pub set: HashMap<&'static str, String>,
    /// Rows are kept whose column (ours or theirs) has one of the values.
    pub keep: Vec<(String, Vec<String>)>,
}

/// How a column of theirs becomes one of ours.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ColumnManifest {
    /// The column of theirs; else one of our names.
    pub from: Option<String>,
    /// Numbers are multiplied by it.
    pub scale: Option<f64>,
    /// How times are written, in strftime's words.
    pub format: Option<String>,
    /// What stands between the elements of a list.
    pub split: Option<String>,
    /// The element of the list to take, the first being 1.
    pub item: Option<usize>,
    /// A row for every element of the list.
    pub explode: bool,
    /// The amount is in smallest units: divide by 10^decimals of the row's token.
    pub raw: bool,
    /// Texts to replace before reading.
    pub values: HashMap<String, String>,
}

const KEYS: &[&str] = &["title", "license", "synthetic", "tables"];
const TABLE_KEYS: &[&str] = &["path", "columns", "set", "values", "where", "format", "split", "explode", "unit"];

impl Manifest {
    /// Reads the text of a `dataset.toml`. The error is one line: where, what is wrong, what is right.
    pub fn parse(text: &str) -> Result<Self, String> {
        let walk = Walk { text };
        let table = walk.parse()?;
        let mut manifest = Self::default();
        for member in Walk::members(&table) {
            match member.key {
                "title" => manifest.title = Some(walk.text(&member)?),
                "license" => manifest.license = Some(walk.text(&member)?),
                "synthetic" => manifest.synthetic = walk.boolean(&member)?,
                "tables" => {
                    for table in walk.table(&member)? {
                        let names: Vec<_> = TABLES.iter().map(|schema| schema.name).collect();
                        let schema =
                            TABLES.iter().find(|schema| schema.name == table.key).ok_or_else(|| walk.unknown("table", &table, &names))?;
                        manifest.tables.insert(schema.name, read_table(&walk, schema, walk.table(&table)?)?);
                    }
                }
                _ => return Err(walk.unknown("key", &member, KEYS)),
            }
        }
        Ok(manifest)
    }
}

fn read_table(walk: &Walk<'_>, schema: &TableSchema, mut members: Members<'_>) -> Result<TableManifest, String> {
    let mut table = TableManifest::default();
    // The columns first, as what is said for the whole table is spread over them.
    let columns = members.iter().find(|member| member.key == "columns");
    if let Some(member) = columns {
        table.columns = read_columns(walk, schema, member)?;
    }
    members.sort_by_key(|member| member.key != "explode");
    for member in &members {
        match member.key {
            "columns" => {}
            "path" => table.path = walk.texts(member)?,
            "set" => {
                for constant in walk.table(member)? {
                    let column = columns::ours(walk, schema, &constant)?;
                    table.set.insert(column.name, walk.scalar(&constant)?);
                }
            }
            "where" => {
                for kept in walk.table(member)? {
                    table.keep.push((kept.key.to_owned(), walk.scalars(&kept)?));
                }
            }
            "values" => columns::spread_values(walk, schema, member, &mut table.columns)?,
            "explode" => {
                for name in walk.texts(member).map_err(|error| format!("{error}; name the column: `explode = \"COLUMN\"`"))? {
                    let column = columns::named(walk, schema, member, &name)?;
                    table.columns.entry(column.name).or_default().explode = true;
                }
            }
            "format" | "split" | "unit" => columns::spread(walk, schema, member, &mut table.columns)?,
            _ => return Err(walk.unknown("key", member, TABLE_KEYS)),
        }
    }
    if let Some(name) = table.set.keys().find(|name| table.columns.get(*name).is_some_and(|column| column.from.is_some())) {
        return Err(format!("{FILE}: `{}.{name}` has a constant in `set` and a column in `columns`: keep one", schema.name));
    }
    Ok(table)
}

/// A member of a table in the file; see `walk`.
type Member<'a> = Entry<'a>;
type Value<'a> = Toml<'a>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_may_be_said_is_read() {
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
            "#,
        )
        .expect("valid");
        assert_eq!((manifest.title.as_deref(), manifest.synthetic), (Some("Majors"), true));
        let candles = &manifest.tables["candles"];
        assert_eq!(candles.path.len(), 2);
        assert_eq!(candles.columns["timestamp"].from.as_deref(), Some("ts"));
        assert_eq!(candles.columns["timestamp"].format.as_deref(), Some("%m/%d/%Y"));
        assert_eq!(candles.keep, [("interval".to_owned(), vec!["1d".to_owned(), "1h".to_owned()])]);
        let fee = &manifest.tables["fee_tiers"].columns["fee"];
        assert_eq!((fee.scale, fee.split.as_deref(), fee.explode), (Some(1e-6), Some(";"), true));
        assert_eq!(manifest.tables["fee_tiers"].set["chain"], "1");
        assert!(manifest.tables["posts"].columns["token_address"].values.contains_key("ETH"));
        assert!(manifest.tables["holders"].columns["holder_address"].values.contains_key("ETH"));
        assert!(manifest.tables["holders"].columns["balance"].raw);
        assert_eq!(manifest.tables["pools"].columns["token1"].item, Some(2));
    }

    #[test]
    fn an_error_says_where_what_and_what_is_right() {
        for (text, expected) in [
            ("titel = 'x'", "dataset.toml, line 1: unknown key `titel`, did you mean `title`?"),
            ("\n[tables.candels]", "dataset.toml, line 2: unknown table `candels`, did you mean `candles`?"),
            (
                "[tables.candles.columns]\ntokn_address = 'a'",
                "dataset.toml, line 2: unknown column `tokn_address`, did you mean `token_address`?",
            ),
            ("[tables.candles]\npaht = 'a'", "dataset.toml, line 2: unknown key `paht`, did you mean `path`?"),
            ("[tables.candles.columns]\nopen = { form = 'a' }", "dataset.toml, line 2: unknown key `form`, did you mean `from`?"),
            ("synthetic = 'yes'", "dataset.toml, line 1: `synthetic` must be true or false"),
            ("[tables.candles]\npath = 3", "dataset.toml, line 2: `path` must be text or a list of texts"),
            ("[tables.candles.columns]\nopen = { scale = 'x' }", "dataset.toml, line 2: `scale` must be a number"),
            (
                "[tables.candles.columns]\ntimestamp = { scale = 2 }",
                "dataset.toml, line 2: `scale` fits a number, and `timestamp` holds a time: ISO 8601 or epoch",
            ),
            ("[tables.holders]\nunit = 'wei'", "dataset.toml, line 2: `unit` must be \"raw\" or \"token\""),
            ("[tables.pools.columns]\ntoken0 = { item = 0 }", "dataset.toml, line 2: `item` must be a whole number from 1 to 10000"),
            (
                "[tables.posts]\nvalues = { ETH = 'x' }",
                "dataset.toml, line 2: `values` of no column must be addresses; say which column: [tables.posts.values.COLUMN]",
            ),
        ] {
            assert_eq!(Manifest::parse(text).expect_err(text), expected);
        }
        assert!(Manifest::parse("title = \n").expect_err("no value").starts_with("dataset.toml, line 1: "));
        assert!(Manifest::parse("[tables.dexes]\nset={chain='eth'}\ncolumns={chain='x'}").expect_err("both").contains("keep one"));
    }
}
