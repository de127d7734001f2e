//! The ring order and the ranks of nodes in an election, as the command line spells them.

use crate::chaos::stored_as_text;
use quorate_core::election::{Preference, Ranking, Ring};
use quorate_core::{Group, NodeId};
use quorate_journal::rng::{SeededRng, Stream};
use quorate_journal::settings::SettingError;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The order of nodes on the ring: `numbers`, `random`, or all nodes such as `3,1,2`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum RingOrder {
    #[default]
    Numbers,
    Random,
    Given(Vec<NodeId>),
}

/// The attribute that ranks nodes: `id`, `random`, or one number per node such as `40,5,70`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Attribute {
    #[default]
    Id,
    /// Numbers that the seed draws, possibly with ties.
    Random,
    /// One number per node, in the order of the nodes' ids.
    Given(Vec<u64>),
}

impl RingOrder {
    /// Returns the ring of a group of this size; `None` if the order does not name exactly the
    /// nodes of the group.
    pub fn ring(&self, nodes: usize, seed: u64) -> Option<Ring> {
        match self {
            Self::Numbers => Some(Ring::of_size(nodes)),
            Self::Random => Ring::from_order(shuffled(nodes, seed)),
            Self::Given(order) => Ring::from_order(order.clone()).filter(|ring| ring.len() == nodes),
        }
    }
}

fn shuffled(nodes: usize, seed: u64) -> Vec<NodeId> {
    let mut rng = SeededRng::new(seed, Stream::RingOrder);
    let mut order: Vec<_> = Group::of_size(nodes).iter().collect();
    for index in (1..order.len()).rev() {
        order.swap(index, rng.below(index as u64 + 1) as usize);
    }
    order
}

impl Attribute {
    pub fn ranking(&self, nodes: usize, seed: u64, prefer: Preference) -> Ranking {
        match self {
            Self::Id => Ranking::by_number(prefer),
            Self::Random => {
                let mut rng = SeededRng::new(seed, Stream::Attributes);
                let attributes: Vec<_> = (0..nodes).map(|_| rng.below(nodes as u64)).collect();
                Ranking::by_attribute(attributes, prefer)
            }
            Self::Given(attributes) => Ranking::by_attribute(attributes.clone(), prefer),
        }
    }
}

impl fmt::Display for RingOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Numbers => f.write_str("numbers"),
            Self::Random => f.write_str("random"),
            Self::Given(order) => write_list(f, order),
        }
    }
}

impl fmt::Display for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id => f.write_str("id"),
            Self::Random => f.write_str("random"),
            Self::Given(attributes) => write_list(f, attributes),
        }
    }
}

fn write_list(f: &mut fmt::Formatter<'_>, items: &[impl fmt::Display]) -> fmt::Result {
    for (index, item) in items.iter().enumerate() {
        write!(f, "{}{item}", if index > 0 { "," } else { "" })?;
    }
    Ok(())
}

impl FromStr for RingOrder {
    type Err = SettingError;

    fn from_str(text: &str) -> Result<Self, SettingError> {
        let node = |word: &str| word.trim().parse().ok().and_then(NodeId::new);
        let error =
            || SettingError::NotA { text: text.into(), expected: "an order of the nodes", example: "3,1,2 or random" };
        match text.trim() {
            "numbers" => Ok(Self::Numbers),
            "random" => Ok(Self::Random),
            list => list.split(',').map(node).collect::<Option<_>>().map(Self::Given).ok_or_else(error),
        }
    }
}

impl FromStr for Attribute {
    type Err = SettingError;

    fn from_str(text: &str) -> Result<Self, SettingError> {
        let error = || SettingError::NotA {
            text: text.into(),
            expected: "an attribute",
            example: "id, random, or one whole number for each node such as 40,5,70",
        };
        match text.trim() {
            "id" => Ok(Self::Id),
            "random" => Ok(Self::Random),
            list => {
                let numbers: Result<Vec<u64>, _> = list.split(',').map(|word| word.trim().parse()).collect();
                numbers.map(Self::Given).map_err(|_| error())
            }
        }
    }
}

stored_as_text!(RingOrder, Attribute);

#[cfg(test)]
mod tests {
    use super::{Attribute, RingOrder};
    use quorate_core::NodeId;
    use quorate_core::election::Preference;
    use std::collections::BTreeSet;

    #[test]
    fn words_and_lists_read_back_as_printed() {
        for text in ["numbers", "random", "3,1,2", "1"] {
            assert_eq!(text.parse::<RingOrder>().map(|ring_order| ring_order.to_string()), Ok(text.into()));
        }
        for text in ["id", "random", "40,5,70", "0"] {
            assert_eq!(text.parse::<Attribute>().map(|attribute| attribute.to_string()), Ok(text.into()));
        }
        for wrong in ["", "3,,1", "0,1", "radnom", "1;2", "-1"] {
            assert!(wrong.parse::<RingOrder>().is_err(), "{wrong}");
        }
        for wrong in ["", "3,,1", "-1", "1.5", "disk"] {
            assert!(wrong.parse::<Attribute>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_order_must_name_every_node_once() {
        let seed = 7;
        let ring =
            |text: &str, nodes| text.parse::<RingOrder>().ok().and_then(|ring_order| ring_order.ring(nodes, seed));
        assert!(ring("3,1,2", 3).is_some());
        assert!(ring("3,1,2", 4).is_none() && ring("3,1,2", 2).is_none() && ring("1,1,2", 3).is_none());
    }

    #[test]
    fn a_random_order_is_a_permutation_and_depends_on_the_seed() {
        let order = |seed| {
            let nodes = 100;
            let ring = RingOrder::Random.ring(nodes, seed);
            (0..nodes).filter_map(|position| ring.as_ref().map(|ring| ring.at(position))).collect::<Vec<_>>()
        };
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
        assert_eq!(order(3).into_iter().collect::<BTreeSet<_>>().len(), 100);
    }

    #[test]
    fn ranks_differ_although_random_attributes_tie() {
        let (nodes, seed) = (50, 1);
        let ranking = Attribute::Random.ranking(nodes, seed, Preference::Highest);
        assert_eq!(ranking, Attribute::Random.ranking(nodes, seed, Preference::Highest));
        let ranks: BTreeSet<_> = (0..nodes).map(|index| ranking.rank_of(NodeId::from_index(index))).collect();
        assert_eq!(ranks.len(), nodes);
    }
}
