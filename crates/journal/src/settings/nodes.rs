//! Sets of nodes by number: `2`, `1,3-5`, `rest`.

use super::error::SettingError;
use quorate_core::NodeId;
use std::fmt;
use std::str::FromStr;

/// A set of nodes by number: `1,3-5`.
///
/// Stored as ranges, so that a short text such as `1-4294967295` cannot exhaust memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct NodeSet {
    /// Sorted, neither overlapping nor adjacent.
    ranges: Vec<Range>,
}

/// An inclusive range of nodes: first and last.
type Range = (NodeId, NodeId);

impl NodeSet {
    /// Returns whether the node is in one of the ranges.
    pub fn contains(&self, node: NodeId) -> bool {
        self.ranges.iter().any(|&(first, last)| (first..=last).contains(&node))
    }

    /// Returns whether no node is in the set.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Number of nodes in the set.
    pub fn len(&self) -> usize {
        self.ranges.iter().map(|(first, last)| last.index() - first.index() + 1).sum()
    }

    /// Returns the node with the highest number; `None` if the set is empty.
    pub fn highest(&self) -> Option<NodeId> {
        self.ranges.last().map(|&(_, last)| last)
    }

    /// Returns the nodes in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.ranges.iter().flat_map(|(first, last)| first.index()..=last.index()).map(NodeId::from_index)
    }

    /// Returns a node that belongs to more than one of these sets, or `None`.
    pub(super) fn shared_node<'a>(sets: impl IntoIterator<Item = &'a Self>) -> Option<NodeId> {
        let mut ranges: Vec<Range> = sets.into_iter().flat_map(|set| set.ranges.iter().copied()).collect();
        ranges.sort_unstable();
        overlapping_node(&ranges)
    }

    fn from_ranges(mut ranges: Vec<Range>) -> Self {
        ranges.sort_unstable();
        let mut merged: Vec<Range> = Vec::new();
        for (first, last) in ranges {
            match merged.last_mut() {
                Some((_, end)) if first.index() <= end.index() + 1 => *end = last.max(*end),
                _ => merged.push((first, last)),
            }
        }
        Self { ranges: merged }
    }
}

/// Returns a node that belongs to more than one of these sorted ranges, or `None`.
fn overlapping_node(ranges: &[Range]) -> Option<NodeId> {
    ranges.windows(2).find_map(|pair| match *pair {
        [(_, end), (first, _)] if first <= end => Some(first),
        _ => None,
    })
}

impl FromIterator<NodeId> for NodeSet {
    fn from_iter<I: IntoIterator<Item = NodeId>>(nodes: I) -> Self {
        Self::from_ranges(nodes.into_iter().map(|node| (node, node)).collect())
    }
}

impl FromStr for NodeSet {
    type Err = SettingError;

    fn from_str(text: &str) -> Result<Self, SettingError> {
        let mut ranges = text.split(',').map(|part| read_range(text, part.trim())).collect::<Result<Vec<_>, _>>()?;
        ranges.sort_unstable();
        match overlapping_node(&ranges) {
            Some(node) => Err(SettingError::DuplicateNode { text: text.into(), node }),
            None => Ok(Self::from_ranges(ranges)),
        }
    }
}

/// Parses a node or a range, which is a `part` of `text`.
fn read_range(text: &str, part: &str) -> Result<Range, SettingError> {
    let (first, last) = part.split_once('-').unwrap_or((part, part));
    let (first, last) = (first.trim_end(), last.trim_start());
    if !is_number(first) || !is_number(last) {
        return Err(SettingError::not_a(text, "a set of nodes", "1,3-5"));
    }
    let (first, last) = (read_node(first)?, read_node(last)?);
    if first <= last { Ok((first, last)) } else { Err(SettingError::reversed_bounds(part, format!("{last}-{first}"))) }
}

pub(super) fn read_node(text: &str) -> Result<NodeId, SettingError> {
    if !is_number(text) {
        return Err(SettingError::not_a(text, "a node number", "2"));
    }
    let node = text.parse().ok().and_then(NodeId::new);
    node.ok_or_else(|| SettingError::out_of_range(text, "node numbers must be between 1 and 4294967295"))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Prints three or more consecutive nodes as a range: `1,2,4-6`.
impl fmt::Display for NodeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (first, last)) in self.ranges.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            match last.index() - first.index() {
                0 => write!(f, "{comma}{first}")?,
                1 => write!(f, "{comma}{first},{last}")?,
                _ => write!(f, "{comma}{first}-{last}")?,
            }
        }
        Ok(())
    }
}

/// One side of a network cut, or one end of a link.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    Nodes(NodeSet),
    /// All nodes that no other side names: `rest`.
    Rest,
}

impl Side {
    pub(super) const REST: &str = "rest";

    /// Returns the nodes that this side names; `None` for `rest`.
    pub fn named_nodes(&self) -> Option<&NodeSet> {
        match self {
            Self::Nodes(nodes) => Some(nodes),
            Self::Rest => None,
        }
    }
}

impl FromStr for Side {
    type Err = SettingError;

    fn from_str(text: &str) -> Result<Self, SettingError> {
        let text = text.trim();
        if text.eq_ignore_ascii_case(Self::REST) {
            return Ok(Self::Rest);
        }
        text.parse().map(Self::Nodes).map_err(|error| match error {
            SettingError::NotA { text, expected, .. } => {
                SettingError::NotA { text, expected, example: "1,3-5 or rest" }
            }
            error => error,
        })
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nodes(nodes) => nodes.fmt(f),
            Self::Rest => f.write_str(Self::REST),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::parse_and_describe;
    use super::{NodeSet, Side};
    use expect_test::expect;
    use quorate_core::NodeId;

    #[test]
    fn a_set_reads_lists_and_ranges() {
        let sets =
            ["2", "1,2", " 3 , 1 - 2 ", "5,1-3,7-7", "1-4294967295"].map(|text| text.parse::<NodeSet>().unwrap());
        assert_eq!(sets.each_ref().map(ToString::to_string), ["2", "1,2", "1-3", "1-3,5,7", "1-4294967295"]);
        assert_eq!(sets.each_ref().map(NodeSet::len), [1, 2, 3, 5, u32::MAX as usize]);
    }

    #[test]
    fn a_set_contains_its_nodes() {
        let set: NodeSet = "1-3,5".parse().unwrap();
        let members: Vec<u32> = set.iter().map(NodeId::number).collect();
        assert_eq!(members, [1, 2, 3, 5]);
        assert_eq!(set.highest(), NodeId::new(5));
        let contained = [1, 4, 5, 6].map(|number| set.contains(NodeId::new(number).unwrap()));
        assert_eq!(contained, [true, false, true, false]);
        assert_eq!(set.iter().collect::<NodeSet>(), set);
    }

    #[test]
    fn a_side_may_be_the_rest() {
        assert_eq!("REST".parse(), Ok(Side::Rest));
        assert_eq!(Side::Rest.named_nodes(), None);
        let error = "rest".parse::<NodeSet>().unwrap_err();
        assert_eq!(error.to_string(), "'rest' is not a set of nodes; write for example 1,3-5.");
    }

    #[test]
    fn mistakes_in_a_side_are_explained() {
        let texts = ["", "x", "1 2", "1,", "1,rest", "0", "4294967296", "3-1", "1-", "1-2-3", "2,1-3", "-1", "+1"];
        expect![[r#"
            '' is not a set of nodes; write for example 1,3-5 or rest.
            'x' is not a set of nodes; write for example 1,3-5 or rest.
            '1 2' is not a set of nodes; write for example 1,3-5 or rest.
            '1,' is not a set of nodes; write for example 1,3-5 or rest.
            '1,rest' is not a set of nodes; write for example 1,3-5 or rest.
            '0' is invalid: node numbers must be between 1 and 4294967295.
            '4294967296' is invalid: node numbers must be between 1 and 4294967295.
            '3-1' has its bounds in the wrong order; write 1-3.
            '1-' is not a set of nodes; write for example 1,3-5 or rest.
            '1-2-3' is not a set of nodes; write for example 1,3-5 or rest.
            '2,1-3' names node 2 twice; name it once.
            '-1' is not a set of nodes; write for example 1,3-5 or rest.
            '+1' is not a set of nodes; write for example 1,3-5 or rest.
        "#]]
        .assert_eq(&texts.map(parse_and_describe::<Side>).concat());
    }
}
