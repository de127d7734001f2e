//! Tests of the checker against a second, plain explorer, and on protocols designed to mislead it.

mod bounds;
pub(crate) mod common;
pub(crate) mod compare;
mod counts;
mod durable;
mod liveness;
mod random;
mod reduction;
pub(crate) mod reference;
mod views;
