//! Tests of one member of a group that receives views and leases from the test: one test per rule
//! and more.

mod changes;
mod harness;
mod leases;
mod stays;
