//! How Maekawa's algorithm goes from one view to the next.

use super::{Maekawa, Waiting};
use crate::mutex::{Access, Past, Phase, Standing, Succession};
use crate::node::NodeId;

impl Succession for Maekawa {
    fn standing(&self) -> Standing {
        self.phase.standing_of(|Waiting { stamp, patience, .. }| Standing::Waiting {
            asked: stamp.clock,
            patience: *patience,
            access: Access::Exclusive,
        })
    }

    /// Quorums are made anew. Whoever is in that of the one inside has voted for it, and gets its vote back when it leaves.
    fn begin(&mut self, me: NodeId, past: &Past) {
        let (form, quorums) = (self.place.form, self.place.quorums);
        *self = Self::new(me, past.group().clone(), form, quorums);
        let Some(stamp) = past.holder_stamp() else { return };
        if quorums.of(stamp.node, past.group()).contains(me) {
            self.voter.begin(stamp);
        }
        if stamp.node == me {
            self.phase = Phase::Inside(stamp);
        }
    }
}
