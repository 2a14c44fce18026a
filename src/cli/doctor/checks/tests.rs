//! One row per result: what is changed on a sound machine, the line that reports it, and its remedy.

use color_eyre::eyre::eyre;

use super::*;

fn sound() -> MachineFacts {
    MachineFacts {
        size: Some((140, 42)),
        term: "xterm-256color".to_owned(),
        depth: Depth::True,
        graphics: Graphics::Auto,
        protocol: Ok(Some(PictureProtocol::Kitty)),
        locale: "en_GB.UTF-8".to_owned(),
        ascii: false,
        now: Time(1_794_744_000_000),
        newest: None,
        config: Ok(None),
        wrong_keys: Vec::new(),
        data: DataFact::There {
            folder: "datasets".to_owned(),
            files: 19,
        },
        state: Ok("/home/a/.local/state/tokendeck".to_owned()),
        keys: Ok(1),
        cache: Ok(CacheFact {
            folder: "/home/a/.cache/tokendeck".to_owned(),
            bytes: 0,
            limit_mb: 100,
        }),
        listen: "127.0.0.1:8787".to_owned(),
        port: Some(Ok(())),
        sources: Vec::new(),
        live: false,
        open_origins: Vec::new(),
        reached: None,
    }
}

fn source(unset: Option<&str>) -> SourceFact {
    SourceFact {
        name: "lake".to_owned(),
        kind: "s3",
        keys: "none".to_owned(),
        unset: unset.map(str::to_owned),
    }
}

#[test]
fn a_sound_machine_has_nothing_to_mend() {
    assert!(
        checks(&sound())
            .iter()
            .all(|check| check.verdict == LineVerdict::Good),
        "{:?}",
        checks(&sound())
    );
}

/// The change, the line's name, its verdict, and parts of its result and remedy.
type Case = (
    fn(&mut MachineFacts),
    &'static str,
    LineVerdict,
    &'static str,
    &'static str,
);

const CASES: &[Case] = &[
    (
        |f| f.size = None,
        "terminal",
        LineVerdict::Note,
        "stdout is not a terminal",
        "`serve`",
    ),
    (
        |f| f.term = "dumb".to_owned(),
        "terminal",
        LineVerdict::Mend,
        "TERM is `dumb`",
        "export TERM=",
    ),
    (
        |f| f.term = String::new(),
        "terminal",
        LineVerdict::Mend,
        "TERM is not set",
        "export TERM=",
    ),
    (
        |f| f.size = Some((59, 42)),
        "terminal",
        LineVerdict::Mend,
        "59×42 is too small",
        "60×16",
    ),
    (
        |f| f.size = Some((60, 15)),
        "terminal",
        LineVerdict::Mend,
        "60×15 is too small",
        "60×16",
    ),
    (
        |f| f.size = Some((60, 16)),
        "terminal",
        LineVerdict::Note,
        "60×16",
        "80×24",
    ),
    (
        |f| f.size = Some((80, 24)),
        "terminal",
        LineVerdict::Good,
        "xterm-256color, 80×24",
        "",
    ),
    (
        |f| f.depth = Depth::Indexed,
        "colors",
        LineVerdict::Note,
        "256",
        "COLORTERM=truecolor",
    ),
    (
        |f| f.depth = Depth::Sixteen,
        "colors",
        LineVerdict::Note,
        "16:",
        "COLORTERM=truecolor",
    ),
    (
        |f| f.depth = Depth::None,
        "colors",
        LineVerdict::Note,
        "none",
        "unset NO_COLOR",
    ),
    (
        |f| f.protocol = Ok(None),
        "graphics",
        LineVerdict::Note,
        "no pixels",
        "docs/dashboard.md",
    ),
    (
        |f| f.protocol = Ok(Some(PictureProtocol::Sixel)),
        "graphics",
        LineVerdict::Good,
        "sixels",
        "",
    ),
    (
        |f| f.protocol = Err(eyre!("inside tmux")),
        "graphics",
        LineVerdict::Mend,
        "inside tmux",
        "terminal.graphics = \"auto\"",
    ),
    (
        |f| (f.graphics, f.protocol) = (Graphics::Off, Ok(None)),
        "graphics",
        LineVerdict::Good,
        "off (`terminal.graphics`)",
        "",
    ),
    (
        |f| f.locale = "C".to_owned(),
        "fonts",
        LineVerdict::Note,
        "the locale is `C`; symbols: ▁▂▃",
        "LANG=C.UTF-8",
    ),
    (
        |f| f.locale = String::new(),
        "fonts",
        LineVerdict::Note,
        "no locale is set",
        "terminal.ascii = true",
    ),
    (
        |f| f.locale = "C.utf8".to_owned(),
        "fonts",
        LineVerdict::Good,
        "symbols: ▁▂▃",
        "terminal.ascii = true",
    ),
    (
        |f| f.ascii = true,
        "fonts",
        LineVerdict::Good,
        "ASCII only",
        "",
    ),
    (
        |f| f.newest = Some((Time(f.now.0 + DAY_MS), "keys".to_owned())),
        "clock",
        LineVerdict::Good,
        "2026-11-15 12:00 UTC",
        "",
    ),
    (
        |f| f.newest = Some((Time(f.now.0 + DAY_MS + 1), "keys".to_owned())),
        "clock",
        LineVerdict::Mend,
        "earlier than the time of `keys`, 2026-11-16",
        "timedatectl",
    ),
    (
        |f| f.config = Err(eyre!("config.toml:3: unknown")),
        "configuration",
        LineVerdict::Mend,
        "config.toml:3",
        "correct this line",
    ),
    (
        |f| f.config = Ok(Some("config.toml".to_owned())),
        "configuration",
        LineVerdict::Good,
        "`config.toml`",
        "",
    ),
    (
        |f| f.wrong_keys = vec!["`nope` is no action".to_owned()],
        "configuration",
        LineVerdict::Mend,
        "`nope`",
        "[terminal.keys]",
    ),
    (
        |f| f.reached = Some(Vec::new()),
        "sources",
        LineVerdict::Good,
        "none",
        "",
    ),
    (
        |f| f.data = DataFact::Absent("datasets".to_owned()),
        "dataset",
        LineVerdict::Note,
        "none in `datasets`",
        "tokendeck demo --tour",
    ),
    (
        |f| f.data = DataFact::Bad("`dataset.toml`: line 3".to_owned()),
        "dataset",
        LineVerdict::Mend,
        "line 3",
        "tokendeck check",
    ),
    (
        |f| f.state = Err(eyre!("`/x/state` cannot be written")),
        "state",
        LineVerdict::Mend,
        "cannot be written",
        "XDG_STATE_HOME",
    ),
    (
        |f| f.keys = Ok(0),
        "keys",
        LineVerdict::Good,
        "one is created at the first start",
        "",
    ),
    (
        |f| f.keys = Ok(2),
        "keys",
        LineVerdict::Good,
        "2 API keys",
        "",
    ),
    (
        |f| f.keys = Err(vec!["others can read it".to_owned()]),
        "keys",
        LineVerdict::Mend,
        "others can read it",
        "chmod 600",
    ),
    (
        |f| f.cache = Err(eyre!("`/x` cannot be written")),
        "cache",
        LineVerdict::Mend,
        "cannot be written",
        "cache.dir",
    ),
    (
        |f| {
            f.cache
                .iter_mut()
                .for_each(|cache| cache.bytes = 90_000_000);
        },
        "cache",
        LineVerdict::Good,
        "90.0 of 100 MB",
        "",
    ),
    (
        |f| {
            f.cache
                .iter_mut()
                .for_each(|cache| cache.bytes = 90_100_000);
        },
        "cache",
        LineVerdict::Note,
        "90.1 of 100 MB",
        "cache.size_mb",
    ),
    (
        |f| f.port = Some(Err(eyre!("address in use"))),
        "port",
        LineVerdict::Mend,
        "`127.0.0.1:8787`: address in use",
        "--no-api",
    ),
    (|f| f.port = None, "port", LineVerdict::Good, "not used", ""),
    (
        |f| f.listen = "0.0.0.0:8787".to_owned(),
        "port",
        LineVerdict::Note,
        "reachable from other machines",
        "127.0.0.1",
    ),
    (
        |f| f.sources = vec![source(None)],
        "source lake",
        LineVerdict::Good,
        "s3; keys: none",
        "",
    ),
    (
        |f| f.sources = vec![source(Some("LAKE"))],
        "source lake",
        LineVerdict::Mend,
        "`LAKE` is not set",
        "export LAKE=",
    ),
    (
        |f| f.open_origins = vec!["https://a.example".to_owned()],
        "sources",
        LineVerdict::Note,
        "not allowed yet: https://a.example",
        "--remote",
    ),
    (
        |_| (),
        "sources",
        LineVerdict::Good,
        "nothing is contacted",
        "",
    ),
    (
        |f| f.sources = vec![source(None)],
        "reached",
        LineVerdict::Good,
        "not contacted",
        "",
    ),
    (
        |f| f.live = true,
        "reached",
        LineVerdict::Good,
        "not contacted",
        "",
    ),
    (
        |f| {
            f.reached = Some(vec![(
                "https://a".to_owned(),
                Ok(Duration::from_millis(12)),
            )]);
        },
        "reached",
        LineVerdict::Good,
        "https://a responded in 12 ms",
        "",
    ),
    (
        |f| {
            f.reached = Some(vec![("https://a".to_owned(), Err(eyre!("is unreachable")))]);
        },
        "reached",
        LineVerdict::Mend,
        "https://a is unreachable",
        "proxy",
    ),
];

#[test]
fn each_finding_has_its_line_and_its_mend() {
    for (nth, (change, what, verdict, found, mend)) in CASES.iter().enumerate() {
        let mut facts = sound();
        change(&mut facts);
        let all = checks(&facts);
        let line = all
            .iter()
            .find(|check| check.what == *what)
            .unwrap_or_else(|| panic!("row {nth}: no line `{what}`"));
        assert_eq!(line.verdict, *verdict, "row {nth}: {line:?}");
        assert!(
            line.found.contains(found)
                && line.mend.contains(mend)
                && mend.is_empty() == line.mend.is_empty(),
            "row {nth}: {line:?}"
        );
        // A line that must be fixed says how.
        assert!(
            all.iter()
                .all(|check| check.verdict == LineVerdict::Good || !check.mend.is_empty()),
            "row {nth}: {all:?}"
        );
    }
}
