//! Tests of `Many`, a node with one instance of a protocol per name: at least one test per rule,
//! and properties of a group of nodes with named locks.

mod harness;
mod lock_group;
mod properties;
mod rules;
