//! The axes: round prices at the left, times below, both dim.

use ratatui::buffer::Buffer;

use super::{ChartData, layout::ChartLayout};
use crate::tui::theme::Theme;

pub(super) fn grid(_: &ChartData<'_>, _: &ChartLayout, _: &mut Buffer, _: &Theme) {}
pub(super) fn price(_: &ChartData<'_>, _: &ChartLayout, _: &mut Buffer, _: &Theme) {}
pub(super) fn time(_: &ChartData<'_>, _: &ChartLayout, _: &mut Buffer, _: &Theme) {}
