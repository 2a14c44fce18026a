//! Overlap resolution of textbook patterns (the better one is kept), and the sort order of all patterns.

use super::find::FoundPattern;

/// Minimum overlap, as a fraction of the shorter one, at which two patterns conflict.
const OVERLAP_MOST: f64 = 0.4;
/// Bucket width in candles of the index of kept patterns.
const BUCKET: u32 = 256;

/// Returns the patterns to keep. `count` is the number of valid candles.
pub(super) fn choose(mut finds: Vec<FoundPattern>, count: usize) -> Vec<FoundPattern> {
    let rank = |find: &FoundPattern| find.confidence + 0.07 * find.turns.as_slice().len() as f64;
    let place = |find: &FoundPattern| (find.end(count), find.start, find.name);
    finds.sort_by(|a, b| rank(b).total_cmp(&rank(a)).then_with(|| place(a).cmp(&place(b))));
    let mut buckets: Vec<Vec<(u32, u32)>> = vec![Vec::new(); count / BUCKET as usize + 1];
    finds.retain(|find| {
        let (start, end) = (find.start, find.end(count));
        let span = (start / BUCKET) as usize..=(end / BUCKET) as usize;
        if buckets[span.clone()].iter().flatten().any(|kept| too_close(*kept, (start, end))) {
            return false;
        }
        buckets[span].iter_mut().for_each(|bucket| bucket.push((start, end)));
        true
    });
    finds
}

/// Sorts by end, latest first, then by descending confidence.
pub(super) fn order(finds: &mut [FoundPattern], count: usize) {
    finds.sort_by(|a, b| {
        let later = b.end(count).cmp(&a.end(count));
        later.then(b.confidence.total_cmp(&a.confidence)).then((a.start, a.name).cmp(&(b.start, b.name)))
    });
}

fn too_close(a: (u32, u32), b: (u32, u32)) -> bool {
    let shared = (a.1.min(b.1) + 1).saturating_sub(a.0.max(b.0));
    let shorter = (a.1 - a.0).min(b.1 - b.0) + 1;
    f64::from(shared) >= OVERLAP_MOST * f64::from(shorter)
}
