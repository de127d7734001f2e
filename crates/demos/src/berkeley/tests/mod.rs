//! The rules by hand, and whole scenarios.

mod rules;
mod scenarios;
