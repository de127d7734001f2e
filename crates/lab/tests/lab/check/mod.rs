//! Exhaustive checks: every fixture fails, its correct twin passes, and every counterexample
//! replays.

mod agreement;
mod common;
mod delays;
mod elections;
mod fixtures;
mod journals;
mod toys;
mod views;
