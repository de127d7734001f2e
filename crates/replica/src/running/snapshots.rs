//! Checkpoints and snapshots: saved, sent in pieces, installed. The rules (`RP-…`) are at the head
//! of `replica.rs`.

use super::{Out, RunningReplica, read_image};
use crate::batch::Image;
use crate::durable::Checkpoint;
use crate::engine::checkpoint_of;
use crate::machine::{LogPosition, StateMachine};
use crate::message::Message;
use crate::pieces::{Progress, SnapshotSender};
use crate::replica::{Halt, Timer};
use quorate_core::{Duration, NodeId, Span, Time};
use raft::eraftpb::Snapshot;

impl<S: StateMachine> RunningReplica<S> {
    /// RP-8 and RP-10. Passes a complete snapshot to raft, unless it cannot be decoded, or this
    /// replica waits for its admission and the snapshot does not admit it.
    pub(super) fn receive_snapshot(
        &mut self,
        now: Time,
        from: NodeId,
        term: u64,
        checkpoint: Checkpoint,
        out: &mut Out<'_, S>,
    ) {
        match Image::<S>::read(&checkpoint.image) {
            Ok(image) if self.is_joining() && !self.is_admitted_by(&image, &checkpoint) => {
                out.note("RP-10", format_args!("refuses a snapshot that does not admit this incarnation as a learner"));
            }
            Ok(_) => {
                self.follow(now, out);
                self.engine.step_snapshot(from, term, checkpoint);
            }
            Err(error) => out.note("RP-8", format_args!("refuses a snapshot of {from}: {error}")),
        }
    }

    /// RP-10. Whether the snapshot admits this incarnation as a learner. A snapshot from before the
    /// replica lost its disk does not. Until one does, the group may rely on votes and entries that
    /// this replica has lost.
    fn is_admitted_by(&self, image: &Image<S>, checkpoint: &Checkpoint) -> bool {
        let is_admitted = self.joining_incarnation.is_some()
            && image.directory.admitted.get(&self.me) == self.joining_incarnation.as_ref();
        is_admitted && !checkpoint.members.is_voter(self.me)
    }

    /// RP-8. Begins to send a snapshot. RP-17: a member that may be outdated gets none, unless it
    /// was admitted, because an admission takes its level into account.
    pub(super) fn send_snapshot(&mut self, to: NodeId, snapshot: &Snapshot, out: &mut Out<'_, S>) {
        if self.outdated_members.contains(&to) && !self.directory.admitted.contains_key(&to) {
            return self.engine.report_snapshot(to, false);
        }
        let Some(checkpoint) = checkpoint_of(snapshot) else { return };
        out.note("RP-8", format_args!("sends {to} a snapshot at entry {}", checkpoint.index));
        let sender = SnapshotSender::new(self.role.term, checkpoint, self.settings.piece_bytes);
        let first_piece = sender.piece();
        self.snapshot_senders.insert(to, sender);
        self.continue_sending(to, Some(Progress::Next(first_piece)), out);
    }

    /// RP-8. Retransmits a piece, or abandons the snapshot.
    pub(crate) fn handle_piece_timeout(&mut self, to: NodeId, out: &mut Out<'_, S>) {
        let progress = self.snapshot_senders.get_mut(&to).map(SnapshotSender::handle_timeout);
        self.continue_sending(to, progress, out);
    }

    /// Continues or ends the sending of a snapshot.
    pub(super) fn continue_sending(&mut self, to: NodeId, progress: Option<Progress>, out: &mut Out<'_, S>) {
        match progress {
            Some(Progress::Next(piece)) => {
                out.send(to, Message::Piece(piece));
                out.set_timer(Timer::Piece(to), Span::exactly(self.piece_timeout()));
            }
            Some(outcome @ (Progress::Complete | Progress::Abandoned)) => {
                self.end_sending(to, matches!(outcome, Progress::Complete), out);
            }
            Some(Progress::Ignored) | None => {}
        }
    }

    /// Two heartbeat intervals, like the time after which a round of heartbeats counts as lost.
    pub(super) fn piece_timeout(&self) -> Duration {
        self.settings.tick.times(2 * self.settings.heartbeat_ticks as u64)
    }

    /// Ends the sending of a snapshot, and reports to raft whether it has arrived.
    pub(super) fn end_sending(&mut self, to: NodeId, has_arrived: bool, out: &mut Out<'_, S>) {
        let outcome = if has_arrived { "has arrived" } else { "is abandoned" };
        out.note("RP-8", format_args!("the snapshot for {to} {outcome}"));
        self.snapshot_senders.remove(&to);
        out.cancel_timer(Timer::Piece(to));
        self.engine.report_snapshot(to, has_arrived);
    }

    /// RP-8. Installs a leader's snapshot, which replaces the state. It may cover the entries of
    /// proposals that were made here.
    pub(super) fn install(&mut self, checkpoint: &Checkpoint, out: &mut Out<'_, S>) -> Result<(), Halt> {
        let image = read_image(&checkpoint.image)?;
        out.note("RP-8", format_args!("installs a snapshot at entry {}", checkpoint.index));
        self.machine = image.machine;
        self.position = LogPosition { index: checkpoint.index, time: image.time };
        self.applied_term = checkpoint.term;
        self.directory = image.directory;
        self.record_new_configuration();
        self.joining_incarnation = None;
        self.learner_since =
            checkpoint.members.incoming.learners.iter().map(|learner| (*learner, checkpoint.index)).collect();
        self.report_restored(out);
        self.end_proposals(out);
        self.reattach_sessions(out);
        Ok(())
    }

    /// RP-7. Saves a checkpoint after enough entries, or if a peer needs a newer snapshot.
    pub(super) fn checkpoint_if_due(&mut self, out: &mut Out<'_, S>) {
        let last_checkpoint = self.engine.log().checkpoint().map_or(0, |checkpoint| checkpoint.index);
        let is_due = self.position.index >= last_checkpoint.saturating_add(self.settings.checkpoint_every.max(1));
        let is_wanted = self.engine.log().take_snapshot_wanted();
        if self.is_disk_full || self.position.index <= last_checkpoint || !(is_due || is_wanted) {
            return;
        }
        let checkpoint = Checkpoint {
            index: self.position.index,
            term: self.applied_term,
            members: self.engine.configuration(),
            image: Image::write(self.position.time, &self.directory, &self.machine),
        };
        out.note("RP-7", format_args!("saves a checkpoint at entry {}", checkpoint.index));
        self.engine.save_checkpoint(checkpoint, self.settings.keep_entries, out);
    }
}
