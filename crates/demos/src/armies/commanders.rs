//! The commanders of the two armies, and the properties that the armies must have.
//!
//! | property | meaning |
//! |---|---|
//! | `who` | the armies that know the leader name the same one |
//! | `both-know` | in the end both know the leader |
//! | `both-attack` | in the end both attack |
//! | `when` | the second army attacks within the given bound after the first, if there is a bound |
//!
//! Every run of the armies ends: they send three messages and set one timer. So a property of every
//! end state is a liveness property.

use super::{Command, Event};
use quorate_check::{ClientStep, Clients, Judged, Offer, Property, StepRecord};
use quorate_core::{Duration, NodeId, Time};

/// The commanders of the two armies, which order the attack at any time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Commanders {
    /// Maximum delay of the second attack after the first, if that is judged. It requires modelled
    /// time.
    pub(super) within: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Commander {
    ordered: bool,
    leader: Option<NodeId>,
    attacked: Option<Time>,
}

impl Clients for Commanders {
    type Command = Command;
    type Event = Event;
    type Client = Commander;

    fn initial(&self, _node: NodeId) -> Commander {
        Commander { ordered: false, leader: None, attacked: None }
    }

    fn offers(&self, client: &Commander) -> Vec<Offer<Command>> {
        if client.ordered { Vec::new() } else { vec![Offer { command: Command::Attack, obliged: true }] }
    }

    fn observe(&self, client: &mut Commander, news: ClientStep<'_, Command, Event>, record: &mut StepRecord) {
        match news {
            ClientStep::Issued(Command::Attack) => client.ordered = true,
            ClientStep::Emitted(Event::Leads { army }) => client.leader = Some(*army),
            ClientStep::Emitted(Event::Attacks { .. }) => client.attacked = Some(record.now),
            ClientStep::Crashed | ClientStep::Restarted | ClientStep::PeerCrashed(_) | ClientStep::PeerRestarted(_) => {
            }
        }
    }

    fn is_waiting(&self, client: &Commander) -> bool {
        client.attacked.is_none()
    }

    /// The two lowest bits are the leader, the others the time of the attack.
    fn facet(&self, client: &Commander, _acts: bool) -> u64 {
        let leader = client.leader.map_or(0, |leader| leader.index() as u64 + 1);
        let attacked = client.attacked.map_or(0, |at| at.nanos().max(0).cast_unsigned() + 1);
        leader & 3 | attacked << 2
    }

    fn properties(&self) -> Vec<Property> {
        let by = |name, judged| Property { name, judged };
        let mut properties = vec![
            by("who", Judged::ByState(is_one_leader)),
            by("both-know", Judged::ByEnds(|facets| facets.iter().all(|facet| facet & 3 != 0))),
            by("both-attack", Judged::ByEnds(|facets| facets.iter().all(|facet| facet >> 2 != 0))),
        ];
        properties.extend(self.within.map(|within| by("when", Judged::ByBound(are_close, within.nanos()))));
        properties
    }
}

fn is_one_leader(facets: &[u64]) -> bool {
    let mut known = facets.iter().map(|facet| facet & 3).filter(|leader| *leader != 0);
    known.next().is_none_or(|first| known.all(|leader| leader == first))
}

/// Whether all attacks happened within this many nanoseconds.
fn are_close(facets: &[u64], within: u64) -> bool {
    let attacks = || facets.iter().map(|facet| facet >> 2).filter(|at| *at != 0);
    let (first, last) = (attacks().min().unwrap_or(0), attacks().max().unwrap_or(0));
    last - first <= within
}
