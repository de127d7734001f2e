//! The transition of Maekawa's algorithm to the next view.

use super::{Maekawa, Waiting};
use crate::mutex::{Access, ClientState, Phase, ViewStart, ViewTransition};
use crate::node::NodeId;

impl ViewTransition for Maekawa {
    fn client_state(&self) -> ClientState {
        self.phase.client_state_with(|Waiting { stamp, patience, .. }| ClientState::Waiting {
            requested_at: stamp.clock,
            patience: *patience,
            access: Access::Exclusive,
        })
    }

    /// Rebuilds the quorums. The voters in the quorum of the node in the critical section have
    /// voted for it, and its release returns their votes.
    fn begin_view(&mut self, me: NodeId, start: &ViewStart) {
        let (form, quorums) = (self.config.form, self.config.quorums);
        *self = Self::new(me, start.group().clone(), form, quorums);
        let Some(stamp) = start.holder_stamp() else { return };
        if quorums.quorum_of(stamp.node, start.group()).contains(me) {
            self.voter.give_initial_vote(stamp);
        }
        if stamp.node == me {
            self.phase = Phase::Inside(stamp);
        }
    }
}
