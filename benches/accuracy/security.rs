//! Accuracy of the security inference on the labelled contracts, reported on a hold-out third of the clusters. One file per topic; each
//! prints its rows of the table of goals.

#[path = "security/chance.rs"]
mod chance;
#[path = "security/code.rs"]
mod code;
#[path = "security/corpus.rs"]
mod corpus;
#[path = "security/data.rs"]
mod data;
#[path = "security/likeness.rs"]
mod likeness;
#[path = "security/scams.rs"]
mod scams;
#[path = "security/verdicts.rs"]
mod verdicts;

use corpus::Section;
pub(crate) use verdicts::report as verdicts;

/// Prints the hold-out metrics, then those of transfers, pools and code similarity.
pub(crate) fn report() {
    contracts(Section::Closed);
    data::report();
}

/// Prints the metrics of the two development thirds, with those of each rule.
pub(crate) fn development() {
    contracts(Section::Open);
}

fn contracts(section: Section) {
    println!("\n# security");
    match corpus::read() {
        Ok(contracts) => code::print(&contracts, section),
        Err(why) => println!("skipped: {why}"),
    }
}
