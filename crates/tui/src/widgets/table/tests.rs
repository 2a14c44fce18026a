//! Tests of the table: columns, mouse, and that only visible rows are built.

use proptest::prelude::*;

use super::*;
use crate::widgets::picture;

const COLUMNS: &[TableColumn] = &[
    TableColumn::text("symbol", "symbol", 6, 8, 255),
    TableColumn {
        grows: true,
        ..TableColumn::text("name", "name", 8, 16, 90)
    },
    TableColumn::text("chain", "chain", 4, 6, 20),
    TableColumn {
        unit: "USD",
        align: ColumnAlign::Decimal,
        ..TableColumn::figure("price", "price", 9, 80)
    },
    TableColumn::figure("price_change_24h", "24h", 9, 70),
];

fn row(i: usize) -> Vec<Cell> {
    let rows = [
        ("WETH", "Wrapped Ether", "eth", "2,987.41", "▲ 2.10%"),
        (
            "漢字幣",
            "全角の名前トークンとても長い",
            "base",
            "0.125",
            "▼ 38.2%",
        ),
        ("PEPX", "Pepe 👩\u{200d}💻 X", "bsc", "14", "–"),
    ];
    let (symbol, name, chain, price, change) = rows[i % rows.len()];
    vec![
        Cell::text(symbol),
        Cell::text(name),
        Cell::new(chain, Role::Dim),
        Cell::figure(price.to_owned()),
        Cell::new(change, Role::Up),
    ]
}

fn lines(buffer: &Buffer) -> Vec<String> {
    picture::text(buffer).lines().map(str::to_owned).collect()
}

fn drawn(width: u16, height: u16, count: usize, state: &mut TableWidgetState) -> Buffer {
    let area = Rect::new(0, 0, width, height);
    let mut buffer = Buffer::empty(area);
    let table = TableWidget {
        sort: vec![(4, true)],
        star: Some(&|i| i == 0),
        words: &["ether"],
        ..TableWidget::new(COLUMNS, count, &row)
    };
    table.render(area, &mut buffer, &Theme::default(), state);
    buffer
}

#[test]
fn columns_stand_under_their_titles_and_wide_names_move_nothing() {
    let buffer = drawn(64, 4, 3, &mut TableWidgetState::default());
    let expected = [
        "  SYMBOL    NAME                    CHAIN   PRICE USD    24H ▾",
        "★ WETH      Wrapped Ether           eth     2,987.41    ▲ 2.10%",
        "  漢字幣    全角の名前トークンと…   base        0.125   ▼ 38.2%",
        "  PEPX      Pepe 👩 X               bsc        14             –",
    ];
    let shown = lines(&buffer);
    for (shown, expected) in shown.iter().zip(expected) {
        assert_eq!(shown.replace(' ', ""), expected.replace(' ', ""));
    }
    let prices: Vec<usize> = shown[1..3]
        .iter()
        .map(|line| text::width(line.rsplit_once('.').map_or("", |_| line)))
        .collect();
    assert_eq!(prices[0], prices[1], "{shown:#?}");
}

#[test]
fn the_least_wanted_columns_go_first() {
    let cases = [
        (64, "SYMBOL NAME CHAIN PRICE USD 24H ▾"),
        (44, "SYMBOL NAME PRICE USD 24H ▾"),
        (32, "SYMBOL NAME PRICE USD"),
        (20, "SYMBOL NAME"),
        (10, "SYMBOL"),
    ];
    for (width, titles) in cases {
        let buffer = drawn(width, 2, 1, &mut TableWidgetState::default());
        let header: Vec<String> = lines(&buffer)[0]
            .split_whitespace()
            .map(str::to_owned)
            .collect();
        assert_eq!(header.join(" "), titles, "at {width}");
    }
}

#[test]
fn only_rows_on_screen_are_built_whatever_their_number() {
    let built = std::cell::Cell::new(0);
    let counted = |i: usize| {
        built.set(built.get() + 1);
        row(i)
    };
    let area = Rect::new(0, 0, 80, 13);
    let mut buffer = Buffer::empty(area);
    let mut state = TableWidgetState {
        selected: 19_999_999,
        offset: 0,
    };
    TableWidget::new(COLUMNS, 20_000_000, &counted).render(
        area,
        &mut buffer,
        &Theme::default(),
        &mut state,
    );
    assert_eq!((built.get(), state.offset), (12, 19_999_988));
}

#[test]
fn the_mouse_finds_headers_rows_stars_and_the_bar() {
    let area = Rect::new(5, 2, 64, 11);
    let star = |_: usize| false;
    let table = TableWidget {
        star: Some(&star),
        ..TableWidget::new(COLUMNS, 1_000, &row)
    };
    let state = TableWidgetState {
        selected: 100,
        offset: 100,
    };
    let cases = [
        ((7, 2), Some(Hit::Header(0))),
        ((20, 2), Some(Hit::Header(1))),
        ((66, 2), Some(Hit::Header(4))),
        ((10, 3), Some(Hit::Row(100))),
        ((5, 4), Some(Hit::Star(101))),
        ((68, 7), Some(Hit::Scrollbar(400))),
        ((4, 4), None),
        ((10, 13), None),
    ];
    for ((x, y), hit) in cases {
        assert_eq!(table.hit(area, x, y, &state), hit, "{x},{y}");
    }
    let short = TableWidget::new(COLUMNS, 1, &row);
    assert_eq!(short.hit(area, 10, 4, &TableWidgetState::default()), None);
}

#[test]
fn the_selection_is_a_background_and_stays_on_screen() {
    let mut state = TableWidgetState {
        selected: 7,
        offset: 0,
    };
    let buffer = drawn(64, 4, 9, &mut state);
    assert_eq!(state.offset, 5);
    let theme = Theme::default();
    assert_eq!(Some(buffer[(10, 3)].bg), theme.style(Role::Selection).bg);
    assert_ne!(Some(buffer[(10, 2)].bg), theme.style(Role::Selection).bg);
    state.scroll(-5, 9, 3);
    assert_eq!((state.offset, state.selected), (0, 2));
    state.step(-100, 9);
    assert_eq!(state.selected, 0);
    state.step(1, 0);
    assert_eq!(state.selected, 0);
}

#[test]
fn what_the_filter_found_is_marked() {
    let buffer = drawn(
        64,
        4,
        3,
        &mut TableWidgetState {
            selected: 2,
            offset: 0,
        },
    );
    let marked: String = (0..64)
        .filter(|x| buffer[(*x, 1)].style().fg == Theme::default().accent().fg)
        .map(|x| buffer[(x, 1)].symbol())
        .collect();
    assert_eq!(marked, "Ether");
}

proptest! {
    #[test]
    fn any_rectangle_and_any_count_can_be_drawn(x in any::<u16>(), y in any::<u16>(), width in any::<u16>(), height in any::<u16>(), count in 0_usize..40_000_000, selected in any::<usize>(), offset in any::<usize>()) {
        // The buffer is a screen; the rectangle may lie anywhere.
        let mut buffer = Buffer::empty(Rect::new(0, 0, 120, 40));
        let mut state = TableWidgetState { selected, offset };
        for area in [Rect::new(x, y, width, height), Rect::new(x % 130, y % 45, width % 130, height % 45)] {
            let table = TableWidget { sort: vec![(1, false)], star: Some(&|i| i % 3 == 0), ..TableWidget::new(COLUMNS, count, &row) };
            table.render(area, &mut buffer, &Theme::default(), &mut state);
            let _ = table.hit(area, x, y, &state);
        }
        prop_assert!(state.selected < count.max(1));
    }
}
