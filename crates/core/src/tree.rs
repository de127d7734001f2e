//! A group as a balanced binary tree.

use crate::group::Group;
use crate::node::NodeId;

/// The members of a group as a balanced binary tree, row by row in the order of their numbers: the
/// lowest is the root, the next two are its children, and so on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree(Group);

impl Tree {
    /// Creates the tree of a group.
    pub const fn of(group: Group) -> Self {
        Self(group)
    }

    /// The root; `None` in an empty group.
    pub fn root(&self) -> Option<NodeId> {
        self.0.first()
    }

    /// The parent of a node; `None` for the root and for a node outside the group.
    pub fn parent(&self, node: NodeId) -> Option<NodeId> {
        let index = self.0.index_of(node)?.checked_sub(1)? / 2;
        self.0.as_slice().get(index).copied()
    }

    /// The children of a node.
    pub fn children(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let index = self.0.index_of(node);
        let indices = index.into_iter().flat_map(|index| [2 * index + 1, 2 * index + 2]);
        indices.filter_map(|index| self.0.as_slice().get(index).copied())
    }

    /// Whether the two nodes are parent and child.
    pub fn has_edge(&self, one: NodeId, other: NodeId) -> bool {
        self.parent(one) == Some(other) || self.parent(other) == Some(one)
    }

    /// The next node on the path from one member to another; `None` if they are the same or one is
    /// outside the group.
    pub fn next_hop(&self, from: NodeId, to: NodeId) -> Option<NodeId> {
        let (start, mut index) = (self.0.index_of(from)?, self.0.index_of(to)?);
        if start == index {
            return None;
        }
        // Climbs from the destination. If that does not lead to the start, the path begins by
        // climbing as well.
        while index > start {
            let parent = (index - 1) / 2;
            if parent == start {
                return self.0.as_slice().get(index).copied();
            }
            index = parent;
        }
        self.parent(from)
    }

    /// The number of edges between two members; `None` if one is outside the group.
    pub fn distance(&self, one: NodeId, other: NodeId) -> Option<u64> {
        let (mut one, mut other) = (self.0.index_of(one)?, self.0.index_of(other)?);
        let mut edges = 0;
        // The one with the larger index is no ancestor of the other, so it climbs.
        while one != other {
            let larger = if one > other { &mut one } else { &mut other };
            *larger = (*larger - 1) / 2;
            edges += 1;
        }
        Some(edges)
    }

    /// The number of edges between the two members that are furthest apart.
    pub fn diameter(&self) -> u64 {
        let Some(depth) = self.0.len().checked_ilog2() else { return 0 };
        let lowest_row_capacity = 1 << depth;
        // Whether the lowest row reaches below the root's second child. The rows above it contain
        // `lowest_row_capacity - 1` nodes, and its first half is below the first child.
        let reaches_second_subtree = self.0.len() - lowest_row_capacity >= lowest_row_capacity / 2;
        match depth {
            0 => 0,
            _ if reaches_second_subtree => 2 * u64::from(depth),
            _ => 2 * u64::from(depth) - 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Tree;
    use crate::group::Group;
    use crate::node::NodeId;
    use std::vec::Vec;

    fn numbers(nodes: impl IntoIterator<Item = NodeId>) -> Vec<u32> {
        nodes.into_iter().map(NodeId::number).collect()
    }

    #[test]
    fn rows_are_filled_in_order() {
        let tree = Tree::of(Group::of_size(6));
        let node = |number: usize| NodeId::from_index(number - 1);
        assert_eq!(tree.root(), Some(node(1)));
        assert_eq!(tree.parent(node(1)), None);
        assert_eq!(numbers(tree.children(node(1))), [2, 3]);
        assert_eq!(numbers(tree.children(node(2))), [4, 5]);
        assert_eq!(numbers(tree.children(node(3))), [6]);
        assert_eq!(tree.parent(node(6)), Some(node(3)));
        assert!(tree.has_edge(node(2), node(5)) && tree.has_edge(node(5), node(2)) && !tree.has_edge(node(4), node(5)));
        assert_eq!(tree.distance(node(4), node(6)), Some(4));
        assert_eq!(tree.distance(node(4), node(5)), Some(2));
        assert_eq!(tree.distance(node(4), node(7)), None);
    }

    #[test]
    fn gaps_between_numbers_do_not_change_the_tree() {
        let members = [3, 7, 20].map(|number| NodeId::new(number).expect("a node"));
        let tree = Tree::of(members.into_iter().collect());
        assert_eq!(numbers(tree.children(members[0])), [7, 20]);
        assert_eq!(tree.distance(members[1], members[2]), Some(2));
        assert_eq!(Tree::of(Group::of_size(0)).root(), None);
    }

    #[test]
    fn every_step_towards_a_member_follows_an_edge_and_shortens_the_distance() {
        for size in 0..=20 {
            let group = Group::of_size(size);
            let tree = Tree::of(group.clone());
            for (from, to) in group.iter().flat_map(|from| group.iter().map(move |to| (from, to))) {
                let next = tree.next_hop(from, to);
                assert_eq!(next.is_none(), from == to, "from {from} to {to} of {size}");
                let Some(next) = next else { continue };
                assert!(tree.has_edge(from, next), "from {from} to {to} of {size} over {next}");
                assert_eq!(tree.distance(next, to).map(|remaining| remaining + 1), tree.distance(from, to));
            }
            assert_eq!(tree.next_hop(NodeId::from_index(0), NodeId::from_index(size)), None);
        }
    }

    #[test]
    fn the_diameter_is_the_largest_distance() {
        for size in 0..=70 {
            let group = Group::of_size(size);
            let tree = Tree::of(group.clone());
            let pairs = group.iter().flat_map(|one| group.iter().map(move |other| (one, other)));
            let largest = pairs.filter_map(|(one, other)| tree.distance(one, other)).max().unwrap_or(0);
            assert_eq!(tree.diameter(), largest, "{size} nodes");
        }
    }
}
