//! The Security view: the token's score in large digits, taxes, and the checklist with the evidence of each check; next to it, holder
//! concentration and similar known scams.

mod checklist;
mod clusters;
mod gaps;
mod holders;
mod pane;
mod proof;
mod record;
mod right_pane;
mod score;
mod simulated;

use std::collections::HashSet;

use self::{
    checklist::{ChecklistStyle, anomaly},
    holders::HoldersPane,
    pane::{Clicked, Pane, PaneEntry},
    record::VerdictsPane,
};
use crate::views::prelude::*;
use query::queries::{security::SecurityQuery, security_record::SecurityRecordQuery};
use security::{AnomalyCode, CheckState, Evidence};

/// From this width holders and scams are drawn next to the checks.
const BESIDE_WIDTH: u16 = 124;

#[derive(Default)]
pub struct SecurityView {
    token: Option<Address>,
    asked: ViewQuery<SecurityQuery>,
    /// Canceled by the user, for this snapshot.
    stopped: Option<u64>,
    open: HashSet<PaneEntry>,
    /// The checks; in a narrow terminal all sections.
    left: Pane,
    right: Pane,
    in_right: bool,
    right_shown: bool,
    holders: HoldersPane,
    record: VerdictsPane,
}

impl View for SecurityView {
    fn refresh(&mut self, context: &Context<'_>) {
        if self.token != context.token {
            *self = Self {
                token: context.token,
                holders: std::mem::take(&mut self.holders),
                record: std::mem::take(&mut self.record),
                ..Self::default()
            };
        }
        self.holders.refresh(self.token, context);
        self.record
            .refresh(SecurityRecordQuery {}, record::rows, context);
        let generation = context.snapshot.map(|snapshot| snapshot.generation);
        if self.stopped.is_some() && self.stopped == generation {
            return;
        }
        self.stopped = None;
        if let Some(question) = self.question() {
            self.asked.refresh(question, context);
        }
    }

    fn act(&mut self, action: Action, context: &Context<'_>) -> Effect {
        if self.record.is_open() || action == Action::VerdictRecord {
            let effect = self.record.act(action, Action::VerdictRecord);
            self.refresh(context);
            return effect;
        }
        if self.holders.is_open() || action == Action::TokenHolders {
            return self.holders.act(action, context);
        }
        if self.pane().act(action) {
            return Effect::Redraw;
        }
        match action {
            Action::Open if self.stopped.is_some() => {
                self.stopped = None;
                self.refresh(context);
            }
            Action::Open => return self.toggle(),
            Action::Back if self.asked.progress().is_some() => return self.stop(context),
            Action::Back if !self.open.is_empty() => self.open.clear(),
            Action::ExpandAll => self.expand_all(),
            Action::Left if self.in_right => self.in_right = false,
            Action::Right if self.right_shown && !self.in_right => self.in_right = true,
            Action::CopyValue => {
                return self
                    .copied()
                    .map_or(Effect::Pass, |(text, what)| Effect::Copy(text, what));
            }
            _ => return Effect::Pass,
        }
        Effect::Redraw
    }

    fn answers(&self, action: Action) -> bool {
        let of_list = matches!(action, Action::Filter | Action::Sort | Action::SortReverse);
        if self.holders.is_open() || self.record.is_open() {
            action != Action::ExpandAll && action != Action::OpenLink
        } else {
            !of_list && action != Action::OpenLink
        }
    }

    fn mouse(&mut self, mouse: MouseEvent, context: &Context<'_>) -> Effect {
        if self.record.is_open() {
            return self.record.mouse(mouse);
        }
        if self.holders.is_open() {
            return self.holders.mouse(mouse, context);
        }
        let (clicked, in_right) = match self.left.mouse(mouse) {
            Some(clicked) => (clicked, false),
            None => match self.right.mouse(mouse).filter(|_| self.right_shown) {
                Some(clicked) => (clicked, true),
                None => return Effect::Nothing,
            },
        };
        let there = self.in_right == in_right;
        self.in_right = in_right;
        if clicked == Clicked::Again && there {
            self.toggle()
        } else {
            Effect::Redraw
        }
    }

    fn as_of(&self) -> Option<Time> {
        self.asked.known.as_ref()?.as_of
    }

    fn draw_in(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let theme = context.theme;
        if self.record.is_open() {
            return record::draw(&mut self.record, buffer, area, context);
        }
        let Some(token) = self.token else {
            return say(
                buffer,
                area,
                context,
                "no token selected; press 1 to choose one",
            );
        };
        if self.holders.is_open() {
            return self.holders.draw(buffer, area, context);
        }
        if self.stopped.is_some() {
            return say(buffer, area, context, "canceled; press Enter to restart");
        }
        if let Some(problem) = &self.asked.problem {
            let body = Panel::new(&symbol_of(context, &token)).render(area, buffer, theme);
            return panel::failure(body, buffer, theme, &problem.detail);
        }
        let Some(known) = self.asked.known.clone() else {
            return self.draw_waiting(buffer, area, context);
        };
        let answer = &known.answer;
        let used = score::draw(answer, buffer, area, context).min(area.height);
        let body = below(area, used);
        self.right_shown = area.width >= BESIDE_WIDTH;
        self.in_right &= self.right_shown;
        let look = |width| ChecklistStyle {
            open: &self.open,
            width,
        };
        if self.right_shown {
            let (left, right) = beside(body, (area.width * 2 / 5).clamp(50, 84));
            let others = [
                right_pane::scams(answer, &look(right.width)),
                right_pane::holders(answer, &look(right.width)),
                gaps::missing(answer, &look(right.width)),
                gaps::execution(answer, &look(right.width)),
            ];
            self.left.set(
                [
                    simulated::lines(answer, &look(left.width)),
                    checklist::lines(answer, &look(left.width)),
                ]
                .concat(),
            );
            self.right.set(others.concat());
            self.left.draw(buffer, left, !self.in_right, context);
            self.right.draw(buffer, right, self.in_right, context);
        } else {
            let look = look(area.width);
            let all = [
                simulated::lines(answer, &look),
                checklist::lines(answer, &look),
                right_pane::scams(answer, &look),
                right_pane::holders(answer, &look),
                gaps::missing(answer, &look),
                gaps::execution(answer, &look),
            ];
            self.left.set(all.concat());
            self.left.draw(buffer, body, true, context);
        }
    }

    fn listing(&self) -> Option<&dyn Listing> {
        if self.record.is_open() {
            return Some(&self.record.list);
        }
        self.holders
            .is_open()
            .then_some(&self.holders.list as &dyn Listing)
    }

    fn listing_mut(&mut self) -> Option<&mut dyn Listing> {
        if self.record.is_open() {
            Some(&mut self.record.list)
        } else if self.holders.is_open() {
            Some(&mut self.holders.list)
        } else {
            None
        }
    }

    fn relist(&mut self, context: &Context<'_>) {
        self.record.arrange();
        self.holders.refresh(self.token, context);
    }

    fn undated(&self) -> &'static [&'static str] {
        if self.record.is_open() {
            return &[];
        }
        &["holders", "pools", "locks"]
    }

    fn needs(&self) -> Option<&'static [&'static str]> {
        Some(SecurityQuery::NEEDS)
    }

    fn request(&self, _: &Context<'_>) -> Option<HttpRequest> {
        if self.record.is_open() {
            return self.record.request();
        }
        if self.holders.is_open() {
            return self.holders.request();
        }
        self.question().as_ref().map(HttpRequest::of)
    }

    fn export(&self, context: &Context<'_>) -> Option<Export> {
        if self.record.is_open() {
            return Some(self.record.export("security-track-record"));
        }
        let symbol = symbol_of(context, &self.token?).to_lowercase();
        if self.holders.is_open() {
            return self.holders.export(&symbol);
        }
        let answer = self.asked.answer()?;
        Some(match self.selected() {
            Some(PaneEntry::Scam(i)) => exported(
                format!("{symbol}-similar-scams"),
                &SCAM_COLUMNS,
                &answer.similar_scams,
                Some(i),
            ),
            Some(PaneEntry::Holder(i)) => {
                let largest = &answer.explanation.as_ref()?.holders.as_ref()?.largest;
                exported(
                    format!("{symbol}-holder-shares"),
                    &HOLDER_COLUMNS,
                    largest,
                    Some(i),
                )
            }
            selected => {
                let checks = answer.checks.as_deref().unwrap_or_default();
                let at = match selected {
                    Some(
                        PaneEntry::Check(code)
                        | PaneEntry::Proof(code, _)
                        | PaneEntry::Row(code, ..),
                    ) => Some(code),
                    _ => None,
                };
                let at = at.and_then(|code| checks.iter().position(|check| check.code == code));
                exported(format!("{symbol}-checks"), &CHECK_COLUMNS, checks, at)
            }
        })
    }
}

impl SecurityView {
    fn question(&self) -> Option<SecurityQuery> {
        self.token.map(|token| SecurityQuery {
            contract_address: token,
            explain: true,
        })
    }

    fn pane(&mut self) -> &mut Pane {
        if self.in_right {
            &mut self.right
        } else {
            &mut self.left
        }
    }

    fn selected(&self) -> Option<PaneEntry> {
        if self.in_right {
            self.right.selected()
        } else {
            self.left.selected()
        }
    }

    /// Expands or collapses the selected entry; within evidence, collapses its check.
    fn toggle(&mut self) -> Effect {
        let entry = match self.selected() {
            Some(PaneEntry::Proof(code, _) | PaneEntry::Row(code, ..)) => PaneEntry::Check(code),
            Some(entry @ (PaneEntry::Check(_) | PaneEntry::Scam(_))) => entry,
            _ => return Effect::Pass,
        };
        if !self.open.remove(&entry) {
            self.open.insert(entry);
        }
        self.pane().select(entry);
        Effect::Redraw
    }

    fn expand_all(&mut self) {
        if !self.open.is_empty() {
            return self.open.clear();
        }
        let Some(known) = self.asked.known.clone() else {
            return;
        };
        // Passed checks stay collapsed.
        let found = known
            .answer
            .checks
            .iter()
            .flatten()
            .filter(|check| matches!(check.state, CheckState::Found | CheckState::Unheld));
        self.open
            .extend(found.map(|check| PaneEntry::Check(check.code)));
        self.open
            .extend((0..known.answer.similar_scams.len()).map(PaneEntry::Scam));
    }

    fn stop(&mut self, context: &Context<'_>) -> Effect {
        self.stopped = context.snapshot.map(|snapshot| snapshot.generation);
        self.asked.clear();
        Effect::Say("canceled; press Enter to restart".to_owned())
    }

    /// The evidence of the check.
    fn proofs(&self, code: AnomalyCode) -> Option<&[Evidence]> {
        let answer = self.asked.answer()?;
        let check = answer
            .checks
            .as_ref()?
            .iter()
            .find(|check| check.code == code)?;
        Some(proof::proofs(check, anomaly(answer, code)))
    }

    /// The text that `y` copies, and its name.
    fn copied(&self) -> Option<(String, &'static str)> {
        match self.selected()? {
            PaneEntry::Check(code) => {
                let check = self
                    .asked
                    .answer()?
                    .checks
                    .as_ref()?
                    .iter()
                    .find(|check| check.code == code)?;
                let told = check
                    .evidence
                    .as_deref()
                    .or(check.missing.as_deref())
                    .unwrap_or_default();
                Some((
                    format!(
                        "{} ({}), {}: {told}",
                        code.title(),
                        code.word(),
                        check.state.word().replace('_', " ")
                    ),
                    "check",
                ))
            }
            // Clusters are in a pane of their own.
            PaneEntry::Cluster(_) => None,
            PaneEntry::Proof(code, j) => {
                let evidence = self.proofs(code)?.get(j)?;
                Some(evidence.selector.clone().map_or_else(
                    || (evidence.what.clone(), "evidence"),
                    |selector| (selector, "selector"),
                ))
            }
            PaneEntry::Row(code, j, k) => {
                let row = self.proofs(code)?.get(j)?.rows.get(k)?;
                let hash = row
                    .transaction_hash
                    .clone()
                    .map(|hash| (hash, "transaction"));
                hash.or_else(|| Some((row.address.or(row.to_address)?.to_string(), "address")))
            }
            PaneEntry::Scam(i) => Some((
                self.asked
                    .answer()?
                    .similar_scams
                    .get(i)?
                    .address
                    .to_string(),
                "address",
            )),
            PaneEntry::Holder(i) => {
                let metrics = self
                    .asked
                    .answer()?
                    .explanation
                    .as_ref()?
                    .holders
                    .as_ref()?;
                Some((metrics.largest.get(i)?.address.to_string(), "address"))
            }
            PaneEntry::Missing(i) => Some((
                self.asked
                    .answer()?
                    .explanation
                    .as_ref()?
                    .missing
                    .get(i)?
                    .supply
                    .clone(),
                "advice",
            )),
        }
    }

    /// Draws a skeleton, and the progress.
    fn draw_waiting(&self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let done = self.asked.progress().filter(|(_, total)| *total > 0);
        let title = self
            .token
            .map(|token| symbol_of(context, &token))
            .unwrap_or_default();
        let rule = Panel {
            progress: Some(done.and_then(progress::share)),
            ..Panel::new(&title)
        };
        let body = rule.render(area, buffer, context.theme);
        let says = match done {
            Some((done, total)) => format!(
                "analyzing: {} of {} steps; Esc cancels",
                format::count(done),
                format::count(total)
            ),
            None => "analyzing; Esc cancels".to_owned(),
        };
        put(buffer, body, 1, 0, &says, context.theme.dim());
        let below = below(body, 2);
        progress::skeleton(below, buffer, context.theme);
    }
}

const CHECK_COLUMNS: [&str; 6] = ["group", "code", "state", "weight", "evidence", "missing"];
const SCAM_COLUMNS: [&str; 8] = [
    "address",
    "name",
    "scamType",
    "similarity",
    "sharedTraits",
    "sharedSelectors",
    "sameCreator",
    "source",
];
const HOLDER_COLUMNS: [&str; 3] = ["address", "share", "role"];

/// The rows' fields of those names.
fn exported(
    name: String,
    columns: &[&str],
    rows: &[impl serde::Serialize],
    selected: Option<usize>,
) -> Export {
    let members = |row| {
        let value = serde_json::to_value(row).unwrap_or_default();
        columns.iter().map(|name| value[*name].clone()).collect()
    };
    Export::of(name, columns, rows.iter().map(members).collect(), selected)
}

#[cfg(test)]
mod tests;
