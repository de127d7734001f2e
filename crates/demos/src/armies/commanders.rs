//! The two armies: their commanders, and what is asked of them.
//!
//! | property | what it says |
//! |---|---|
//! | `who` | the armies that know who leads name the same one |
//! | `both-know` | in the end both know |
//! | `both-attack` | in the end both attack |
//! | `when` | the second one attacks at most so long after the first, where a bound is given |
//!
//! Every run of the armies ends: they send three messages and set one timer. So what holds at every end holds in the end of every run.

use super::{Command, Event};
use quorate_check::{Judged, News, Offer, Property, Story, Users};
use quorate_core::{Duration, NodeId, Time};

/// The commanders of the two armies, who tell them to attack, each when it likes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Commanders {
    /// By how much the second attack may come after the first, if that is judged. Only where time counts can it be.
    pub(super) within: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Commander {
    ordered: bool,
    leader: Option<NodeId>,
    attacked: Option<Time>,
}

impl Users for Commanders {
    type Command = Command;
    type Event = Event;
    type User = Commander;

    fn begin(&self, _node: NodeId) -> Commander {
        Commander { ordered: false, leader: None, attacked: None }
    }

    fn offers(&self, user: &Commander) -> Vec<Offer<Command>> {
        if user.ordered { Vec::new() } else { vec![Offer { command: Command::Attack, obliged: true }] }
    }

    fn hear(&self, user: &mut Commander, news: News<'_, Command, Event>, story: &mut Story) {
        match news {
            News::Commands(Command::Attack) => user.ordered = true,
            News::Told(Event::Leads { army }) => user.leader = Some(*army),
            News::Told(Event::Attacks { .. }) => user.attacked = Some(story.now),
            News::Crashed | News::Restarted | News::Gone(_) | News::Back(_) => {}
        }
    }

    fn waits(&self, user: &Commander) -> bool {
        user.attacked.is_none()
    }

    /// The two lowest bits tell who leads, the others when it attacked.
    fn facet(&self, user: &Commander, _acts: bool) -> u64 {
        let leader = user.leader.map_or(0, |leader| leader.index() as u64 + 1);
        let attacked = user.attacked.map_or(0, |at| at.nanos().max(0).cast_unsigned() + 1);
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

/// Whether all who attacked did so within so many nanoseconds.
fn are_close(facets: &[u64], within: u64) -> bool {
    let attacks = || facets.iter().map(|facet| facet >> 2).filter(|at| *at != 0);
    let (first, last) = (attacks().min().unwrap_or(0), attacks().max().unwrap_or(0));
    last - first <= within
}
