//! Tests of the registry of algorithms.

mod table;
mod wrapper;
