//! Ids of jobs (`j_`) and alerts (`a_`), built like ULIDs: 26 digits of Crockford's base 32, encoding 48 bits of time and 80 random bits.
//! They sort by time, cannot be guessed and need no escaping in a path.

use std::time::{SystemTime, UNIX_EPOCH};

use model::{
    error::{Code, Problem, Result},
    time::Time,
};

const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const RANDOM_BITS: u32 = 80;

/// Id prefixes.
pub(super) const JOB: &str = "j_";
pub(super) const ALERT: &str = "a_";

/// Returns an id that sorts after `last` of the same kind, even within a millisecond or after the clock was set back.
pub(super) fn new(kind: &str, last: Option<&str>) -> Result<String> {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |age| age.as_millis());
    let after_last = last
        .and_then(|last| created_at(kind, last))
        .map_or(0, |time| time.0 as u128 + 1);
    let mut random = [0u8; 16];
    getrandom::fill(&mut random[6..]).map_err(|_| {
        Problem::new(
            Code::Busy,
            "The system cannot supply random numbers right now; retry in a moment.",
        )
    })?;
    let time = now.max(after_last) & ((1 << 48) - 1);
    Ok(encoded(
        kind,
        time << RANDOM_BITS | u128::from_be_bytes(random),
    ))
}

/// Returns the smallest possible job id of `time`: older jobs sort before it.
pub(super) fn first_at(time: Time) -> String {
    encoded(JOB, (time.0.max(0) as u128) << RANDOM_BITS)
}

fn encoded(kind: &str, mut bits: u128) -> String {
    let mut digits = [0u8; 26];
    for digit in digits.iter_mut().rev() {
        *digit = DIGITS[(bits & 31) as usize];
        bits >>= 5;
    }
    digits.iter().fold(kind.to_owned(), |id, digit| {
        id + char::from(*digit).encode_utf8(&mut [0; 4])
    })
}

/// Returns the creation time encoded in a job id; `None` if it is no job id.
pub fn created(id: &str) -> Option<Time> {
    created_at(JOB, id)
}

fn created_at(kind: &str, id: &str) -> Option<Time> {
    let digits = id.strip_prefix(kind).filter(|digits| digits.len() == 26)?;
    let mut bits = 0u128;
    for digit in digits.bytes() {
        bits = bits << 5 | DIGITS.iter().position(|known| *known == digit)? as u128;
    }
    Some(Time((bits >> RANDOM_BITS) as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_sort_by_creation_and_say_when_it_was() {
        let first = new(JOB, None).expect("random bytes");
        let mut ids = vec![first];
        for i in 0..100 {
            ids.push(new(JOB, Some(&ids[i])).expect("random bytes"));
        }
        assert!(ids.is_sorted_by(|a, b| a < b
            && a.len() == 28
            && a.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')));
        let age = created(&ids[100]).expect("an id").0 - created(&ids[0]).expect("an id").0;
        assert!((100..10_000).contains(&age), "{age}");
        let time = created(&ids[0]).expect("an id");
        assert!(time.to_string().starts_with("20"));
        assert!(first_at(time) < ids[0] && ids[0] < first_at(Time(time.0 + 1)));
    }

    #[test]
    fn other_texts_are_no_ids() {
        for text in [
            "",
            "j_",
            "j_0",
            "j_uuuuuuuuuuuuuuuuuuuuuuuuuu",
            "j_€€€€€€€€€€€€€€",
            "x_00000000000000000000000000",
        ] {
            assert_eq!(created(text), None, "{text}");
        }
    }
}
