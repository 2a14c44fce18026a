//! Every format with a small example file: its target table, and the resulting values.

use load::Dataset;
use model::candles::Interval;

use super::{Desk, PEPE, UNI, address, taken, words};

/// Format, file name, table, rows, and arguments; then the file's text.
const FILES: &[(&str, &str)] = &[
    (
        "cryptodatadownload d.csv candles 3",
        "https://www.CryptoDataDownload.com\nunix,date,symbol,open,high,low,close,Volume UNI,Volume USDT,tradecount\n\
         1690848000000,2023-08-01 00:00:00,UNIUSDT,6,7,5,6.5,1000,6500,10\n1690761600,2023-07-31 00:00:00,UNIUSDT,5.5,6.5,5,6,900,5400,9\n\
         1690675200,2023-07-30 00:00:00,UNIUSDT,5,6,4,5.5,800,4400,8\n",
    ),
    (
        "binance-klines UNIUSDT-1d-2023-08.csv candles 3",
        "1690675200000,5,6,4,5.5,800,1690761599999,4400,8,1,1,0\n1690761600000,5.5,6.5,5,6,900,1690847999999,5400,9,1,1,0\n\
         1690848000000000,6,7,5,6.5,1000,1690934399999999,6500,10,1,1,0\n",
    ),
    (
        "binance-klines UNIUSDT.json candles 3",
        r#"[[1690675200000,"5","6","4","5.5","800",1690761599999,"4400",8,"1","1","0"],[1690761600000,"5.5","6.5","5","6","900",1690847999999,"5400",9,"1","1","0"],[1690848000000,"6","7","5","6.5","1000",1690934399999,"6500",10,"1","1","0"]]"#,
    ),
    (
        "python-binance dump.csv candles 3",
        "date,open,high,low,close,volume,ticker\n2023-07-30,5,6,4,5.5,800,UNIUSDT\n2023-07-31,5.5,6.5,5,6,900,UNIUSDT\n2023-08-01,6,7,5,6.5,1000,UNIUSDT\n",
    ),
    (
        "bybit UNIUSDT.csv candles 3",
        "timestamp,open,high,low,close,volume,turnover\n1690675200000,5,6,4,5.5,800,1\n1690761600000,5.5,6.5,5,6,900,1\n1690848000000,6,7,5,6.5,1000,1\n",
    ),
    (
        "ohlcv uni.csv candles 3",
        "Date,Open,High,Low,Close,Volume\n7/30/2023,$5.00,6,4,5.5,\"800\"\n7/31/2023,5.5,6.5,5,6,900\n8/1/2023,6,7,5,6.5,\"1,000\"\n",
    ),
    (
        "freqtrade-json UNI_USDT-1d.json candles 5",
        "[[1690675200000,5,6,4,5.5,800],[1690761600000,5.5,6.5,5,6,900],[1690848000000,6,7,5,6.5,1E3],[1690934400000,6.5,8,6.25,7.5,1E3],[1691020800000,7.5,7.75,7,7.25,1E3]]",
    ),
    (
        "coingecko-ohlc gecko.json candles 3 --token 0x1f9840a85d5af5bf1d1762f925bdaddc4201f984",
        "[[1690761600000,5,6,4,5.5],[1690848000000,5.5,6.5,5,6],[1690934400000,6,7,5,6.5]]",
    ),
    (
        "geckoterminal pool.json candles 3",
        r#"{"data":{"id":"x","type":"ohlcv_request_response","attributes":{"ohlcv_list":[[1690848000,6,7,5,6.5,6500],[1690761600,5.5,6.5,5,6,5400],[1690675200,5,6,4,5.5,4400]]}},
            "meta":{"base":{"address":"0x1f9840a85d5af5bf1d1762f925bdaddc4201f984","symbol":"UNI","name":"Uniswap"},"quote":{"address":"0x0","symbol":"WETH"}}}"#,
    ),
    (
        "coingecko-market-chart chart.json candles 3 --token 0x1f9840a85d5af5bf1d1762f925bdaddc4201f984",
        r#"{"prices":[[1690761600000,5.5],[1690848000000,6],[1690934400000,6.5]],"market_caps":[[1690761600000,1]],"total_volumes":[[1690761600000,1]]}"#,
    ),
    (
        "defillama-pools pools.json yields 2",
        r#"{"status":"success","data":[{"chain":"Ethereum","project":"aave-v3","symbol":"USDC","tvlUsd":1.44E7,"apyBase":3.1,"apyReward":null,"apy":3.1,"pool":"aa-1","stablecoin":true,"underlyingTokens":["0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48"]},
            {"chain":"Solana","project":"kamino","symbol":"SOL","tvlUsd":5,"apyBase":1,"apyReward":2,"pool":"bb-2","underlyingTokens":null}]}"#,
    ),
    (
        "holders dune.csv holders 2",
        "Holder,UNI Balance,in USD\n\"<a href=\"\"https://etherscan.io/address/0x8a1639098644a229d08f441ea45a63ae050ee018\"\" target=_blank>0x8A1639098644a229d08f441ea45a63ae050ee018</a>\",\"1,234.5\",9\n\
         <a href=https://etherscan.io/address/0x56dc05030ade425ee58e310776ea46e785eb2203>0x56dc05030ade425ee58e310776ea46e785eb2203</a>,1.44E7,9\n",
    ),
    (
        "ethereum-etl-contracts contracts.csv contracts 2",
        "address,bytecode,function_sighashes,is_erc20,is_erc721,block_number\n0x86fa049857e0209aa7d9e616f7eb3b3b78ecfdb0,0x6060,\"0x1,0x2\",True,False,1\n\
         0x96fa049857e0209aa7d9e616f7eb3b3b78ecfdb0,0x6061,,False,False,1\n",
    ),
    (
        "etherscan-tokentx tx.json transfers 1",
        r#"{"status":"1","message":"OK","result":[{"blockNumber":"1","timeStamp":"1690675200","hash":"0x04cbcb236043d8fb7839e07bbc7f5eed692fb2ca55d897f1101eac3e3ad4fab8","from":"0x8a1639098644a229d08f441ea45a63ae050ee018","contractAddress":"0xc944e90c64b2c07662a292be6244bdf05cda44a7","to":"0x56dc05030ade425ee58e310776ea46e785eb2203","value":"115792089237316195423570985008687907853269984665640564039457584007913129639935","tokenName":"Graph","tokenSymbol":"GRT","tokenDecimal":"18"}]}"#,
    ),
    (
        "telegram result.json posts 2 --token 0x1f9840a85d5af5bf1d1762f925bdaddc4201f984",
        r#"{"name":"x","type":"public_channel","id":7,"messages":[{"id":1,"type":"message","date":"2023-05-14T10:00:00","date_unixtime":"1684051200","from":"ann","text":"up"},{"id":2,"type":"message","date":"2023-05-14T10:00:01","date_unixtime":"1684051201","from":"bob","text":"down"}]}"#,
    ),
    (
        "reddit RS_2018-02.ndjson posts 2 --token 0x1f9840a85d5af5bf1d1762f925bdaddc4201f984",
        "{\"id\":\"a\",\"author\":\"ann\",\"title\":\"up\",\"selftext\":\"\",\"created\":1518682386,\"created_utc\":1518653586,\"subreddit\":\"uni\"}\n{\"id\":\"b\",\"author\":\"bob\",\"title\":\"down\",\"selftext\":\"\",\"created\":1518682387,\"created_utc\":1518653587,\"subreddit\":\"uni\"}\n",
    ),
    (
        "own kols.ndjson kols 2",
        "{\"token_address\":\"0x1f9840a85d5af5bf1d1762f925bdaddc4201f984\",\"kol_address\":\"0x56dc05030ade425ee58e310776ea46e785eb2203\",\"handle\":\"@漢字🐶\",\"followers\":5,\"engagement_rate\":0.1}\n{\"token_address\":\"0x1f9840a85d5af5bf1d1762f925bdaddc4201f984\",\"kol_address\":\"0x8a1639098644a229d08f441ea45a63ae050ee018\",\"handle\":null,\"followers\":5,\"engagement_rate\":0.1}\n",
    ),
];

struct Sample {
    format: &'static str,
    name: &'static str,
    table: &'static str,
    rows: u64,
    /// File name and arguments.
    args: Vec<&'static str>,
    text: &'static str,
}

fn samples() -> impl Iterator<Item = Sample> {
    FILES.iter().map(|(what, text)| {
        let what = words(what);
        let [format, name, table, rows, said @ ..] = &what[..] else {
            panic!("{what:?}")
        };
        Sample {
            format,
            name,
            table,
            rows: rows.parse().unwrap(),
            args: [&[*name], said].concat(),
            text,
        }
    })
}

#[test]
fn every_format_is_known_by_what_it_holds() {
    for Sample {
        format,
        name,
        table,
        rows,
        args,
        text,
    } in samples()
    {
        let desk = Desk::new();
        desk.write(name, text);
        let report = desk.imports(&args);
        assert_eq!(report["files"][0]["format"], format, "{name}: {report:#}");
        assert_eq!(
            taken(&report, 0, table),
            [rows, 0, 0, 0, 0, 0],
            "{name}: {report:#}"
        );
        let dataset = desk.clean();
        assert_eq!(
            dataset.table(table).unwrap().frame().height() as u64,
            rows,
            "{name}"
        );
        if table == "candles" {
            candles_are_as_they_were(&dataset, format);
        }
        // Importing it again changes nothing.
        let before = super::files(&desk.data());
        let again = desk.imports(&args);
        assert_eq!(taken(&again, 0, table), [0, 0, rows, 0, 0, 0], "{name}");
        assert_eq!(super::files(&desk.data()), before, "{name}");
    }
}

/// Asserts the three days that all candle files begin with.
fn candles_are_as_they_were(dataset: &Dataset, format: &str) {
    let candles = dataset.candles().of(&address(UNI));
    let candles = candles.series();
    assert_eq!(
        (candles.len(), candles[0].0),
        (1, Interval::DAY),
        "{format}"
    );
    let candles = candles[0].1;
    assert_eq!(
        candles.timestamp[..3],
        [1_690_675_200_000, 1_690_761_600_000, 1_690_848_000_000],
        "{format}"
    );
    assert_eq!(candles.close[..3], [5.5, 6.0, 6.5], "{format}");
    if format != "coingecko-market-chart" {
        assert_eq!(
            (&candles.open[..3], &candles.high[..3], &candles.low[..3]),
            (
                &[5.0, 5.5, 6.0][..],
                &[6.0, 6.5, 7.0][..],
                &[4.0, 5.0, 5.0][..]
            ),
            "{format}"
        );
    }
    if !format.starts_with("coingecko") {
        assert_eq!(candles.volume[..3], [800.0, 900.0, 1000.0], "{format}");
    }
}

#[test]
fn figures_arrive_unchanged() {
    let desk = Desk::new();
    for sample in samples().filter(|sample| sample.table != "candles") {
        desk.write(sample.name, sample.text);
        desk.imports(&sample.args);
    }
    let dataset = desk.clean();
    let holders: Vec<Option<f64>> = dataset
        .holders_of(&address(UNI))
        .iter()
        .map(|holder| holder.balance)
        .collect();
    assert_eq!(holders, [Some(1.44e7), Some(1234.5)]);
    let yields = dataset.table("yields").unwrap().frame();
    assert_eq!(
        yields
            .column("chain")
            .unwrap()
            .str()
            .unwrap()
            .iter()
            .flatten()
            .collect::<Vec<_>>(),
        ["eth", "solana"]
    );
    let value = dataset
        .table("transfers")
        .unwrap()
        .frame()
        .column("value")
        .unwrap()
        .str()
        .unwrap()
        .get(0)
        .map(str::to_owned);
    assert_eq!(
        value.as_deref(),
        Some("115792089237316195423570985008687907853269984665640564039457584007913129639935")
    );
    let graph = dataset
        .token(&address("0xc944e90c64b2c07662a292be6244bdf05cda44a7"))
        .unwrap();
    assert_eq!(
        (graph.row.symbol.as_deref(), graph.row.decimals),
        (Some("GRT"), Some(18))
    );
    // One of the two contracts is a token.
    let token = |text: &str| dataset.token(&address(text)).is_some();
    assert!(
        token("0x86fa049857e0209aa7d9e616f7eb3b3b78ecfdb0")
            && !token("0x96fa049857e0209aa7d9e616f7eb3b3b78ecfdb0")
    );
}

#[test]
fn tokens_in_one_file_are_told_apart_and_thousands_are_divided() {
    let desk = Desk::new();
    desk.write(
        "both.csv",
        "date,open,high,low,close,volume,ticker\n2023-07-30,5,6,4,5,1,UNIUSDT\n2023-07-31,5,6,4,5,1,UNIUSDT\n2023-07-30,1,2,1,2,1,PEPEUSDT\n2023-07-30,1,2,1,2,1,XRPUSDT\n",
    );
    let report = desk.imports(&["both.csv"]);
    assert_eq!(
        taken(&report, 0, "candles"),
        [3, 0, 0, 0, 0, 1],
        "{report:#}"
    );
    assert!(
        report["files"][0]["says"]
            .to_string()
            .contains("the series `XRPUSDT` is about `XRP`"),
        "{report:#}"
    );
    assert!(
        desk.refuses(&["both.csv", "--token", UNI])
            .contains("contains 3 series of candles")
    );
    let desk = Desk::new();
    desk.write("1000PEPEUSDT.csv", "timestamp,open,high,low,close,volume,turnover\n1690675200000,0.005,0.006,0.004,0.005,7,1\n");
    desk.imports(&["1000PEPEUSDT.csv"]);
    let dataset = desk.clean();
    let held = dataset.candles().of(&address(PEPE));
    let candles = held.series()[0].1;
    assert_eq!((candles.close[0], candles.volume[0]), (0.000_005, 7000.0));
}

#[test]
fn each_token_may_be_of_an_exchange_of_its_own_but_of_one() {
    let desk = Desk::new();
    let file = |rows: &str| format!("date,name,open,high,low,close,volume,exchange\n{rows}");
    desk.write(
        "two.csv",
        file("2023-07-30,UNI,5,6,4,5,1,kraken\n2023-07-30,PEPE,1,2,1,2,1,binance\n"),
    );
    assert_eq!(taken(&desk.imports(&["two.csv"]), 0, "candles")[0], 2);
    let by_address = |rows: &str| {
        file(rows)
            .replace("name", "token_address")
            .replace("UNI", UNI)
            .replace("PEPE", PEPE)
    };
    desk.write(
        "own.csv",
        by_address("2023-07-31,UNI,5,6,4,5,1,kraken\n2023-07-31,PEPE,1,2,1,2,1,binance\n"),
    );
    assert_eq!(taken(&desk.imports(&["own.csv"]), 0, "candles")[0], 2);
    let mixed = "2023-07-31,UNI,5,6,4,5,1,kraken\n2023-07-31,UNI,5,6,4,5,1,binance\n2023-07-31,PEPE,1,2,1,2,1,binance\n";
    for (name, text) in [
        ("mixed.csv", file(mixed)),
        ("mixed_own.csv", by_address(mixed)),
    ] {
        desk.write(name, text);
        let refusal = desk.refuses(&[name]);
        assert!(
            refusal.contains("`exchange` has `binance`, `kraken`"),
            "{refusal}"
        );
    }
}

/// The example of docs/importing.md.
fn own_format() -> String {
    let page =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/importing.md")).unwrap();
    let (_, rest) = page.split_once("<!-- own format -->\n").unwrap();
    rest.split_once("<!-- end")
        .unwrap()
        .0
        .lines()
        .map(str::trim_start)
        .collect::<Vec<_>>()
        .join("\n")
}

const BROKER: &str = "Session;Initial;Peak;Trough;Settled;Turnover\n01.02.2024;5,5;6;4;5;1.000,5\n02.02.2024;5;6,5;5;6;0\n";

#[test]
fn a_format_of_a_persons_own_is_read_wherever_it_is_described() {
    assert_eq!(
        own_format().lines().filter(|line| !line.is_empty()).count(),
        9
    );
    for place in [
        "formats.toml",
        "data/formats.toml",
        ".config/tokendeck/formats.toml",
    ] {
        let desk = Desk::new();
        desk.write("UNI.csv", BROKER);
        assert!(desk.refuses(&["UNI.csv"]).contains("has an unknown format"));
        desk.write(place, own_format());
        if place == "formats.toml" {
            desk.write("config.toml", "");
        }
        let report = desk.imports(&["UNI.csv"]);
        assert_eq!(
            (&report["files"][0]["format"], taken(&report, 0, "candles")),
            (&"my-broker".into(), [2, 0, 0, 0, 0, 0]),
            "{report:#}"
        );
        let dataset = desk.clean();
        let held = dataset.candles().of(&address(UNI));
        let candles = held.series()[0].1;
        assert_eq!(
            (
                candles.timestamp[0],
                candles.open[0],
                candles.high[1],
                candles.volume[0]
            ),
            (1_706_745_600_000, 5.5, 6.5, 200.1)
        );
        let listed =
            String::from_utf8(desk.command(&["--formats"]).output().unwrap().stdout).unwrap();
        let first = listed.lines().nth(1).unwrap();
        assert!(
            first.contains("my-broker")
                && first.contains("(user-defined, ")
                && first.contains("formats.toml)"),
            "{listed}"
        );
    }
}

#[test]
fn one_of_the_same_name_takes_a_formats_place_and_a_mistake_is_named() {
    let desk = Desk::new();
    desk.write(
        "dump.csv",
        "date,open,high,low,close,volume,ticker\n2023-07-30,5,6,4,5.5,800,UNIUSDT\n",
    );
    let of = |desk: &Desk| {
        desk.imports(&["dump.csv", "--dry-run", "--token", UNI])["files"][0]["title"].clone()
    };
    assert_eq!(of(&desk), "python-binance dump");
    let own = |rest: &str| {
        format!("[python-binance]\ntitle = 'mine'\nknown = [{{ header = ['ticker'] }}]\n{rest}")
    };
    desk.write("data/formats.toml", own("reader = 'candles'"));
    assert_eq!(of(&desk), "mine");
    desk.write("data/formats.toml", own("raeder = 'candles'"));
    let err = desk.command(&["dump.csv"]).output().unwrap().stderr;
    let err = String::from_utf8(err).unwrap();
    assert!(
        err.contains("data/formats.toml`, line 4: unknown field `raeder`"),
        "{err}"
    );
    for (text, says) in [
        ("[own]\nreader = 'own'", "choose another"),
        ("[a", "line 1: "),
    ] {
        desk.write("data/formats.toml", text);
        let err = String::from_utf8(desk.command(&["dump.csv"]).output().unwrap().stderr).unwrap();
        assert!(err.contains("formats.toml`") && err.contains(says), "{err}");
    }
}

#[test]
fn a_saved_answer_is_known_by_the_description_of_its_service() {
    let desk = Desk::new();
    let provider = "name = 'My API'\nhome = 'https://api.example.org'\n[[request]]\nname = 'holders'\nfills = 'holders'\neach = 'token'\n\
                    path = '/{token}'\nrows = 'data.*.list'\ncolumns = { holder_address = 'wallet.address', balance = 'amount' }\n";
    desk.write("saved.json", format!(r#"{{"data":{{"a":{{"list":[{{"wallet":{{"address":"{PEPE}"}},"amount":"1.5"}}]}}}},"v":7}}"#));
    for (known, says) in [
        ("", "has an unknown format"),
        (
            "known = [{ lists = 'x' }]",
            "`known` of the request `holders` of my-api: unknown field",
        ),
    ] {
        desk.write("data/providers/my-api.toml", format!("{provider}{known}"));
        let err = String::from_utf8(
            desk.command(&["saved.json", "--token", UNI])
                .output()
                .unwrap()
                .stderr,
        )
        .unwrap();
        assert!(err.contains(says), "{err}");
    }
    desk.write(
        "data/providers/my-api.toml",
        format!("{provider}known = [{{ members = ['data', 'v'] }}]"),
    );
    let report = desk.imports(&["saved.json", "--token", UNI]);
    let file = &report["files"][0];
    assert_eq!(
        (file["format"].as_str(), file["title"].as_str()),
        (Some("my-api-holders"), Some("My API holders")),
        "{report:#}"
    );
    let listed = String::from_utf8(desk.command(&["--formats"]).output().unwrap().stdout).unwrap();
    assert!(
        listed
            .lines()
            .nth(1)
            .unwrap()
            .contains("JSON: data, v (user-defined, providers/my-api.toml)"),
        "{listed}"
    );
    assert_eq!(
        (
            taken(&report, 0, "holders"),
            desk.clean()
                .holders_of(&address(UNI))
                .get(0)
                .and_then(|row| row.balance)
        ),
        ([1, 0, 0, 0, 0, 0], Some(1.5))
    );
}
