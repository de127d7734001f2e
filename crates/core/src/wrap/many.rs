//! Many resources side by side: one instance of a protocol per name.

use crate::protocol::Protocol;

/// What a protocol offers to be one of many: its idle instances can be forgotten.
pub trait OneOfMany: Protocol + Clone {
    /// What must outlive a forgotten instance, such as the largest clock reading and the largest fence.
    type Floor: Clone + Default;

    /// Whether forgetting this instance now, all but its floor, changes nothing that anyone can see.
    fn is_idle(&self) -> bool;

    /// What a later instance must not fall below.
    fn floor(&self) -> Self::Floor;

    /// Lifts this instance to at least that floor.
    fn raise(&mut self, floor: &Self::Floor);
}
