//! Parquet and Arrow answers as researchers read them: every list and table, by pandas, pyarrow, DuckDB and polars. `TOKENDECK_PYTHON` names
//! a Python that has them; where there is none, the test is skipped with a message.

use std::{env, process::Command};

use api::answer_offline;
use frames::cache::CacheOptions;
use model::schema::TABLES;

use super::server::Running;
use crate::shared::skipped;

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/datasets");

/// Reads each file by every library; prints its rows by each, which must agree.
const SCRIPT: &str = "
import sys, pandas, pyarrow.parquet, pyarrow.ipc, duckdb, polars
for path in sys.argv[1:]:
    if path.endswith('.arrow'):
        rows = [len(pyarrow.ipc.open_stream(path).read_pandas()), polars.read_ipc_stream(path).height]
    else:
        rows = [len(pandas.read_parquet(path)), pyarrow.parquet.read_table(path).num_rows,
                duckdb.sql(f\"select * from read_parquet('{path}')\").df().shape[0], polars.read_parquet(path).height]
    assert len(set(rows)) == 1, (path, rows)
    print(rows[0])
";

#[test]
fn every_list_and_table_is_read_by_pandas_pyarrow_duckdb_and_polars() {
    let python = env::var("TOKENDECK_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let has = |python: &str| {
        Command::new(python)
            .args(["-c", "import pandas, pyarrow, duckdb, polars"])
            .output()
            .is_ok_and(|run| run.status.success())
    };
    if !has(&python) {
        return skipped(&format!(
            "`{python}` lacks pandas, pyarrow, duckdb or polars; TOKENDECK_PYTHON names one that has them"
        ));
    }
    let server = Running::over(
        |folder| {
            for file in std::fs::read_dir(DEMO).expect("the demo data").flatten() {
                std::fs::copy(file.path(), folder.join(file.file_name())).expect("a copied file");
            }
        },
        CacheOptions::default(),
        api::ApiOptions::default(),
    );
    server.api.service.load().expect("the dataset loads");
    let snapshot = server.api.service.snapshot().expect("a snapshot");
    let token = snapshot.dataset.tokens()[0].row.token_address;
    let lists = [
        "/tokens".to_owned(),
        "/posts".to_owned(),
        "/dexes".to_owned(),
        format!("/tokens/{token}/holders"),
        format!("/tokens/{token}/candles"),
    ];
    let tables = TABLES
        .iter()
        .filter(|table| snapshot.dataset.has(table.name))
        .map(|table| format!("/tables/{}", table.name));
    let folder = tempfile::tempdir().expect("a folder");
    let mut files = Vec::new();
    for (nth, path) in lists.into_iter().chain(tables).enumerate() {
        for format in ["parquet", "arrow"] {
            let mut reply =
                answer_offline(&server.api, "GET", &format!("{path}?format={format}"), b"");
            assert_eq!(
                reply.status,
                200,
                "{path}: {}",
                String::from_utf8_lossy(&reply.body)
            );
            let mut bytes = reply.body.to_vec();
            if let Some(rows) = &mut reply.rows {
                while let Some(piece) = rows.next_piece().expect("rows") {
                    bytes.extend(piece);
                }
            }
            let file = folder.path().join(format!("{nth}.{format}"));
            std::fs::write(&file, bytes).expect("a written file");
            files.push(file);
        }
    }
    let run = Command::new(&python)
        .arg("-c")
        .arg(SCRIPT)
        .args(&files)
        .output()
        .expect("Python runs");
    assert!(
        run.status.success(),
        "{}",
        String::from_utf8_lossy(&run.stderr)
    );
    let rows = String::from_utf8_lossy(&run.stdout)
        .lines()
        .filter(|line| *line != "0")
        .count();
    assert!(rows > files.len() / 2, "most are not empty");
}
