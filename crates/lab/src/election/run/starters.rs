//! The nodes that start elections.

use crate::chaos::stored_as_text;
use quorate_core::NodeId;
use quorate_core::election::{Ranking, Ring};
use quorate_journal::settings::{NodeSet, SettingError};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The starters among the live nodes: `lowest`, `highest`, `all`, `successor-of-highest`, or nodes
/// by number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Starters {
    /// The node with the lowest rank. Without an attribute, node numbers determine the ranks.
    Lowest,
    Highest,
    #[default]
    All,
    /// The successor of the highest node on the ring. A message from it has the longest way to the
    /// highest.
    SuccessorOfHighest,
    Named(NodeSet),
}

const WORDS: [(&str, Starters); 4] = [
    ("lowest", Starters::Lowest),
    ("highest", Starters::Highest),
    ("all", Starters::All),
    ("successor-of-highest", Starters::SuccessorOfHighest),
];

impl Starters {
    /// Returns the starters among the live nodes.
    pub fn select(&self, live: impl Iterator<Item = NodeId>, ring: &Ring, ranking: &Ranking) -> Vec<NodeId> {
        match self {
            Self::Lowest => live.min_by_key(|node| ranking.rank_of(*node)).into_iter().collect(),
            Self::Highest => ranking.best(live).into_iter().collect(),
            Self::SuccessorOfHighest => {
                let live: Vec<_> = live.collect();
                let highest = ranking.best(live.iter().copied());
                // Steps from the successor of `from` to the node.
                let distance = |node: NodeId, from: NodeId| {
                    let steps = ring.position_of(node) + ring.len() - ring.position_of(from);
                    (steps + ring.len() - 1) % ring.len().max(1)
                };
                let next = highest.and_then(|highest| live.into_iter().min_by_key(|node| distance(*node, highest)));
                next.into_iter().collect()
            }
            Self::All => live.collect(),
            Self::Named(nodes) => live.filter(|node| nodes.contains(*node)).collect(),
        }
    }

    pub fn may_select_several(&self, nodes: usize) -> bool {
        match self {
            Self::Lowest | Self::Highest | Self::SuccessorOfHighest => false,
            Self::All => nodes > 1,
            Self::Named(named) => named.len() > 1,
        }
    }
}

impl fmt::Display for Starters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, WORDS.iter().find(|(_, starters)| starters == self)) {
            (Self::Named(nodes), _) => nodes.fmt(f),
            (_, known) => f.write_str(known.map_or("", |(word, _)| word)),
        }
    }
}

impl FromStr for Starters {
    type Err = SettingError;

    fn from_str(text: &str) -> Result<Self, SettingError> {
        let word = text.trim();
        if let Some((_, starters)) = WORDS.iter().find(|(known, _)| known.eq_ignore_ascii_case(word)) {
            return Ok(starters.clone());
        }
        if word.starts_with(|first: char| first.is_ascii_digit()) {
            return word.parse().map(Self::Named);
        }
        Err(SettingError::Unknown {
            word: word.into(),
            expected: "a choice of starters",
            nearest: quorate_journal::settings::nearest(word, WORDS.map(|(known, _)| known)).map(String::from),
            known_words: "Write lowest, highest, all, successor-of-highest, or nodes such as 2,5.".into(),
        })
    }
}

stored_as_text!(Starters);

#[cfg(test)]
mod tests {
    use super::Starters;
    use quorate_core::NodeId;
    use quorate_core::election::{Preference, Ranking, Ring};

    #[track_caller]
    fn select(text: &str, live: &[u32]) -> Vec<u32> {
        let starters: Starters = text.parse().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(starters.to_string(), text);
        let live: Vec<_> = live.iter().filter_map(|number| NodeId::new(*number)).collect();
        let (ring, ranking) = (Ring::of_size(9), Ranking::default());
        starters.select(live.into_iter(), &ring, &ranking).into_iter().map(NodeId::number).collect()
    }

    #[test]
    fn only_live_nodes_start() {
        assert_eq!(select("lowest", &[2, 3, 5]), [2]);
        assert_eq!(select("highest", &[2, 3, 5]), [5]);
        assert_eq!(select("successor-of-highest", &[2, 3, 5]), [2]);
        assert_eq!(select("all", &[2, 3, 5]), [2, 3, 5]);
        assert_eq!(select("1,3-5", &[2, 3, 5]), [3, 5]);
        assert_eq!(select("4", &[2, 3, 5]), [0_u32; 0]);
        for words in ["lowest", "highest", "successor-of-highest", "all", "1"] {
            assert_eq!(select(words, &[]), [0_u32; 0]);
        }
    }

    #[test]
    fn ranks_and_ring_order_determine_the_starters() {
        let nodes = |numbers: &[u32]| numbers.iter().filter_map(|number| NodeId::new(*number)).collect::<Vec<_>>();
        let ring = Ring::from_order(nodes(&[3, 1, 4, 2])).unwrap_or(Ring::of_size(0));
        // Node 2 has the highest rank, because its attribute is the lowest; node 1 has the lowest
        // rank. Nodes 3 and 4 tie, and the lower number, 3, gives the higher rank. On the ring,
        // node 3 succeeds node 2, and node 1 succeeds node 3.
        let ranking = Ranking::by_attribute([9, 1, 5, 5], Preference::Lowest);
        let select_starters =
            |starters: Starters, live: &[u32]| starters.select(nodes(live).into_iter(), &ring, &ranking);
        assert_eq!(select_starters(Starters::Highest, &[1, 2, 3, 4]), nodes(&[2]));
        assert_eq!(select_starters(Starters::Lowest, &[1, 2, 3, 4]), nodes(&[1]));
        assert_eq!(select_starters(Starters::SuccessorOfHighest, &[1, 2, 3, 4]), nodes(&[3]));
        assert_eq!(select_starters(Starters::SuccessorOfHighest, &[1, 3, 4]), nodes(&[1]));
        assert_eq!(select_starters(Starters::SuccessorOfHighest, &[4]), nodes(&[4]));
    }

    #[test]
    fn invalid_starters_are_rejected_with_a_reason() {
        for (text, part) in [
            ("lowset", "did you mean 'lowest'"),
            ("", "Write lowest, highest"),
            ("2,", "'2,' is not a set of nodes"),
            ("5-2", "2-5"),
            ("0", "node numbers must be between 1 and"),
        ] {
            let error = text.parse::<Starters>().err().map(|error| error.to_string()).unwrap_or_default();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
