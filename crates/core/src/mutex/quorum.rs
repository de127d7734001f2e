//! Quorums: for every node a set of nodes, such that any two of the sets share a node.
//!
//! A node that has the votes of its whole quorum excludes all others, because every other quorum
//! shares a voter with it. Smaller quorums make an entry cheaper, and the more evenly nodes are
//! spread over the quorums, the more even is the load of the voters.

use crate::mutex::prelude::*;

/// The construction of the quorums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Quorums {
    /// The group forms a grid that is as nearly square as possible, and a quorum is a node's row
    /// and column: 2√n−1 nodes in a full square. The last row may be short; the column of each node
    /// in it still crosses every full row.
    Grid,
    /// The nodes are the points of a projective plane, and a quorum is a line: in a plane of
    /// order q, q+1 of q²+q+1 nodes. Quorums cannot be smaller if all nodes vote equally often.
    /// Any two lines meet in exactly one node, and every node is on the same number of lines.
    Plane,
}

/// One line of each supported plane, as positions in the group: a perfect difference set, in which
/// every cyclic distance occurs exactly once. So any two shifts of it meet in exactly one position.
/// Each contains 0, so that the line shifted by a node's position contains the node. The smallest
/// plane is a triangle.
const LINES: [&[usize]; 8] = [
    &[0, 1],
    &[0, 1, 3],
    &[0, 1, 3, 9],
    &[0, 1, 4, 14, 16],
    &[0, 1, 3, 8, 12, 18],
    &[0, 1, 3, 13, 32, 36, 43, 52],
    &[0, 1, 3, 7, 15, 31, 36, 54, 63],
    &[0, 1, 3, 9, 27, 49, 56, 61, 77, 81],
];

impl Quorums {
    /// Returns an error that lists the valid sizes if there are no such quorums for this number of
    /// nodes.
    pub fn check_group_size(self, nodes: usize) -> Result<(), &'static str> {
        match self {
            Self::Plane if first_line(nodes).is_none() => {
                Err("supported planes have 3, 7, 13, 21, 31, 57, 73 or 91 points")
            }
            Self::Plane | Self::Grid => Ok(()),
        }
    }

    /// Returns the quorum of a member, which contains the member itself. Falls back to a grid if
    /// no plane of the group's size is supported. The quorum of a node outside the group is the
    /// node alone.
    pub fn quorum_of(self, me: NodeId, group: &Group) -> Group {
        let members = group.as_slice();
        let Ok(position) = members.binary_search(&me) else { return Group::from_iter([me]) };
        let positions = match (self, first_line(members.len())) {
            (Self::Plane, Some(line)) => shift_line(line, position, members.len()),
            (Self::Plane, None) | (Self::Grid, _) => row_and_column(position, members.len()),
        };
        positions.into_iter().filter_map(|position| members.get(position).copied()).collect()
    }
}

/// Returns the first line of the plane with this number of points, if that plane is supported. A
/// line of q+1 points belongs to a plane of (q+1)q+1 points.
fn first_line(nodes: usize) -> Option<&'static [usize]> {
    LINES.into_iter().find(|line| line.len() * (line.len() - 1) + 1 == nodes)
}

fn shift_line(line: &[usize], distance: usize, nodes: usize) -> Vec<usize> {
    line.iter().map(|position| (position + distance) % nodes).collect()
}

/// Returns the positions in the same row or column.
fn row_and_column(position: usize, nodes: usize) -> Vec<usize> {
    let width = column_count(nodes);
    let is_in_row_or_column = |other: &usize| other / width == position / width || other % width == position % width;
    (0..nodes).filter(is_in_row_or_column).collect()
}

/// Returns the number of columns of the grid: the smallest number whose square is at least `nodes`.
const fn column_count(nodes: usize) -> usize {
    let root = nodes.isqrt();
    if root * root == nodes { root } else { root + 1 }
}

#[cfg(test)]
mod tests;
