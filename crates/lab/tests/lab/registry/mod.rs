//! The algorithms by name.

mod around;
mod table;
