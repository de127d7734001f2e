//! The algorithms by name.

mod table;
mod wrapper;
