//! The transition of voting to the next view.

use super::bid::Bid;
use super::{Config, Voting, Waiting, place_replicas};
use crate::mutex::{Access, ClientState, Phase, ViewStart, ViewTransition};
use crate::node::NodeId;

impl ViewTransition for Voting {
    fn client_state(&self) -> ClientState {
        self.phase.client_state_with(|Waiting { patience, .. }| ClientState::waiting(*patience, Access::Exclusive))
    }

    /// Places the replicas anew, one for each member. The node in the critical section has all
    /// votes, and returns them on its release.
    fn begin_view(&mut self, me: NodeId, start: &ViewStart) {
        let Config { resource, request_mode, retry_unit, .. } = &*self.config;
        let group = start.group().clone();
        let (replica_voters, needed_votes) = (place_replicas(resource, &group), group.majority());
        *self = Self::with_config(Config {
            me,
            group,
            resource: resource.clone(),
            replica_voters,
            needed_votes,
            request_mode: *request_mode,
            retry_unit: *retry_unit,
        });
        let Some(stamp) = start.holder_stamp() else { return };
        let bid = Bid::with_all_votes(stamp, self.config.replica_voters.len());
        for (replica, vote) in &mut self.votes {
            if let Some(claim) = bid.vote_of(*replica) {
                vote.try_give(claim);
            }
        }
        if stamp.node == me {
            self.phase = Phase::Inside(bid);
        }
    }
}
