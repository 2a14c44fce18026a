//! What lies over the candles: spans, levels, lines, the crosshair.

use ratatui::buffer::Buffer;

use super::{ChartData, layout::ChartLayout};
use crate::tui::theme::Theme;

pub(super) fn spans(_: &ChartData<'_>, _: &ChartLayout, _: &mut Buffer, _: &Theme) {}
pub(super) fn levels(_: &ChartData<'_>, _: &ChartLayout, _: &mut Buffer, _: &Theme) {}
pub(super) fn lines(_: &ChartData<'_>, _: &ChartLayout, _: &mut Buffer, _: &Theme) {}
pub(super) fn crosshair(_: &ChartData<'_>, _: &ChartLayout, _: &mut Buffer, _: &Theme) {}
