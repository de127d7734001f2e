//! The order of writes to the disk, chosen so that the durable state is consistent even if a crash
//! loses the last of them.

use crate::durable::{Ballot, Checkpoint, Write};
use crate::message::{Entry, EntryBody};

/// Returns the writes for one output of raft in their order, and the ballot if its commit index
/// must be written later. `saved_commit` is the commit index that the disk was last given.
///
/// A commit index must not be durable before the entries that it covers, because the disk may have
/// another leader's entries at these indices. And it must be durable before the entries that follow
/// a membership change: a replica with these entries that does not know that the change is
/// committed would campaign with the old members.
pub(crate) fn ordered_writes(
    ballot: Option<Ballot>,
    saved_commit: u64,
    checkpoint: Option<Checkpoint>,
    entries: Vec<Entry>,
) -> (Vec<Write>, Option<Ballot>) {
    let mut writes = Vec::new();
    let index_before_entries = entries.first().map_or(u64::MAX, |first| first.index.saturating_sub(1));
    // A commit index up to this one covers only entries that are on disk and stay there.
    let max_commit = if checkpoint.is_some() { saved_commit } else { index_before_entries };
    let mut written_commit = saved_commit;
    if let Some(ballot) = ballot {
        written_commit = ballot.commit.min(max_commit);
        writes.push(Write::Ballot(Ballot { commit: written_commit, ..ballot }));
    }
    writes.extend(checkpoint.map(Write::Install));
    let mut batch = Vec::new();
    for entry in entries {
        let index = entry.index;
        let is_membership_change = matches!(entry.body, EntryBody::Change(_) | EntryBody::Leave);
        batch.push(entry);
        if let Some(ballot) = ballot.filter(|ballot| is_membership_change && index <= ballot.commit) {
            written_commit = index;
            writes.push(Write::Entries(std::mem::take(&mut batch)));
            writes.push(Write::Ballot(Ballot { commit: written_commit, ..ballot }));
        }
    }
    if !batch.is_empty() {
        writes.push(Write::Entries(batch));
    }
    (writes, ballot.filter(|ballot| ballot.commit > written_commit))
}

#[cfg(test)]
mod tests {
    use super::ordered_writes;
    use crate::durable::{Ballot, Checkpoint, Write};
    use crate::members::Configuration;
    use crate::message::{Entry, EntryBody};

    const BALLOT: Ballot = Ballot { term: 3, vote: 1, commit: 7 };
    const SAVED_COMMIT: u64 = 4;

    fn entry(index: u64, body: EntryBody) -> Entry {
        Entry { index, term: 3, body }
    }

    fn summaries(writes: &[Write]) -> Vec<String> {
        let summarize = |write: &Write| match write {
            Write::JoiningIncarnation(incarnation) => format!("join as {}", incarnation.0),
            Write::Ballot(ballot) => format!("commit {}", ballot.commit),
            Write::Entries(entries) => format!("{:?}", entries.iter().map(|entry| entry.index).collect::<Vec<_>>()),
            Write::Install(checkpoint) => format!("install {}", checkpoint.index),
            Write::Checkpoint { .. } => "checkpoint".into(),
        };
        writes.iter().map(summarize).collect()
    }

    #[test]
    fn a_commit_index_follows_the_entries_that_it_covers() {
        let entries = (6..=8).map(|index| entry(index, EntryBody::Blank)).collect();
        let (writes, deferred) = ordered_writes(Some(BALLOT), SAVED_COMMIT, None, entries);
        assert_eq!(summaries(&writes), ["commit 5", "[6, 7, 8]"]);
        assert_eq!(deferred, Some(BALLOT));
    }

    #[test]
    fn a_commit_index_precedes_the_entries_that_follow_a_membership_change() {
        let bodies = [(6, EntryBody::Blank), (7, EntryBody::Leave), (8, EntryBody::Leave), (9, EntryBody::Blank)];
        let entries = bodies.into_iter().map(|(index, body)| entry(index, body)).collect();
        let (writes, deferred) = ordered_writes(Some(BALLOT), SAVED_COMMIT, None, entries);
        assert_eq!(summaries(&writes), ["commit 5", "[6, 7]", "commit 7", "[8, 9]"]);
        assert_eq!(deferred, None);
    }

    #[test]
    fn the_commit_index_of_a_snapshot_is_deferred() {
        let checkpoint = Checkpoint { index: 7, term: 3, members: Configuration::default(), image: Default::default() };
        let (writes, deferred) = ordered_writes(Some(BALLOT), SAVED_COMMIT, Some(checkpoint), Vec::new());
        assert_eq!(summaries(&writes), ["commit 4", "install 7"]);
        assert_eq!(deferred, Some(BALLOT));
    }

    #[test]
    fn a_commit_index_that_covers_only_stored_entries_is_written_before_new_entries() {
        let (writes, deferred) = ordered_writes(Some(BALLOT), SAVED_COMMIT, None, vec![entry(8, EntryBody::Blank)]);
        assert_eq!(summaries(&writes), ["commit 7", "[8]"]);
        assert_eq!(deferred, None);
        assert_eq!(summaries(&ordered_writes(None, SAVED_COMMIT, None, vec![entry(8, EntryBody::Blank)]).0), ["[8]"]);
    }
}
