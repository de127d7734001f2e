//! What nodes' clocks show at any instant, told by what was seen of a run.

use crate::moment::{Happening, Moment};
use crate::node_clock::NodeClock;
use crate::settings::Fault;
use quorate_core::{NodeId, Time};

/// The clocks of a group, as far as moments tell: a simulated one is right until a fault changes it, and of a real one it is known what
/// it showed when its node last took something.
#[derive(Clone, Debug)]
pub struct Clocks(Vec<NodeClock>);

impl Clocks {
    /// Those of a group of this size, all right so far.
    pub fn new(nodes: usize) -> Self {
        Self(vec![NodeClock::right(Time::ZERO); nodes])
    }

    /// Sees the next moment.
    pub fn observe<C, E>(&mut self, moment: &Moment<'_, C, E>) {
        match moment {
            Moment::Input { time, now, node, .. } => {
                if let Some(clock) = self.0.get_mut(node.index()).filter(|clock| clock.at(*time) != *now) {
                    clock.set(*time, *now);
                }
            }
            Moment::World { time, what: Happening::Changed { text } } => match text.parse() {
                Ok(Fault::Skew { node, by }) => self.change(node, |clock| clock.skew(*time, by.nanos())),
                Ok(Fault::Drift { node, by }) => self.change(node, |clock| clock.drift(*time, by.parts())),
                Ok(_) | Err(_) => {}
            },
            Moment::Effect { .. } | Moment::World { .. } => {}
        }
    }

    /// What a node's clock shows at a true instant.
    pub fn at(&self, node: NodeId, time: Time) -> Time {
        self.0.get(node.index()).map_or(time, |clock| clock.at(time))
    }

    fn change(&mut self, node: NodeId, change: impl FnOnce(&mut NodeClock)) {
        if let Some(clock) = self.0.get_mut(node.index()) {
            change(clock);
        }
    }
}
