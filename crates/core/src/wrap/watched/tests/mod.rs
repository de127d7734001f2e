//! Tests of failure detection: one a rule, and the figures of pace beside the paper's formula.

mod pace;
mod rules;
mod stage;
