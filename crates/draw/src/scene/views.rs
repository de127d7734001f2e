//! Views and leases in a scene: who acts together, and for how long each one may.

use super::Place;
use quorate_core::View;

/// A view while somebody acts in it.
#[derive(Clone, Debug)]
pub struct Era {
    pub view: View,
    /// Since somebody acts in it; before `Scene::from` if that was earlier.
    pub from: Place,
    /// Until somebody acts in the next one, if that is shown.
    pub to: Option<Place>,
}

impl Era {
    /// Its number and its members, in as few words as it takes.
    pub fn name(&self) -> String {
        format!("view {}: {}", self.view.epoch(), self.view.members())
    }
}

/// For how long a member may act, however often that was renewed meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    pub from: Place,
    /// Until when; after `Scene::to` if it goes on.
    pub to: Place,
    /// Whether its member is up. A lease that nobody can use any more is still waited for by the group.
    pub used: bool,
}

/// A while in which a node does nothing in its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Still {
    pub why: Stillness,
    pub from: Place,
    pub to: Place,
}

/// Why a node does nothing in its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stillness {
    /// It is in the view, and has no lease or lacks reports.
    Frozen,
    /// Others act in a view without it.
    Outside,
}

impl Stillness {
    pub const fn words(self) -> &'static str {
        match self {
            Self::Frozen => "frozen",
            Self::Outside => "not in the view",
        }
    }
}
