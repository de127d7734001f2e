//! Deadlocks: who waits for whom, and who waits for ever.
//!
//! A process that waits for others lets go of nothing meanwhile. If they wait for it in turn, nobody ever goes on. [`Graph`] is who waits for
//! whom at an instant, seen as a whole; no process sees it so. The detectors of this family find deadlocks all the same.

pub mod graph;
mod need;

pub use graph::{Deadlock, Graph, Shape};
pub use need::Need;
