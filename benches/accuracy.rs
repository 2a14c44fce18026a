//! Accuracy of the analyses on synthetic and real labelled cases: `cargo bench --bench accuracy --
//! charts|patterns|record|security|security-record|trends|yield`. Prints tables without pass or fail; timings are in `speed`.

#[path = "accuracy/charts.rs"]
mod charts;
#[path = "accuracy/patterns.rs"]
mod patterns;
#[path = "../tests/generator/random.rs"]
mod random;
#[path = "accuracy/record.rs"]
mod record;
#[path = "accuracy/security.rs"]
mod security;
#[path = "accuracy/trends.rs"]
mod trends;
#[path = "accuracy/yields.rs"]
mod yields;

/// Each report: its command-line name and its function.
const REPORTS: &[(&str, fn())] = &[
    ("charts", charts::report),
    ("charts-fit", charts::fit),
    ("patterns", patterns::report),
    ("patterns-development", patterns::development),
    ("record", record::report),
    ("security", security::report),
    ("security-development", security::development),
    ("security-record", security::verdicts),
    ("trends", trends::report),
    ("yield", yields::report),
];

fn main() {
    // Cargo adds `--bench` itself.
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'))
        .collect();
    let known: Vec<&str> = REPORTS.iter().map(|(word, _)| *word).collect();
    for word in words.iter().filter(|word| !known.contains(&word.as_str())) {
        eprintln!("no report `{word}`; there are: {}", known.join(", "));
    }
    for (word, print) in REPORTS {
        // Fitting modifies the source, so it runs on request only.
        if words.is_empty() && *word != "charts-fit" || words.iter().any(|asked| asked == word) {
            print();
        }
    }
}
