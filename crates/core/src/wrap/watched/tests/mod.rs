//! Tests of failure detection: one per rule, and the pace compared with the paper's formula.

mod harness;
mod pace;
mod rules;
