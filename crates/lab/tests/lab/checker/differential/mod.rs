//! Compares the checker's verdicts on random walks with those of the observers that judge simulated
//! runs.

mod elections;
mod multicasts;
mod mutex;
