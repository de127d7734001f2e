//! Tests of the armies' rules, and of whole runs in either timing model.

mod rules;
mod scenarios;
