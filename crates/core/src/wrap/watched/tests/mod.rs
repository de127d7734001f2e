//! Tests of failure detection: at least one per rule, and the pace compared with the paper's
//! formula.

mod harness;
mod pace;
mod rules;
