//! Checks by name: every fixture is caught, every twin is let go, and whatever is found replays.

mod agreement;
mod common;
mod delays;
mod elections;
mod fixtures;
mod journals;
mod toys;
mod views;
