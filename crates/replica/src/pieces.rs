//! Snapshots in pieces: one piece in flight at a time, each acknowledged, lost ones retransmitted.

use crate::durable::Checkpoint;
use crate::members::Configuration;
use crate::message::{Piece, SnapshotId};
use bytes::Bytes;
use quorate_core::NodeId;

/// Maximum number of retransmissions of a piece before the snapshot is abandoned.
const MAX_RETRIES: u32 = 5;

pub(crate) struct SnapshotSender {
    snapshot: SnapshotId,
    members: Configuration,
    image: Bytes,
    piece_bytes: usize,
    /// Number of bytes that the peer has acknowledged, from the beginning.
    acknowledged_bytes: u64,
    retries: u32,
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
        Self { snapshot, members, image, piece_bytes: piece_bytes.max(1), acknowledged_bytes: 0, retries: 0 }
    }

    /// The piece that follows the acknowledged bytes.
    pub(crate) fn piece(&self) -> Piece {
        let start = usize::try_from(self.acknowledged_bytes).unwrap_or(usize::MAX).min(self.image.len());
        let end = start.saturating_add(self.piece_bytes).min(self.image.len());
        Piece {
            snapshot: self.snapshot,
            members: self.members.clone(),
            length: self.image.len() as u64,
            offset: start as u64,
            bytes: self.image.slice(start..end),
        }
    }

    /// Continues after the peer reported that it holds `held` bytes; 0 means that it starts again.
    pub(crate) fn handle_acknowledgement(&mut self, snapshot: SnapshotId, held: u64) -> Progress {
        let restarted = held == 0 && self.acknowledged_bytes > 0;
        if snapshot != self.snapshot || (held <= self.acknowledged_bytes && !restarted) {
            return Progress::Ignored;
        }
        if held >= self.image.len() as u64 {
            return Progress::Complete;
        }
        // A peer that started again uses up a retry, so that this cannot repeat forever.
        self.retries = if restarted { self.retries + 1 } else { 0 };
        self.acknowledged_bytes = held;
        Progress::Next(self.piece())
    }

    pub(crate) fn handle_timeout(&mut self) -> Progress {
        self.retries += 1;
        if self.retries > MAX_RETRIES { Progress::Abandoned } else { Progress::Next(self.piece()) }
    }
}

#[derive(Default)]
pub(crate) struct SnapshotReceiver {
    partial: Option<PartialSnapshot>,
    /// The sender, id and length of the last complete snapshot, in case its last acknowledgement
    /// was lost.
    last_complete: Option<(NodeId, SnapshotId, u64)>,
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
    pub(crate) fn add(&mut self, from: NodeId, piece: Piece) -> (u64, Option<Checkpoint>) {
        let Piece { snapshot, members, length, offset, bytes } = piece;
        if let Some((_, _, held)) = self.last_complete.filter(|(peer, known, _)| (*peer, *known) == (from, snapshot)) {
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
        self.last_complete = Some((from, snapshot, held));
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
        let (held, none) = receiving.add(peer, sending.piece());
        assert!(held == 4 && none.is_none());
        // The acknowledgement is lost, and the piece is sent again.
        let Progress::Next(again) = sending.handle_timeout() else { panic!("abandoned too early") };
        let snapshot = again.snapshot;
        assert_eq!(receiving.add(peer, again).0, 4);
        let Progress::Next(second) = sending.handle_acknowledgement(snapshot, 4) else { panic!("no progress") };
        assert!(matches!(sending.handle_acknowledgement(snapshot, 4), Progress::Ignored));
        assert_eq!(receiving.add(peer, second).0, 8);
        let Progress::Next(third) = sending.handle_acknowledgement(snapshot, 8) else { panic!("no progress") };
        let (held, complete) = receiving.add(peer, third.clone());
        assert_eq!((held, complete), (10, Some(checkpoint())));
        assert_eq!(receiving.add(peer, third), (10, None));
        assert!(matches!(sending.handle_acknowledgement(snapshot, 10), Progress::Complete));
    }

    #[test]
    fn a_restarted_receiver_starts_again_and_a_dead_one_is_abandoned() {
        let peer = NodeId::from_index(1);
        let mut sending = SnapshotSender::new(3, checkpoint(), 4);
        let snapshot = sending.piece().snapshot;
        let Progress::Next(second) = sending.handle_acknowledgement(snapshot, 4) else { panic!("no progress") };
        let mut receiving = SnapshotReceiver::default();
        assert_eq!(receiving.add(peer, second).0, 0);
        let Progress::Next(first) = sending.handle_acknowledgement(snapshot, 0) else { panic!("no progress") };
        assert_eq!(first.offset, 0);
        let outcomes = (0..9).map(|_| matches!(sending.handle_timeout(), Progress::Abandoned));
        assert_eq!(outcomes.filter(|abandoned| *abandoned).count(), 5);
    }
}
