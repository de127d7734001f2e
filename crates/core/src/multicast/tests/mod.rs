//! Tests of the whole family in a simulated group: crashes at any time, views in quick succession,
//! joiners, and the properties that must hold.

mod costs;
mod faulty_variants;
mod foreign_messages;
mod properties;
mod random_faults;
pub(super) mod simulation;
