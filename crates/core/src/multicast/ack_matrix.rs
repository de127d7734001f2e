//! How many of each sender's messages each member has acknowledged.

use crate::group::Group;
use crate::node::NodeId;
use alloc::vec;
use alloc::vec::Vec;

/// For each member and each sender, the number of the sender's messages that the member has
/// acknowledged. It holds them without a gap, and may hold more.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AckMatrix {
    /// A row for each member, a column for each sender, in the order of the group. The row of a
    /// member that has acknowledged nothing is empty.
    rows: Vec<Vec<u64>>,
    /// The minimum of each column: the number of the sender's messages that all members hold.
    minimums: Vec<u64>,
}

impl AckMatrix {
    /// Creates a matrix in which no member has acknowledged anything.
    pub fn new(members: &Group) -> Self {
        Self { rows: vec![Vec::new(); members.len()], minimums: vec![0; members.len()] }
    }

    /// Records an acknowledgement: the counts of a member, for each sender. A count lower than the
    /// known one is ignored, and so is a list without exactly one count for each member.
    pub fn record(&mut self, members: &Group, member: NodeId, counts: &[u64]) {
        let Some(row_index) = members.index_of(member) else { return };
        let Some(row) = self.rows.get_mut(row_index).filter(|_| counts.len() == members.len()) else { return };
        row.resize(counts.len(), 0);
        for (column, count) in counts.iter().enumerate() {
            let Some(known) = self.rows.get_mut(row_index).and_then(|row| row.get_mut(column)) else { return };
            if *count > *known {
                *known = *count;
                let column_minimum = self.rows.iter().map(|row| row.get(column).copied().unwrap_or(0)).min();
                if let Some(minimum) = self.minimums.get_mut(column) {
                    *minimum = column_minimum.unwrap_or(0);
                }
            }
        }
    }

    /// Returns the number of a sender's messages that all members hold.
    pub fn held_by_all(&self, members: &Group, sender: NodeId) -> u64 {
        members.index_of(sender).and_then(|column| self.minimums.get(column)).copied().unwrap_or(0)
    }

    /// Returns the members that have acknowledged the fewest of a sender's messages; empty if all
    /// have acknowledged `sent` of them.
    pub fn slowest(&self, members: &Group, sender: NodeId, sent: u64) -> Group {
        let minimum = self.held_by_all(members, sender);
        let Some(column) = members.index_of(sender).filter(|_| minimum < sent) else { return Group::empty() };
        let rows = members.iter().zip(&self.rows);
        rows.filter(|(_, row)| row.get(column).copied().unwrap_or(0) == minimum).map(|(member, _)| member).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::AckMatrix;
    use crate::group::Group;
    use crate::node::NodeId;

    #[test]
    fn the_slowest_member_determines_the_count_and_is_named() {
        let members = Group::of_size(3);
        let [node_1, node_2, node_3] = [0, 1, 2].map(NodeId::from_index);
        let mut acks = AckMatrix::new(&members);
        acks.record(&members, node_1, &[5, 0, 0]);
        acks.record(&members, node_2, &[4, 0, 0]);
        assert_eq!(acks.held_by_all(&members, node_1), 0);
        assert_eq!(acks.slowest(&members, node_1, 5), [node_3].into_iter().collect::<Group>());
        acks.record(&members, node_3, &[3, 9, 0]);
        acks.record(&members, node_3, &[2, 0, 0]);
        assert_eq!(acks.held_by_all(&members, node_1), 3, "counts never decrease");
        acks.record(&members, node_3, &[9]);
        assert_eq!(acks.held_by_all(&members, node_1), 3, "a list of another length is ignored");
        assert!(acks.slowest(&members, node_1, 3).is_empty());
    }
}
