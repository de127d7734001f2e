//! The transition of Maekawa's algorithm to the next view.

use super::{Maekawa, Waiting};
use crate::mutex::{Access, Phase, Standing, Succession, ViewStart};
use crate::node::NodeId;

impl Succession for Maekawa {
    fn standing(&self) -> Standing {
        self.phase.standing_of(|Waiting { stamp, patience, .. }| Standing::Waiting {
            asked: stamp.clock,
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
        if quorums.of(stamp.node, start.group()).contains(me) {
            self.voter.begin(stamp);
        }
        if stamp.node == me {
            self.phase = Phase::Inside(stamp);
        }
    }
}
