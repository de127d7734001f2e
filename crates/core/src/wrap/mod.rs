//! Protocols around protocols.

mod many;
mod reliable;

pub use many::OneOfMany;
