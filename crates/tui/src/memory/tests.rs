//! What a session restores, and in which dataset.

use serde_json::{Value, json};

use super::Memory;
use crate::{app::bench::Bench, views::keymap::ViewId};
use load::{Dataset, sample};

struct Session(Value);

impl Memory for Session {
    fn session(&self) -> Value {
        self.0.clone()
    }
}

fn market(folder: &str) -> Dataset {
    let mut dataset = sample::dataset(&[(
        "tokens",
        "token_address,symbol,name,chain,price,market_cap
         0x1,WETH,Wrapped Ether,eth,3000,9000
         0x2,LINK,Chainlink,eth,14,900",
    )]);
    dataset.folder = folder.into();
    dataset
}

/// The dashboard with this session, on the dataset of the folder.
fn open(session: &Value, folder: &str) -> Bench {
    let mut bench = Bench::new(crate::views::all());
    bench.app.remember(&Session(session.clone()));
    bench.load(market(folder));
    bench
}

fn filter(bench: &Bench) -> String {
    let session = bench.app.session_now();
    let dataset = &session["datasets"][&bench.app.dataset];
    dataset["views"]["tokens"]["filter"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

#[test]
fn a_filter_a_sort_order_and_the_view_belong_to_their_dataset() {
    let mut bench = open(&Value::Null, "/data/one");
    bench.keys("/link⏎");
    bench.app.go(ViewId::Growth);
    let session = bench.app.last_session();
    for (folder, kept, view) in [
        ("/data/one", "link", ViewId::Growth),
        ("/data/two", "", ViewId::Tokens),
    ] {
        let bench = open(&session, folder);
        assert_eq!(
            (filter(&bench).as_str(), bench.app.current),
            (kept, view),
            "{folder}"
        );
    }
    // The same while the program runs: to another dataset and back.
    let mut bench = open(&session, "/data/one");
    bench.load(market("/data/two"));
    assert_eq!(
        (filter(&bench).as_str(), bench.app.current),
        ("", ViewId::Tokens)
    );
    bench.keys("/weth⏎");
    bench.load(market("/data/one"));
    assert_eq!(
        (filter(&bench).as_str(), bench.app.current),
        ("link", ViewId::Growth)
    );
    bench.load(market("/data/two"));
    assert_eq!(filter(&bench), "weth");
}

#[test]
fn what_an_earlier_version_stored_belongs_to_its_folder() {
    let old = json!({
        "view": "growth",
        "folder": "/data/one",
        "views": { "tokens": { "filter": "link" }, "yield": { "risk": "high" } },
    });
    for (folder, kept) in [("/data/one", "link"), ("/data/two", "")] {
        let bench = open(&old, folder);
        assert_eq!(filter(&bench), kept, "{folder}");
        assert_eq!(
            bench.app.session_now()["views"]["yield"]["risk"],
            "high",
            "a setting of every dataset"
        );
    }
}

#[test]
fn what_is_being_typed_is_not_saved_before_enter() {
    let mut bench = open(&Value::Null, "/data/one");
    bench.keys("/link⏎");
    bench.keys("/");
    bench.keys("xyz");
    assert_eq!(filter(&bench), "link");
    // What is typed replaces a text that was there; Enter confirms it.
    bench.keys("⌫⌫eth⏎");
    assert_eq!(filter(&bench), "xeth");
}

#[test]
fn the_amount_of_a_sale_is_remembered() {
    let mut bench = open(&Value::Null, "/data/one");
    let session = bench.app.last_session();
    assert_eq!(session["views"]["dexes"]["sell_usd"], "10000");
    let mut changed = session;
    changed["views"]["dexes"]["sell_usd"] = json!("250000");
    let bench = open(&changed, "/data/two");
    assert_eq!(
        bench.app.session_now()["views"]["dexes"]["sell_usd"],
        "250000"
    );
}
