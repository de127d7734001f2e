//! The links between nodes that a network fault affects: those that a cut blocks, and those whose
//! behavior changes.

use super::error::SettingError;
use super::nodes::{NodeSet, Side};
use quorate_core::NodeId;
use std::fmt;
use std::str::FromStr;

/// A network partition: `1,2 | 3`, `1 | 2 | rest`, or in one direction `1 > 2`.
///
/// It has at least two sides. No side is empty, no two sides share a node, and at most one side is
/// `rest`: all nodes that no other side names. A node on no side can still communicate with all
/// nodes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cut {
    sides: Vec<Side>,
    directions: CutDirections,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum CutDirections {
    /// No message passes between any two sides.
    Both,
    /// No message passes from the first side to the second.
    One,
}

impl Cut {
    /// Cuts both directions between every two of these sides.
    pub fn between(sides: Vec<Side>) -> Result<Self, SettingError> {
        Self { sides, directions: CutDirections::Both }.validated()
    }

    /// Cuts the direction from one side to the other; the opposite direction stays open.
    pub fn one_way(from: Side, to: Side) -> Result<Self, SettingError> {
        Self { sides: vec![from, to], directions: CutDirections::One }.validated()
    }

    /// Returns its sides in order. A one-way cut has two: the senders and the receivers.
    pub fn sides(&self) -> &[Side] {
        &self.sides
    }

    /// Returns whether only the direction from the first side to the second is cut.
    pub fn is_one_way(&self) -> bool {
        self.directions == CutDirections::One
    }

    /// Returns whether the cut blocks messages from one node to the other.
    pub fn severs(&self, from: NodeId, to: NodeId) -> bool {
        match (self.directions, self.side_of(from), self.side_of(to)) {
            (CutDirections::Both, Some(one), Some(other)) => one != other,
            (CutDirections::One, Some(one), Some(other)) => one < other,
            (CutDirections::Both | CutDirections::One, _, _) => false,
        }
    }

    fn side_of(&self, node: NodeId) -> Option<usize> {
        let names = |side: &Side| side.named_nodes().is_some_and(|nodes| nodes.contains(node));
        self.sides.iter().position(names).or_else(|| self.sides.iter().position(|side| *side == Side::Rest))
    }

    /// Returns the cut if it is valid.
    fn validated(self) -> Result<Self, SettingError> {
        if self.sides.len() < 2 {
            return Err(SettingError::missing(&self.to_string(), "a second side", "for example 1 | rest"));
        }
        check_sides(&self.sides, &self)?;
        if let ([from, to], CutDirections::One) = (&*self.sides, self.directions) {
            check_link_exists(from, to, &self)?;
        }
        match NodeSet::shared_node(self.sides.iter().filter_map(Side::named_nodes)) {
            Some(node) => Err(SettingError::OnTwoSides { text: self.to_string(), node }),
            None => Ok(self),
        }
    }
}

/// Checks that no side is empty and at most one is the rest. Errors quote `text`.
fn check_sides(sides: &[Side], text: &impl fmt::Display) -> Result<(), SettingError> {
    if sides.iter().filter_map(Side::named_nodes).any(NodeSet::is_empty) {
        Err(SettingError::EmptySide { text: text.to_string() })
    } else if sides.iter().filter(|side| **side == Side::Rest).count() > 1 {
        Err(SettingError::RestTwice { text: text.to_string() })
    } else {
        Ok(())
    }
}

/// Checks that there is a link from one side to the other: a node has no link to itself.
fn check_link_exists(from: &Side, to: &Side, text: &impl fmt::Display) -> Result<(), SettingError> {
    match from.named_nodes().filter(|nodes| from == to && nodes.len() == 1).and_then(NodeSet::highest) {
        Some(node) => Err(SettingError::LinkToItself { text: text.to_string(), node }),
        None => Ok(()),
    }
}

/// Parses sides with this separator.
fn read_sides(text: &str, separator: char) -> Result<Vec<Side>, SettingError> {
    let parts = || text.split(separator).map(str::trim);
    if parts().any(str::is_empty) {
        return Err(SettingError::EmptySide { text: text.into() });
    }
    parts().map(str::parse).collect()
}

impl FromStr for Cut {
    type Err = SettingError;

    fn from_str(text: &str) -> Result<Self, SettingError> {
        let mixed = || SettingError::MixedCut { text: text.into() };
        if text.contains('>') {
            if text.contains('|') {
                return Err(mixed());
            }
            let [from, to] = <[Side; 2]>::try_from(read_sides(text, '>')?).map_err(|_| mixed())?;
            Self::one_way(from, to)
        } else if !text.contains('|') {
            Err(SettingError::missing(text, "a second side", "for example 1 | rest"))
        } else {
            Self::between(read_sides(text, '|')?)
        }
    }
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separator = match self.directions {
            CutDirections::Both => " | ",
            CutDirections::One => " > ",
        };
        for (index, side) in self.sides.iter().enumerate() {
            f.write_str(if index > 0 { separator } else { "" })?;
            side.fmt(f)?;
        }
        Ok(())
    }
}

/// All links from a node of one side to a node of the other: `1 > 2`, `1,2 > rest`.
///
/// A node may be on both sides: `1-3 > 1-3` are the links among three nodes. A node has no link to
/// itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Links {
    ends: [Side; 2],
}

impl Links {
    /// Creates the links from one side to the other. Fails if there is none, or if both sides are
    /// `rest`.
    pub fn new(from: Side, to: Side) -> Result<Self, SettingError> {
        let links = Self { ends: [from, to] };
        let [from, to] = &links.ends;
        check_sides(&links.ends, &links)?;
        check_link_exists(from, to, &links)?;
        Ok(links)
    }

    /// Returns the side of the senders and the side of the receivers.
    pub fn sides(&self) -> &[Side] {
        &self.ends
    }

    /// Returns whether the link from one node to the other is one of these links.
    pub fn include(&self, from: NodeId, to: NodeId) -> bool {
        let [senders, receivers] = &self.ends;
        let contains = |side: &Side, other: &Side, node| match side {
            Side::Nodes(nodes) => nodes.contains(node),
            Side::Rest => !other.named_nodes().is_some_and(|nodes| nodes.contains(node)),
        };
        from != to && contains(senders, receivers, from) && contains(receivers, senders, to)
    }
}

impl FromStr for Links {
    type Err = SettingError;

    fn from_str(text: &str) -> Result<Self, SettingError> {
        if !text.contains('>') {
            return Err(SettingError::missing(text, "a '>'", "for example 1 > 2"));
        }
        let ends = <[Side; 2]>::try_from(read_sides(text, '>')?);
        let [from, to] = ends.map_err(|_| SettingError::not_a(text, "a link", "1 > 2"))?;
        Self::new(from, to)
    }
}

impl fmt::Display for Links {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [from, to] = &self.ends;
        write!(f, "{from} > {to}")
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::parse_and_describe;
    use super::{Cut, Links};
    use expect_test::expect;
    use quorate_core::{Group, NodeId};

    /// Returns the pairs of sender and receiver in a group of four for which `is_included` is true:
    /// `12 13`.
    fn pairs(is_included: impl Fn(NodeId, NodeId) -> bool) -> String {
        let group = Group::of_size(4);
        let all = group.iter().flat_map(|from| group.iter().map(move |to| (from, to)));
        all.filter(|&(from, to)| is_included(from, to)).map(|(from, to)| format!("{from}{to} ")).collect()
    }

    fn severed_pairs(text: &str) -> String {
        let cut: Cut = text.parse().unwrap();
        pairs(|from, to| cut.severs(from, to))
    }

    fn covered_pairs(text: &str) -> String {
        let links: Links = text.parse().unwrap();
        pairs(|from, to| links.include(from, to))
    }

    #[test]
    fn a_cut_severs_both_directions_between_its_sides() {
        assert_eq!(severed_pairs("1,2|3"), "13 23 31 32 ");
        assert_eq!(severed_pairs("1 | 2 | 3"), "12 13 21 23 31 32 ");
        assert_eq!(severed_pairs("1 | rest"), "12 13 14 21 31 41 ");
    }

    #[test]
    fn a_one_way_cut_leaves_the_opposite_direction_open() {
        assert_eq!(severed_pairs("1,2 > 3"), "13 23 ");
        assert_eq!(severed_pairs("rest>1"), "21 31 41 ");
        assert!("1 > 2".parse::<Cut>().unwrap().is_one_way());
    }

    #[test]
    fn links_lead_from_one_side_to_the_other() {
        assert_eq!(covered_pairs("1 > 2,3"), "12 13 ");
        assert_eq!(covered_pairs("1-3 > 1-3"), "12 13 21 23 31 32 ");
        assert_eq!(covered_pairs("rest > 1,2"), "31 32 41 42 ");
    }

    #[test]
    fn mistakes_in_a_cut_are_explained() {
        let texts = [
            "1",
            "",
            "1 |",
            "| 3",
            "1 || 2",
            "1,2 | 2,3",
            "1 | 1",
            "1,2 > 1,2",
            "1 > 1",
            "rest | rest",
            "1 | 2 > 3",
            "1 > 2 > 3",
            "1 | x",
        ];
        expect![[r#"
            '1' lacks a second side; write for example 1 | rest.
            '' lacks a second side; write for example 1 | rest.
            '1 |' has an empty side; name its nodes, or write 'rest' for all nodes that no other side names.
            '| 3' has an empty side; name its nodes, or write 'rest' for all nodes that no other side names.
            '1 || 2' has an empty side; name its nodes, or write 'rest' for all nodes that no other side names.
            '1,2 | 2,3' puts node 2 on two sides; leave it on one.
            '1 | 1' puts node 1 on two sides; leave it on one.
            '1,2 > 1,2' puts node 1 on two sides; leave it on one.
            '1 > 1' is a link from node 1 to itself; name two different nodes.
            'rest | rest' has 'rest' twice, but only one side can be the rest.
            '1 | 2 > 3' is not a cut; write 'A | B | C' to cut both directions, or 'A > B' to cut one direction.
            '1 > 2 > 3' is not a cut; write 'A | B | C' to cut both directions, or 'A > B' to cut one direction.
            'x' is not a set of nodes; write for example 1,3-5 or rest.
        "#]]
        .assert_eq(&texts.map(parse_and_describe::<Cut>).concat());
    }

    #[test]
    fn mistakes_in_links_are_explained() {
        let texts = ["1", "1 | 2", "1 >", "1 > 1", "rest > rest", "1 > 2 > 3", "1 > x"];
        expect![[r#"
            '1' lacks a '>'; write for example 1 > 2.
            '1 | 2' lacks a '>'; write for example 1 > 2.
            '1 >' has an empty side; name its nodes, or write 'rest' for all nodes that no other side names.
            '1 > 1' is a link from node 1 to itself; name two different nodes.
            'rest > rest' has 'rest' twice, but only one side can be the rest.
            '1 > 2 > 3' is not a link; write for example 1 > 2.
            'x' is not a set of nodes; write for example 1,3-5 or rest.
        "#]]
        .assert_eq(&texts.map(parse_and_describe::<Links>).concat());
    }

    #[test]
    fn every_constructor_rejects_an_empty_side() {
        use super::{NodeSet, Side};
        let empty = || Side::Nodes(NodeSet::default());
        assert!(Cut::between(vec![empty(), Side::Rest]).is_err());
        assert!(Cut::one_way(Side::Rest, empty()).is_err());
        assert!(Links::new(empty(), empty()).is_err());
    }
}
