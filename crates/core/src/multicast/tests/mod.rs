//! Tests of the whole family: the costs of a multicast, faulty variants, messages of other
//! orderings, and the properties that must hold in a simulated group with crashes at any time,
//! views in quick succession and joiners.

mod costs;
mod faulty_variants;
mod foreign_messages;
mod properties;
mod random_faults;
pub(super) mod simulation;
