//! Removing nodes: the remaining ones are renumbered.

use super::search::Search;
use crate::family::FamilyLab;
use crate::spec::Spec;
use quorate_core::NodeId;
use quorate_journal::settings::{Cut, Direction, Fault, Links, Script, Side, TimedFault};

impl<F: FamilyLab> Search<'_, F> {
    /// Tries to remove nodes: many at once first, and those with high numbers first.
    pub(super) fn try_fewer_nodes(&mut self) {
        let mut chunk = self.best.nodes / 2;
        while chunk > 0 && !self.should_stop() {
            let mut end = self.best.nodes;
            while end > 0 && self.best.nodes > 1 && !self.should_stop() {
                let from = end.saturating_sub(chunk);
                let removed = RemovedNodes { from, until: end };
                if end - from < self.best.nodes {
                    let candidate = removed.remove_from(&self.best);
                    self.try_spec(candidate);
                }
                end = from.min(self.best.nodes);
            }
            chunk /= 2;
        }
    }
}

/// A range of nodes to remove, by index; `until` is excluded.
pub(super) struct RemovedNodes {
    pub(super) from: usize,
    pub(super) until: usize,
}

impl RemovedNodes {
    /// The experiment without these nodes.
    pub(super) fn remove_from<F: FamilyLab>(&self, spec: &Spec<F>) -> Spec<F> {
        let nodes = spec.nodes - (self.until - self.from);
        let script = spec.script.as_ref().map(|script| self.renumber_script(script));
        Spec { nodes, script, faults: self.renumber_faults(&spec.faults), ..spec.clone() }
    }

    /// Returns the faults with the new ids, without faults of removed nodes.
    fn renumber_faults(&self, faults: &[TimedFault]) -> Vec<TimedFault> {
        let renumbered =
            |timed: &TimedFault| Some(TimedFault { fault: self.renumber_fault(&timed.fault)?, ..timed.clone() });
        faults.iter().filter_map(renumbered).collect()
    }

    /// Returns the new id of a node; `None` if it is removed.
    fn renumber_node(&self, node: NodeId) -> Option<NodeId> {
        match node.index() {
            index if index < self.from => Some(node),
            index if index < self.until => None,
            index => Some(NodeId::from_index(index - (self.until - self.from))),
        }
    }

    fn renumber_script(&self, script: &Script) -> Script {
        let commands = script.commands.iter().filter_map(|command| {
            let node = self.renumber_node(command.node)?;
            Some(quorate_journal::settings::TimedCommand { node, ..command.clone() })
        });
        let directions = script.directions.iter().filter_map(|direction| self.renumber_direction(direction));
        Script {
            commands: commands.collect(),
            faults: self.renumber_faults(&script.faults),
            directions: directions.collect(),
        }
    }

    /// Returns a direction, which fixes one choice such as the delay of a message, with the new
    /// ids; `None` if it concerns a removed node.
    fn renumber_direction(&self, direction: &Direction) -> Option<Direction> {
        Some(match *direction {
            Direction::Message { from, to, number, fate } => {
                Direction::Message { from: self.renumber_node(from)?, to: self.renumber_node(to)?, number, fate }
            }
            Direction::Timer { node, number, delay } => {
                Direction::Timer { node: self.renumber_node(node)?, number, delay }
            }
            Direction::Sync { node, number, duration } => {
                Direction::Sync { node: self.renumber_node(node)?, number, duration }
            }
        })
    }

    /// Returns a fault with the new ids; `None` if it hits a removed node, or if it no longer
    /// affects any link.
    fn renumber_fault(&self, fault: &Fault) -> Option<Fault> {
        Some(match fault {
            Fault::Crash { node, unsynced } => Fault::Crash { node: self.renumber_node(*node)?, unsynced: *unsynced },
            Fault::Restart { node, disk } => Fault::Restart { node: self.renumber_node(*node)?, disk: *disk },
            Fault::Pause { node } => Fault::Pause { node: self.renumber_node(*node)? },
            Fault::Resume { node } => Fault::Resume { node: self.renumber_node(*node)? },
            Fault::Disk { node, trouble } => Fault::Disk { node: self.renumber_node(*node)?, trouble: *trouble },
            Fault::Skew { node, by } => Fault::Skew { node: self.renumber_node(*node)?, by: *by },
            Fault::Drift { node, by } => Fault::Drift { node: self.renumber_node(*node)?, by: *by },
            Fault::Close { node } => Fault::Close { node: self.renumber_node(*node)? },
            Fault::Heal => Fault::Heal,
            Fault::Cut(cut) => {
                let mut sides = cut.sides().iter().map(|side| self.renumber_side(side));
                if cut.is_one_way() {
                    let (from, to) = (sides.next()?, sides.next()?);
                    Fault::Cut(Cut::one_way(from, to).ok()?)
                } else {
                    let has_nodes = |side: &Side| side.named_nodes().is_none_or(|nodes| !nodes.is_empty());
                    Fault::Cut(Cut::between(sides.filter(has_nodes).collect()).ok()?)
                }
            }
            Fault::Link { links, change } => {
                let mut sides = links.sides().iter().map(|side| self.renumber_side(side));
                let (from, to) = (sides.next()?, sides.next()?);
                Fault::Link { links: Links::new(from, to).ok()?, change: *change }
            }
        })
    }

    /// Returns a side of a partition or link without the removed nodes. It may become empty.
    fn renumber_side(&self, side: &Side) -> Side {
        match side {
            Side::Nodes(nodes) => Side::Nodes(nodes.iter().filter_map(|node| self.renumber_node(node)).collect()),
            Side::Rest => Side::Rest,
        }
    }
}
