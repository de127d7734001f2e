//! Tests of one member of a group that receives views and leases from the test: at least one test
//! per rule.

mod changes;
mod harness;
mod leases;
mod stays;
