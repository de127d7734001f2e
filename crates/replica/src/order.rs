//! In which order things go to the disk, so that a torn tail never says more than it holds.

use crate::durable::{Ballot, Checkpoint, Write};
use crate::message::{Body, Entry};

/// The writes for what raft wants saved at once, and the ballot that is still to be written because it tells of a commit that
/// none of them may tell of yet.
///
/// A commit must not reach the disk before the entries that it speaks of: what lies in their place may be another leader's. And it
/// must not reach it after the entries that follow a change of members: who holds these and does not know that the change is
/// committed would stand for election with members of old.
pub(crate) fn in_order(
    ballot: Option<Ballot>,
    on_disk: u64,
    checkpoint: Option<Checkpoint>,
    entries: Vec<Entry>,
) -> (Vec<Write>, Option<Ballot>) {
    let mut writes = Vec::new();
    let before = entries.first().map_or(u64::MAX, |first| first.index.saturating_sub(1));
    let sure = if checkpoint.is_some() { on_disk } else { before };
    let mut told = on_disk;
    if let Some(ballot) = ballot {
        told = ballot.commit.min(sure);
        writes.push(Write::Ballot(Ballot { commit: told, ..ballot }));
    }
    writes.extend(checkpoint.map(Write::Install));
    let mut piece = Vec::new();
    for entry in entries {
        let index = entry.index;
        let is_change = matches!(entry.body, Body::Change(_) | Body::Leave);
        piece.push(entry);
        if let Some(ballot) = ballot.filter(|ballot| is_change && index <= ballot.commit) {
            told = index;
            writes.push(Write::Entries(std::mem::take(&mut piece)));
            writes.push(Write::Ballot(Ballot { commit: told, ..ballot }));
        }
    }
    if !piece.is_empty() {
        writes.push(Write::Entries(piece));
    }
    (writes, ballot.filter(|ballot| ballot.commit > told))
}

#[cfg(test)]
mod tests {
    use super::in_order;
    use crate::durable::{Ballot, Checkpoint, Write};
    use crate::members::Configuration;
    use crate::message::{Body, Entry};

    const BALLOT: Ballot = Ballot { term: 3, vote: 1, commit: 7 };

    fn entry(index: u64, body: Body) -> Entry {
        Entry { index, term: 3, body }
    }

    fn shape(writes: &[Write]) -> Vec<String> {
        let show = |write: &Write| match write {
            Write::Born(life) => format!("born {}", life.0),
            Write::Ballot(ballot) => format!("commit {}", ballot.commit),
            Write::Entries(entries) => format!("{:?}", entries.iter().map(|entry| entry.index).collect::<Vec<_>>()),
            Write::Install(checkpoint) => format!("install {}", checkpoint.index),
            Write::Checkpoint { .. } => "checkpoint".into(),
        };
        writes.iter().map(show).collect()
    }

    #[test]
    fn a_commit_waits_for_the_entries_that_it_speaks_of() {
        let entries = (6..=8).map(|index| entry(index, Body::Blank)).collect();
        let (writes, rest) = in_order(Some(BALLOT), 4, None, entries);
        assert_eq!(shape(&writes), ["commit 5", "[6, 7, 8]"]);
        assert_eq!(rest, Some(BALLOT));
    }

    #[test]
    fn a_commit_goes_before_the_entries_that_follow_a_change_of_members() {
        let bodies = [(6, Body::Blank), (7, Body::Leave), (8, Body::Leave), (9, Body::Blank)];
        let entries = bodies.into_iter().map(|(index, body)| entry(index, body)).collect();
        let (writes, rest) = in_order(Some(BALLOT), 4, None, entries);
        assert_eq!(shape(&writes), ["commit 5", "[6, 7]", "commit 7", "[8, 9]"]);
        assert_eq!(rest, None);
    }

    #[test]
    fn a_snapshot_tells_its_own_commit() {
        let checkpoint = Checkpoint { index: 7, term: 3, members: Configuration::default(), image: Default::default() };
        let (writes, rest) = in_order(Some(BALLOT), 4, Some(checkpoint), Vec::new());
        assert_eq!(shape(&writes), ["commit 4", "install 7"]);
        assert_eq!(rest, Some(BALLOT));
    }

    #[test]
    fn what_follows_a_commit_alone_goes_with_it() {
        let (writes, rest) = in_order(Some(BALLOT), 4, None, vec![entry(8, Body::Blank)]);
        assert_eq!(shape(&writes), ["commit 7", "[8]"]);
        assert_eq!(rest, None);
        assert_eq!(shape(&in_order(None, 4, None, vec![entry(8, Body::Blank)]).0), ["[8]"]);
    }
}
