//! The order of writes to the disk, so that the durable state is consistent after a crash loses the
//! last writes.

use crate::durable::{Ballot, Checkpoint, Write};
use crate::message::{Body, Entry};

/// Returns the writes for one `Ready` of raft, and the ballot if its commit index may not be
/// written with them yet.
///
/// A commit index must not be durable before the entries that it covers, because the disk may have
/// another leader's entries at these positions. And it must be durable before the entries that
/// follow a change of members: a replica with these entries that does not know that the change is
/// committed would campaign with the old members.
pub(crate) fn ordered_writes(
    ballot: Option<Ballot>,
    on_disk: u64,
    checkpoint: Option<Checkpoint>,
    entries: Vec<Entry>,
) -> (Vec<Write>, Option<Ballot>) {
    let mut writes = Vec::new();
    let before = entries.first().map_or(u64::MAX, |first| first.index.saturating_sub(1));
    let covered = if checkpoint.is_some() { on_disk } else { before };
    let mut written = on_disk;
    if let Some(ballot) = ballot {
        written = ballot.commit.min(covered);
        writes.push(Write::Ballot(Ballot { commit: written, ..ballot }));
    }
    writes.extend(checkpoint.map(Write::Install));
    let mut piece = Vec::new();
    for entry in entries {
        let index = entry.index;
        let is_change = matches!(entry.body, Body::Change(_) | Body::Leave);
        piece.push(entry);
        if let Some(ballot) = ballot.filter(|ballot| is_change && index <= ballot.commit) {
            written = index;
            writes.push(Write::Entries(std::mem::take(&mut piece)));
            writes.push(Write::Ballot(Ballot { commit: written, ..ballot }));
        }
    }
    if !piece.is_empty() {
        writes.push(Write::Entries(piece));
    }
    (writes, ballot.filter(|ballot| ballot.commit > written))
}

#[cfg(test)]
mod tests {
    use super::ordered_writes;
    use crate::durable::{Ballot, Checkpoint, Write};
    use crate::members::Configuration;
    use crate::message::{Body, Entry};

    const BALLOT: Ballot = Ballot { term: 3, vote: 1, commit: 7 };

    fn entry(index: u64, body: Body) -> Entry {
        Entry { index, term: 3, body }
    }

    fn shape(writes: &[Write]) -> Vec<String> {
        let show = |write: &Write| match write {
            Write::Born(incarnation) => format!("born {}", incarnation.0),
            Write::Ballot(ballot) => format!("commit {}", ballot.commit),
            Write::Entries(entries) => format!("{:?}", entries.iter().map(|entry| entry.index).collect::<Vec<_>>()),
            Write::Install(checkpoint) => format!("install {}", checkpoint.index),
            Write::Checkpoint { .. } => "checkpoint".into(),
        };
        writes.iter().map(show).collect()
    }

    #[test]
    fn a_commit_index_follows_the_entries_that_it_covers() {
        let entries = (6..=8).map(|index| entry(index, Body::Blank)).collect();
        let (writes, rest) = ordered_writes(Some(BALLOT), 4, None, entries);
        assert_eq!(shape(&writes), ["commit 5", "[6, 7, 8]"]);
        assert_eq!(rest, Some(BALLOT));
    }

    #[test]
    fn a_commit_index_precedes_the_entries_that_follow_a_change_of_members() {
        let bodies = [(6, Body::Blank), (7, Body::Leave), (8, Body::Leave), (9, Body::Blank)];
        let entries = bodies.into_iter().map(|(index, body)| entry(index, body)).collect();
        let (writes, rest) = ordered_writes(Some(BALLOT), 4, None, entries);
        assert_eq!(shape(&writes), ["commit 5", "[6, 7]", "commit 7", "[8, 9]"]);
        assert_eq!(rest, None);
    }

    #[test]
    fn a_snapshot_implies_its_own_commit_index() {
        let checkpoint = Checkpoint { index: 7, term: 3, members: Configuration::default(), image: Default::default() };
        let (writes, rest) = ordered_writes(Some(BALLOT), 4, Some(checkpoint), Vec::new());
        assert_eq!(shape(&writes), ["commit 4", "install 7"]);
        assert_eq!(rest, Some(BALLOT));
    }

    #[test]
    fn a_covered_commit_index_is_written_with_the_next_entries() {
        let (writes, rest) = ordered_writes(Some(BALLOT), 4, None, vec![entry(8, Body::Blank)]);
        assert_eq!(shape(&writes), ["commit 7", "[8]"]);
        assert_eq!(rest, None);
        assert_eq!(shape(&ordered_writes(None, 4, None, vec![entry(8, Body::Blank)]).0), ["[8]"]);
    }
}
