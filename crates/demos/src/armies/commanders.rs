//! The commanders of the two armies, and the properties that the armies must have.
//!
//! | property | meaning |
//! |---|---|
//! | `same-leader` | armies that know the leader know the same one |
//! | `both-know` | in the end both know the leader |
//! | `both-attack` | in the end both attack |
//! | `within-bound` | the second attack comes within the bound after the first, if a bound is given |
//!
//! Every run ends, because the armies send three messages and set one timer. So `both-know` and
//! `both-attack`, which must hold in every end state, are liveness properties.

use super::{Command, Event};
use quorate_check::{ClientStep, Clients, Judged, Offer, Property, StepRecord};
use quorate_core::{Duration, NodeId, Time};

/// The commanders of the two armies. Each orders its army to attack once, at any time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Commanders {
    /// Bound on the time between the attacks, which requires modelled time; `None` leaves out the
    /// property `within-bound`.
    pub(super) max_gap: Option<Duration>,
}

/// One commander: its order, and the reports of its army.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Commander {
    has_ordered: bool,
    leader: Option<NodeId>,
    attacked_at: Option<Time>,
}

impl Clients for Commanders {
    type Command = Command;
    type Event = Event;
    type Client = Commander;

    fn initial(&self, _node: NodeId) -> Commander {
        Commander { has_ordered: false, leader: None, attacked_at: None }
    }

    fn offers(&self, client: &Commander) -> Vec<Offer<Command>> {
        if client.has_ordered { Vec::new() } else { vec![Offer { command: Command::Attack, is_obliged: true }] }
    }

    fn observe(&self, client: &mut Commander, step: ClientStep<'_, Command, Event>, record: &mut StepRecord) {
        match step {
            ClientStep::Issued(Command::Attack) => client.has_ordered = true,
            ClientStep::Emitted(Event::Leads { army }) => client.leader = Some(*army),
            ClientStep::Emitted(Event::Attacks { .. }) => client.attacked_at = Some(record.now),
            ClientStep::Crashed | ClientStep::Restarted | ClientStep::PeerCrashed(_) | ClientStep::PeerRestarted(_) => {
            }
        }
    }

    fn is_waiting(&self, client: &Commander) -> bool {
        client.attacked_at.is_none()
    }

    /// Packs what the properties inspect: the two lowest bits are the leader's number, the others
    /// the time of the attack in nanoseconds plus 1. Either is zero while it is unknown.
    fn facet(&self, client: &Commander, _may_act: bool) -> u64 {
        let leader = client.leader.map_or(0, |leader| leader.index() as u64 + 1);
        let attack = client.attacked_at.map_or(0, |at| at.nanos().max(0).cast_unsigned() + 1);
        leader & LEADER_MASK | attack << LEADER_BITS
    }

    fn properties(&self) -> Vec<Property> {
        let property = |name, judged| Property { name, judged };
        let mut properties = vec![
            property("same-leader", Judged::ByState(leaders_agree)),
            property("both-know", Judged::ByEnds(|facets| facets.iter().all(|facet| unpack_leader(*facet) != 0))),
            property("both-attack", Judged::ByEnds(|facets| facets.iter().all(|facet| unpack_attack(*facet) != 0))),
        ];
        properties.extend(
            self.max_gap.map(|max_gap| property("within-bound", Judged::ByBound(attacks_are_within, max_gap.nanos()))),
        );
        properties
    }
}

const LEADER_BITS: u32 = 2;
const LEADER_MASK: u64 = (1 << LEADER_BITS) - 1;

/// The number of the leader, from 1; 0 if it is not known.
fn unpack_leader(facet: u64) -> u64 {
    facet & LEADER_MASK
}

/// The time of the attack in nanoseconds plus 1; 0 before the attack.
fn unpack_attack(facet: u64) -> u64 {
    facet >> LEADER_BITS
}

/// Whether the armies that know the leader know the same one.
fn leaders_agree(facets: &[u64]) -> bool {
    let mut known = facets.iter().copied().map(unpack_leader).filter(|leader| *leader != 0);
    known.next().is_none_or(|first| known.all(|leader| leader == first))
}

/// Whether the armies that attacked did so within `max_gap` nanoseconds of each other. True if only
/// one or none attacked.
fn attacks_are_within(facets: &[u64], max_gap: u64) -> bool {
    let attacks = || facets.iter().copied().map(unpack_attack).filter(|at| *at != 0);
    let (first, last) = (attacks().min().unwrap_or(0), attacks().max().unwrap_or(0));
    last - first <= max_gap
}
