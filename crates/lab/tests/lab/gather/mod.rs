//! Tests of gathering the journals of real nodes' incarnations into one.
//!
//! In most tests the journal of a simulated run is the ground truth: they split it into what each
//! incarnation would have written, and gather the parts. The others gather hand-written journals.

mod fates;
mod hand_written;
mod hostile;
mod links;
mod runs;
mod split;
mod torn;
mod truth;
