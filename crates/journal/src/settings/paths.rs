//! Which ways between nodes a fault concerns: the sides of a cut, the two ends of links.

use super::error::SettingError;
use super::nodes::{NodeSet, Side};
use quorate_core::NodeId;
use std::fmt;
use std::str::FromStr;

/// Who no longer hears whom: `1,2 | 3`, `1 | 2 | rest`, or one way `1 > 2`.
///
/// Its sides are two or more, none is empty, none share a node, and at most one is the rest. A node on no side
/// hears everybody and is heard by all.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cut {
    sides: Vec<Side>,
    ways: Ways,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Ways {
    /// Nothing passes between any two sides.
    Both,
    /// Nothing passes from the first side to the second.
    One,
}

impl Cut {
    /// A cut both ways between every two of these sides.
    pub fn between(sides: Vec<Side>) -> Result<Self, SettingError> {
        Self { sides, ways: Ways::Both }.checked()
    }

    /// A cut of all that goes from one side to the other, while the way back stays open.
    pub fn one_way(from: Side, to: Side) -> Result<Self, SettingError> {
        Self { sides: vec![from, to], ways: Ways::One }.checked()
    }

    /// Its sides in order; those of a one-way cut are where the cut ways begin and where they end.
    pub fn sides(&self) -> &[Side] {
        &self.sides
    }

    /// Whether only the way from the first side to the second is cut.
    pub fn is_one_way(&self) -> bool {
        self.ways == Ways::One
    }

    /// Whether it stops what goes from one node to the other.
    pub fn severs(&self, from: NodeId, to: NodeId) -> bool {
        match (self.ways, self.side_of(from), self.side_of(to)) {
            (Ways::Both, Some(one), Some(other)) => one != other,
            (Ways::One, Some(one), Some(other)) => one < other,
            (Ways::Both | Ways::One, _, _) => false,
        }
    }

    fn side_of(&self, node: NodeId) -> Option<usize> {
        let names = |side: &Side| side.named().is_some_and(|nodes| nodes.contains(node));
        self.sides.iter().position(names).or_else(|| self.sides.iter().position(|side| *side == Side::Rest))
    }

    fn checked(self) -> Result<Self, SettingError> {
        if self.sides.len() < 2 {
            return Err(SettingError::missing(&self.to_string(), "a second side", "for example 1 | rest"));
        }
        check_sides(&self.sides, &self)?;
        if let ([from, to], Ways::One) = (&*self.sides, self.ways) {
            check_ends(from, to, &self)?;
        }
        match NodeSet::shared(self.sides.iter().filter_map(Side::named)) {
            Some(node) => Err(SettingError::OnTwoSides { text: self.to_string(), node }),
            None => Ok(self),
        }
    }
}

/// No side may be empty, and only one the rest.
fn check_sides(sides: &[Side], whole: &impl fmt::Display) -> Result<(), SettingError> {
    if sides.iter().filter_map(Side::named).any(NodeSet::is_empty) {
        Err(SettingError::EmptySide { text: whole.to_string() })
    } else if sides.iter().filter(|side| **side == Side::Rest).count() > 1 {
        Err(SettingError::RestTwice { text: whole.to_string() })
    } else {
        Ok(())
    }
}

/// Some way must lead from one to the other, and none leads from a node to itself.
fn check_ends(from: &Side, to: &Side, whole: &impl fmt::Display) -> Result<(), SettingError> {
    match from.named().filter(|nodes| from == to && nodes.len() == 1).and_then(NodeSet::highest) {
        Some(node) => Err(SettingError::ToItself { text: whole.to_string(), node }),
        None => Ok(()),
    }
}

/// Reads the sides between these separators.
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
        } else {
            Self::between(read_sides(text, '|')?)
        }
    }
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separator = match self.ways {
            Ways::Both => " | ",
            Ways::One => " > ",
        };
        for (place, side) in self.sides.iter().enumerate() {
            f.write_str(if place > 0 { separator } else { "" })?;
            side.fmt(f)?;
        }
        Ok(())
    }
}

/// All links from any node of one side to any node of the other: `1 > 2`, `1,2 > rest`.
///
/// A node may be on both sides, since `1-3 > 1-3` are the links among three nodes; none leads to itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Links {
    ends: [Side; 2],
}

impl Links {
    /// The links from one side to the other, of which there must be one at least.
    pub fn new(from: Side, to: Side) -> Result<Self, SettingError> {
        let links = Self { ends: [from, to] };
        let [from, to] = &links.ends;
        check_sides(&links.ends, &links)?;
        check_ends(from, to, &links)?;
        Ok(links)
    }

    /// Where they begin and where they end.
    pub fn sides(&self) -> &[Side] {
        &self.ends
    }

    /// Whether the link from one node to the other is among them.
    pub fn cover(&self, from: NodeId, to: NodeId) -> bool {
        let [begin, end] = &self.ends;
        let holds = |side: &Side, other: &Side, node| match side {
            Side::Nodes(nodes) => nodes.contains(node),
            Side::Rest => !other.named().is_some_and(|nodes| nodes.contains(node)),
        };
        from != to && holds(begin, end, from) && holds(end, begin, to)
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
    use super::super::samples::sentence;
    use super::{Cut, Links};
    use expect_test::expect;
    use quorate_core::{Group, NodeId};

    /// The ways for which it holds in a group of four: `12 13`.
    fn ways(holds: impl Fn(NodeId, NodeId) -> bool) -> String {
        let group = Group::of_size(4);
        let pairs = group.iter().flat_map(|from| group.iter().map(move |to| (from, to)));
        pairs.filter(|&(from, to)| holds(from, to)).map(|(from, to)| format!("{from}{to} ")).collect()
    }

    fn severed(text: &str) -> String {
        let cut: Cut = text.parse().unwrap();
        ways(|from, to| cut.severs(from, to))
    }

    fn covered(text: &str) -> String {
        let links: Links = text.parse().unwrap();
        ways(|from, to| links.cover(from, to))
    }

    #[test]
    fn a_cut_severs_both_ways_between_its_sides() {
        assert_eq!(severed("1,2|3"), "13 23 31 32 ");
        assert_eq!(severed("1 | 2 | 3"), "12 13 21 23 31 32 ");
        assert_eq!(severed("1 | rest"), "12 13 14 21 31 41 ");
    }

    #[test]
    fn a_one_way_cut_leaves_the_way_back() {
        assert_eq!(severed("1,2 > 3"), "13 23 ");
        assert_eq!(severed("rest>1"), "21 31 41 ");
        assert!("1 > 2".parse::<Cut>().unwrap().is_one_way());
    }

    #[test]
    fn links_lead_from_one_side_to_the_other() {
        assert_eq!(covered("1 > 2,3"), "12 13 ");
        assert_eq!(covered("1-3 > 1-3"), "12 13 21 23 31 32 ");
        assert_eq!(covered("rest > 1,2"), "31 32 41 42 ");
    }

    #[test]
    fn mistakes_in_a_cut() {
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
            '' has an empty side; name its nodes, or write 'rest' for all that no other side names.
            '1 |' has an empty side; name its nodes, or write 'rest' for all that no other side names.
            '| 3' has an empty side; name its nodes, or write 'rest' for all that no other side names.
            '1 || 2' has an empty side; name its nodes, or write 'rest' for all that no other side names.
            '1,2 | 2,3' puts node 2 on two sides; leave it on one.
            '1 | 1' puts node 1 on two sides; leave it on one.
            '1,2 > 1,2' puts node 1 on two sides; leave it on one.
            '1 > 1' leads from node 1 to itself; name another node on one side.
            'rest | rest' says 'rest' twice, but only one side can be the rest.
            '1 | 2 > 3' is neither kind of cut; write 'A | B | C' for both ways, or 'A > B' for one way.
            '1 > 2 > 3' is neither kind of cut; write 'A | B | C' for both ways, or 'A > B' for one way.
            'x' is not a set of nodes; write for example 1,3-5 or rest.
        "#]]
        .assert_eq(&texts.map(sentence::<Cut>).concat());
    }

    #[test]
    fn mistakes_in_links() {
        let texts = ["1", "1 | 2", "1 >", "1 > 1", "rest > rest", "1 > 2 > 3", "1 > x"];
        expect![[r#"
            '1' lacks a '>'; write for example 1 > 2.
            '1 | 2' lacks a '>'; write for example 1 > 2.
            '1 >' has an empty side; name its nodes, or write 'rest' for all that no other side names.
            '1 > 1' leads from node 1 to itself; name another node on one side.
            'rest > rest' says 'rest' twice, but only one side can be the rest.
            '1 > 2 > 3' is not a link; write for example 1 > 2.
            'x' is not a set of nodes; write for example 1,3-5 or rest.
        "#]]
        .assert_eq(&texts.map(sentence::<Links>).concat());
    }

    #[test]
    fn an_empty_side_is_refused_however_it_is_made() {
        use super::{NodeSet, Side};
        let empty = || Side::Nodes(NodeSet::default());
        assert!(Cut::between(vec![empty(), Side::Rest]).is_err());
        assert!(Cut::one_way(Side::Rest, empty()).is_err());
        assert!(Links::new(empty(), empty()).is_err());
    }
}
