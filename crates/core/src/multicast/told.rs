//! Who holds how much of whose messages, as far as a member was told.

use crate::group::Group;
use crate::node::NodeId;
use alloc::vec;
use alloc::vec::Vec;

/// For each member and each sender, up to which message the member holds all of the sender's.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Told {
    /// A row for each member that has said something, a column for each sender, in the order of the group.
    rows: Vec<Vec<u64>>,
    least: Vec<u64>,
}

impl Told {
    /// Nobody holds anything.
    pub fn nothing(members: &Group) -> Self {
        Self { rows: vec![Vec::new(); members.len()], least: vec![0; members.len()] }
    }

    /// A member says how much it holds of everyone's. What it said before is never taken back; a list of another length is no news.
    pub fn hear(&mut self, members: &Group, member: NodeId, counts: &[u64]) {
        let Some(at) = members.place_of(member) else { return };
        let Some(row) = self.rows.get_mut(at).filter(|_| counts.len() == members.len()) else { return };
        row.resize(counts.len(), 0);
        for (place, count) in counts.iter().enumerate() {
            let Some(known) = self.rows.get_mut(at).and_then(|row| row.get_mut(place)) else { return };
            if *count > *known {
                *known = *count;
                let least = self.rows.iter().map(|row| row.get(place).copied().unwrap_or(0)).min();
                if let Some(column) = self.least.get_mut(place) {
                    *column = least.unwrap_or(0);
                }
            }
        }
    }

    /// Up to which message of a sender everyone holds all.
    pub fn by_all(&self, members: &Group, sender: NodeId) -> u64 {
        members.place_of(sender).and_then(|place| self.least.get(place)).copied().unwrap_or(0)
    }

    /// The members that hold least of a sender's messages, if they hold less than that.
    pub fn slowest(&self, members: &Group, sender: NodeId, sent: u64) -> Group {
        let least = self.by_all(members, sender);
        let Some(place) = members.place_of(sender).filter(|_| least < sent) else { return Group::nobody() };
        let rows = members.iter().zip(&self.rows);
        rows.filter(|(_, row)| row.get(place).copied().unwrap_or(0) == least).map(|(member, _)| member).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Told;
    use crate::group::Group;
    use crate::node::NodeId;

    #[test]
    fn everyone_holds_what_the_slowest_holds_and_it_is_named() {
        let members = Group::of_size(3);
        let [one, two, three] = [0, 1, 2].map(NodeId::from_index);
        let mut told = Told::nothing(&members);
        told.hear(&members, one, &[5, 0, 0]);
        told.hear(&members, two, &[4, 0, 0]);
        assert_eq!(told.by_all(&members, one), 0);
        assert_eq!(told.slowest(&members, one, 5), [three].into_iter().collect::<Group>());
        told.hear(&members, three, &[3, 9, 0]);
        told.hear(&members, three, &[2, 0, 0]);
        assert_eq!(told.by_all(&members, one), 3, "what was said is not taken back");
        told.hear(&members, three, &[9]);
        assert_eq!(told.by_all(&members, one), 3, "a list of another length is no news");
        assert!(told.slowest(&members, one, 3).is_empty());
    }
}
