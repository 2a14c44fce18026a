//! How right the security inference is on the developers' half of the labelled contracts. One file a topic; each prints its rows of the
//! table of goals.

#[path = "security/code.rs"]
mod code;
#[path = "security/corpus.rs"]
mod corpus;
#[path = "security/data.rs"]
mod data;

/// Prints the rows of the code part, then those of transfers, pools and likeness.
pub(crate) fn report() {
    println!("\n# security");
    match corpus::read() {
        Ok(contracts) => code::print(&contracts),
        Err(why) => println!("skipped: {why}"),
    }
    data::report();
}
