//! What the book says of an algorithm, as data: tables print it beside what was measured.

use crate::about::Profile;
use crate::group::Group;
use crate::node::NodeId;

/// An algorithm's line in the book's table.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// What it is called, and where it is explained.
    pub profile: Profile,
    /// What an entry costs.
    pub cost: Cost,
    /// In which order it serves.
    pub order: ServiceOrder,
    /// Whether its grants carry fences.
    pub fences: bool,
    /// The node that keeps the lock for all, if there is one.
    pub keeper: fn(&Group) -> Option<NodeId>,
}

/// What an entry costs.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// Messages an entry, as the book writes it.
    pub formula: &'static str,
    /// Messages an entry in a group of so many.
    pub messages: fn(usize) -> u64,
    /// Messages an entry of the node that keeps the lock, where there is one.
    pub own_messages: u64,
    /// From asking to entering when nobody else wants in, in message times.
    pub client_delay: u64,
    /// From a leave to the next entry when exactly one waits, in message times.
    pub sync_delay: u64,
}

/// In which order requests are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceOrder {
    /// As they arrive somewhere, which is not happened-before order.
    Arrival,
    /// In happened-before order.
    HappenedBefore,
    /// No promise.
    None,
}
