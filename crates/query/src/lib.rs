//! Queries of a dataset: the queries, the service that answers them from one snapshot, the jobs and alerts that run queries in the
//! background, and the documents made of the results. No front end here.

pub mod document;
pub mod error;
pub mod jobs;
pub mod queries;
pub mod service;
