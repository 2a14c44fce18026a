//! Shapes of files that people reported elsewhere and that are refused: the message says what the file is, and proposes only what its cells
//! prove.

use super::{Desk, PEPE, UNI, rows, words};
use crate::shared::shared;

#[test]
fn reported_files_that_do_not_say_enough_are_asked_about() {
    for (case, options, expected) in [
        (
            "08b/two.csv",
            "--chain eth",
            "`BTC-USD`, `ETH-USD` side by side",
        ),
        (
            "16v/with_hash.csv",
            "--chain eth",
            "The closest table is `transfers`",
        ),
        (
            "16v/with_token_noval.csv",
            "--chain eth",
            "The closest table is `transfers`",
        ),
        (
            "39/binance_es.csv",
            "--chain eth",
            "four columns may be the prices of candles",
        ),
    ] {
        let Some(file) = shared(&format!("data/reports/cases/{case}")) else {
            return;
        };
        let err = Desk::empty().refuses(&[&[file.as_str()][..], &words(options)].concat());
        assert!(err.contains(expected), "{case}: {err}");
    }
}

#[test]
fn what_is_no_table_of_rows_says_what_to_do() {
    let list = |i: u32| format!("2024-01-{i:02}");
    let line = |name: &str, plus: f64| {
        format!(
            "{name},{}\n",
            (1..=20)
                .map(|i| (f64::from(i) + plus).to_string())
                .collect::<Vec<_>>()
                .join(",")
        )
    };
    let turned = [
        line("open", 0.5),
        line("high", 1.0),
        line("low", 0.0),
        line("close", 0.25),
    ]
    .concat();
    for (text, expected) in [
        (
            "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n".to_owned(),
            "is a Git LFS pointer",
        ),
        (
            "┏━━━━┳━━━━┓\n┃ a  ┃ b  ┃\n┡━━━━╇━━━━┩\n│ 1  │ 2  │\n└────┴────┘\n".to_owned(),
            "is a table drawn with box characters",
        ),
        (
            format!(
                ",{}\n{turned}",
                (1..=20).map(list).collect::<Vec<_>>().join(",")
            ),
            "Its rows and columns are swapped",
        ),
        (
            format!(
                "Date,BTC,ETH\n{}",
                rows(|i| format!("{},{i}.5,7.25\n", list(i)))
            ),
            "one number per time in each of its columns (`BTC`, `ETH`)",
        ),
    ] {
        let desk = Desk::empty();
        desk.write("x.csv", &text);
        let err = desk.refuses(&["x.csv", "--token", PEPE]);
        assert!(err.contains(expected), "{text}: {err}");
    }
    let desk = Desk::empty();
    desk.write("x.csv", b"\xb0\xa1\xb0\xa2,\xb0\xa3\xb0\xa4\n1,2\n");
    let err = desk.refuses(&["x.csv", "--token", PEPE]);
    assert!(
        err.contains("is not UTF-8")
            && err.contains("save it as UTF-8")
            && !err.contains('\u{fffd}'),
        "{err}"
    );
}

#[test]
fn transactions_of_other_native_coins_are_no_transfers() {
    let sent =
        |more: &str| rows(|i| format!("0x{i:064x},{i},0x{i:040x},0x{:040x},{more}\n", i + 1));
    let header = "Txhash,Blockno,From,To";
    for (names, cells, native) in [
        (
            "Value_IN(ONE),Value_OUT(ONE),TxnFee(ONE)",
            "0,5.5,0.1",
            true,
        ),
        (
            "ContractAddress,Value,Fee,Status,ErrCode",
            ",1000000000000000123,21000,ok,",
            true,
        ),
        (
            "TokenContractAddress,TokensTransferred,Fee,Status,ErrCode",
            format!("{UNI},1000000000000000123,21000,ok,").as_str(),
            false,
        ),
        ("value,value_in_usd", "1000000000000000123,5", false),
    ] {
        let desk = Desk::empty();
        desk.write("t.csv", format!("{header},{names}\n{}", sent(cells)));
        let (_, _, err) = desk.run(&["t.csv", "--token", UNI]);
        assert_eq!(
            err.contains("contains transactions in the chain's native coin"),
            native,
            "{names}: {err}"
        );
    }
}

#[test]
fn the_suggestion_for_posts_keeps_link_author_and_token() {
    let desk = Desk::new();
    for (id, expected) in [("=\"\"138123456789012345", true), ("1.38E+18", false)] {
        let id = |i: u32| {
            if expected {
                format!("\"{id}{i}\"\"\"")
            } else {
                id.to_owned()
            }
        };
        let row = |i: u32| {
            format!(
                "{},2021-04-{i:02} 12:00:00,degen{i},to the moon,https://x.com/status/{i}\n",
                id(i)
            )
        };
        desk.write(
            "tweets.csv",
            format!("id,date,username,content,url\n{}", rows(row)),
        );
        let err = desk.refuses(&["tweets.csv", "--token", PEPE]);
        let line = err
            .lines()
            .find(|line| line.contains("try: "))
            .unwrap_or_default();
        for part in [
            &format!("--token {PEPE}"),
            "--map link=url",
            "--map author=username",
        ] {
            assert!(line.contains(part), "{part}: {err}");
        }
        assert_eq!(line.contains("--map post_id=id"), expected, "{err}");
    }
}

/// Inputs of one kind and their twins: what the refusal says, and what it must not say.
#[allow(clippy::too_many_lines, reason = "one table of cases")]
#[test]
fn what_the_cells_prove_is_proposed_and_nothing_that_cannot_work() {
    let at = |i: u32| format!("0x{:040x}", 0xabc_0000 + i);
    let chain = |i: u32| ["1", "56", "137"][i as usize % 3];
    let terra = |i: u32| format!("terra1{:q>38}", ["p", "z", "r", "y"][i as usize % 4]);
    let solana = |i: u32| {
        format!(
            "7VHUFJHWu2CuExkJcJrzhQPJ2oygupTWkL2A2For4Bm{}",
            ["E", "F", "G", "H"][i as usize % 4]
        )
    };
    let coins = |repeated: u32, all: u32| {
        let row = |i: u32| {
            format!(
                "{},S{n},Name {n},18\n",
                at(i),
                n = if i <= repeated { 1 } else { i }
            )
        };
        format!(
            "address,symbol,name,decimals\n{}",
            (1..=all).map(row).collect::<String>()
        )
    };
    let day = |i: u32| {
        format!(
            "2024-01-{i:02},{}.5,{}.5,{}.5,{}.5",
            100 + i,
            102 + i,
            98 + i,
            101 + i
        )
    };
    let candles = format!("date,open,high,low,close\n{}", rows(|i| day(i) + "\n"));
    let labels = "--as labels --map address=1 --map label=3 --map chain=2";
    for (name, text, expected, never) in [
        (
            "safe.csv",
            rows(|i| format!("{},{},Safe Wallet\n", at(i), chain(i))),
            labels,
            "holders",
        ),
        (
            "names.csv",
            rows(|i| format!("{},{i}.5,Name {i}\n", at(i))),
            "--as holders",
            "--as labels",
        ),
        (
            "nft.csv",
            rows(|i| format!("{},1\n", at(i))),
            "--as holders",
            "--as labels",
        ),
        (
            "equal.csv",
            rows(|i| format!("{},10\n", at(i))),
            "--as holders",
            "--as labels",
        ),
        (
            "terra.csv",
            rows(|i| format!("{i},{}\n", terra(i))),
            "a network that tokendeck does not support",
            "--as",
        ),
        (
            "spl.csv",
            format!(
                "Name,Symbol,Mint\n{}",
                rows(|i| format!("N{i},S{i},{}\n", solana(i)))
            ),
            "a network that tokendeck does not support",
            "--as",
        ),
        (
            "hashes.csv",
            format!("hash,note\n{}", rows(|i| format!("0x{i:064x},n{i}\n"))),
            "unknown format",
            "does not support",
        ),
        ("moved.csv", coins(2, 300), "names no chain", "is both"),
        ("several.csv", coins(2, 20), "is both", "dataset.toml"),
        (
            "bitcoin.csv",
            candles.clone(),
            "--coin BTC",
            "--token ADDRESS\n",
        ),
        (
            "wrapped-bitcoin.csv",
            candles,
            "--token ADDRESS",
            "--coin BTC",
        ),
        (
            "prices.csv",
            format!(
                "date,prices\n{}",
                rows(|i| format!("2024-01-{i:02},{i}.5\n"))
            ),
            "one price per time, `prices`",
            "--map",
        ),
        (
            "b.csv",
            format!(
                "address,balance_after\n{}",
                rows(|i| format!("{},{i}.5\n", at(i)))
            ),
            "--token ADDRESS",
            "AFTER",
        ),
        (
            "ledger.csv",
            format!(
                "address,balance_wei,balance_eth\n{}",
                rows(|i| format!("{},{i}000000000000000000,{i}.0\n", at(i)))
            ),
            "of a coin, not of a token",
            "--token",
        ),
        (
            "trades.csv",
            rows(|i| format!("{},16473.7{i},1.{i}5\n", 1_672_531_200 + i * 37)),
            "may be trades",
            "--as",
        ),
        (
            "counts.csv",
            rows(|i| format!("{i},7{i}.5,1.{i}5\n")),
            "--as TABLE",
            "trades",
        ),
        (
            "koinly.csv",
            format!(
                "Date,Sent Amount,Sent Currency,Received Amount,Received Currency,TxHash\n{}",
                rows(|i| format!("2024-01-{i:02} 10:00:00,0,ETH,{i}.5,ETH,0x{i:064x}\n"))
            ),
            "history for tax tools",
            "--as",
        ),
        (
            "rates.csv",
            format!(
                "data;1USD;1EUR;100HUF;number;\n{};;;;;\n;euro;forint;;;\n",
                rows(|i| format!("202401{i:02};4,{i}1;3,{i}2;2,{i};{i}/A;\n"))
            ),
            "one number per time",
            "--as",
        ),
        (
            "frame.txt",
            format!(
                "       one      two     three\nday\n{}",
                rows(|i| format!("2024-01-{i:02}   {i}.5   x{i} y   z{i}\n"))
            ),
            "df.to_csv()",
            "--as",
        ),
        (
            "python.txt",
            "[{'address': '0x1', 'ok': None}]".to_owned(),
            "in single quotes",
            "download it again",
        ),
        (
            "cut.json",
            "[{\"a\":\"it's\"},".to_owned(),
            "download it again",
            "Python",
        ),
        (
            "parts.csv",
            format!(
                "address,balance_wei PEPE\n{}",
                rows(|i| format!("{},{i}.5\n", at(i)))
            ),
            "have fractions",
            "unit raw",
        ),
    ] {
        let desk = Desk::new();
        desk.write(name, text);
        let err = desk.refuses(&[name]);
        assert!(
            err.contains(expected) && !err.contains(never),
            "{name}: {err}"
        );
    }
}
