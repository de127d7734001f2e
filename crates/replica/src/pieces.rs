//! Snapshots in pieces: one piece under way at a time, each acknowledged, lost ones repeated.

use crate::durable::Checkpoint;
use crate::members::Configuration;
use crate::message::{Piece, SnapshotId};
use bytes::Bytes;
use quorate_core::NodeId;

/// How often a piece is repeated before the snapshot is given up.
const TRIES: u32 = 5;

pub(crate) struct Sending {
    snapshot: SnapshotId,
    members: Configuration,
    image: Bytes,
    piece_bytes: usize,
    held: u64,
    tries: u32,
}

/// What comes of an acknowledgement or a wait.
pub(crate) enum Progress {
    Next(Piece),
    Arrived,
    GivenUp,
    Nothing,
}

impl Sending {
    pub(crate) fn new(term: u64, checkpoint: Checkpoint, piece_bytes: usize) -> Self {
        let Checkpoint { index, term: log_term, members, image } = checkpoint;
        let snapshot = SnapshotId { term, index, log_term };
        Self { snapshot, members, image, piece_bytes: piece_bytes.max(1), held: 0, tries: 0 }
    }

    pub(crate) fn piece(&self) -> Piece {
        let start = usize::try_from(self.held).unwrap_or(usize::MAX).min(self.image.len());
        let end = start.saturating_add(self.piece_bytes).min(self.image.len());
        Piece {
            snapshot: self.snapshot,
            members: self.members.clone(),
            length: self.image.len() as u64,
            offset: start as u64,
            bytes: self.image.slice(start..end),
        }
    }

    pub(crate) fn acknowledged(&mut self, snapshot: SnapshotId, held: u64) -> Progress {
        let restarted = held == 0 && self.held > 0;
        if snapshot != self.snapshot || (held <= self.held && !restarted) {
            return Progress::Nothing;
        }
        if held >= self.image.len() as u64 {
            return Progress::Arrived;
        }
        // A peer that began anew spends a try, so that it cannot go on for ever.
        self.tries = if restarted { self.tries + 1 } else { 0 };
        self.held = held;
        Progress::Next(self.piece())
    }

    /// Nothing was heard for a while.
    pub(crate) fn overdue(&mut self) -> Progress {
        self.tries += 1;
        if self.tries > TRIES { Progress::GivenUp } else { Progress::Next(self.piece()) }
    }
}

#[derive(Default)]
pub(crate) struct Receiving {
    under_way: Option<Arriving>,
    /// The last one that was whole: its last acknowledgement may have been lost.
    whole: Option<(NodeId, SnapshotId, u64)>,
}

struct Arriving {
    from: NodeId,
    snapshot: SnapshotId,
    length: u64,
    bytes: Vec<u8>,
}

impl Receiving {
    /// Takes a piece. Tells how much of its snapshot is held now, and the snapshot if this made it whole.
    pub(crate) fn take(&mut self, from: NodeId, piece: Piece) -> (u64, Option<Checkpoint>) {
        let Piece { snapshot, members, length, offset, bytes } = piece;
        if let Some((_, _, held)) = self.whole.filter(|(peer, known, _)| (*peer, *known) == (from, snapshot)) {
            return (held, None);
        }
        let same =
            |arriving: &Arriving| (arriving.from, arriving.snapshot, arriving.length) == (from, snapshot, length);
        if offset == 0 && !self.under_way.as_ref().is_some_and(same) {
            self.under_way = Some(Arriving { from, snapshot, length, bytes: Vec::new() });
        }
        let Some(arriving) = self.under_way.as_mut().filter(|arriving| same(arriving)) else { return (0, None) };
        if offset == arriving.bytes.len() as u64 {
            arriving.bytes.extend_from_slice(&bytes);
        }
        let held = arriving.bytes.len() as u64;
        if held < length {
            return (held, None);
        }
        let image = std::mem::take(&mut arriving.bytes).into();
        self.under_way = None;
        self.whole = Some((from, snapshot, held));
        (held, Some(Checkpoint { index: snapshot.index, term: snapshot.log_term, members, image }))
    }
}

#[cfg(test)]
mod tests {
    use super::{Progress, Receiving, Sending};
    use crate::durable::Checkpoint;
    use crate::members::Configuration;
    use quorate_core::NodeId;

    fn checkpoint() -> Checkpoint {
        let image = (0..10).collect::<Vec<u8>>().into();
        Checkpoint { index: 7, term: 2, members: Configuration::default(), image }
    }

    #[test]
    fn a_snapshot_arrives_whole_through_losses_and_repetitions() {
        let peer = NodeId::from_index(1);
        let mut sending = Sending::new(3, checkpoint(), 4);
        let mut receiving = Receiving::default();
        let (held, none) = receiving.take(peer, sending.piece());
        assert!(held == 4 && none.is_none());
        // The acknowledgement is lost, and the piece repeated.
        let Progress::Next(again) = sending.overdue() else { panic!("too impatient") };
        let snapshot = again.snapshot;
        assert_eq!(receiving.take(peer, again).0, 4);
        let Progress::Next(second) = sending.acknowledged(snapshot, 4) else { panic!("no progress") };
        assert!(matches!(sending.acknowledged(snapshot, 4), Progress::Nothing));
        assert_eq!(receiving.take(peer, second).0, 8);
        let Progress::Next(third) = sending.acknowledged(snapshot, 8) else { panic!("no progress") };
        let (held, whole) = receiving.take(peer, third.clone());
        assert_eq!((held, whole), (10, Some(checkpoint())));
        assert_eq!(receiving.take(peer, third), (10, None));
        assert!(matches!(sending.acknowledged(snapshot, 10), Progress::Arrived));
    }

    #[test]
    fn a_receiver_that_forgot_begins_anew_and_a_dead_one_is_given_up() {
        let peer = NodeId::from_index(1);
        let mut sending = Sending::new(3, checkpoint(), 4);
        let snapshot = sending.piece().snapshot;
        let Progress::Next(second) = sending.acknowledged(snapshot, 4) else { panic!("no progress") };
        let mut receiving = Receiving::default();
        assert_eq!(receiving.take(peer, second).0, 0);
        let Progress::Next(first) = sending.acknowledged(snapshot, 0) else { panic!("no progress") };
        assert_eq!(first.offset, 0);
        let outcomes = (0..9).map(|_| matches!(sending.overdue(), Progress::GivenUp));
        assert_eq!(outcomes.filter(|given_up| *given_up).count(), 5);
    }
}
