//! Quorums: for every node a set of nodes, such that any two of the sets share a node.
//!
//! Whoever has the votes of its whole quorum shuts everyone else out, because each other quorum misses at least the vote
//! that it shares with this one. So the smaller the quorums, the cheaper an entry; and the more evenly nodes are spread
//! over them, the less any one of them has to do.

use crate::mutex::prelude::*;

/// How quorums are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Quorums {
    /// The group stands in rows and columns, as nearly in a square as it can, and a quorum is a node's row with its column:
    /// 2√n−1 nodes in a full square. The last row may be short. Whoever stands in it meets a full row in its own column.
    Grid,
    /// The nodes are the points of a projective plane, and a quorum is a line: q+1 of q²+q+1 nodes, the fewest there can
    /// be. Any two lines meet in exactly one node, and every node is on equally many.
    Plane,
}

/// For each plane that is known here, the places of one line: a perfect difference set, in which every distance round the
/// group occurs exactly once. So each of its shifts meets each other one in exactly one place. The smallest is a triangle.
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
    /// Whether there are such quorums for so many nodes, or a sentence that says for how many there are.
    pub fn fit(self, nodes: usize) -> Result<(), &'static str> {
        match self {
            Self::Plane if line(nodes).is_none() => Err("a projective plane has 3, 7, 13, 21, 31, 57, 73 or 91 points"),
            Self::Plane | Self::Grid => Ok(()),
        }
    }

    /// The quorum of a member. It is one of its own voters. Where there is no plane, the group stands in a grid.
    pub fn of(self, me: NodeId, group: &Group) -> Group {
        let members = group.as_slice();
        let Ok(place) = members.binary_search(&me) else { return Group::from_iter([me]) };
        let places = match (self, line(members.len())) {
            (Self::Plane, Some(line)) => shifted(line, place, members.len()),
            (Self::Plane, None) | (Self::Grid, _) => cross(place, members.len()),
        };
        places.into_iter().filter_map(|place| members.get(place).copied()).collect()
    }
}

fn line(nodes: usize) -> Option<&'static [usize]> {
    LINES.into_iter().find(|line| line.len() * (line.len() - 1) + 1 == nodes)
}

fn shifted(line: &[usize], by: usize, nodes: usize) -> Vec<usize> {
    line.iter().map(|place| (place + by) % nodes).collect()
}

/// The places in the same row or in the same column.
fn cross(place: usize, nodes: usize) -> Vec<usize> {
    let width = width(nodes);
    let meets = |other: &usize| other / width == place / width || other % width == place % width;
    (0..nodes).filter(meets).collect()
}

/// How many columns there are: the least number whose square has room for all.
const fn width(nodes: usize) -> usize {
    let root = nodes.isqrt();
    if root * root == nodes { root } else { root + 1 }
}

#[cfg(test)]
mod tests;
