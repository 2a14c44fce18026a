//! The lines of the right pane: holder concentration, and a comparison of similar scams.

use super::{
    checklist::ChecklistStyle,
    pane::{PaneEntry, PaneLine},
};
use crate::views::prelude::*;
use security::{HolderMetrics, SecurityInference, SimilarScam, percent};

const LEFT: u16 = 1;
const LABEL: u16 = 25;
/// Rows of the share chart.
const CHART_ROWS: usize = 4;
/// Holders named under the chart.
const NAMED: usize = 8;
/// From this width a scam's row has its type and address too.
const SCAM_WIDE: u16 = 58;
/// Column of a scam's name, width of its type, and minimum width of its bar.
const SCAM_NAME: usize = 6;
const SCAM_TYPE: usize = 12;
const SCAM_BAR: usize = 10;

/// The holder section: a chart of the largest shares, concentration metrics, the largest holders by name.
pub(super) fn holders(answer: &SecurityInference, look: &ChecklistStyle<'_>) -> Vec<PaneLine> {
    let Some(metrics) = answer
        .explanation
        .as_ref()
        .and_then(|explanation| explanation.holders.as_ref())
    else {
        return Vec::new();
    };
    let mut lines = vec![PaneLine::rule("holder concentration", counted(metrics))];
    lines.extend(chart(metrics, look));
    for (label, share) in [
        ("top 10 of supply", metrics.top10),
        ("top 50 of supply", metrics.top50),
        ("top 10 individuals", Some(metrics.top10_free)),
        ("top 10 owners, of free", metrics.top10_owners),
        ("top 50 individuals", Some(metrics.top50_free)),
    ] {
        if let Some(share) = share {
            lines.push(bar_line(
                PaneLine::default(),
                label,
                share,
                Role::Accent,
                look,
            ));
        }
    }
    // Individual holders only: the excluded ones are listed below.
    let nakamoto = metrics.nakamoto.map_or_else(
        || "more than listed".to_owned(),
        |count| format!("{count} individual"),
    );
    let mut line = PaneLine::default()
        .at(LEFT, "needed for >50%", Role::Dim)
        .at(LABEL, nakamoto, Role::Text);
    let most = format::human(Some(metrics.hhi));
    let least = metrics
        .hhi_at_least
        .map(|least| format::human(Some(least)))
        .filter(|least| *least != most);
    let hhi = least.map_or(most.clone(), |least| format!("{least}–{most}"));
    for (name, figure) in [("HHI", hhi), ("Gini", format::human(metrics.gini))] {
        // A value that does not fit moves to the next line.
        if usize::from(line.end()) + 5 + name.len() + figure.len()
            > usize::from(look.width.saturating_sub(1))
        {
            lines.push(std::mem::take(&mut line));
        }
        line = line
            .then(LABEL, 4, name, Role::Dim)
            .then(LABEL, 1, figure, Role::Text);
    }
    lines.push(line);
    for (i, holder) in metrics.largest.iter().take(NAMED).enumerate() {
        let line = PaneLine::of(PaneEntry::Holder(i));
        let role = if holder.role.is_some() {
            Role::Warning
        } else {
            Role::AccentSoft
        };
        let label = holder.role.as_ref().map_or_else(
            || holder.address.short(),
            |role| format!("{} {role}", &holder.address.short()[..6]),
        );
        lines.push(bar_line(
            line,
            &text::truncate(&label, usize::from(LABEL - LEFT - 1)),
            holder.share,
            role,
            look,
        ));
    }
    if !metrics.left_out.is_empty() {
        let kinds: Vec<String> = metrics
            .left_out
            .iter()
            .map(|kind| format!("{} {} ({})", kind.kind, percent(kind.share), kind.count))
            .collect();
        let says = format!("individual holders exclude: {}", kinds.join(" · "));
        lines.extend(PaneLine::wrapped(
            None,
            LEFT,
            &says,
            look.width,
            3,
            Role::Dim,
        ));
    }
    lines.push(PaneLine::default());
    lines
}

/// `345 individual of 359 listed, 391,957 total`.
fn counted(metrics: &HolderMetrics) -> String {
    let [free, listed, all] = [metrics.count, metrics.listed, metrics.holders].map(format::count);
    let all = if metrics.holders > metrics.listed {
        format!(", {all} total")
    } else {
        String::new()
    };
    format!("{free} individual of {listed} listed{all}")
}

fn bar_line(
    line: PaneLine,
    label: &str,
    share: f64,
    role: Role,
    look: &ChecklistStyle<'_>,
) -> PaneLine {
    let cells = usize::from(look.width.saturating_sub(LABEL + 10));
    let [filled, track] = thin_bar(share, cells);
    line.at(LEFT, label, Role::Dim)
        .at(LABEL, filled, role)
        .then(LABEL, 0, track, Role::Grid)
        .right(percent(share), Role::Text)
}

/// A column chart of the largest holders, in descending order; the top is labeled with its share.
fn chart(metrics: &HolderMetrics, look: &ChecklistStyle<'_>) -> Vec<PaneLine> {
    const HEIGHTS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
    let top = metrics.largest.first().map_or(0.0, |holder| holder.share);
    if top <= 0.0 {
        return Vec::new();
    }
    let room = usize::from(look.width.saturating_sub(LEFT + 9));
    let shown = &metrics.largest[..metrics.largest.len().min(room)];
    // Two cells for each holder where they fit, to separate the columns.
    let wide = shown.len() * 2 <= room;
    let mut lines = Vec::new();
    for row in (0..CHART_ROWS).rev() {
        let mut line = PaneLine::default();
        for (i, holder) in shown.iter().enumerate() {
            let eighths = (holder.share / top * (CHART_ROWS * 8) as f64).ceil() as usize;
            let glyph = HEIGHTS[eighths.saturating_sub(row * 8).min(8)];
            let role = if holder.role.is_some() && glyph != " " {
                Role::Warning
            } else {
                Role::Accent
            };
            let (cell, x) = if wide {
                (format!("{glyph} "), 2 * i)
            } else {
                (glyph.to_owned(), i)
            };
            line = line.at(LEFT + x as u16, cell, role);
        }
        if row + 1 == CHART_ROWS {
            line = line.right(percent(top), Role::Dim);
        } else if row == 0 {
            line = line.right(format!("1–{}", shown.len()), Role::Dim);
        }
        lines.push(line);
    }
    lines
}

/// The scam section: each similar scam with its similarity, then the shared traits.
pub(super) fn scams(answer: &SecurityInference, look: &ChecklistStyle<'_>) -> Vec<PaneLine> {
    let scams = &answer.similar_scams;
    let mut lines = vec![PaneLine::rule(
        "similar scams",
        if scams.is_empty() {
            String::new()
        } else {
            scams.len().to_string()
        },
    )];
    if scams.is_empty() {
        let coded = answer.anomaly_detection.code_patterns.score.is_some();
        let says = if coded {
            "no known scam is unusually similar"
        } else {
            "no code to compare"
        };
        lines.push(PaneLine::default().at(LEFT, says, Role::Dim));
        lines.push(PaneLine::default());
        return lines;
    }
    let name_width = name_width(scams, look);
    if let Some(alike) = answer
        .explanation
        .as_ref()
        .and_then(|explanation| explanation.token_similarity)
    {
        let [median, tail] = [alike.median, alike.tail].map(percent);
        let says = format!(
            "for comparison: the median pair of tokens is {median} similar, and 99% of pairs are at most {tail} similar"
        );
        lines.extend(PaneLine::wrapped(
            None,
            LEFT,
            &says,
            look.width,
            2,
            Role::Dim,
        ));
    }
    for (i, scam) in scams.iter().enumerate() {
        lines.push(scam_line(i, scam, name_width, look));
        if look.open.contains(&PaneEntry::Scam(i)) {
            lines.extend(scam_details(i, scam, look));
        }
    }
    lines.extend(traits(scams, look));
    lines.push(PaneLine::default());
    lines
}

fn name(scam: &SimilarScam) -> String {
    scam.name.clone().unwrap_or_else(|| scam.address.short())
}

/// Width of the longest name, as far as a short bar leaves space.
fn name_width(scams: &[SimilarScam], look: &ChecklistStyle<'_>) -> usize {
    let longest = scams
        .iter()
        .map(|scam| text::width(&name(scam)))
        .max()
        .unwrap_or(0);
    let (least, taken) = if look.width >= SCAM_WIDE {
        (16, SCAM_TYPE + 4)
    } else {
        (14, 2)
    };
    let room = usize::from(look.width).saturating_sub(SCAM_NAME + taken + SCAM_BAR + 9);
    longest.min(room).max(least)
}

fn scam_line(
    i: usize,
    scam: &SimilarScam,
    name_width: usize,
    look: &ChecklistStyle<'_>,
) -> PaneLine {
    let open = look.open.contains(&PaneEntry::Scam(i));
    let mark = if open { "▾" } else { "▸" };
    let line = PaneLine::of(PaneEntry::Scam(i)).at(LEFT, format!("{mark}{:>3}", i + 1), Role::Dim);
    let wide = look.width >= SCAM_WIDE;
    let bar_at = (SCAM_NAME + name_width + if wide { SCAM_TYPE + 3 } else { 1 }) as u16;
    let mut line = line.at(
        SCAM_NAME as u16,
        text::truncate(&name(scam), name_width).into_owned(),
        Role::Text,
    );
    if wide {
        let kind = scam.scam_type.as_deref().unwrap_or(MISSING);
        line = line.at(
            (SCAM_NAME + name_width) as u16 + 2,
            text::truncate(kind, SCAM_TYPE).into_owned(),
            Role::Dim,
        );
    }
    let cells = usize::from(look.width.saturating_sub(bar_at + 9));
    let [filled, track] = thin_bar(scam.similarity, cells);
    line.at(bar_at, filled, Role::Accent)
        .then(bar_at, 0, track, Role::Grid)
        .right(percent(scam.similarity), Role::Text)
}

fn scam_details(i: usize, scam: &SimilarScam, look: &ChecklistStyle<'_>) -> Vec<PaneLine> {
    let facts = [
        ("address", scam.address.to_string(), Role::Accent),
        (
            "type",
            scam.scam_type.clone().unwrap_or_else(|| MISSING.to_owned()),
            Role::Text,
        ),
        (
            "reported by",
            scam.source.clone().unwrap_or_else(|| MISSING.to_owned()),
            Role::Text,
        ),
    ];
    let line = |(label, value, role): (&str, String, Role)| {
        PaneLine::of(PaneEntry::Scam(i))
            .at(6, label, Role::Dim)
            .at(18, value, role)
    };
    facts
        .into_iter()
        .filter(|_| look.width > 30)
        .map(line)
        .collect()
}

/// The trait matrix: which traits of the token each scam shares, one numbered column for each scam.
fn traits(scams: &[SimilarScam], look: &ChecklistStyle<'_>) -> Vec<PaneLine> {
    const FIRST: u16 = 31;
    // The last column may lose its gap.
    let fitting =
        |column: u16| usize::from((look.width.saturating_sub(FIRST)) / column).min(scams.len());
    let column = if fitting(4) < scams.len() { 3 } else { 4 };
    let shown = fitting(column);
    if shown == 0 {
        return Vec::new();
    }
    let left_out = scams.len() - shown;
    let scams = &scams[..shown];
    let x = |i: usize| FIRST + i as u16 * column;
    let row = |label: &str, cell: &dyn Fn(&SimilarScam) -> (String, Role)| {
        let line = PaneLine::default().at(6, label, Role::Dim);
        scams.iter().enumerate().fold(line, |line, (i, scam)| {
            let (text, role) = cell(scam);
            line.at(
                x(i) + 3_u16.saturating_sub(text::width(&text) as u16),
                text,
                role,
            )
        })
    };
    let mark = |holds: bool| {
        if holds {
            ("●".to_owned(), Role::Warning)
        } else {
            ("·".to_owned(), Role::Grid)
        }
    };
    let says = if left_out > 0 {
        format!("shared with ({} total)", shown + left_out)
    } else {
        "shared with".to_owned()
    };
    let header = PaneLine::default().at(6, says, Role::Dim);
    let mut lines = vec![scams.iter().enumerate().fold(header, |line, (i, _)| {
        line.at(x(i), format!("{:>3}", i + 1), Role::Dim)
    })];
    let mut codes: Vec<_> = scams
        .iter()
        .flat_map(|scam| &scam.shared_traits)
        .copied()
        .collect();
    codes.sort_unstable();
    codes.dedup();
    lines.extend(codes.into_iter().map(|code| {
        row(code.title(), &|scam| {
            mark(scam.shared_traits.contains(&code))
        })
    }));
    lines.push(row("creator", &|scam| mark(scam.same_creator)));
    lines.push(row("functions", &|scam| {
        (
            format::human(Some(scam.shared_selectors as f64)),
            Role::Text,
        )
    }));
    lines
}
