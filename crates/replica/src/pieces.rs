//! Snapshots in pieces: one piece to a peer at a time, each acknowledged, lost ones retransmitted.

use crate::durable::Checkpoint;
use crate::members::Configuration;
use crate::message::{SnapshotId, SnapshotPiece};
use bytes::Bytes;
use quorate_core::NodeId;

/// Maximum number of retransmissions of a piece before the snapshot is abandoned.
const MAX_RETRIES: u32 = 5;

/// Sends a snapshot to one peer.
pub(crate) struct SnapshotSender {
    snapshot: SnapshotId,
    members: Configuration,
    image: Bytes,
    /// Maximum length of a piece.
    piece_bytes: usize,
    /// Number of bytes that the peer has acknowledged, from the beginning.
    acknowledged_bytes: u64,
    /// Number of timeouts and restarts of the peer since it last made progress.
    retries: u32,
}

/// The next action after an acknowledgement or a timeout.
pub(crate) enum Progress {
    Next(SnapshotPiece),
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
    pub(crate) fn piece(&self) -> SnapshotPiece {
        let start = usize::try_from(self.acknowledged_bytes).unwrap_or(usize::MAX).min(self.image.len());
        let end = start.saturating_add(self.piece_bytes).min(self.image.len());
        SnapshotPiece {
            snapshot: self.snapshot,
            members: self.members.clone(),
            snapshot_bytes: self.image.len() as u64,
            offset_bytes: start as u64,
            bytes: self.image.slice(start..end),
        }
    }

    /// Continues after the peer reported that it holds `held_bytes`; 0 means that it starts again.
    pub(crate) fn handle_acknowledgement(&mut self, snapshot: SnapshotId, held_bytes: u64) -> Progress {
        let has_restarted = held_bytes == 0 && self.acknowledged_bytes > 0;
        if snapshot != self.snapshot || (held_bytes <= self.acknowledged_bytes && !has_restarted) {
            return Progress::Ignored;
        }
        if held_bytes >= self.image.len() as u64 {
            return Progress::Complete;
        }
        // A peer that starts again uses up a retry; one that continues gets all of them back.
        self.retries = if has_restarted { self.retries + 1 } else { 0 };
        self.acknowledged_bytes = held_bytes;
        Progress::Next(self.piece())
    }

    pub(crate) fn handle_timeout(&mut self) -> Progress {
        self.retries += 1;
        if self.retries > MAX_RETRIES { Progress::Abandoned } else { Progress::Next(self.piece()) }
    }
}

/// Receives one snapshot at a time.
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
    snapshot_bytes: u64,
    bytes: Vec<u8>,
}

impl SnapshotReceiver {
    /// Adds a piece, or ignores it if earlier bytes are missing. Returns the number of bytes
    /// received so far, and the snapshot if it is now complete.
    pub(crate) fn add(&mut self, from: NodeId, piece: SnapshotPiece) -> (u64, Option<Checkpoint>) {
        let SnapshotPiece { snapshot, members, snapshot_bytes, offset_bytes, bytes } = piece;
        if let Some((_, _, held_bytes)) =
            self.last_complete.filter(|(peer, known, _)| (*peer, *known) == (from, snapshot))
        {
            return (held_bytes, None);
        }
        let is_same = |partial: &PartialSnapshot| {
            (partial.from, partial.snapshot, partial.snapshot_bytes) == (from, snapshot, snapshot_bytes)
        };
        if offset_bytes == 0 && !self.partial.as_ref().is_some_and(is_same) {
            self.partial = Some(PartialSnapshot { from, snapshot, snapshot_bytes, bytes: Vec::new() });
        }
        let Some(partial) = self.partial.as_mut().filter(|partial| is_same(partial)) else { return (0, None) };
        if offset_bytes == partial.bytes.len() as u64 {
            partial.bytes.extend_from_slice(&bytes);
        }
        let held_bytes = partial.bytes.len() as u64;
        if held_bytes < snapshot_bytes {
            return (held_bytes, None);
        }
        let image = std::mem::take(&mut partial.bytes).into();
        self.partial = None;
        self.last_complete = Some((from, snapshot, held_bytes));
        (held_bytes, Some(Checkpoint { index: snapshot.index, term: snapshot.log_term, members, image }))
    }
}

#[cfg(test)]
mod tests {
    use super::{Progress, SnapshotReceiver, SnapshotSender};
    use crate::durable::Checkpoint;
    use crate::members::Configuration;
    use quorate_core::NodeId;

    const TERM: u64 = 3;
    const PIECE_BYTES: usize = 4;

    /// A checkpoint whose image has ten bytes, which are sent in pieces of 4, 4 and 2.
    fn checkpoint() -> Checkpoint {
        let image = (0..10).collect::<Vec<u8>>().into();
        Checkpoint { index: 7, term: 2, members: Configuration::default(), image }
    }

    #[test]
    fn a_snapshot_arrives_despite_losses_and_duplicates() {
        let peer = NodeId::from_index(1);
        let mut sender = SnapshotSender::new(TERM, checkpoint(), PIECE_BYTES);
        let mut receiver = SnapshotReceiver::default();
        let (held_bytes, incomplete) = receiver.add(peer, sender.piece());
        assert!(held_bytes == 4 && incomplete.is_none());
        // The acknowledgement is lost, and the piece is sent again.
        let Progress::Next(repeated) = sender.handle_timeout() else { panic!("abandoned too early") };
        let snapshot = repeated.snapshot;
        assert_eq!(receiver.add(peer, repeated).0, 4);
        let Progress::Next(second) = sender.handle_acknowledgement(snapshot, 4) else { panic!("no progress") };
        assert!(matches!(sender.handle_acknowledgement(snapshot, 4), Progress::Ignored));
        assert_eq!(receiver.add(peer, second).0, 8);
        let Progress::Next(third) = sender.handle_acknowledgement(snapshot, 8) else { panic!("no progress") };
        let (held_bytes, complete) = receiver.add(peer, third.clone());
        assert_eq!((held_bytes, complete), (10, Some(checkpoint())));
        assert_eq!(receiver.add(peer, third), (10, None));
        assert!(matches!(sender.handle_acknowledgement(snapshot, 10), Progress::Complete));
    }

    #[test]
    fn a_restarted_receiver_starts_again_and_a_dead_one_is_abandoned() {
        let peer = NodeId::from_index(1);
        let mut sender = SnapshotSender::new(TERM, checkpoint(), PIECE_BYTES);
        let snapshot = sender.piece().snapshot;
        let Progress::Next(second) = sender.handle_acknowledgement(snapshot, 4) else { panic!("no progress") };
        let mut receiver = SnapshotReceiver::default();
        assert_eq!(receiver.add(peer, second).0, 0);
        let Progress::Next(first) = sender.handle_acknowledgement(snapshot, 0) else { panic!("no progress") };
        assert_eq!(first.offset_bytes, 0);
        // The restart used up one of the five retries, so the fifth timeout and all later ones
        // abandon the snapshot.
        let is_abandoned = (0..9).map(|_| matches!(sender.handle_timeout(), Progress::Abandoned));
        assert_eq!(is_abandoned.filter(|is_abandoned| *is_abandoned).count(), 5);
    }
}
