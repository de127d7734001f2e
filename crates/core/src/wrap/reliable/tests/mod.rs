//! Tests of reliable links: at least one per rule, and properties on a small faulty network.

mod network;
mod properties;
mod rules;
