//! The holders of the token grouped by likely owner: a bar for each cluster, and a tree of what links the members of the largest and of the
//! open ones. A pane that replaces the view while it is open.

use crate::zone::DisplayZone;
use std::collections::BTreeSet;

use super::pane::{Pane, PaneEntry, PaneLine};
use crate::views::prelude::*;
use query::queries::clusters::{ClusterEdge, ClustersQuery, HolderCluster, TokenClusters};

const LEFT: u16 = 1;
const INDENT: u16 = 3;
const BAR: u16 = 26;
/// Links drawn of one kind and payer.
const EDGES_DRAWN: usize = 6;

#[derive(Default)]
pub(super) struct ClustersPane {
    asked: ViewQuery<ClustersQuery>,
    pane: Pane,
    open: BTreeSet<usize>,
}

impl ClustersPane {
    pub(super) fn refresh(&mut self, token: Option<Address>, context: &Context<'_>) {
        if let Some(token) = token {
            self.asked.refresh(ClustersQuery::first(token), context);
        }
    }

    /// Moves the selection, or opens a cluster; false for other actions.
    pub(super) fn act(&mut self, action: Action) -> bool {
        if action == Action::Open
            && let Some(PaneEntry::Cluster(place)) = self.pane.selected()
        {
            if !self.open.remove(&place) {
                self.open.insert(place);
            }
            return true;
        }
        self.pane.act(action)
    }

    pub(super) fn mouse(&mut self, mouse: MouseEvent) -> bool {
        self.pane.mouse(mouse).is_some()
    }

    /// The largest balance of the selected cluster.
    pub(super) fn selected(&self) -> Option<Address> {
        let PaneEntry::Cluster(place) = self.pane.selected()? else {
            return None;
        };
        let clusters = &self.asked.answer()?.clusters;
        clusters.get(place)?.members.first().copied()
    }

    pub(super) fn draw(
        &mut self,
        symbol: &str,
        buffer: &mut Buffer,
        area: Rect,
        context: &Context<'_>,
    ) {
        let note = self.asked.answer().map_or_else(String::new, |answer| {
            plural(answer.total, "cluster", "clusters")
        });
        let (title, note) = (
            format!("likely owners of {symbol}"),
            super::holders::with_back(&note),
        );
        let panel = Panel {
            note: &note,
            focused: true,
            ..Panel::new(&title)
        };
        let body = inset(panel.render(area, buffer, context.theme));
        let Some(known) = self.asked.shown(buffer, body, context) else {
            return;
        };
        let lines = self.lines(&known.answer, context.zone, body.width);
        self.pane.set(lines);
        self.pane.draw(buffer, body, true, context);
    }

    fn lines(&self, answer: &TokenClusters, zone: DisplayZone, width: u16) -> Vec<PaneLine> {
        let mut lines = Vec::new();
        for (label, share) in [
            ("top 10 by address", answer.top_10_addresses),
            ("top 10 by owner", answer.top_10_owners),
        ] {
            lines.extend(share.map(|share| bar(PaneLine::default(), label, share, width)));
        }
        let empty = answer.clusters.is_empty() && answer.missing.is_none();
        let says = answer
            .missing
            .clone()
            .or_else(|| empty.then(|| "no addresses seem to have the same owner".to_owned()));
        if let Some(says) = says {
            lines.extend(PaneLine::wrapped(None, LEFT, &says, width, 4, Role::Dim));
        }
        for (place, cluster) in answer.clusters.iter().enumerate() {
            let entry = PaneEntry::Cluster(place);
            let creator = if cluster.creator {
                ", with the creator"
            } else {
                ""
            };
            let label = format!(
                "{} {}{creator}",
                place + 1,
                plural(cluster.members_total, "address", "addresses")
            );
            lines.push(bar(PaneLine::of(entry), &label, cluster.share, width));
            lines.extend(PaneLine::wrapped(
                Some(entry),
                INDENT,
                &moves(cluster),
                width,
                2,
                Role::Dim,
            ));
            if (place == 0) != self.open.contains(&place) {
                lines.extend(
                    tree(cluster, zone, width)
                        .into_iter()
                        .map(|text| PaneLine::of(entry).at(INDENT, text, Role::Text)),
                );
            }
        }
        lines
    }
}

fn bar(line: PaneLine, label: &str, share: f64, width: u16) -> PaneLine {
    let label = text::truncate(label, usize::from(BAR - LEFT - 1));
    let [filled, track] = thin_bar(share, usize::from(width.saturating_sub(BAR + 10)));
    line.at(LEFT, label, Role::Text)
        .at(BAR, filled, Role::Accent)
        .then(BAR, 0, track, Role::Grid)
        .right(format::share(Some(share)), Role::Text)
}

/// `holds 1.2M, bought 2M, sold 800k · 2026-01-02 to 2026-03-04`.
fn moves(cluster: &HolderCluster) -> String {
    let [held, bought, sold] =
        [Some(cluster.balance), cluster.bought, cluster.sold].map(format::human);
    let days = cluster
        .first
        .zip(cluster.last)
        .map_or_else(String::new, |(first, last)| {
            format!(" · {} to {}", first.day(), last.day())
        });
    if cluster.bought.is_none() {
        format!("holds {held}, purchases unknown: no pool in the data{days}")
    } else {
        format!("holds {held}, bought {bought}, sold {sold}{days}")
    }
}

/// What links the members, as a tree: a branch for each kind and payer.
fn tree(cluster: &HolderCluster, zone: DisplayZone, width: u16) -> Vec<String> {
    let room = usize::from(width.saturating_sub(INDENT + 1));
    let same = |a: &ClusterEdge, b: &ClusterEdge| {
        (a.kind, a.evidence.funder) == (b.kind, b.evidence.funder)
    };
    let mut lines = Vec::new();
    for branch in cluster.edges.chunk_by(same) {
        let payer = branch[0].evidence.funder;
        let payer = payer.map_or_else(String::new, |payer| format!(" {}", payer.short()));
        lines.push(format!("{}{payer}", branch[0].kind.replace('_', " ")));
        let more = branch.len().saturating_sub(EDGES_DRAWN);
        let drawn = branch.iter().take(EDGES_DRAWN);
        let last = branch.len().min(EDGES_DRAWN) - 1;
        for (nth, edge) in drawn.enumerate() {
            let [from, to] = edge.addresses.map(|address| address.short());
            let end = more == 0 && nth == last;
            let amount = edge.evidence.amount.map_or_else(String::new, |amount| {
                format!(" · {}", format::human(Some(amount)))
            });
            let time = edge
                .evidence
                .timestamp
                .map_or_else(String::new, |time| format!(" · {}", zone.minute(time)));
            let line = format!(
                "{} {from} ─ {to}{amount}{time}",
                if end { "└" } else { "├" }
            );
            lines.push(text::truncate(&line, room).into_owned());
        }
        if more > 0 {
            lines.push(format!("└ {} more", format::count(more as u64)));
        }
    }
    let unlisted = cluster
        .edges_total
        .saturating_sub(cluster.edges.len() as u64);
    if unlisted > 0 {
        let links = plural(unlisted, "further link", "further links");
        lines.push(format!("{links} in GET /tokens/{{token_address}}/clusters"));
    }
    lines
}
