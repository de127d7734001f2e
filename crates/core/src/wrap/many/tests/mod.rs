//! Tests of many named instances: one per rule, and properties of a group of named locks.

mod harness;
mod lock_group;
mod properties;
mod rules;
