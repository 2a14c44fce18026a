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
    2 HEIGHT_OVER_RANDOM_WALK "height over a random walk's";
    3 RANGE_OVER_START "true range over initial range";
    4 RISE_20 "rise 20 candles before, heights";
    5 RISE_45 "rise 45 candles before, heights";
    6 FALL_20 "fall 20 candles before, heights";
    7 FALL_45 "fall 45 candles before, heights";
    8 EXPLAINED_BY_LEGS "share of closes its legs explain";
    9 UNEVEN_LEGS "unevenness of its legs in time";
    10 SMALLEST_SWING "smallest swing in heights";
    11 TIME_AFTER_LAST_TURN "time after last turn, lengths";
    12 CLOSE_PAST_BOUNDARY "close past boundary, true ranges";
    13 LAST_BODY "last candle's body, true ranges";
    14 BEST_MOVE_10 "best move 10 candles on, heights";
    15 WORST_MOVE_10 "worst move 10 candles on, heights";
    16 BEST_MOVE_25 "best move 25 candles on, heights";
    17 TIME_SINCE_EXTREME "time since this extreme, lengths";
    18 START_OFF_EXTREME "start off the extreme, heights";
    19 WAY_OVER_LEGS "path of closes over its legs";
    20 NET_MOVE "net move in heights";
    21 FIRST_SIXTH "mean close, 1st sixth, of range";
    22 _ "mean close, 2nd sixth, of range";
    23 _ "mean close, 3rd sixth, of range";
    24 _ "mean close, 4th sixth, of range";
    25 _ "mean close, 5th sixth, of range";
    26 _ "mean close, last sixth, of range";
    27 FORMING "still forming";
    28 RANGE_OF_HALVES "true range, 2nd half over 1st";
    29 SPAN "span's range in heights";
    30 SMALLEST_SWING_IN_RANGES "smallest swing in true ranges";
    31 CLOSE_BEFORE_START "close before start, of range";
    32 END_OFF_EXTREME "last turn off extreme, heights";
    33 CLOSES_OUTSIDE "closes outside its lines";
    34 INSIDE_BEFORE_START "prior candles within its lines";
    35 CANDLES_SINCE_END "candles since the end, up to 25";
    36 UPSIDE_DOWN "inverted: the falling form";
}

measures! {
    /// Double bottoms.
    double: super::OWN;
    0 LEVEL_CHANGE "second turn beyond the first, in heights";
    1 LEVEL_DIFFERENCE "difference of the two turns, in heights";
    2 FIRST_HALF "share of its time before the middle turn";
    3 OFF_MIDDLE "middle turn off the middle of its time";
    4 BEYOND_TURNS "prices beyond both turns between them, in heights";
    5 BREAKOUT_WAIT "wait for the breakout, in gaps of the turns";
    6 EARLY_BREAKOUT "breakout a little early";
    7 TURNS_BETWEEN "turns between the two";
    8 SCALE "swing at which it shows, in true ranges";
    9 WICK_BEYOND "wick beyond the neckline before the breakout, in heights";
    12 TOLERANCE_USED "worst use of the textbook's tolerances";
    13 TREND_BEFORE "trend into it, in heights";
}

measures! {
    /// Inverse heads and shoulders.
    head_and_shoulders: super::OWN;
    0 SHOULDER_CHANGE "left shoulder beyond the right, in heights";
    1 SHOULDER_DIFFERENCE "difference of the shoulders, in heights";
    2 NECKLINE_SLOPE "slope of the neckline, in heights";
    3 NECKLINE_TILT "tilt of the neckline, in heights";
    4 HEAD_BEYOND_SHOULDERS "head beyond the shoulders, in heights";
    5 OFF_MIDDLE "middle turn off the middle of its time";
    6 HEAD_TIME "head's share of its time";
    7 BREAKOUT_WAIT "wait for the breakout, in lengths";
    8 LEVEL_NECKLINE "level neckline";
    9 WICK_BEYOND "wick beyond the neckline before the breakout, in heights";
    10 SMALLER_SHOULDER "smaller shoulder, in heights";
    11 LARGER_SHOULDER "larger shoulder, in heights";
    12 TOLERANCE_USED "worst use of the textbook's tolerances";
    13 TREND_BEFORE "trend into it, in heights";
}

measures! {
    /// Triple bottoms.
    triple: super::OWN;
    0 LEVEL_DIFFERENCE "difference of the three turns, in heights";
    1 BETWEEN_DIFFERENCE "difference of the two turns between, in heights";
    2 OFF_MIDDLE "middle turn off the middle of its time";
    3 MIDDLE_AGAINST_OUTER "middle turn against the outer ones, in heights";
    4 BREAKOUT_WAIT "wait for the breakout, in lengths";
    5 WICK_BEYOND "wick beyond the boundary before the breakout, in heights";
    12 TOLERANCE_USED "worst use of the textbook's tolerances";
    13 TREND_BEFORE "trend into it, in heights";
}

measures! {
    /// Rounding bottoms and cups with a handle.
    bowl: super::OWN;
    0 RIM_CHANGE "right rim over the left, in heights";
    1 RIM_DIFFERENCE "difference of the rims, in heights";
    2 OFF_MIDDLE "turn off the middle, in lengths";
    3 BEND "bend of its curve, in heights";
    4 PARABOLA_R2 "share of the spread that a parabola explains";
    5 TIME_NEAR_LOW "share of its time near the turn";
    6 DEEPEST_OFF_MIDDLE "deepest part off the middle, in lengths";
    7 OVER_LEFT_RIM "closed beyond the left rim";
    8 HANDLE_DEPTH "depth of the handle, in heights";
    9 HANDLE_TIME "handle's time over the cup's";
    10 EARLY_BREAKOUT "breakout a little early";
    12 TOLERANCE_USED "worst use of the textbook's tolerances";
}

measures! {
    /// Bull flags and pennants.
    flag: super::OWN;
    0 POLE_HEIGHT "pole in true ranges";
    1 POLE_CANDLES "candles of the pole";
    2 TIME_OVER_POLE "flag's time over the pole's";
    3 RETRACEMENT "share of the pole that the flag gives back";
    4 UPPER_SLOPE "slope of the flag's outer line, in poles";
    5 LOWER_SLOPE "slope of the flag's inner line, in poles";
    6 NARROWING "flag's last width over its first";
    7 POLE_OVER_WAY "pole over the path of its closes";
    8 POLE_OVER_RANDOM_WALK "pole over a random walk as long";
    9 WIDTH "flag's width in poles";
    10 OVER_POLE "closed beyond the pole's end";
    11 CANDLES "candles of the flag";
    12 CONVERGENCE "how fast the flag's lines meet, in widths";
}

measures! {
    /// Patterns between two lines.
    lines: super::OWN;
    0 TOUCHES "touches of its lines";
    1 FURTHEST_OUTSIDE "furthest turn outside its lines, in widths";
    2 MEAN_DISTANCE "mean distance of turns from their lines, in widths";
    3 UPPER_RISE "rise of the upper line, in widths";
    4 LOWER_RISE "rise of the lower line, in widths";
    5 NARROWING "last width over the first";
    6 TURNS "turns";
    7 BROKE_UP "broke out upward";
    8 TILT "slope of both lines, in widths";
    9 CONVERGENCE "difference of the lines' slopes, in widths";
    12 TOLERANCE_USED "worst use of the textbook's tolerances";
}

/// Label of a measure, in a trader's words.
pub(super) fn label(kind: CandidateKind, measure: usize) -> &'static str {
    let Some(own) = measure.checked_sub(COMMON) else { return common::LABELS[measure] };
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
