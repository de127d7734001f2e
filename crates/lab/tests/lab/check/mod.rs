//! Checks of algorithms and fixtures: verdicts, counterexamples and their replays.

mod agreement;
mod common;
mod delays;
mod elections;
mod fixtures;
mod journals;
mod toys;
mod views;
