//! Datasets from files to tables: the recorded data, broken files, and files of noise.

mod real;
