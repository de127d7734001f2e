//! The checker itself, with the families' clients: against a second explorer, against its observers, and on typed algorithms.

mod differential;
mod elections;
mod engine;
mod multicast;
