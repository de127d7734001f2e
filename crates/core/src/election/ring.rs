//! The order of nodes on a ring.

use crate::group::Group;
use crate::node::NodeId;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

/// The nodes 1 to n in a circle, in any order. Clones share one copy of the order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ring {
    size: usize,
    /// `None` if nodes are in the order of their numbers.
    arrangement: Option<Arc<Arrangement>>,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Arrangement {
    /// Nodes in the order of their positions.
    order: Vec<NodeId>,
    /// Positions in the order of node numbers.
    positions: Vec<u32>,
}

impl Ring {
    /// Creates a ring of the nodes 1 to `size` in the order of their numbers.
    pub const fn of_size(size: usize) -> Self {
        Self { size, arrangement: None }
    }

    /// Creates a ring in this order; `None` unless it names each of the nodes 1 to n exactly once.
    pub fn from_order(order: Vec<NodeId>) -> Option<Self> {
        let size = order.len();
        let unset = u32::MAX;
        let mut positions = vec![unset; size];
        for (position, node) in (0_u32..).zip(&order) {
            let slot = positions.get_mut(node.index()).filter(|slot| **slot == unset)?;
            *slot = position;
        }
        Some(Self { size, arrangement: Some(Arc::new(Arrangement { order, positions })) })
    }

    /// Returns the number of nodes on the ring.
    pub const fn len(&self) -> usize {
        self.size
    }

    /// Returns whether the ring has no nodes.
    pub const fn is_empty(&self) -> bool {
        self.size == 0
    }

    /// Returns the node at this position; positions wrap around.
    pub fn at(&self, position: usize) -> NodeId {
        let position = position % self.size.max(1);
        let arranged = self.arrangement.as_ref().and_then(|arrangement| arrangement.order.get(position).copied());
        arranged.unwrap_or(NodeId::from_index(position))
    }

    /// Returns the position of a node on the ring, from 0. The node must be on the ring.
    pub fn position_of(&self, node: NodeId) -> usize {
        match &self.arrangement {
            Some(arrangement) => arrangement.positions.get(node.index()).map_or(0, |position| *position as usize),
            None => node.index(),
        }
    }

    /// Returns the nearest node after `node` that is not in `left_out`; `node` itself if there is
    /// none.
    pub fn node_after(&self, node: NodeId, left_out: &[NodeId]) -> NodeId {
        let position = self.position_of(node);
        let others = (1..self.size).map(|step| self.at(position + step));
        first_not_left_out(others, left_out).unwrap_or(node)
    }

    /// Returns the nearest node before `node` that is not in `left_out`; `node` itself if there is
    /// none.
    pub fn node_before(&self, node: NodeId, left_out: &[NodeId]) -> NodeId {
        let position = self.position_of(node);
        let others = (1..self.size).map(|step| self.at(position + self.size - step));
        first_not_left_out(others, left_out).unwrap_or(node)
    }

    /// Returns all nodes of the ring.
    pub fn group(&self) -> Group {
        Group::of_size(self.size)
    }
}

fn first_not_left_out(mut nodes: impl Iterator<Item = NodeId>, left_out: &[NodeId]) -> Option<NodeId> {
    nodes.find(|node| !left_out.contains(node))
}

#[cfg(test)]
mod tests {
    use super::Ring;
    use crate::node::NodeId;
    use alloc::vec::Vec;

    /// Returns the ids of these nodes, and skips 0, which is not a node's number.
    fn nodes(numbers: &[u32]) -> Vec<NodeId> {
        numbers.iter().filter_map(|number| NodeId::new(*number)).collect()
    }

    /// Returns the numbers of the nodes before and after `node`.
    #[track_caller]
    fn neighbours(ring: &Ring, node: u32, left_out: &[u32]) -> (u32, u32) {
        let node = NodeId::from_index(node as usize - 1);
        let left_out = nodes(left_out);
        (ring.node_before(node, &left_out).number(), ring.node_after(node, &left_out).number())
    }

    #[test]
    fn neighbours_skip_nodes_that_are_left_out() {
        let ring = Ring::of_size(4);
        assert_eq!(neighbours(&ring, 1, &[]), (4, 2));
        assert_eq!(neighbours(&ring, 4, &[1, 2]), (3, 3));
        assert_eq!(neighbours(&ring, 2, &[1, 3, 4]), (2, 2));
        assert_eq!(neighbours(&Ring::of_size(1), 1, &[]), (1, 1));
    }

    #[test]
    fn a_given_order_must_name_every_node_once() {
        let ring = Ring::from_order(nodes(&[3, 1, 4, 2])).unwrap_or(Ring::of_size(0));
        assert_eq!(neighbours(&ring, 1, &[]), (3, 4));
        assert_eq!(neighbours(&ring, 3, &[2]), (4, 1));
        for wrong in [&[1, 1][..], &[2], &[1, 3], &[0, 1, 3]] {
            assert_eq!(Ring::from_order(nodes(wrong)), None, "{wrong:?}");
        }
    }
}
