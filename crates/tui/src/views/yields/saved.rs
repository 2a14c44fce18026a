//! Saved plans: their requests, and their results when they were saved.

use super::YieldView;
use crate::views::prelude::*;
use query::queries::{parameter::TokenReader, yields::YieldQuery};

const SAVED_MAX: usize = 50;

/// A saved plan: its request, and its result at that time.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SavedPlan {
    pub(super) name: String,
    pub(super) body: String,
    /// Net yield in USD per year.
    pub(super) net: Option<f64>,
    /// From 0 for the safest to 100.
    pub(super) risk: Option<f64>,
}

impl SavedPlan {
    pub(super) fn save(&self) -> Json {
        json!({ "name": self.name, "body": self.body, "net": self.net, "risk": self.risk })
    }

    /// Restores a list of saved plans, ignoring invalid ones.
    pub(super) fn restore_all(saved: &Json) -> Vec<Self> {
        let text = |value: &Json| value.as_str().map(str::to_owned);
        let plan = |plan: &Json| {
            let (name, body) = (text(&plan["name"])?, text(&plan["body"])?);
            Some(Self {
                name,
                body,
                net: plan["net"].as_f64(),
                risk: plan["risk"].as_f64(),
            })
        };
        saved
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(plan)
            .take(SAVED_MAX)
            .collect()
    }
}

impl YieldView {
    pub(super) fn save_plan(&mut self) -> Effect {
        let Some(body) = self.question().body().filter(|_| !self.amounts.is_empty()) else {
            return Effect::Say("no wallet, so there is no plan to save".to_owned());
        };
        if self.saved.len() == SAVED_MAX {
            return Effect::Warn(format!(
                "{SAVED_MAX} plans are already saved; load one with p and delete it with V"
            ));
        }
        let explained = self
            .plan
            .answer()
            .and_then(|answer| answer.summary.explained.as_ref());
        let (net, risk) = (
            explained.map(|explained| explained.net_yield_usd),
            explained.and_then(|explained| explained.risk_score),
        );
        let wallet = if self.line.trim_start().starts_with('{') {
            "JSON request".to_owned()
        } else {
            self.without_minimum()
        };
        let name = format!(
            "{}: {}, {wallet}",
            self.saved.len() + 1,
            self.settings_text()
        );
        let yearly = net
            .map(|net| format!(", {}/yr", format::fixed(net, 2)))
            .unwrap_or_default();
        let said = format!("saved plan {name}{yearly}");
        self.saved.push(SavedPlan {
            name,
            body,
            net,
            risk,
        });
        Effect::Say(said)
    }

    pub(super) fn load_next(&mut self, context: &Context<'_>) -> Effect {
        if self.saved.is_empty() {
            return Effect::Say("no plan is saved yet; press v to save this one".to_owned());
        }
        let Some(snapshot) = context.snapshot else {
            return Effect::Pass;
        };
        let at = self.loaded.map_or(0, |at| (at + 1) % self.saved.len());
        let plan = self.saved[at].clone();
        match YieldQuery::parse_body(plan.body.as_bytes(), TokenReader::default()) {
            Ok(question) => {
                self.take(question, &plan.body, snapshot);
                (self.loaded, self.unread) = (Some(at), None);
                self.refresh(context);
                Effect::Say(format!("loaded plan {}", plan.name))
            }
            Err(problem) => Effect::Warn(problem.detail),
        }
    }

    pub(super) fn delete_loaded(&mut self) -> Effect {
        match self.loaded.take().filter(|at| *at < self.saved.len()) {
            Some(at) => Effect::Say(format!("deleted plan {}", self.saved.remove(at).name)),
            None => Effect::Say(
                "no plan is loaded; press p to load a saved plan, then V to delete it".to_owned(),
            ),
        }
    }
}
