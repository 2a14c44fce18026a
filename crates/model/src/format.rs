//! Number formats for people: three significant digits in lists, exact in details, never blank. Presentation only: values are rounded here,
//! never computed.

use crate::time::Time;

/// Placeholder for a missing value.
pub const MISSING: &str = "–";

const SUFFIXES: &[(f64, &str)] = &[(1e15, "P"), (1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")];

/// Three significant digits: `12.3M`, `812k`, `2,114`, `7.31`, `0.00000214`. Below ten thousand all integer digits are kept.
pub fn human(value: Option<f64>) -> String {
    let Some(value) = value.filter(|value| value.is_finite()) else {
        return MISSING.to_owned();
    };
    let size = value.abs();
    if size == 0.0 {
        return "0".to_owned();
    }
    if !(1e-10..1e18).contains(&size) {
        return format!("{value:.2e}");
    }
    if size < 9_999.5 {
        return trim_zeros(grouped(&significant(value, 3)), value);
    }
    // Rounding to three digits can reach the next suffix: 999,999 is 1.00M, not 1000k.
    let rounded = round_significant(size, 3);
    let (unit, suffix) = SUFFIXES
        .iter()
        .find(|(unit, _)| rounded >= *unit)
        .copied()
        .unwrap_or((1.0, ""));
    format!(
        "{}{suffix}",
        significant(value.signum() * rounded / unit, 3)
    )
}

/// Like `human`, in scientific notation below 0.01, with as many of the three significant digits as fit in `cells`: `2.14e-6` in seven,
/// `2.1e-6` in six. One digit is the least, even if it does not fit: a number that is cut off would read as another number.
pub fn brief(value: f64, cells: usize) -> String {
    let is_plain = value == 0.0 || !(0.0..0.01).contains(&value.abs());
    let fits = |text: &String| text.len() <= cells;
    let plain = Some(human(Some(value))).filter(|text| is_plain && fits(text));
    let scientific = |decimals: usize| format!("{value:.decimals$e}");
    plain
        .or_else(|| (1..3).rev().map(scientific).find(fits))
        .unwrap_or_else(|| scientific(0))
}

/// Largest unit not above the value, with its suffix; `None` below a thousand.
pub fn unit(value: f64) -> Option<(f64, &'static str)> {
    SUFFIXES
        .iter()
        .find(|(unit, _)| value.abs() >= *unit)
        .copied()
}

/// A price: cents from 10 up, four decimals from 0.1 (a peg deviates in the fourth), below that three significant digits.
pub fn price(value: Option<f64>) -> String {
    let Some(value) = value.filter(|value| value.is_finite()) else {
        return MISSING.to_owned();
    };
    let size = value.abs();
    match size {
        _ if size >= 1e7 => human(Some(value)),
        _ if size >= 9.999_95 => fixed(value, 2),
        _ if size >= 0.1 => format!("{value:.4}"),
        _ if size == 0.0 => "0".to_owned(),
        _ if size < 1e-10 => format!("{value:.2e}"),
        _ => significant(value, 3),
    }
}

/// Fixed decimals, with thousands separators: `2,950.0`.
pub fn fixed(value: f64, decimals: usize) -> String {
    grouped(&format!("{value:.decimals$}"))
}

/// All digits, with thousands separators: `2,987.41`, `1,234,567`.
pub fn exact(value: Option<f64>) -> String {
    let Some(value) = value.filter(|value| value.is_finite()) else {
        return MISSING.to_owned();
    };
    let size = value.abs();
    if size != 0.0 && !(1e-15..1e21).contains(&size) {
        format!("{value:e}")
    } else {
        grouped(&format!("{value}"))
    }
}

/// A count with thousands separators: `8,764`.
pub fn count(value: u64) -> String {
    grouped(&value.to_string())
}

/// `1 note`, `3 notes`.
pub fn plural(number: u64, one: &str, more: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { more })
}

/// A fraction as a percentage: `42.1%`.
pub fn share(fraction: Option<f64>) -> String {
    match fraction.filter(|value| value.is_finite()) {
        Some(value) => format!("{}%", percent_digits(value * 100.0)),
        None => MISSING.to_owned(),
    }
}

/// A percentage change with its direction, so that color is never the only carrier: `▲ 2.10%`, `▼ 38.2%`.
pub fn change(percent: Option<f64>) -> String {
    let Some(value) = percent.filter(|value| value.is_finite()) else {
        return MISSING.to_owned();
    };
    format!("{} {}%", direction(value), percent_digits(value.abs()))
}

/// `▲`, `▼` or a space by sign. A change that rounds to zero has no direction.
pub fn direction(value: f64) -> &'static str {
    match value {
        value if value >= 0.005 => "▲",
        value if value <= -0.005 => "▼",
        _ => " ",
    }
}

fn percent_digits(value: f64) -> String {
    let size = value.abs();
    match size {
        _ if size >= 9_999.5 => human(Some(value)),
        _ if size >= 99.95 => grouped(&format!("{value:.0}")),
        _ if size >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// A timestamp: `2026-08-14 09:30 UTC`.
pub fn moment(time: Time) -> String {
    format!("{} UTC", time.minute_text())
}

/// Start time of a candle: `2026-08-14 09:30`; for days and weeks the date only.
pub fn candle_time(time: Time) -> String {
    time.minute_text().trim_end_matches(" 00:00").to_owned()
}

/// Age in its largest unit: `45s`, `12m`, `3h`, `2d`, `5w`, `7mo`, `2y`. The future is `now`.
pub fn age(milliseconds: i64) -> String {
    let seconds = milliseconds / 1_000;
    let day = 86_400;
    match seconds {
        ..=0 => "now".to_owned(),
        1..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..86_400 => format!("{}h", seconds / 3_600),
        _ if seconds < 14 * day => format!("{}d", seconds / day),
        _ if seconds < 60 * day => format!("{}w", seconds / (7 * day)),
        _ if seconds < 730 * day => format!("{}mo", seconds / (30 * day)),
        _ => format!("{}y", seconds / (365 * day)),
    }
}

/// A duration: `640 µs`, `18 ms`, `2.4 s`, `3m 12s`, `2h 05m`.
pub fn duration(microseconds: u64) -> String {
    match microseconds {
        ..1_000 => format!("{microseconds} µs"),
        1_000..1_000_000 => format!("{} ms", microseconds / 1_000),
        1_000_000..60_000_000 => format!("{:.1} s", microseconds as f64 / 1e6),
        60_000_000..3_600_000_000 => format!(
            "{}m {:02}s",
            microseconds / 60_000_000,
            microseconds / 1_000_000 % 60
        ),
        _ => format!(
            "{}h {:02}m",
            microseconds / 3_600_000_000,
            microseconds / 60_000_000 % 60
        ),
    }
}

/// `812 B`, `2.09 GB`: decimal units, as for disks.
pub fn bytes(value: u64) -> String {
    let size = value as f64;
    match value {
        ..1_000 => format!("{value} B"),
        1_000..1_000_000 => format!("{} kB", significant(size / 1e3, 3)),
        1_000_000..1_000_000_000 => format!("{} MB", significant(size / 1e6, 3)),
        _ => format!("{} GB", significant(size / 1e9, 3)),
    }
}

/// `0x1f98…f984`: abbreviates an address or hash; a short text stays whole.
pub fn short_address(address: &str) -> String {
    let chars: Vec<char> = address.chars().collect();
    if chars.len() <= 12 {
        return address.to_owned();
    }
    let head: String = chars[..6].iter().collect();
    let tail: String = chars[chars.len() - 4..].iter().collect();
    format!("{head}…{tail}")
}

/// Pads the texts on the right so that their decimal points align when they are right-aligned. A whole number has its point after its last
/// digit, before its unit; text that is not a number ends where whole numbers do.
pub fn align_decimals(texts: &mut [String]) {
    let is_whole = |c: char| c.is_ascii_digit() || c == ',';
    let after = |text: &str| {
        let number = text
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(text.len());
        let point = text[number..]
            .find(|c| !is_whole(c))
            .map_or(text.len(), |end| number + end);
        text[point..].chars().count()
    };
    let most = texts.iter().map(|text| after(text)).max().unwrap_or(0);
    // A word or a dash has no decimals to align.
    for text in texts
        .iter_mut()
        .filter(|text| text.contains(|c: char| c.is_ascii_digit()))
    {
        let missing = most - after(text);
        text.extend(std::iter::repeat_n(' ', missing));
    }
}

/// Formats with `digits` significant digits, without an exponent. Integer digits are never rounded away.
fn significant(value: f64, digits: i32) -> String {
    let rounded = round_significant(value.abs(), digits);
    let decimals = (digits - 1 - magnitude(rounded)).clamp(0, 20) as usize;
    format!("{value:.decimals$}")
}

fn magnitude(size: f64) -> i32 {
    if size == 0.0 {
        0
    } else {
        size.log10().floor() as i32
    }
}

fn round_significant(size: f64, digits: i32) -> f64 {
    // The formatter rounds decimally and exactly; scaling by powers of ten would not.
    format!("{size:.*e}", (digits - 1).max(0) as usize)
        .parse()
        .unwrap_or(size)
}

/// Removes all-zero decimals of whole numbers: a count of 12 is `12`, not `12.0`.
fn trim_zeros(text: String, value: f64) -> String {
    match text.split_once('.') {
        Some((whole, _)) if value.fract() == 0.0 => whole.to_owned(),
        _ => text,
    }
}

/// Inserts thousands separators into a plain decimal number.
pub fn grouped(number: &str) -> String {
    let (sign, digits) = number
        .strip_prefix('-')
        .map_or(("", number), |rest| ("-", rest));
    let (whole, fraction) = digits
        .find('.')
        .map_or((digits, ""), |dot| digits.split_at(dot));
    let mut out = String::with_capacity(number.len() + whole.len() / 3);
    out.push_str(sign);
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out.push_str(fraction);
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn figures_have_three_significant_digits() {
        let cases = [
            (12_300_000.0, "12.3M"),
            (4.1e9, "4.10B"),
            (812_345.0, "812k"),
            (2_114.0, "2,114"),
            (9_999.0, "9,999"),
            (9_999.7, "10.0k"),
            (402_100.0, "402k"),
            (999_999.0, "1.00M"),
            (999_499.0, "999k"),
            (7.314, "7.31"),
            (0.004_567, "0.00457"),
            (12.0, "12"),
            (0.0, "0"),
            (-1_234_567.0, "-1.23M"),
            (1.5e20, "1.50e20"),
            (0.000_002_14, "0.00000214"),
        ];
        for (value, shown) in cases {
            assert_eq!(human(Some(value)), shown);
        }
        assert_eq!(
            (human(None), human(Some(f64::NAN))),
            (MISSING.to_owned(), MISSING.to_owned())
        );
    }

    #[test]
    fn a_narrow_cell_takes_digits_and_never_the_exponent() {
        let cases = [
            (2.14e-7, 7, "2.14e-7"),
            (2.14e-7, 6, "2.1e-7"),
            (-9.84e-7, 6, "-1e-6"),
            (-9.84e-7, 7, "-9.8e-7"),
            (9.84e-11, 6, "1e-10"),
            (9.84e-11, 7, "9.8e-11"),
            (1.5e20, 6, "1.5e20"),
            (-0.012_34, 6, "-1e-2"),
            (0.012_34, 6, "0.0123"),
            (-1_234_567.0, 6, "-1.23M"),
            (0.0, 1, "0"),
        ];
        for (value, cells, shown) in cases {
            assert_eq!(brief(value, cells), shown, "{value} in {cells}");
        }
    }

    #[test]
    fn prices_keep_cents_and_small_ones_their_digits() {
        let cases = [
            (2_987.41, "2,987.41"),
            (14.309, "14.31"),
            (9.999_96, "10.00"),
            (9.999_94, "9.9999"),
            (7.309, "7.3090"),
            (1.000_06, "1.0001"),
            (0.999_83, "0.9998"),
            (0.000_002_14, "0.00000214"),
            (2.14e-12, "2.14e-12"),
            (68_123.4, "68,123.40"),
            (0.0, "0"),
            (0.099_96, "0.100"),
        ];
        for (value, shown) in cases {
            assert_eq!(price(Some(value)), shown);
        }
    }

    #[test]
    fn exact_figures_lose_nothing() {
        let cases = [
            (2_987.41, "2,987.41"),
            (1_234_567.0, "1,234,567"),
            (0.1, "0.1"),
            (-12_345.678, "-12,345.678"),
            (123.0, "123"),
        ];
        for (value, shown) in cases {
            assert_eq!(exact(Some(value)), shown);
        }
    }

    #[test]
    fn changes_carry_their_direction() {
        let cases = [
            (Some(2.1), "▲ 2.10%"),
            (Some(-38.24), "▼ 38.2%"),
            (Some(0.001), "  0.00%"),
            (Some(1_234.5), "▲ 1,234%"),
            (None, "–"),
        ];
        for (value, shown) in cases {
            assert_eq!(change(value), shown);
        }
        assert_eq!(share(Some(0.421)), "42.1%");
    }

    #[test]
    fn ages_durations_and_sizes_use_their_largest_unit() {
        let hour = 3_600_000;
        let cases = [
            (0, "now"),
            (-5, "now"),
            (45_000, "45s"),
            (3 * hour, "3h"),
            (49 * hour, "2d"),
            (24 * hour * 35, "5w"),
            (24 * hour * 400, "13mo"),
        ];
        for (given, shown) in cases {
            assert_eq!(age(given), shown);
        }
        assert_eq!(moment(Time(1_786_699_800_000)), "2026-08-14 09:30 UTC");
        let days = [1_786_665_600_000, 1_786_699_800_000].map(|time| candle_time(Time(time)));
        assert_eq!(days, ["2026-08-14", "2026-08-14 09:30"]);
        assert_eq!(
            (duration(18_400), duration(192_000_000)),
            ("18 ms".to_owned(), "3m 12s".to_owned())
        );
        assert_eq!(
            (bytes(812), bytes(2_090_000_000)),
            ("812 B".to_owned(), "2.09 GB".to_owned())
        );
        assert_eq!(
            short_address("0x1f9840a85d5af5bf1d1762f925bdaddc4201f984"),
            "0x1f98…f984"
        );
    }

    #[test]
    fn decimal_points_stand_under_each_other() {
        let mut texts = [
            "7.31", "14", "0.125", MISSING, "▲ 16.7", "418M", "9.60k", "1,204",
        ]
        .map(str::to_owned);
        align_decimals(&mut texts);
        assert_eq!(
            texts,
            [
                "7.31 ",
                "14    ",
                "0.125",
                "–",
                "▲ 16.7  ",
                "418M   ",
                "9.60k",
                "1,204    "
            ]
        );
    }

    proptest! {
        #[test]
        fn every_float_has_a_short_text(value in any::<f64>()) {
            prop_assert!(human(Some(value)).chars().count() <= 15);
            prop_assert!(price(Some(value)).chars().count() <= 15);
            prop_assert!(!exact(Some(value)).is_empty());
            prop_assert!(!value.is_finite() || brief(value, 7).len() <= 7, "{}", brief(value, 7));
            prop_assert!(!change(Some(value)).is_empty());
        }

        #[test]
        fn the_rounded_figure_is_within_half_a_percent(value in 1e-9_f64..1e17) {
            let text = human(Some(value)).replace(',', "");
            let unit = SUFFIXES.iter().find(|(_, suffix)| text.ends_with(suffix));
            let digits = unit.map_or(text.as_str(), |(_, suffix)| text.trim_end_matches(suffix));
            let shown = digits.parse::<f64>().unwrap() * unit.map_or(1.0, |(size, _)| *size);
            prop_assert!((shown / value - 1.0).abs() <= 0.0051, "{value} {text}");
        }
    }
}
