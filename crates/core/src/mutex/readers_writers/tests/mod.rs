//! tests

mod storms;
