//! Exhaustive checks: every fixture violates a property, its correct twin none, and every
//! counterexample replays.

mod agreement;
mod common;
mod delays;
mod elections;
mod fixtures;
mod journals;
mod toys;
mod views;
