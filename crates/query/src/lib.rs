//! What is asked of a dataset: the questions, the deck that answers them from one generation, the jobs and alerts that ask on their own,
//! and the documents made of answers. No front end here.

pub mod deck;
pub mod document;
pub mod jobs;
pub mod question;
