//! The detail of one DEX: version, contracts, value locked and fee tiers, above its pools.

use ratatui::{buffer::Buffer, layout::Rect};

use crate::{view::Context, views::parts::role_of};
use analysis::dex::{DexDetail, FeeTier};
use model::format::{self, MISSING};
use widgets::{put, put_right, text};

const LABEL: u16 = 13;
/// Lines of the fee tiers.
const FEE_LINES: usize = 2;

/// Draws the detail; returns the lines used, plus an empty one where pools fit below.
pub(super) fn draw(detail: &DexDetail, buffer: &mut Buffer, area: Rect, context: &Context<'_>) -> u16 {
    let theme = context.theme;
    let missing = || MISSING.to_owned();
    let locked = format::human(detail.total_value_locked);
    let locked = if locked == MISSING { locked } else { format!("{locked} USD") };
    let facts = [
        ("version", detail.version.clone().unwrap_or_else(missing)),
        ("router", detail.router.map_or_else(missing, |address| address.to_string())),
        ("factory", detail.factory.map_or_else(missing, |address| address.to_string())),
        ("value locked", locked),
    ];
    let mut y = 0;
    for (label, value) in facts {
        put(buffer, area, 0, y, label, theme.dim());
        let style = if value.starts_with("0x") { theme.accent() } else { theme.style(role_of(&value)) };
        put(buffer, area, LABEL, y, &value, style);
        y += 1;
    }
    let exact = format::exact(detail.total_value_locked);
    if exact != MISSING && area.width >= 50 {
        put_right(buffer, area, y - 1, &exact, theme.dim());
    }
    put(buffer, area, 0, y, "fee tiers", theme.dim());
    let tiers: Vec<String> = detail.fee_structure.iter().map(tier).collect();
    let tiers = if tiers.is_empty() { missing() } else { tiers.join(" · ") };
    for line in text::wrap(&tiers, usize::from(area.width.saturating_sub(LABEL)), FEE_LINES) {
        put(buffer, area, LABEL, y, &line, theme.style(role_of(&line)));
        y += 1;
    }
    if area.height > y + 6 { y + 1 } else { y }
}

/// `0.3 %`, or `stable 0.01 %` for a named tier.
fn tier(tier: &FeeTier) -> String {
    if let Some(percent) = tier.tier.strip_suffix('%') {
        format!("{} %", percent.trim_end())
    } else {
        format!("{} {}", tier.tier, format::share(tier.fee))
    }
}
