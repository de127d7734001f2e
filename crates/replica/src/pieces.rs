//! Snapshots in pieces: one piece in flight at a time, each acknowledged, lost ones retransmitted.

use crate::durable::Checkpoint;
use crate::members::Configuration;
use crate::message::{Piece, SnapshotId};
use bytes::Bytes;
use quorate_core::NodeId;

/// Maximum number of retransmissions of a piece before the snapshot is abandoned.
const TRIES: u32 = 5;

pub(crate) struct SnapshotSender {
    snapshot: SnapshotId,
    members: Configuration,
    image: Bytes,
    piece_bytes: usize,
    held: u64,
    tries: u32,
}

/// The next action after an acknowledgement or a timeout.
pub(crate) enum Progress {
    Next(Piece),
    Complete,
    Abandoned,
    Ignored,
}

impl SnapshotSender {
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
            return Progress::Ignored;
        }
        if held >= self.image.len() as u64 {
            return Progress::Complete;
        }
        // A peer that started again uses up a try, so that this cannot repeat forever.
        self.tries = if restarted { self.tries + 1 } else { 0 };
        self.held = held;
        Progress::Next(self.piece())
    }

    /// Handles the timeout of an acknowledgement.
    pub(crate) fn timed_out(&mut self) -> Progress {
        self.tries += 1;
        if self.tries > TRIES { Progress::Abandoned } else { Progress::Next(self.piece()) }
    }
}

#[derive(Default)]
pub(crate) struct SnapshotReceiver {
    partial: Option<PartialSnapshot>,
    /// The last complete snapshot, in case its last acknowledgement was lost.
    whole: Option<(NodeId, SnapshotId, u64)>,
}

struct PartialSnapshot {
    from: NodeId,
    snapshot: SnapshotId,
    length: u64,
    bytes: Vec<u8>,
}

impl SnapshotReceiver {
    /// Adds a piece. Returns the number of bytes received so far, and the snapshot if it is now
    /// complete.
    pub(crate) fn take(&mut self, from: NodeId, piece: Piece) -> (u64, Option<Checkpoint>) {
        let Piece { snapshot, members, length, offset, bytes } = piece;
        if let Some((_, _, held)) = self.whole.filter(|(peer, known, _)| (*peer, *known) == (from, snapshot)) {
            return (held, None);
        }
        let is_same =
            |partial: &PartialSnapshot| (partial.from, partial.snapshot, partial.length) == (from, snapshot, length);
        if offset == 0 && !self.partial.as_ref().is_some_and(is_same) {
            self.partial = Some(PartialSnapshot { from, snapshot, length, bytes: Vec::new() });
        }
        let Some(partial) = self.partial.as_mut().filter(|partial| is_same(partial)) else { return (0, None) };
        if offset == partial.bytes.len() as u64 {
            partial.bytes.extend_from_slice(&bytes);
        }
        let held = partial.bytes.len() as u64;
        if held < length {
            return (held, None);
        }
        let image = std::mem::take(&mut partial.bytes).into();
        self.partial = None;
        self.whole = Some((from, snapshot, held));
        (held, Some(Checkpoint { index: snapshot.index, term: snapshot.log_term, members, image }))
    }
}

#[cfg(test)]
mod tests {
    use super::{Progress, SnapshotReceiver, SnapshotSender};
    use crate::durable::Checkpoint;
    use crate::members::Configuration;
    use quorate_core::NodeId;

    fn checkpoint() -> Checkpoint {
        let image = (0..10).collect::<Vec<u8>>().into();
        Checkpoint { index: 7, term: 2, members: Configuration::default(), image }
    }

    #[test]
    fn a_snapshot_arrives_despite_losses_and_duplicates() {
        let peer = NodeId::from_index(1);
        let mut sending = SnapshotSender::new(3, checkpoint(), 4);
        let mut receiving = SnapshotReceiver::default();
        let (held, none) = receiving.take(peer, sending.piece());
        assert!(held == 4 && none.is_none());
        // The acknowledgement is lost, and the piece is sent again.
        let Progress::Next(again) = sending.timed_out() else { panic!("abandoned too early") };
        let snapshot = again.snapshot;
        assert_eq!(receiving.take(peer, again).0, 4);
        let Progress::Next(second) = sending.acknowledged(snapshot, 4) else { panic!("no progress") };
        assert!(matches!(sending.acknowledged(snapshot, 4), Progress::Ignored));
        assert_eq!(receiving.take(peer, second).0, 8);
        let Progress::Next(third) = sending.acknowledged(snapshot, 8) else { panic!("no progress") };
        let (held, whole) = receiving.take(peer, third.clone());
        assert_eq!((held, whole), (10, Some(checkpoint())));
        assert_eq!(receiving.take(peer, third), (10, None));
        assert!(matches!(sending.acknowledged(snapshot, 10), Progress::Complete));
    }

    #[test]
    fn a_restarted_receiver_starts_again_and_a_dead_one_is_abandoned() {
        let peer = NodeId::from_index(1);
        let mut sending = SnapshotSender::new(3, checkpoint(), 4);
        let snapshot = sending.piece().snapshot;
        let Progress::Next(second) = sending.acknowledged(snapshot, 4) else { panic!("no progress") };
        let mut receiving = SnapshotReceiver::default();
        assert_eq!(receiving.take(peer, second).0, 0);
        let Progress::Next(first) = sending.acknowledged(snapshot, 0) else { panic!("no progress") };
        assert_eq!(first.offset, 0);
        let outcomes = (0..9).map(|_| matches!(sending.timed_out(), Progress::Abandoned));
        assert_eq!(outcomes.filter(|abandoned| *abandoned).count(), 5);
    }
}
