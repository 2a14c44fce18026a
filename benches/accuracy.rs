//! How right the analyses are, on labelled cases of our own making and on the labelled real data: `cargo bench --bench accuracy --
//! patterns|security|trends|yield`. Prints tables; nothing here passes or fails, and timings are in `speed`.

#[path = "accuracy/patterns.rs"]
mod patterns;
#[path = "accuracy/security.rs"]
mod security;
#[path = "accuracy/trends.rs"]
mod trends;
#[path = "accuracy/yields.rs"]
mod yields;

/// Each report: its word on the command line and what prints it.
const REPORTS: &[(&str, fn())] = &[
    ("patterns", patterns::report),
    ("patterns-development", patterns::development),
    ("security", security::report),
    ("security-development", security::development),
    ("trends", trends::report),
    ("yield", yields::report),
];

fn main() {
    // Cargo adds `--bench` of its own.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let known: Vec<&str> = REPORTS.iter().map(|(word, _)| *word).collect();
    for word in words.iter().filter(|word| !known.contains(&word.as_str())) {
        eprintln!("no report `{word}`; there are: {}", known.join(", "));
    }
    for (word, print) in REPORTS {
        if words.is_empty() || words.iter().any(|asked| asked == word) {
            print();
        }
    }
}
