//! The readings of the nodes' clocks at any instant, derived from the moments of a run.

use crate::moment::{Moment, WorldEvent};
use crate::node_clock::NodeClock;
use crate::settings::Fault;
use quorate_core::{NodeId, Time};

/// The clocks of a group, derived from moments.
///
/// A simulated clock shows true time until a fault changes it. The reading of a real clock follows
/// from the last input of its node.
#[derive(Clone, Debug)]
pub struct Clocks(Vec<NodeClock>);

impl Clocks {
    /// Creates the clocks of a group of this size, all showing true time.
    pub fn new(nodes: usize) -> Self {
        Self(vec![NodeClock::synchronized(Time::ZERO); nodes])
    }

    /// Updates the clocks by the next moment of the run.
    pub fn observe<C, E>(&mut self, moment: &Moment<'_, C, E>) {
        match moment {
            Moment::Input { time, now, node, .. } => {
                if let Some(clock) = self.0.get_mut(node.index()).filter(|clock| clock.at(*time) != *now) {
                    clock.set(*time, *now);
                }
            }
            Moment::World { time, event: WorldEvent::Changed { text } } => match text.parse() {
                Ok(Fault::Skew { node, by }) => self.update_clock(node, |clock| clock.skew(*time, by.nanos())),
                Ok(Fault::Drift { node, by }) => self.update_clock(node, |clock| clock.drift(*time, by.parts())),
                // Another fault, or a remark that is not a fault.
                Ok(_) | Err(_) => {}
            },
            Moment::Effect { .. } | Moment::World { .. } => {}
        }
    }

    /// Returns the reading of a node's clock at the true time `time`.
    pub fn at(&self, node: NodeId, time: Time) -> Time {
        self.0.get(node.index()).map_or(time, |clock| clock.at(time))
    }

    fn update_clock(&mut self, node: NodeId, update: impl FnOnce(&mut NodeClock)) {
        if let Some(clock) = self.0.get_mut(node.index()) {
            update(clock);
        }
    }
}
