//! Draws the pattern list of the chart with the card of the chosen pattern, and says the advice and its reasons.

use super::{
    super::card::{self, Card, CardPart},
    ChartPatterns, FAMILIES, PatternFocus,
};
use crate::views::prelude::*;
use analysis::{
    patterns::{AdviceReason, AdviceWord, Pattern, PatternsAnswer, TradeAction},
    trendlines::TrendlineAnswer,
};
use query::queries::track_record::TrackRecord;
use security::{
    SecurityInference,
    score::{is_safe, too_little_known, word_of},
};

/// Cells of a panel's rule around its title and its note.
const NOTE_FRAME: usize = 9;
/// Minimum number of rows of the list while reasons are shown below it.
const LIST_ROWS: u16 = 5;
/// From this height the first row names the patterns that decide the action.
const ADVICE_FROM: u16 = 5;
/// Maximum number of lines of the advice, and the height from which they may be used.
const REASON_LINES: usize = 3;
const REASON_ROOM: u16 = 9;
/// From this height the card is drawn below the list.
const CARD_BELOW: u16 = 20;
/// Rows kept free under reasons that were not asked for.
const KNOWN_ROWS: u16 = 8;

impl ChartPatterns {
    /// Returns the remaining area under them.
    pub(in super::super) fn draw(
        &mut self,
        buffer: &mut Buffer,
        area: Rect,
        trendline: Option<&TrendlineAnswer>,
        context: &Context<'_>,
    ) -> Rect {
        self.on_screen = area.height > 1;
        if !self.on_screen {
            let (line, verdict) = self.line(usize::from(area.width.saturating_sub(2)));
            let end = 1 + put(buffer, area, 1, 0, &line, context.theme.dim());
            if let Some((says, warns)) = verdict {
                put(
                    buffer,
                    area,
                    end,
                    0,
                    &says,
                    context
                        .theme
                        .style(if warns { Role::Warning } else { Role::Dim }),
                );
            }
            return Rect::default();
        }
        if self.explained()
            && self.chosen().is_some()
            && self.shows_targets()
            && (!self.beside || area.height <= CARD_BELOW)
        {
            self.on_screen = false;
            self.draw_card(buffer, area, trendline, context);
            return Rect::default();
        }
        let targets = self.shows_targets();
        self.list.empty_columns = if targets {
            Vec::new()
        } else {
            vec!["distanceToTarget"]
        };
        let title = self.title();
        // Beside a warning, which stands first, the word says nothing more.
        let warned = self.warning().is_some();
        let advice = self
            .asked
            .answer()
            .filter(|_| !warned)
            .map_or_else(String::new, advised);
        let room = usize::from(area.width).saturating_sub(text::width(&title) + NOTE_FRAME);
        let verdict = self
            .verdict()
            .filter(|(says, _)| !warned && text::width(&advice) + text::width(says) <= room);
        let (note, warns) = verdict.map_or((advice.clone(), false), |(says, warns)| {
            (advice + &says, warns)
        });
        let progress = self.asked.progress().map(|_| None);
        let rule = Panel {
            note: &note,
            warns,
            progress,
            ..Panel::new(&title)
        };
        let body = rule.render(area, buffer, context.theme);
        if let Some(problem) = &self.asked.problem {
            panel::failure(body, buffer, context.theme, &problem.detail);
            return Rect::default();
        }
        let body = self.draw_warning(buffer, body, context);
        let body = self.draw_reasons(buffer, body, context);
        // With enough space, the chosen pattern's card is drawn below the list.
        let more = body.height >= CARD_BELOW && !self.list.is_empty() && targets;
        let (plain, whole) = (
            card::ROWS + 1,
            self.chosen()
                .map_or(0, |chosen| card::rows(chosen, trendline)),
        );
        // A tall screen has room for the reasons too.
        self.roomy = whole > 0
            && body.height >= whole + (self.list.len() as u16).saturating_add(2 + KNOWN_ROWS);
        let card = if self.explained() || self.roomy {
            whole.max(plain)
        } else {
            plain
        };
        let spare = body.height.saturating_sub(card);
        // A long list leaves room for what is known of the token.
        let most = if spare >= 2 * KNOWN_ROWS {
            spare - KNOWN_ROWS
        } else {
            spare.max(LIST_ROWS)
        };
        let list = if more {
            (self.list.len() as u16).saturating_add(2).min(most)
        } else {
            body.height
        };
        let list = Rect {
            height: list,
            width: body.width.saturating_sub(1),
            ..body
        };
        let answer = self.asked.answer();
        let patterns = answer.map(PatternsAnswer::worth_following);
        let empty = match patterns {
            None => "",
            Some([]) if answer.is_some_and(|answer| answer.peg.is_some()) => {
                "pegged token: patterns are not tradable signals"
            }
            Some([]) => "no pattern in these candles",
            Some(_) => "all patterns found are hidden",
        };
        self.list
            .draw(buffer, ListFrame::new(list, empty), context, |place| {
                patterns?.get(place)
            });
        if !more {
            return if self.beside && self.list.is_empty() {
                below(body, 2)
            } else {
                Rect::default()
            };
        }
        let rest = below(body, list.height);
        self.draw_card(
            buffer,
            Rect {
                height: rest.height.min(card),
                ..rest
            },
            trendline,
            context,
        );
        below(rest, card)
    }

    /// Draws the warning that comes before everything else; returns the remaining area.
    fn draw_warning(&self, buffer: &mut Buffer, body: Rect, context: &Context<'_>) -> Rect {
        let Some(warning) = self.warning() else {
            return body;
        };
        let room = Rect {
            x: body.x + 1,
            width: body.width.saturating_sub(2),
            ..body
        };
        below(
            body,
            put_wrapped(
                buffer,
                room,
                0,
                0,
                &warning,
                2,
                context.theme.style(Role::Warning),
            ),
        )
    }

    /// Names the deciding patterns and the reason over the list; returns the remaining area.
    fn draw_reasons(&self, buffer: &mut Buffer, body: Rect, context: &Context<'_>) -> Rect {
        let Some(answer) = self.asked.answer().filter(|answer| {
            (!answer.patterns.is_empty() || answer.peg.is_some()) && body.height >= ADVICE_FROM
        }) else {
            return body;
        };
        let width = usize::from(body.width.saturating_sub(2));
        // A reason with its figures takes a second line where there is room.
        let most = if body.height >= REASON_ROOM {
            REASON_LINES
        } else {
            1
        };
        let whole = text::wrap(&reasons(answer, usize::MAX), width, most + 1);
        let lines = if whole.len() <= most {
            whole
        } else {
            vec![reasons(answer, width)]
        };
        for (y, line) in lines.iter().enumerate() {
            put(buffer, body, 1, y as u16, line, context.theme.dim());
        }
        below(body, lines.len() as u16)
    }

    fn draw_card(
        &mut self,
        buffer: &mut Buffer,
        area: Rect,
        trendline: Option<&TrendlineAnswer>,
        context: &Context<'_>,
    ) {
        let Some((pattern, answer)) = self.chosen().zip(self.asked.answer()) else {
            return;
        };
        let asked = self.asked.question();
        let about = |told: &TrackRecord| {
            asked.is_some_and(|asked| {
                (Some(asked.contract_address), asked.timeframe)
                    == (told.contract_address, told.timeframe)
            })
        };
        let told = self.record.answer().filter(|told| about(told));
        let record = told.map(Ok).or(self.record.problem.as_ref().map(Err));
        let part = match self.focus {
            PatternFocus::Latest | PatternFocus::Zoomed if !self.roomy => CardPart::Figures,
            PatternFocus::Latest | PatternFocus::Zoomed | PatternFocus::Explained => {
                CardPart::Whole
            }
            PatternFocus::Reasons => CardPart::Reasons,
        };
        let advice = answer.advice.as_ref().map(|advice| advice.word);
        let card = Card {
            pattern,
            advice,
            as_of: answer.as_of,
            trendline,
            part,
            followed: self.explained(),
            record,
        };
        card.draw(buffer, area, context);
        self.cut = !card.has_room(area);
    }

    /// The title: `patterns`, or `patterns · no flags, channels`.
    fn title(&self) -> String {
        let hidden: Vec<&str> = FAMILIES
            .iter()
            .filter(|(family, ..)| self.hidden.contains(family))
            .map(|(.., word)| *word)
            .collect();
        if hidden.is_empty() {
            "patterns".to_owned()
        } else {
            format!("patterns · no {}", hidden.join(", "))
        }
    }

    /// The summary line, `2 of 5 · Double bottom 0.81 confirmed · target ▲ 14.2% · stop ▼ 8.1% · buy`, and the security verdict behind
    /// it.
    fn line(&self, cells: usize) -> (String, Option<(String, bool)>) {
        if let Some(problem) = &self.asked.problem {
            return (format!("patterns: {}", problem.detail), None);
        }
        let Some(answer) = self.asked.answer() else {
            return (String::new(), None);
        };
        if let Some(warning) = self.warning() {
            return (
                String::new(),
                Some((text::truncate(&warning, cells).into_owned(), true)),
            );
        }
        if answer.peg.is_some() {
            return beside_verdict(reasons(answer, cells), self.verdict(), cells);
        }
        let advice = advised(answer);
        let Some((chosen, at)) = self.chosen().zip(self.list.cursor.selected()) else {
            return beside_verdict(format!("no patterns · {advice}"), self.verdict(), cells);
        };
        let place = format!("{} of {} · ", at + 1, self.list.len());
        let advice = format!(" · {advice}");
        let card = |cells: usize| {
            card::line(
                chosen,
                &state(chosen),
                cells.saturating_sub(text::width(&place)),
            )
        };
        // Levels take precedence over the advice, and the advice is never shown without its security verdict.
        let verdict = self.verdict();
        let tail = text::width(&advice) + verdict.as_ref().map_or(0, |(says, _)| text::width(says));
        let (whole, advised) = (card(cells), card(cells.saturating_sub(tail)));
        // The deciding patterns are named if everything else leaves room.
        let decided = format!(" · {}", reasons(answer, usize::MAX));
        let more = text::width(&decided) - text::width(&advice);
        let advice = if text::width(&place) + text::width(&advised) + tail + more <= cells {
            decided
        } else {
            advice
        };
        if advised.contains(card::TARGET) {
            (place + &advised + &advice, verdict)
        } else {
            (place + &whole, None)
        }
    }

    /// The security verdict beside the advice; `None` while unknown.
    fn verdict(&self) -> Option<(String, bool)> {
        let SecurityInference {
            security_score,
            recommendation,
            ..
        } = self.security.answer()?;
        verdict(
            *security_score,
            recommendation,
            self.asked.answer().is_some_and(says_buy),
        )
    }
}

/// ` · security: avoid, score 0`, and whether it is a warning. Next to any advice but Buy, only warnings are shown: no reassurance, and no
/// note that too little is known.
fn verdict(score: i64, recommendation: &str, buys: bool) -> Option<(String, bool)> {
    let is_safe = is_safe(recommendation);
    let is_told = buys || !(is_safe || too_little_known(recommendation));
    is_told.then(|| {
        (
            format!(
                " · security: {}, score {}",
                word_of(recommendation).to_lowercase(),
                score_text(score, recommendation)
            ),
            !is_safe,
        )
    })
}

/// The text with the verdict behind it, where it fits.
fn beside_verdict(
    says: String,
    verdict: Option<(String, bool)>,
    cells: usize,
) -> (String, Option<(String, bool)>) {
    let fits = |(verdict, _): &(String, bool)| text::width(&says) + text::width(verdict) <= cells;
    let verdict = verdict.filter(fits);
    (says, verdict)
}

/// The word of advice.
fn advised(answer: &PatternsAnswer) -> String {
    answer
        .advice
        .as_ref()
        .map_or_else(String::new, |advice| words::of(&advice.word))
}

/// `Watch: ▲ Ascending triangle 0.71, ▲ Bull flag 0.64 +1 · record not counted: R`: as many of the deciding patterns as fit, by descending
/// contribution, and the reason. Signals that disagree are named in it.
fn reasons(answer: &PatternsAnswer, cells: usize) -> String {
    let named = |pattern: &Pattern| {
        let arrow = format::direction(pattern.projected_movement);
        format!(
            "{arrow} {} {:.2}",
            words::shown(pattern.name.word()),
            pattern.confidence
        )
    };
    let Some(advice) = &answer.advice else {
        return String::new();
    };
    let (word, named) = (
        words::of(&advice.word),
        answer.deciding().map(named).collect::<Vec<_>>(),
    );
    let reason = match advice.reason {
        AdviceReason::NoRecord => format!("{}: R", advice.text),
        _ => advice.text.clone(),
    };
    if named.is_empty() {
        return format!("{word}: {reason}");
    }
    let disagree = advice.reason == AdviceReason::Disagreement;
    let text = |count: usize, reason: &str| {
        let others = named.len() - count;
        let others = if others > 0 {
            format!(" +{others}")
        } else {
            String::new()
        };
        let named = named[..count].join(", ");
        match reason {
            "" => format!("{word}: {named}{others}"),
            reason if disagree => format!("{word}: {reason} ({named})"),
            reason => format!("{word}: {named}{others} · {reason}"),
        }
    };
    // The reason of a word that is held back takes precedence over further patterns.
    let whole = (1..=named.len()).rev().map(|count| text(count, &reason));
    let bare = (1..=named.len()).rev().map(|count| text(count, ""));
    let short = (advice.word == AdviceWord::Watch).then(|| format!("{word}: {reason}"));
    whole
        .chain(short)
        .chain(bare)
        .find(|text| text::width(text) <= cells)
        .unwrap_or_else(|| text(1, ""))
}

fn says_buy(answer: &PatternsAnswer) -> bool {
    matches!(
        answer.recommended_action,
        TradeAction::Buy | TradeAction::StrongBuy
    )
}

/// `confirmed`, or `forming 83%`.
fn state(pattern: &Pattern) -> String {
    match &pattern.detail {
        Some(detail) if pattern.completion_percent >= 100.0 => words::of(&detail.status),
        _ => format!("forming {:.0}%", pattern.completion_percent),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_of_security_stands_beside_any_advice() {
        for (recommendation, beside_hold, beside_buy) in [
            (
                "AVOID: sales fail",
                Some((" · security: avoid, score 1", true)),
                Some((" · security: avoid, score 1", true)),
            ),
            (
                "HIGH RISK: x",
                Some((" · security: high risk, score 1", true)),
                Some((" · security: high risk, score 1", true)),
            ),
            (
                "CAUTION: x",
                Some((" · security: caution, score 1", true)),
                Some((" · security: caution, score 1", true)),
            ),
            (
                "LOW RISK",
                None,
                Some((" · security: low risk, score 1", false)),
            ),
            (
                "NOT ENOUGH DATA",
                None,
                Some((" · security: not enough data, score ?", true)),
            ),
        ] {
            let told = |buys| verdict(1, recommendation, buys);
            let expected =
                |told: Option<(&str, bool)>| told.map(|(says, warns)| (says.to_owned(), warns));
            assert_eq!(
                [told(false), told(true)],
                [expected(beside_hold), expected(beside_buy)],
                "{recommendation}"
            );
        }
        let verdict = verdict(1, "AVOID", false);
        assert_eq!(
            beside_verdict("no patterns · Hold".to_owned(), verdict.clone(), 60).1,
            verdict
        );
        assert_eq!(
            beside_verdict("no patterns · Hold".to_owned(), verdict, 40).1,
            None,
            "it is told whole or not at all"
        );
    }
}
