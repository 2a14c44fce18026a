//! Which token the rows of holders and transfers are of: rows of several are never filed under one, and an account is not a token.

use model::data::AddressRows as _;
use serde_json::json;

use super::{Desk, PEPE, UNI, address, rows, taken, words};

const WALLET: &str = "0xff71cb760666ab06aa73f34995b42dd4b85ea07b";

/// How many transfers and holders the dataset has of UNI, and of PEPE.
fn held(desk: &Desk) -> [usize; 2] {
    let dataset = desk.dataset();
    [UNI, PEPE].map(|token| {
        let sent = dataset
            .transfers()
            .chunks(&address(token))
            .flatten()
            .count();
        sent + dataset.holders_of(&address(token)).balances().count()
    })
}

#[test]
fn rows_of_several_tokens_are_never_filed_under_one() {
    let each = |i: u32, one: &'static str, other: &'static str| {
        if i.is_multiple_of(2) { one } else { other }
    };
    let sent = |names: &str, cells: &dyn Fn(u32) -> String| {
        let row = |i: u32| {
            format!(
                "0x{i:064x},0x{i:040x},{WALLET},{i}000000000000000000,{}\n",
                cells(i)
            )
        };
        format!("hash,from,to,amount,{names}\n{}", rows(row))
    };
    let symbols = |one, other| sent("symbol", &move |i| each(i, one, other).to_owned());
    let header = "hash,from,to,amount,symbol\n";
    let late = format!(
        "{header}{}",
        (symbols("UNI", "UNI").repeat(150) + &symbols("PEPE", "PEPE")).replace(header, "")
    );
    let kept = format!(
        "holder,balance,token\n{}",
        rows(|i| format!("0x{i:040x},{i}.5,{}\n", each(i, "UNI", "PEPE")))
    );
    let mapped = "--as transfers --map transaction_hash=hash --map from_address=from --map to_address=to --map value=amount";
    let assets = || sent("asset", &|i| each(i, UNI, PEPE).to_owned());
    let half = sent("asset", &|i| {
        if i < 7 { each(i, UNI, PEPE) } else { "ETH" }.to_owned()
    });
    for (what, text, options, expected) in [
        ("assets by address", assets(), "--token UNI", Ok([10, 10])),
        (
            "assets by address, without a token",
            assets(),
            "",
            Ok([10, 10]),
        ),
        (
            "a few assets by address",
            half,
            "--token UNI",
            Err("--map token_address=asset"),
        ),
        (
            "symbols",
            symbols("UNI", "PEPE"),
            "--token UNI",
            Err("--pick symbol=UNI"),
        ),
        (
            "symbols, without a token",
            symbols("UNI", "PEPE"),
            "",
            Err("--pick symbol=VALUE"),
        ),
        (
            "symbols, one picked",
            symbols("UNI", "PEPE"),
            "--token PEPE --pick symbol=PEPE",
            Ok([0, 10]),
        ),
        (
            "symbols, picked without a token",
            symbols("UNI", "PEPE"),
            "--pick symbol=PEPE",
            Ok([0, 10]),
        ),
        (
            "symbols, forced",
            symbols("UNI", "PEPE"),
            "--token UNI --broken-too",
            Ok([20, 0]),
        ),
        (
            "one symbol",
            symbols("UNI", "UNI"),
            "--token UNI",
            Ok([20, 0]),
        ),
        (
            "a wrapped symbol",
            symbols("ETH", "WETH"),
            "--token UNI",
            Ok([20, 0]),
        ),
        (
            "a symbol beyond the sample",
            late,
            "--token UNI",
            Err("--pick symbol=UNI"),
        ),
        (
            "holders of two tokens",
            kept,
            "--token UNI",
            Err("--pick token=UNI"),
        ),
        (
            "columns that are mapped",
            symbols("UNI", "PEPE"),
            &format!("--token UNI {mapped}"),
            Err("--pick symbol=UNI"),
        ),
        (
            "a mapped file with assets",
            assets(),
            &format!("--token UNI {mapped}"),
            Err("--map token_address=asset"),
        ),
    ] {
        let desk = Desk::new();
        desk.write("rows.csv", text);
        let options = options
            .replace("token UNI", &format!("token {UNI}"))
            .replace("token PEPE", &format!("token {PEPE}"));
        let args: Vec<&str> = std::iter::once("rows.csv")
            .chain(options.split_whitespace())
            .collect();
        match expected {
            Ok(expected) => {
                desk.imports(&args);
                assert_eq!(held(&desk), expected, "{what}");
            }
            Err(expected) => assert!(
                desk.refuses(&args).contains(expected),
                "{what}: {}",
                desk.refuses(&args)
            ),
        }
    }
}

#[test]
fn the_account_that_a_file_is_of_is_not_the_token() {
    let sent = |to: &str| rows(|i| format!("0x{i:064x},0x{i:040x},{to},{i}000000000000000000\n"));
    let other = format!("0x{}", "9".repeat(40));
    for (name, to, options, expected) in [
        (
            WALLET,
            WALLET,
            format!("--token {UNI}"),
            Ok("is that of an account"),
        ),
        (WALLET, WALLET, String::new(), Err("--token ADDRESS")),
        (UNI, WALLET, String::new(), Ok("from the file name")),
        (
            PEPE,
            WALLET,
            format!("--token {UNI}"),
            Err("but --token is"),
        ),
        (
            WALLET,
            &other,
            format!("--token {UNI}"),
            Ok("warning: its name contains 0xff71"),
        ),
    ] {
        let desk = Desk::new();
        let file = format!("export-{name}.csv");
        desk.write(&file, format!("hash,from,to,amount\n{}", sent(to)));
        let args: Vec<&str> = std::iter::once(file.as_str())
            .chain(options.split_whitespace())
            .collect();
        match expected {
            Ok(says) => {
                let report = desk.imports(&args);
                assert!(
                    report["files"][0]["says"].to_string().contains(says),
                    "{name} {options}: {report:#}"
                );
                assert_eq!(held(&desk), [20, 0], "{name} {options}");
            }
            Err(expected) => assert!(desk.refuses(&args).contains(expected), "{name} {options}"),
        }
    }
    // The tokens of one account, which stands beside them.
    let token = |token: &str, symbol: &str, balance: serde_json::Value, raw: &str| json!({"tokenInfo": {"address": token, "symbol": symbol, "name": symbol, "decimals": "18"}, "balance": balance, "rawBalance": raw});
    let tokens = [
        token(UNI, "UNI", json!(1.365e21), "1365000000000000000000"),
        token(PEPE, "PEPE", json!(5), "5000000000000000000"),
    ];
    let desk = Desk::empty();
    desk.write(
        "info.json",
        json!({"address": WALLET, "ETH": {"balance": 1.25}, "tokens": tokens}).to_string(),
    );
    desk.imports(&["info.json", "--chain", "eth"]);
    let dataset = desk.dataset();
    let of = |token: &str| {
        dataset
            .holders_of(&address(token))
            .balances()
            .map(|(holder, balance)| (holder.to_string(), balance))
            .collect()
    };
    let [uni, pepe]: [Vec<(String, Option<f64>)>; 2] = [UNI, PEPE].map(of);
    assert_eq!(
        (uni, pepe),
        (
            vec![(WALLET.to_owned(), Some(1_365.0))],
            vec![(WALLET.to_owned(), Some(5.0))]
        )
    );
}

#[test]
fn transfers_without_an_amount_or_of_nfts_cost_their_rows() {
    for (hash, token) in [("hash", "address"), ("address_hash", "address_hash")] {
        let item = |i: u32| {
            let total = match i % 3 {
                0 => json!({"decimals": "18", "value": null}),
                1 => json!({"decimals": "18", "value": "100000000000000000"}),
                _ => json!({"token_id": i.to_string(), "value": "1"}),
            };
            json!({"transaction_hash": format!("0x{i:064x}"), "block_hash": format!("0x{:064x}", i + 90), "log_index": i, "total": total,
                "from": {hash: format!("0x{i:040x}"), "name": "Router"}, "to": {hash: WALLET}, "timestamp": "2024-03-20T05:00:51.000000Z",
                "token": {token: UNI, "symbol": "UNI", "name": "Uniswap", "decimals": "18", "holders": "81"}})
        };
        let desk = Desk::empty();
        desk.write(
            "t.json",
            json!({"items": (1..=30).map(item).collect::<Vec<_>>(), "next_page_params": null})
                .to_string(),
        );
        let report = desk.imports(&["t.json", "--chain", "eth"]);
        assert_eq!(
            taken(&report, 0, "transfers"),
            [10, 0, 0, 0, 0, 20],
            "{report:#}"
        );
        let dataset = desk.dataset();
        assert_eq!(
            (
                dataset.token(&address(UNI)).unwrap().row.name.as_deref(),
                held(&desk)
            ),
            (Some("Uniswap"), [10, 0])
        );
    }
    let row = |i: u32| {
        format!(
            "0x{i:064x},0x{i:040x},{WALLET},{}\n",
            if i < 6 {
                String::new()
            } else {
                format!("{i}000000000000000000")
            }
        )
    };
    let desk = Desk::new();
    desk.write("t.csv", format!("h,f,t,v\n{}", rows(row)));
    let mapped = "--as transfers --map transaction_hash=h --map from_address=f --map to_address=t --map value=v";
    let line = format!("t.csv --token {UNI} {mapped}");
    assert_eq!(
        taken(&desk.imports(&words(&line)), 0, "transfers"),
        [15, 0, 0, 0, 0, 5]
    );
}

#[test]
fn holders_of_explorers_are_in_base_units() {
    let list = |name: &str, value: &str| {
        (1..=20)
            .map(|i| json!({name: format!("0x{i:040x}"), value: format!("{i}0000")}))
            .collect::<Vec<_>>()
    };
    let items: Vec<_> =
        (1..=20).map(|i| json!({"address": {"hash": format!("0x{i:040x}")}, "token_id": null, "value": format!("{i}0000")})).collect();
    for text in [
        json!({"message": "OK", "status": "1", "result": list("address", "value")}),
        json!({"message": "OK", "status": "1", "result": list("TokenHolderAddress", "TokenHolderQuantity")}),
        json!({"items": items, "next_page_params": null}),
    ] {
        let desk = Desk::empty();
        desk.write("h.json", text.to_string());
        assert!(
            desk.refuses(&["h.json", "--token", UNI])
                .contains("--decimals DECIMALS"),
            "{text}"
        );
        desk.imports(&["h.json", "--token", UNI, "--decimals", "4"]);
        let most = desk
            .dataset()
            .holders_of(&address(UNI))
            .balances()
            .filter_map(|(_, balance)| balance)
            .fold(0.0, f64::max);
        assert_eq!(most, 20.0, "{text}");
    }
}

#[test]
fn a_pool_is_not_its_lp_token() {
    let at = |i: usize| format!("0x{i:040x}");
    let pool = |list: &str, id: String, count: usize| {
        let tokens: Vec<_> = (1..=count)
            .map(|i| json!({"id": at(i), "symbol": format!("T{i}"), "decimals": 18}))
            .collect();
        json!({"id": id, "name": "LP", "symbol": "UNI-V3", list: tokens, "totalValueLockedUSD": "30123.5"})
    };
    let v4 = |i: usize| json!({"id": format!("0xabcd{i:060x}"), "feeTier": "10", "token0": {"id": at(1)}, "token1": {"id": at(2)}});
    let pools = |of: &dyn Fn(usize) -> serde_json::Value| {
        json!({"data": {"pools": (50..70).map(of).collect::<Vec<_>>()}}).to_string()
    };
    for (text, expected) in [
        (pools(&|i| pool("inputTokens", at(i), 2)), None),
        (pools(&|i| pool("tokens", at(i), 2)), None),
        (
            pools(&|i| pool("tokens", at(i), 3)),
            Some("lists the tokens of each pool"),
        ),
        (pools(&v4), Some("such pools have no address")),
    ] {
        let desk = Desk::empty();
        desk.write("p.json", &text);
        let args = ["p.json", "--set", "dex_id=uniswap-v3", "--set", "chain=eth"];
        if let Some(expected) = expected {
            assert!(desk.refuses(&args).contains(expected), "{text}");
        } else {
            let report = desk.imports(&args);
            assert_eq!(
                (
                    taken(&report, 0, "pools")[0],
                    taken(&report, 0, "tokens")[0]
                ),
                (20, 2),
                "{report:#}"
            );
        }
    }
}

#[test]
fn yields_that_may_be_fractions_are_said_to_be_percent() {
    for (scale, options, says, first) in [
        (0.01, "", true, 0.01),
        (0.01, "--unit percent", false, 0.01),
        (0.01, "--unit fraction", false, 1.0),
        (1.0, "", false, 1.0),
    ] {
        let pool = |i: u32| json!({"pool": format!("p{i}"), "chain": "Arbitrum", "project": "x", "symbol": "ETH", "tvlUsd": 20000.0, "apyBase": f64::from(i) * scale});
        let desk = Desk::empty();
        desk.write(
            "p.json",
            json!((1..=20).map(pool).collect::<Vec<_>>()).to_string(),
        );
        let args: Vec<&str> = std::iter::once("p.json")
            .chain(options.split_whitespace())
            .collect();
        let report = desk.imports(&args);
        assert_eq!(
            report
                .to_string()
                .contains("assumed: its yields are in percent"),
            says,
            "{scale} {options}: {report:#}"
        );
        let dataset = desk.dataset();
        let frame = dataset.table("yields").unwrap().frame();
        let base = frame.column("apy_base").unwrap().f64().unwrap();
        assert!(
            (base.iter().flatten().fold(f64::MAX, f64::min) - first).abs() < 1e-9,
            "{scale} {options}: {base:?}"
        );
    }
}
