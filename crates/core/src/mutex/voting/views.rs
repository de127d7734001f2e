//! How voting goes from one view to the next.

use super::bid::Bid;
use super::{Place, Voting, Waiting, placement};
use crate::mutex::{Access, Past, Phase, Standing, Succession};
use crate::node::NodeId;

impl Succession for Voting {
    fn standing(&self) -> Standing {
        self.phase.standing_of(|Waiting { patience, .. }| Standing::waiting(*patience, Access::Exclusive))
    }

    /// Replicas are placed anew, one for each member. The one inside has the votes of all, and gives them back when it leaves.
    fn begin(&mut self, me: NodeId, past: &Past) {
        let Place { resource, asks, answer, .. } = &*self.place;
        let group = past.group().clone();
        let (hosts, needed) = (placement(resource, &group), group.majority());
        *self = Self::at(Place { me, group, resource: resource.clone(), hosts, needed, asks: *asks, answer: *answer });
        let Some(stamp) = past.holder_stamp() else { return };
        let bid = Bid::elected(stamp, self.place.hosts.len());
        for (replica, ballot) in &mut self.ballots {
            if let Some(claim) = bid.vote_of(*replica) {
                ballot.give(claim);
            }
        }
        if stamp.node == me {
            self.phase = Phase::Inside(bid);
        }
    }
}
