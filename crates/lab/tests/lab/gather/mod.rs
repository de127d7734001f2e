//! Journals of lives, as real nodes write them, gathered into one.
//!
//! A simulated run has the journal that is the truth. It is split into what each life would have written, and gathered.

mod by_hand;
mod fates;
mod hostile;
mod links;
mod scenes;
mod split;
mod torn;
mod truth;
