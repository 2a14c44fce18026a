//! Index and label of every measure of a candidate. The fitted coefficients refer to these indexes.

use super::candidate::{CandidateKind, OWN};

/// Number of measures common to all kinds.
pub(super) const COMMON: usize = 37;

/// Declares a table of measures: the index of each, and its label in a trader's words; `_` is written through its neighbor's index.
macro_rules! measures {
    ($(#[$doc:meta])* $table:ident: $count:expr; $($index:literal $name:tt $label:literal;)*) => {
        $(#[$doc])*
        pub(super) mod $table {
            $(pub(in super::super) const $name: usize = $index;)*
            pub(in super::super) const LABELS: [&str; $count] = {
                let mut labels = [""; $count];
                $(labels[$index] = $label;)*
                labels
            };
        }
    };
}

measures! {
    /// Measures common to all kinds.
    common: super::COMMON;
    0 LENGTH "length in candles";
    1 HEIGHT "height in true ranges";
    2 HEIGHT_OVER_RANDOM_WALK "height / random walk's height";
    3 RANGE_OVER_START "mean true range / range at start";
    4 RISE_20 "prior 20-candle rise, in heights";
    5 RISE_45 "prior 45-candle rise, in heights";
    6 FALL_20 "prior 20-candle fall, in heights";
    7 FALL_45 "prior 45-candle fall, in heights";
    8 EXPLAINED_BY_LEGS "closes explained by legs, R²";
    9 UNEVEN_LEGS "unevenness of leg durations";
    10 SMALLEST_SWING "smallest swing in heights";
    11 TIME_AFTER_LAST_TURN "time after last turn, in lengths";
    12 CLOSE_PAST_BOUNDARY "close past boundary, true ranges";
    13 LAST_BODY "last candle's move, true ranges";
    14 BEST_MOVE_10 "best move in 10 candles, heights";
    15 WORST_MOVE_10 "worst move in 10 candles, heights";
    16 BEST_MOVE_25 "best move in 25 candles, heights";
    17 TIME_SINCE_EXTREME "time since equal extreme, lengths";
    18 START_OFF_EXTREME "start vs. extreme, in heights";
    19 WAY_OVER_LEGS "path of closes / path of legs";
    20 NET_MOVE "net move in heights";
    21 FIRST_SIXTH "1st sixth: mean close in range";
    22 _ "2nd sixth: mean close in range";
    23 _ "3rd sixth: mean close in range";
    24 _ "4th sixth: mean close in range";
    25 _ "5th sixth: mean close in range";
    26 _ "last sixth: mean close in range";
    27 FORMING "still forming";
    28 RANGE_OF_HALVES "true range, 2nd half / 1st half";
    29 SPAN "price range in heights";
    30 SMALLEST_SWING_IN_RANGES "smallest swing in true ranges";
    31 CLOSE_BEFORE_START "close before start, share of range";
    32 END_OFF_EXTREME "last turn vs. extreme, in heights";
    33 CLOSES_OUTSIDE "share of closes outside its lines";
    34 INSIDE_BEFORE_START "prior candles within its lines";
    35 CANDLES_SINCE_END "candles since the end, up to 25";
    36 UPSIDE_DOWN "top or falling form";
}

measures! {
    /// Double bottoms.
    double: super::OWN;
    0 LEVEL_CHANGE "first turn beyond the second, in heights";
    1 LEVEL_DIFFERENCE "difference between the two turns, in heights";
    2 FIRST_HALF "share of its time before the middle turn";
    3 OFF_MIDDLE "middle turn's distance from the midpoint in time";
    4 BEYOND_TURNS "farthest price beyond both turns, in heights";
    5 BREAKOUT_WAIT "wait for the breakout / time between the turns";
    6 EARLY_BREAKOUT "breakout just short of the line";
    7 TURNS_BETWEEN "extra turns between the two";
    8 SCALE "minimum swing of its turns, in true ranges";
    9 WICK_BEYOND "wick beyond the neckline before the breakout, in heights";
    12 TOLERANCE_USED "largest share used of any textbook tolerance";
    13 TREND_BEFORE "prior trend, in heights";
}

measures! {
    /// Inverse heads and shoulders.
    head_and_shoulders: super::OWN;
    0 SHOULDER_CHANGE "right shoulder beyond the left, in heights";
    1 SHOULDER_DIFFERENCE "difference between the shoulders, in heights";
    2 NECKLINE_SLOPE "slope of the neckline, in heights";
    3 NECKLINE_TILT "tilt of the neckline, in heights";
    4 HEAD_BEYOND_SHOULDERS "head beyond the shoulders, in heights";
    5 OFF_MIDDLE "middle turn's distance from the midpoint in time";
    6 HEAD_TIME "time between the neckline's turns, in lengths";
    7 BREAKOUT_WAIT "wait for the breakout, in lengths";
    8 LEVEL_NECKLINE "level neckline";
    9 WICK_BEYOND "wick beyond the neckline before the breakout, in heights";
    10 SMALLER_SHOULDER "smaller shoulder, in heights";
    11 LARGER_SHOULDER "larger shoulder, in heights";
    12 TOLERANCE_USED "largest share used of any textbook tolerance";
    13 TREND_BEFORE "prior trend, in heights";
}

measures! {
    /// Triple bottoms.
    triple: super::OWN;
    0 LEVEL_DIFFERENCE "largest difference between the three turns, in heights";
    1 BETWEEN_DIFFERENCE "difference between the two turns in between, in heights";
    2 OFF_MIDDLE "middle turn's distance from the midpoint in time";
    3 MIDDLE_AGAINST_OUTER "middle turn compared with the outer ones, in heights";
    4 BREAKOUT_WAIT "wait for the breakout, in lengths";
    5 WICK_BEYOND "wick beyond the boundary before the breakout, in heights";
    12 TOLERANCE_USED "largest share used of any textbook tolerance";
    13 TREND_BEFORE "prior trend, in heights";
}

measures! {
    /// Rounding bottoms and cups with a handle.
    bowl: super::OWN;
    0 RIM_CHANGE "right rim beyond the left, in heights";
    1 RIM_DIFFERENCE "difference between the rims, in heights";
    2 OFF_MIDDLE "turn's distance from the midpoint, in lengths";
    3 BEND "curvature of the fitted parabola, in heights";
    4 PARABOLA_R2 "closes explained by a parabola, R²";
    5 TIME_NEAR_LOW "share of its time near the turn";
    6 DEEPEST_OFF_MIDDLE "deepest part's distance from the midpoint, in lengths";
    7 OVER_LEFT_RIM "closed beyond the left rim";
    8 HANDLE_DEPTH "depth of the handle, in heights";
    9 HANDLE_TIME "handle's duration / cup's duration";
    10 EARLY_BREAKOUT "breakout just short of the line";
    12 TOLERANCE_USED "largest share used of any textbook tolerance";
}

measures! {
    /// Bull flags and pennants.
    flag: super::OWN;
    0 POLE_HEIGHT "pole height in true ranges";
    1 POLE_CANDLES "candles in the pole";
    2 TIME_OVER_POLE "flag's duration / pole's duration";
    3 RETRACEMENT "share of the pole that the flag gives back";
    4 UPPER_SLOPE "slope of the flag's outer line, in pole heights";
    5 LOWER_SLOPE "slope of the flag's inner line, in pole heights";
    6 NARROWING "flag's last width over its first";
    7 POLE_OVER_WAY "pole height / path of its closes";
    8 POLE_OVER_RANDOM_WALK "pole height / random walk's height";
    9 WIDTH "flag's width in pole heights";
    10 OVER_POLE "closed beyond the pole's end";
    11 CANDLES "candles in the flag";
    12 CONVERGENCE "convergence of the flag's lines, in widths";
}

measures! {
    /// Patterns between two lines.
    lines: super::OWN;
    0 TOUCHES "touches of its lines";
    1 FURTHEST_OUTSIDE "farthest turn outside its lines, in widths";
    2 MEAN_DISTANCE "mean distance of turns from their lines, in widths";
    3 UPPER_RISE "rise of the upper line, in widths";
    4 LOWER_RISE "rise of the lower line, in widths";
    5 NARROWING "last width over the first";
    6 TURNS "turns";
    7 BROKE_UP "broke out upward";
    8 TILT "mean slope of the lines, in widths";
    9 CONVERGENCE "difference between the lines' slopes, in widths";
    12 TOLERANCE_USED "largest share used of any textbook tolerance";
}

/// Label of a measure, in a trader's words.
pub(super) fn label(kind: CandidateKind, measure: usize) -> &'static str {
    let Some(own) = measure.checked_sub(COMMON) else {
        return common::LABELS[measure];
    };
    let labels = match kind {
        CandidateKind::Double => &double::LABELS,
        CandidateKind::HeadAndShoulders => &head_and_shoulders::LABELS,
        CandidateKind::Triple => &triple::LABELS,
        CandidateKind::Rounding | CandidateKind::Cup => &bowl::LABELS,
        CandidateKind::Flag | CandidateKind::Pennant => &flag::LABELS,
        _ => &lines::LABELS,
    };
    labels[own]
}
