//! The checker against a second, plain explorer, and against protocols made to mislead it.

mod bounds;
pub(crate) mod common;
pub(crate) mod compare;
mod counts;
mod drawn;
mod durable;
mod liveness;
mod reduction;
pub(crate) mod reference;
mod views;
