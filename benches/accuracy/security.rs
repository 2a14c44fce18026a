//! How right the security inference is on the labelled contracts: reported on a third of the clusters that no tuning sees. One file a
//! topic; each prints its rows of the table of goals.

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

use corpus::Section;

/// Prints the figures of the closed third, then those of transfers, pools and likeness.
pub(crate) fn report() {
    contracts(Section::Closed);
    data::report();
}

/// Prints the figures of the open two thirds, with what each rule does there.
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
