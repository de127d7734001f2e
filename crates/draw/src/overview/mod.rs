//! How a run went on the whole: for those that are too long for a scene.
//!
//! Time is divided into bins. As the run goes on they become wider, two into one, so that there are never more than a few
//! hundred of them however long it is.

mod survey;
mod text;

pub use survey::Survey;
pub use text::{Ink, draw as draw_text};

use crate::scene::{Band, Beyond, Breach, Heading};
use quorate_core::{Duration, NodeId, Time};
use quorate_sim::role::Role;

/// A run on the whole.
#[derive(Clone, Debug)]
pub struct Overview {
    /// What was run.
    pub heading: Heading,
    /// The time that is shown as 0.
    pub origin: Time,
    /// The first instant.
    pub from: Time,
    /// The last one.
    pub to: Time,
    /// How long a bin is.
    pub width: Duration,
    /// What all nodes did in each bin, the first of which begins at `from`.
    pub bins: Vec<Bin>,
    /// How each node stood, for as many as can be shown.
    pub lanes: Vec<Row>,
    /// How many nodes there are besides.
    pub more_nodes: usize,
    /// What lasted: cuts, odd links, full disks; the first ones, if there are very many.
    pub bands: Vec<Band>,
    /// Which properties do not hold, where that was seen first.
    pub breaches: Vec<Breach>,
    /// Of all bins.
    pub total: Bin,
    /// What there is beyond the window.
    pub beyond: Beyond,
}

/// What happened in some time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bin {
    /// Steps of nodes.
    pub steps: u64,
    /// Messages of the algorithm that were sent.
    pub messages: u64,
    /// Messages that only repeat, acknowledge or keep alive.
    pub control: u64,
    /// Messages that never arrived.
    pub lost: u64,
    /// How often a node became the one: entered, or was elected.
    pub chosen: u64,
    /// How often a node went down.
    pub crashes: u64,
}

impl Bin {
    fn add(&mut self, other: Self) {
        self.steps += other.steps;
        self.messages += other.messages;
        self.control += other.control;
        self.lost += other.lost;
        self.chosen += other.chosen;
        self.crashes += other.crashes;
    }
}

/// How a node stood.
#[derive(Clone, Debug)]
pub struct Row {
    /// Which node.
    pub node: NodeId,
    /// In each bin, how long it stood in which way.
    pub shares: Vec<Shares>,
}

/// How long a node stood in which way, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shares([u64; 6]);

const ROLES: [Role; 6] = [Role::Idle, Role::Waiting, Role::Follows, Role::Chosen, Role::Paused, Role::Down];

impl Shares {
    /// How long it stood so.
    pub fn of(&self, role: Role) -> u64 {
        let Self([idle, waiting, follows, chosen, paused, down]) = self;
        match role {
            Role::Idle => *idle,
            Role::Waiting => *waiting,
            Role::Follows => *follows,
            Role::Chosen => *chosen,
            Role::Paused => *paused,
            Role::Down => *down,
        }
    }

    /// How long in all.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// How it stood for most of the time.
    pub fn most(&self) -> Role {
        let longest = ROLES.into_iter().max_by_key(|role| self.of(*role));
        longest.filter(|_| self.total() > 0).unwrap_or_default()
    }

    fn add(&mut self, role: Role, nanos: u64) {
        let place = ROLES.iter().position(|known| *known == role);
        if let Some(share) = place.and_then(|place| self.0.get_mut(place)) {
            *share += nanos;
        }
    }

    fn merge(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(share, more)| *share += more);
    }
}
