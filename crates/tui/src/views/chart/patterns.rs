//! The pattern list of the chart: filtering by family, the chosen pattern, and the layout of list and chart.

mod draw;

use super::card;
use crate::views::prelude::*;
use analysis::patterns::{Family, Pattern, PatternsAnswer};
use query::queries::{
    patterns::PatternsQuery, security::SecurityQuery, track_record::TrackRecordQuery,
};

/// From this width the list is drawn beside the chart.
const BESIDE_WIDTH: u16 = 118;
/// From this height the list is drawn below a chart that is too narrow for a list beside it.
const BELOW_HEIGHT: u16 = 34;
/// Maximum number of rows of the list below the chart, with its title, the deciding patterns and its header.
const BELOW_ROWS: u16 = 9;
/// Minimum number of rows of the chart above the card; with fewer, only the card is drawn.
const CHART_ROWS: u16 = 6;

struct PatternFields;

type F = Field<PatternFields>;

impl Fields for PatternFields {
    type Row<'a> = &'a Pattern;

    const FIELDS: &'static [F] = &[
        F::text("name", "pattern", [12, 26], 255, |pattern| {
            words::shown(pattern.name.word()).into()
        })
        .cell(|pattern, look| {
            Cell::text(fitting_name(words::shown(pattern.name.word()), look.cells))
        })
        .grows(),
        F::figure("confidence", "fit", 4, 240, |pattern| {
            pattern.confidence.into()
        })
        .fixed(2, Role::Text),
        F::figure("completionPercent", "complete", 4, 100, |pattern| {
            pattern.completion_percent.into()
        })
        .fixed(0, Role::Text)
        .unit("%"),
        F::figure("distanceToTarget", "target", 7, 220, |pattern| {
            away(&pattern).into()
        })
        // The color of targets in the chart and in the card; the arrow is the direction.
        .cell(|pattern, _| match away(&pattern) {
            Some(away) => Cell::new(Cell::change(Some(away)).plain().into_owned(), Role::Up),
            None => Cell::missing(),
        })
        .unit("%")
        .decimal(),
        F::text("status", "status", [10, 10], 200, |pattern| {
            pattern
                .detail
                .as_ref()
                .map(|detail| words::of(&detail.status))
                .into()
        }),
        F::text("end_time", "to", [10, 10], 150, |pattern| {
            pattern
                .detail
                .as_ref()
                .map(|detail| detail.end_time.day())
                .into()
        })
        .largest_first(),
    ];
}

/// Words of names, and their abbreviations in a narrow column: each name then has at most 15 letters.
const ABBREVIATIONS: [(&str, &str); 8] = [
    ("Head and shoulders", "H&S"),
    ("head and shoulders", "H&S"),
    ("Inverse", "Inv."),
    (" and ", "&"),
    ("Descending", "Desc."),
    ("Ascending", "Asc."),
    ("Symmetrical", "Symm."),
    ("Broadening", "Broad."),
];

/// The pattern's name, abbreviated rather than cut.
fn fitting_name(name: &str, cells: usize) -> String {
    let brief = ABBREVIATIONS
        .iter()
        .fold(name.to_owned(), |name, (word, brief)| {
            name.replace(word, brief)
        });
    text::longest_that_fits([name.to_owned(), brief], cells)
}

/// The distance of the target from the last close; `None` for a completed pattern.
fn away(pattern: &Pattern) -> Option<f64> {
    pattern
        .detail
        .as_ref()
        .filter(|detail| !detail.status.is_over())
        .map(|detail| detail.distance_to_target)
}

fn is_over(pattern: &Pattern) -> bool {
    pattern
        .detail
        .as_ref()
        .is_some_and(|detail| detail.status.is_over())
}

/// Each family, its action, and its word in the state file and in the title.
const FAMILIES: [(Family, Action, &str); 5] = [
    (Family::Reversal, Action::Reversals, "reversals"),
    (Family::Triangle, Action::Triangles, "triangles"),
    (Family::Channel, Action::Channels, "channels"),
    (Family::Flag, Action::Flags, "flags"),
    (Family::Rounded, Action::Roundings, "roundings"),
];

/// The detail level of the chosen pattern.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PatternFocus {
    /// The latest candles are on screen.
    #[default]
    Latest,
    /// The pattern fills the chart.
    Zoomed,
    /// Also, the reasons of its fit are shown.
    Explained,
    /// Only the reasons, where they do not fit beside the figures.
    Reasons,
}

#[derive(Default)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is an independent switch, and any combination is valid"
)]
pub(super) struct ChartPatterns {
    pub(super) asked: ViewQuery<PatternsQuery>,
    /// The track record of the token's patterns, asked for with the reasons, as it is slow.
    pub(super) record: ViewQuery<TrackRecordQuery>,
    /// How often the record of all tokens was published when the patterns were asked for.
    weighed: u64,
    /// The security inference of the token, as in the Security view.
    security: ViewQuery<SecurityQuery>,
    /// Whether patterns are neither drawn nor listed.
    pub(super) off: bool,
    hidden: Vec<Family>,
    /// Row indices are those of the answer.
    list: List<PatternFields>,
    /// The pattern last chosen; while its family is hidden, the next listed one is used. None: the first of the list.
    place: Option<usize>,
    /// The list is drawn beside the chart.
    beside: bool,
    /// The list was drawn, not only its summary line.
    on_screen: bool,
    /// The reasons are shown without being asked for.
    roomy: bool,
    /// The reasons did not fit when the card was last drawn.
    cut: bool,
    pub(super) focus: PatternFocus,
}

impl ChartPatterns {
    pub(super) fn clear(&mut self) {
        self.asked.clear();
        self.record.clear();
        self.security.clear();
        (self.focus, self.place) = (PatternFocus::Latest, None);
    }

    pub(super) fn refresh(&mut self, question: PatternsQuery, context: &Context<'_>) {
        if self
            .asked
            .question()
            .is_some_and(|asked| *asked != question)
        {
            (self.focus, self.place) = (PatternFocus::Latest, None);
        }
        let PatternsQuery {
            contract_address,
            timeframe,
            ..
        } = question;
        if self.explained() {
            self.record.refresh(
                TrackRecordQuery {
                    contract_address,
                    timeframe,
                    scope: "token",
                },
                context,
            );
        }
        // Once the records of all tokens are there, the advice is weighed by them.
        let weighed = context
            .snapshot
            .map_or(0, |snapshot| snapshot.track_records.version());
        if self.weighed != weighed {
            self.weighed = weighed;
            self.asked.ask_again();
        }
        self.asked.refresh(question, context);
        if self.asked.answer().is_some() {
            self.security.refresh(
                SecurityQuery {
                    contract_address,
                    explain: true,
                },
                context,
            );
        }
        self.arrange();
    }

    /// Lists the patterns of the visible families, open ones first, and keeps the chosen one.
    fn arrange(&mut self) {
        let patterns = self
            .asked
            .answer()
            .map_or(&[][..], PatternsAnswer::worth_following);
        let kept = |place: &usize| !self.hidden.contains(&patterns[*place].name.family());
        let (open, over): (Vec<usize>, Vec<usize>) = (0..patterns.len())
            .filter(kept)
            .partition(|place| !is_over(&patterns[*place]));
        self.list
            .arrange(open.into_iter().chain(over), |place| patterns.get(place));
        let chosen = self.place.or(self.list.place(0));
        let found = chosen.is_some_and(|chosen| {
            self.list.point_to(|place| place == chosen)
                || self.list.point_to(|place| place > chosen)
        });
        if !found {
            self.list.cursor.select(usize::MAX);
        }
    }

    /// The warning that comes before everything else about the token.
    pub(super) fn warning(&self) -> Option<String> {
        let security = self.security.answer()?;
        words::warning(security.danger, security.security_score)
    }

    /// Whether targets and stops may be shown: not before the security result has arrived, and not next to a warning.
    pub(super) fn shows_targets(&self) -> bool {
        self.warning().is_none()
            && (self.security.answer().is_some() || self.security.problem.is_some())
    }

    /// The patterns to draw, in list order.
    pub(super) fn drawn(&self) -> impl Iterator<Item = &Pattern> {
        let patterns = self
            .asked
            .answer()
            .filter(|_| !self.off)
            .map_or(&[][..], PatternsAnswer::worth_following);
        self.list.places().filter_map(|place| patterns.get(place))
    }

    pub(super) fn chosen(&self) -> Option<&Pattern> {
        self.drawn().nth(self.list.cursor.selected()?)
    }

    /// Chooses the next or previous pattern, cyclically. The first is chosen initially, so a step leaves it.
    pub(super) fn step(&mut self, back: bool) {
        let count = self.list.len();
        if let Some(at) = self.list.cursor.selected() {
            self.choose(if back { at + count - 1 } else { at + 1 } % count);
        }
        self.focus = if count > 0 {
            self.focus.max(PatternFocus::Zoomed)
        } else {
            PatternFocus::Latest
        };
    }

    /// Whether the chart is zoomed to the chosen pattern.
    pub(super) fn zoomed(&self) -> bool {
        self.focus >= PatternFocus::Zoomed
    }

    /// Whether the reasons of its fit are shown.
    pub(super) fn explained(&self) -> bool {
        self.focus >= PatternFocus::Explained
    }

    /// Cycles: zoomed with the reasons, the reasons alone where they did not fit, zoomed without them.
    pub(super) fn explain(&mut self) {
        self.focus = match self.focus {
            PatternFocus::Latest | PatternFocus::Zoomed => PatternFocus::Explained,
            PatternFocus::Explained if self.cut => PatternFocus::Reasons,
            PatternFocus::Explained | PatternFocus::Reasons => PatternFocus::Zoomed,
        };
    }

    pub(super) fn toggle_family(&mut self, action: Action) {
        let Some((family, ..)) = FAMILIES.iter().find(|(_, known, _)| *known == action) else {
            return;
        };
        if self.hidden.contains(family) {
            self.hidden.retain(|hidden| hidden != family);
        } else {
            self.hidden.push(*family);
        }
        self.off = false;
    }

    fn choose(&mut self, row: usize) {
        self.list.cursor.select(row);
        self.place = self.list.selected();
    }

    /// Returns whether the list handled the mouse: a click on a row chooses its pattern.
    pub(super) fn mouse(&mut self, mouse: MouseEvent) -> bool {
        let event = if !self.off && self.on_screen {
            self.list.mouse(mouse)
        } else {
            ListEvent::Nothing
        };
        match (event, self.list.cursor.selected()) {
            (ListEvent::Moved | ListEvent::ClickedAgain, Some(row)) => {
                self.choose(row);
                self.focus = self.focus.max(PatternFocus::Zoomed);
            }
            (ListEvent::Sorted, _) => self.arrange(),
            _ => {}
        }
        event != ListEvent::Nothing
    }

    /// Splits the area into chart and list; a list without enough space is a single line.
    pub(super) fn divide(&mut self, area: Rect) -> (Rect, Rect) {
        self.beside = area.width >= BESIDE_WIDTH;
        if self.off {
            return (area, Rect::default());
        }
        if self.beside {
            return beside(area, (area.width * 2 / 5).clamp(48, 62));
        }
        let rows = match area.height {
            // The card with its reasons replaces the list.
            height if self.explained() && self.chosen().is_some() && self.shows_targets() => {
                if height < card::ROWS + 1 + CHART_ROWS {
                    height
                } else {
                    card::ROWS + 1
                }
            }
            BELOW_HEIGHT.. => (self.list.len() as u16)
                .saturating_add(3)
                .clamp(4, BELOW_ROWS),
            height => height.min(1),
        };
        stacked(area, area.height - rows)
    }

    pub(super) fn save(&self) -> Json {
        let words: Vec<&str> = FAMILIES
            .iter()
            .filter(|(family, ..)| self.hidden.contains(family))
            .map(|(.., word)| *word)
            .collect();
        json!({ "shown": !self.off, "hidden": words })
    }

    pub(super) fn restore(&mut self, kept: &Json) {
        self.off = kept["shown"].as_bool().map_or(self.off, |shown| !shown);
        let words: Vec<&str> = kept["hidden"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Json::as_str)
            .collect();
        self.hidden = FAMILIES
            .iter()
            .filter(|(.., word)| words.contains(word))
            .map(|(family, ..)| *family)
            .collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::patterns::PatternName;

    #[test]
    fn no_name_is_cut_beside_the_chart() {
        for name in PatternName::ALL {
            let whole = words::shown(name.word());
            let narrow = fitting_name(whole, 15);
            assert!(text::width(&narrow) <= 15, "{narrow}");
            assert_eq!(fitting_name(whole, 26), whole);
        }
    }
}
