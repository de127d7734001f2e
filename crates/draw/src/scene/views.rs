//! Views and leases in a scene: which nodes act together, and for how long each may act.

use super::Place;
use quorate_core::View;

/// A view, from the first to the last instant at which a member acts in it.
#[derive(Clone, Debug)]
pub struct ViewSpan {
    pub view: View,
    /// When the first member begins to act in it; before `Scene::from` if that was earlier.
    pub from: Place,
    /// When the first member acts in the next view, if that is shown.
    pub to: Option<Place>,
}

impl ViewSpan {
    /// Returns the view's number and members, abbreviated.
    pub fn name(&self) -> String {
        format!("view {}: {}", self.view.epoch(), self.view.members())
    }
}

/// A member's lease, renewals included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    pub from: Place,
    /// End; after `Scene::to` if the lease continues.
    pub to: Place,
    /// Whether its member is up. The group still waits out the lease of a member that is down.
    pub used: bool,
}

/// A time span in which a node does not act in its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InactiveSpan {
    pub reason: InactiveReason,
    pub from: Place,
    pub to: Place,
}

/// Why a node does not act in its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InactiveReason {
    /// It is in the view, but has no lease or is missing reports.
    Frozen,
    /// It is not in the view in which others act.
    Outside,
}

impl InactiveReason {
    pub const fn label(self) -> &'static str {
        match self {
            Self::Frozen => "frozen",
            Self::Outside => "not in the view",
        }
    }
}
