//! Tests of the quorums of groups of up to 100 nodes: any two quorums intersect, and they have the
//! promised sizes.

use super::{LINES, Quorums};
use crate::mutex::prelude::*;
use std::string::ToString;

fn quorums(kind: Quorums, nodes: usize) -> Vec<Group> {
    let group = Group::of_size(nodes);
    group.iter().map(|me| kind.quorum_of(me, &group)).collect()
}

fn shared_node_count(quorum: &Group, other: &Group) -> usize {
    quorum.iter().filter(|node| other.contains(*node)).count()
}

/// `LINES` has one line of each supported plane.
fn plane_sizes() -> impl Iterator<Item = usize> {
    LINES.into_iter().map(|line| line.len() * (line.len() - 1) + 1)
}

fn assert_quorums_intersect(kind: Quorums, nodes: usize) {
    let all = quorums(kind, nodes);
    for (position, quorum) in all.iter().enumerate() {
        assert!(
            quorum.contains(NodeId::from_index(position)),
            "{kind:?} of {nodes}: node {} is not its own voter",
            position + 1
        );
        for other in &all {
            assert!(shared_node_count(quorum, other) > 0, "{kind:?} of {nodes}: {quorum} and {other} do not meet");
        }
    }
}

/// In groups without a supported plane of their size, `Quorums::Plane` returns quorums of the grid.
#[test]
fn any_two_quorums_of_a_group_of_up_to_100_nodes_meet() {
    for nodes in 1..=100 {
        assert_quorums_intersect(Quorums::Grid, nodes);
        assert_quorums_intersect(Quorums::Plane, nodes);
    }
}

#[test]
fn a_full_square_has_quorums_of_twice_the_root_less_one() {
    for root in 1..=10 {
        for quorum in quorums(Quorums::Grid, root * root) {
            assert_eq!(quorum.len(), 2 * root - 1);
        }
    }
}

#[test]
fn a_short_row_makes_no_quorum_larger_than_the_full_square_would() {
    for nodes in 2..=100_usize {
        let root = (1..).find(|root| root * root >= nodes).expect("a root");
        for quorum in quorums(Quorums::Grid, nodes) {
            assert!((2..2 * root).contains(&quorum.len()), "{nodes}: {quorum}");
        }
    }
}

#[test]
fn any_two_lines_of_a_plane_meet_in_exactly_one_node() {
    for nodes in plane_sizes() {
        let all = quorums(Quorums::Plane, nodes);
        for (position, line) in all.iter().enumerate() {
            for other in &all[..position] {
                assert_eq!(shared_node_count(line, other), 1, "{nodes}: {line} and {other}");
            }
        }
    }
}

#[test]
fn every_node_of_a_plane_is_on_as_many_lines_as_a_line_has_nodes() {
    for nodes in plane_sizes() {
        let mut lines_per_node: BTreeMap<NodeId, usize> = BTreeMap::new();
        let all = quorums(Quorums::Plane, nodes);
        for voter in all.iter().flat_map(Group::iter) {
            *lines_per_node.entry(voter).or_default() += 1;
        }
        let order = all[0].len() - 1;
        assert_eq!(nodes, order * order + order + 1);
        assert!(
            lines_per_node.len() == nodes && lines_per_node.values().all(|lines| *lines == order + 1),
            "{nodes}: {lines_per_node:?}"
        );
    }
}

#[test]
fn a_plane_is_supported_for_these_sizes_and_no_others() {
    let supported: Vec<_> = (0..=100).filter(|nodes| Quorums::Plane.check_group_size(*nodes).is_ok()).collect();
    assert_eq!(supported, [3, 7, 13, 21, 31, 57, 73, 91]);
    let error = Quorums::Plane.check_group_size(8).expect_err("no plane has eight points");
    for size in supported {
        assert!(error.contains(&size.to_string()), "{error}");
    }
    assert!((0..=100).all(|nodes| Quorums::Grid.check_group_size(nodes).is_ok()));
}

/// Four nodes in a square, and five with a short row.
#[test]
fn a_grid_is_filled_row_by_row() {
    let four: Vec<_> = quorums(Quorums::Grid, 4).iter().map(Group::to_string).collect();
    assert_eq!(four, ["1,2,3", "1,2,4", "1,3,4", "2,3,4"]);
    let five: Vec<_> = quorums(Quorums::Grid, 5).iter().map(Group::to_string).collect();
    assert_eq!(five, ["1,2,3,4", "1,2,3,5", "1,2,3", "1,4,5", "2,4,5"]);
}

/// The numbers of a group's members may have gaps and need not start at 1. The node with index 2 is
/// number 3. The lines are shifts of the positions 0, 1 and 3.
#[test]
fn quorums_depend_on_positions_and_not_on_node_numbers() {
    let group_with_gaps: Group = [2, 4, 8, 16, 32, 64, 128].into_iter().map(NodeId::from_index).collect();
    let lines: Vec<_> =
        group_with_gaps.iter().map(|me| Quorums::Plane.quorum_of(me, &group_with_gaps).to_string()).collect();
    assert_eq!(lines, ["3,5,17", "5,9,33", "9,17,65", "17,33,129", "3,33,65", "5,65,129", "3,9,129"]);
    assert_eq!(
        Quorums::Grid.quorum_of(NodeId::from_index(0), &group_with_gaps).to_string(),
        "1",
        "a node outside the group has only itself"
    );
}
