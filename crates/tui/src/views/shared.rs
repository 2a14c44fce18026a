//! Drawing helpers shared by views: the line above a list, labeled figures, the text for a missing table.

use ratatui::{buffer::Buffer, layout::Rect};

use super::waiting::how_far;
use crate::{
    views::{
        list::{Fields, List, Listing},
        view::Context,
    },
    widgets::{put, put_right, put_wrapped, table::Cell, text, theme::Role},
};
use analysis::market::TokenSummary;
use model::{
    address::Address,
    format::{self, plural},
    scalar::Scalar,
    table_state::TableState,
    time::Day,
};
pub(super) use query::document::score_text;
use query::{
    document::{Tone, tone_of_score},
    queries::{fields, timeframes::TIMEFRAMES, tokens::row::TokenRow},
};
use table::filter::ExcludedRows;

/// The role in which a document's tone is drawn.
pub(super) fn role_of_tone(tone: Tone) -> Role {
    match tone {
        Tone::Plain => Role::Text,
        Tone::Quiet => Role::Dim,
        Tone::Good => Role::Up,
        Tone::Bad => Role::Down,
        Tone::Warning => Role::Warning,
    }
}

/// The line above a list: the filter, other restrictions such as `★ watchlist`, warnings, and at the right the number of rows; `nouns` are `token` and
/// `tokens`, for an unfiltered list of `total` rows.
pub(super) fn draw_list_line<L: Fields>(
    list: &List<L>,
    notes: &[(String, Role)],
    (total, nouns): (u64, [&str; 2]),
    buffer: &mut Buffer,
    area: Rect,
    context: &Context<'_>,
) {
    let (filter, shown) = (list.filter_text(), list.len() as u64);
    let theme = context.theme;
    let counts = if filter.is_empty() && shown == total {
        plural(total, nouns[0], nouns[1])
    } else {
        format!("{} of {}", format::count(shown), format::count(total))
    };
    let counts = format!(
        "{} ",
        with_left_out(counts, &list.left_out, usize::from(area.width / 2))
    );
    put_right(
        buffer,
        Rect {
            height: 1.min(area.height),
            ..area
        },
        0,
        &counts,
        theme.dim(),
    );
    let room = Rect {
        width: area.width.saturating_sub(text::width(&counts) as u16 + 2),
        ..area
    };
    let mut x = 1 + put(
        buffer,
        room,
        1,
        0,
        "/ ",
        if filter.is_empty() {
            theme.dim()
        } else {
            theme.accent()
        },
    );
    if filter.is_empty() {
        x += put(buffer, room, x, 0, "filter", theme.dim());
    } else {
        x += put(buffer, room, x, 0, filter, theme.text());
    }
    for (note, role) in notes {
        x += 3 + put(buffer, room, x + 3, 0, note, theme.style(*role));
    }
}

/// The panel's note, marked `current values` if its tables lack history in a point-in-time view, and whether it is marked.
pub(super) fn with_today(
    note: impl Into<String>,
    tables: &[&'static str],
    context: &Context<'_>,
) -> (String, bool) {
    let (note, is_today) = (note.into(), context.of_today(tables).is_some());
    let said = if note.is_empty() {
        "current values".to_owned()
    } else {
        format!("{note} · current values")
    };
    if is_today {
        (said, true)
    } else {
        (note, false)
    }
}

/// `12 of 80 · 31 have no age, 4 no score`: a list's note with the rows that its filter excluded because of missing values; as one number
/// if that takes more than `room` cells.
pub(super) fn with_left_out(note: String, left_out: &ExcludedRows, room: usize) -> String {
    let have = |rows: u64| if rows == 1 { "has" } else { "have" };
    let say = |(nth, (name, rows)): (usize, (&str, u64))| {
        let verb = if nth == 0 {
            format!(" {}", have(rows))
        } else {
            String::new()
        };
        format!("{}{verb} no {name}", format::count(rows))
    };
    let each = left_out
        .columns()
        .enumerate()
        .map(say)
        .collect::<Vec<_>>()
        .join(", ");
    let whole = format!("{note} · {each}");
    match left_out.rows() {
        0 => note,
        _ if text::width(&whole) <= room => whole,
        rows => format!("{note} · {} {} no value", format::count(rows), have(rows)),
    }
}

/// A supported timeframe; one day by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Timeframe(&'static str);

impl Default for Timeframe {
    fn default() -> Self {
        Self("1d")
    }
}

impl Timeframe {
    pub(super) fn parse(word: &str) -> Option<Self> {
        TIMEFRAMES
            .iter()
            .find(|known| **known == word)
            .map(|known| Self(known))
    }

    pub(super) fn word(self) -> &'static str {
        self.0
    }

    /// The next longer or shorter timeframe, cyclically.
    pub(super) fn step(self, longer: bool) -> Self {
        let at = TIMEFRAMES
            .iter()
            .position(|known| *known == self.0)
            .unwrap_or(0);
        Self(TIMEFRAMES[(at + if longer { 1 } else { TIMEFRAMES.len() - 1 }) % TIMEFRAMES.len()])
    }

    /// Whether a candle's start is a date without time.
    pub(super) fn is_in_days(self) -> bool {
        !self.0.ends_with('h')
    }
}

/// The message for a table that is missing, unusable or still loading; `None` for a loaded one.
pub(super) fn missing_table(context: &Context<'_>, table: &str, for_what: &str) -> Option<String> {
    let snapshot = context.snapshot?;
    if let Some(TableState::Unusable(reason)) =
        snapshot.dataset.table(table).map(|table| &table.state)
    {
        return Some(format!(
            "the `{table}` table is unusable: {reason}; fix it for {for_what}, then press r (see Data, 9)"
        ));
    }
    if snapshot.dataset.importing.contains(&table) {
        return Some(format!(
            "the `{table}` table is still loading: {}",
            how_far(context, table)
        ));
    }
    (!snapshot.dataset.has(table)).then(|| {
        let folder = snapshot.dataset.folder.display().to_string();
        let place = if folder.is_empty() { String::new() } else { format!(" to {folder}") };
        format!("no `{table}` table: add {table}.csv, .parquet or .ndjson{place} for {for_what}, then press r (see Data, 9)")
    })
}

/// The token's summary figures.
pub(super) fn summary<'a>(context: &'a Context<'_>, token: &Address) -> Option<&'a TokenSummary> {
    let snapshot = context.snapshot?;
    snapshot.market.of(&snapshot.dataset, token)
}

/// The token's symbol, or its shortened address.
pub(super) fn symbol_of(context: &Context<'_>, token: &Address) -> String {
    let symbol = summary(context, token).and_then(|summary| summary.symbol.clone());
    symbol.map_or_else(
        || token.short(),
        |symbol| text::truncate(&symbol, 16).into_owned(),
    )
}

/// The role of a security score, consistent with the recommendation's word.
pub(super) fn role_of_score(score: i64, recommendation: &str) -> Role {
    role_of_tone(tone_of_score(score, recommendation))
}

/// The role of a text that may be missing.
pub(super) fn role_of(text: &str) -> Role {
    if text == format::MISSING {
        Role::Dim
    } else {
        Role::Text
    }
}

/// An optional integer as a float, for number formats. Beyond 2^53 the text is rounded, as in the humanized form.
pub(super) fn float(value: Option<i64>) -> Option<f64> {
    value.map(|value| value as f64)
}

/// An integer in full.
pub(super) fn exact(value: Option<i64>) -> String {
    value.map_or_else(
        || format::MISSING.to_owned(),
        |value| {
            format!(
                "{}{}",
                if value < 0 { "-" } else { "" },
                format::count(value.unsigned_abs())
            )
        },
    )
}

/// Lag of the last candle in milliseconds, if the token is stale.
pub(super) fn stale(token: &TokenSummary) -> Option<i64> {
    token
        .last_candle
        .and_then(|last| last.behind)
        .map(|lag| lag.by)
}

/// Cells of an address in full.
pub(super) const ADDRESS_CELLS: u16 = 42;

/// An address, in full where it has room.
pub(super) fn whole_or_short(address: &Address, cells: usize, role: Role) -> Cell {
    let whole = cells >= usize::from(ADDRESS_CELLS);
    Cell::new(
        if whole {
            address.to_string()
        } else {
            address.short()
        },
        role,
    )
}

/// A value in a list; dim and with its date if it is older than the others in its row.
pub(super) fn dated(value: Option<f64>, outdated: Option<Day>) -> Cell {
    let Some(number) = value else {
        return Cell::missing();
    };
    match outdated {
        Some(day) => Cell::new(format!("{} {day}", format::human(value)), Role::Dim).or(number),
        None => Cell::number(number),
    }
}

/// Width of a value with its date.
pub(super) const DATED: u16 = 16;

/// A price in a list, dim if stale.
pub(super) fn price(price: Option<f64>, stale: Option<i64>) -> Cell {
    let text = format::price(price);
    shorter(
        if stale.is_some() && price.is_some() {
            Cell::new(text, Role::Dim)
        } else {
            Cell::figure(text)
        },
        price,
    )
}

/// Gives the cell of a price that is too long for a narrow column a shorter form.
pub(super) fn shorter(cell: Cell, price: Option<f64>) -> Cell {
    match price {
        Some(price) if price != 0.0 && !(1e-4..1e6).contains(&price.abs()) => cell.or(price),
        _ => cell,
    }
}

/// Completion values of a token column: its enumeration, or samples of the data.
pub(super) fn token_texts(column: &str, context: &Context<'_>) -> Vec<String> {
    let words = fields::words(column);
    if !words.is_empty() {
        return words.into_iter().map(str::to_owned).collect();
    }
    // Unique names make no list to choose from.
    if ["symbol", "name", "token_address"].contains(&column) {
        return Vec::new();
    }
    let mut found: Vec<String> = Vec::new();
    for token in context
        .snapshot
        .map_or(&[][..], |snapshot| &snapshot.market.tokens)
        .iter()
        .take(TEXTS_LOOKED_AT)
    {
        let texts = match TokenRow::plain(token).field(column) {
            Scalar::Text(text) => vec![text.into_owned()],
            Scalar::List(members) => members
                .into_iter()
                .map(std::borrow::Cow::into_owned)
                .collect(),
            _ => Vec::new(),
        };
        for text in texts {
            if found.len() < TEXTS_MAX && !found.contains(&text) {
                found.push(text);
            }
        }
    }
    found
}

/// Tokens sampled for completion values, and most values proposed.
const TEXTS_LOOKED_AT: usize = 2_000;
const TEXTS_MAX: usize = 40;

/// Writes a wrapped sentence into the middle of an empty list.
pub(super) fn say(buffer: &mut Buffer, area: Rect, context: &Context<'_>, sentence: &str) {
    put_wrapped(
        buffer,
        area,
        1,
        0,
        sentence,
        usize::from(area.height.min(6)),
        context.theme.dim(),
    );
}

/// Lowers a sparkline's full blocks, which leaves a gap to the row above.
pub(super) fn low(sparkline: &str) -> String {
    sparkline.replace('█', "▇")
}

/// A bar of whole cells below full height, which leaves a gap to the row above; a non-zero share is always visible.
pub(super) fn low_bar(share: f64, cells: usize) -> String {
    let filled = (share.clamp(0.0, 1.0) * cells as f64).round() as usize;
    if filled == 0 && share > 0.0 && cells > 0 {
        "▖".to_owned()
    } else {
        "▆".repeat(filled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use table::filter::{self, ColumnKind, FilterColumn, ListColumns};

    #[test]
    fn bars_are_seen_however_small_and_never_too_long() {
        let cases = [
            (0.0, ""),
            (0.001, "▖"),
            (0.5, "▆▆"),
            (1.0, "▆▆▆▆"),
            (9.0, "▆▆▆▆"),
            (f64::NAN, ""),
        ];
        for (share, expected) in cases {
            assert_eq!(low_bar(share, 4), expected, "{share}");
        }
        assert_eq!(low_bar(0.5, 0), "");
    }

    #[test]
    fn a_list_tells_how_many_rows_have_no_value() {
        let columns = [
            FilterColumn::new("age", ColumnKind::Number, &[]),
            FilterColumn::new("securityScore", ColumnKind::Number, &["score"]),
        ];
        let filter = filter::parse("age<90 score>50", &columns).unwrap();
        let rows = [
            (Some(3.0), Some(60.0)),
            (None, Some(60.0)),
            (None, None),
            (None, Some(9.0)),
        ];
        let field = |row: usize, column: &str| {
            let (age, score) = rows[row];
            Some(Scalar::from(if column == "age" { age } else { score }))
        };
        let of_first = |count: usize| filter.kept(&ListColumns::new(field), count).1;
        let seen: Vec<String> = (1..=rows.len())
            .map(|count| with_left_out("1 of 4".to_owned(), &of_first(count), 40))
            .collect();
        let left_out = of_first(rows.len());
        assert_eq!(
            seen,
            [
                "1 of 4",
                "1 of 4 · 1 has no age",
                "1 of 4 · 2 have no age, 1 no score",
                "1 of 4 · 2 have no age, 1 no score"
            ]
        );
        assert_eq!(
            with_left_out("1 of 4".to_owned(), &left_out, 30),
            "1 of 4 · 2 have no value"
        );
    }

    #[test]
    fn a_score_of_what_was_hardly_looked_at_is_no_verdict() {
        let cases = [
            (39, "HIGH RISK: …", Role::Down, "39"),
            (40, "CAUTION: …", Role::Warning, "40"),
            (59, "CAUTION: …", Role::Warning, "59"),
            (60, "LOW RISK: …", Role::Up, "60"),
            (59, "NOT ENOUGH DATA: …", Role::Dim, "?"),
        ];
        for (score, recommendation, role, written) in cases {
            assert_eq!(
                (
                    role_of_score(score, recommendation),
                    score_text(score, recommendation).as_str()
                ),
                (role, written)
            );
        }
    }

    #[test]
    fn whole_numbers_keep_every_digit() {
        let cases = [
            (Some(1_234_567), "1,234,567"),
            (Some(-1_000), "-1,000"),
            (Some(i64::MIN), "-9,223,372,036,854,775,808"),
            (None, "–"),
        ];
        for (value, shown) in cases {
            assert_eq!(exact(value), shown);
        }
        assert_eq!(
            (
                price(Some(2.0), None),
                price(Some(2.0), Some(1)).pieces[0].1
            ),
            (Cell::figure("2.0000".to_owned()), Role::Dim)
        );
        assert_eq!(
            (Cell::change(Some(-38.24)), Cell::change(None)),
            (Cell::new("▼ 38.2", Role::Down), Cell::missing())
        );
    }
}
