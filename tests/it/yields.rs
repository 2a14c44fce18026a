//! Yield plans: the solver against other ways to the optimum, its properties, and the endpoint in every case its description names.

mod endpoint;
#[path = "../generator/yields.rs"]
mod generator;
mod hostile;
mod oracle;
mod properties;
