//! Views and leases in a scene: which nodes act together, and how long each may act.

use super::TimePosition;
use quorate_core::View;

/// A view and the time span in which it is the latest view in which a member has begun to act.
#[derive(Clone, Debug)]
pub struct ViewSpan {
    pub view: View,
    /// Where the first member begins to act in the view. May be before `Scene::from`.
    pub from: TimePosition,
    /// Where the first member begins to act in the next view; `None` if the scene ends earlier.
    pub to: Option<TimePosition>,
}

impl ViewSpan {
    /// Returns the view's number and members.
    pub fn label(&self) -> String {
        format!("view {}: {}", self.view.epoch(), self.view.members())
    }
}

/// A member's lease, including its renewals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    pub from: TimePosition,
    /// May be after `Scene::to`.
    pub to: TimePosition,
    /// Whether the member that holds the lease is up. The group waits until the lease of a member
    /// that is down has expired.
    pub is_holder_up: bool,
}

/// A time span in which a node does not act in its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InactiveSpan {
    pub reason: InactiveReason,
    pub from: TimePosition,
    pub to: TimePosition,
}

/// Why a node does not act in its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InactiveReason {
    /// It is in the view, but has no lease, or has not received every member's report on earlier
    /// views.
    Frozen,
    /// It is not a member of the view in which other nodes act.
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
