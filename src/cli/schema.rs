//! `tokendeck schema`: describes the tables and columns of a dataset, as text, as JSON, or as a `dataset.toml` template.

use std::fmt::Write as _;

use clap::Args;
use color_eyre::eyre::eyre;
use serde_json::{Value, json};

use super::{
    outcome::{Failure, Outcome, print},
    table::{aligned, aligned_to_the_end},
};
use load::manifest::keys::{KeyPlace, MAPPING_KEYS};
use model::{
    chain::{CHAINS, ChainRow},
    schema::{Column, Need, TABLES, TableSchema, table},
    spelling::meant,
};

#[derive(Debug, Args)]
pub(super) struct SchemaArgs {
    /// Show this table's columns. Default: all tables
    table: Option<String>,
    /// Print JSON
    #[arg(long, conflicts_with = "template")]
    json: bool,
    /// Print a dataset.toml to fill in
    #[arg(long)]
    template: bool,
    /// List known chains and their aliases
    #[arg(long, conflicts_with_all = ["table", "template"])]
    chains: bool,
}

pub(super) fn run(args: &SchemaArgs) -> Outcome {
    if args.chains {
        return print(chains(args.json));
    }
    let tables: Vec<&TableSchema> = match &args.table {
        Some(name) => vec![table(name).ok_or_else(|| unknown(name))?],
        None => TABLES.iter().collect(),
    };
    let text = if args.template {
        template(&tables)
    } else if args.json {
        let tables: Vec<Value> = tables.iter().map(|table| as_json(table)).collect();
        format!("{:#}\n", Value::Array(tables))
    } else if args.table.is_some() {
        columns(tables[0])
    } else {
        overview()
    };
    print(text)
}

fn unknown(name: &str) -> Failure {
    let names: Vec<&str> = TABLES.iter().map(|table| table.name).collect();
    let tables = names.join(", ");
    let nearest = meant(name, names.iter().copied());
    Failure::Usage(if let Some(nearest) = nearest {
        eyre!("no table `{name}`; did you mean `{nearest}`? Tables: {tables}")
    } else {
        eyre!("no table `{name}`; tables: {tables}")
    })
}

fn overview() -> String {
    let row = |table: &TableSchema| {
        let required: Vec<&str> = table.required().map(|column| column.name).collect();
        vec![
            table.name.to_owned(),
            table.meaning.to_owned(),
            required.join(", "),
        ]
    };
    let rows: Vec<Vec<String>> = TABLES.iter().map(row).collect();
    aligned_to_the_end(&["table", "meaning", "required columns"], &rows)
        + "\n`tokendeck schema TABLE` shows a table's columns, `--template` prints a dataset.toml to fill in, and `--chains` lists the known chains.\n"
}

/// Lists the known chains with their accepted spellings.
fn chains(json: bool) -> String {
    if json {
        let row = |row: &ChainRow| json!({ "chain": row.short_name, "id": row.id, "name": row.name, "aliases": row.aliases });
        return format!("{:#}\n", Value::Array(CHAINS.iter().map(row).collect()));
    }
    let row = |row: &ChainRow| {
        vec![
            row.short_name.to_owned(),
            row.id.to_string(),
            row.name.to_owned(),
            row.aliases.join(", "),
        ]
    };
    let rows: Vec<Vec<String>> = CHAINS.iter().map(row).collect();
    aligned(&["chain", "id", "name", "aliases"], &rows)
        + "\nAny other chain name is accepted too, in lower case and without an id.\n"
}

fn columns(table: &TableSchema) -> String {
    let rows: Vec<Vec<String>> = table
        .columns
        .iter()
        .map(|column| {
            let cells = [
                column.name,
                column.kind.word(),
                need(column),
                column.meaning,
            ];
            cells
                .map(str::to_owned)
                .into_iter()
                .chain([column.aliases.join(", ")])
                .collect()
        })
        .collect();
    let key = if table.key.is_empty() {
        "none".to_owned()
    } else {
        table.key.join(", ")
    };
    format!(
        "{}: {}\nkey: {key}\n\n{}",
        table.name,
        table.meaning,
        aligned(&["column", "type", "required", "meaning", "aliases"], &rows)
    )
}

fn need(column: &Column) -> &'static str {
    match column.need {
        Need::Cell => "in every row",
        Need::Column => "column",
        Need::Optional => "optional",
    }
}

fn as_json(table: &TableSchema) -> Value {
    let column = |column: &Column| {
        json!({
            "name": column.name, "type": column.kind.word(), "expects": column.kind.expectation(), "needed": need(column),
            "meaning": column.meaning, "aliases": column.aliases,
        })
    };
    json!({
        "name": table.name, "meaning": table.meaning, "key": table.key, "order": table.order,
        "columns": table.columns.iter().map(column).collect::<Vec<_>>(),
    })
}

/// A `dataset.toml` template, valid without changes: the lines to fill in are comments.
fn template(tables: &[&TableSchema]) -> String {
    let mut text = String::from(
        "# Describes the dataset in this folder. Uncomment the lines you need; columns that already have tokendeck's names need no \
            line.\ntitle = \"\"\nlicense = \"\"\nsynthetic = false\n",
    );
    text.push_str("\n# Keys of a table, or of one of its columns:\n");
    for key in MAPPING_KEYS
        .iter()
        .filter(|key| key.place != KeyPlace::Dataset)
    {
        writeln!(text, "#   {}  -- {}", key.example, key.meaning).ok();
    }
    for table in tables {
        // Writing to a String cannot fail.
        writeln!(
            text,
            "\n# {}\n# [tables.{}]\n# path = [\"{}.csv\"]\n# [tables.{}.columns]",
            table.meaning, table.name, table.name, table.name
        )
        .ok();
        for column in table.columns {
            writeln!(
                text,
                "# {} = \"{}\"  # {}, {}: {}",
                column.name,
                column.name,
                column.kind.word(),
                need(column),
                column.meaning
            )
            .ok();
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_is_toml_with_and_without_its_comments() {
        let text = template(&TABLES.iter().collect::<Vec<_>>());
        let to_fill =
            |line: &&str| !line.starts_with(' ') && (line.starts_with('[') || line.contains(" = "));
        let filled: Vec<&str> = text
            .lines()
            .filter_map(|line| line.strip_prefix("# "))
            .filter(to_fill)
            .collect();
        assert!(
            text.parse::<toml::Table>()
                .is_ok_and(|table| table.len() == 3)
        );
        let filled: toml::Table = filled
            .join("\n")
            .parse()
            .expect("the lines to fill are TOML");
        let tables = filled["tables"]
            .as_table()
            .expect("a section for each table");
        assert_eq!(tables.len(), TABLES.len());
        assert_eq!(
            tables["tokens"]["columns"].as_table().map(toml::Table::len),
            table("tokens").map(|table| table.columns.len())
        );
    }
}
