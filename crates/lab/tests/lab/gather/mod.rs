//! Tests of gathering the journals of real nodes' incarnations into one.
//!
//! The journal of a simulated run is the ground truth. The tests split it into what each
//! incarnation would have written, and gather the parts.

mod fates;
mod hand_written;
mod hostile;
mod links;
mod runs;
mod split;
mod torn;
mod truth;
