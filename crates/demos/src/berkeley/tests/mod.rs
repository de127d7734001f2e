//! Tests of the rules on one node, and of whole scenarios.

mod rules;
mod scenarios;
