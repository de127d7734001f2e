//! The checker against a second, plain explorer, and against protocols made to mislead it.

mod bounds;
mod common;
mod compare;
mod counts;
mod drawn;
mod durable;
mod liveness;
mod reduction;
mod reference;
mod views;
