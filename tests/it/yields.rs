//! Yield plans: the solver against independent optimisers, its properties, and all documented cases of the endpoint.

mod endpoint;
#[path = "../generator/yields.rs"]
mod generator;
mod hostile;
mod oracle;
mod properties;
