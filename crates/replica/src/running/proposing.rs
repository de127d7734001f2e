//! The way of commands into the log. The rules (`RP-…`) are at the head of `replica.rs`.

use super::{AppendedEntry, ForwardedCommands, Out, RunningReplica};
use crate::batch::{Batch, Origin, ProposalGroup, encoded_length, read_groups, write_groups};
use crate::command::{Event, Proposal, Refusal};
use crate::directory::FIRST_LEVEL;
use crate::machine::StateMachine;
use crate::message::Message;
use crate::proposals::Room;
use quorate_core::{NodeId, Time};

/// Maximum number of a leader's entries with commands that are not committed. Meanwhile further
/// commands collect for the next entry.
const MAX_ENTRIES_IN_FLIGHT: usize = 2;
/// Maximum number of commands of one replica in an entry.
const MAX_COMMANDS_PER_ENTRY: usize = 4_096;

impl<S: StateMachine> RunningReplica<S> {
    /// RP-1. Takes commands for the log, or refuses them.
    pub(crate) fn propose(&mut self, now: Time, proposals: Vec<Proposal<S::Command>>, out: &mut Out<'_, S>) {
        for proposal in proposals {
            let is_repeatable = S::is_repeatable(&proposal.command);
            match self.check_command(now, &proposal.command, is_repeatable) {
                Ok(bytes) => self.proposals.add(proposal, bytes, is_repeatable),
                Err(refusal) => out.emit_ahead(Event::Refused { ticket: proposal.ticket, refusal }),
            }
        }
    }

    /// RP-1. Returns the length of a command, or why it is refused. A command that is not
    /// repeatable must reach a leader that can append it at once; a repeatable one can wait for
    /// such a leader.
    fn check_command(&self, now: Time, command: &S::Command, is_repeatable: bool) -> Result<usize, Refusal> {
        let level = S::level_of(command);
        let bytes = encoded_length(command).map_err(|_| Refusal::NotEncodable)?;
        if !is_repeatable && !self.role.leads {
            Err(Refusal::NotLeader { leader: self.known_leader(now) })
        } else if !self.is_member() {
            Err(Refusal::NotMember)
        } else if self.is_disk_full {
            Err(Refusal::DiskFull)
        } else if !is_repeatable && self.engine.is_transferring_leadership() {
            Err(Refusal::TransferInProgress)
        } else if self.proposals.len() >= self.settings.max_pending_requests {
            Err(Refusal::Busy)
        } else if level > self.directory.level() {
            Err(Refusal::LevelTooNew { command: level, group: self.directory.level() })
        } else if bytes > self.settings.entry_bytes {
            Err(Refusal::TooLong { bytes: bytes as u64, max: self.settings.entry_bytes as u64 })
        } else {
            Ok(bytes)
        }
    }

    /// Whether this leader has commands for an entry and may append one.
    pub(super) fn may_append(&self) -> bool {
        let has_commands = self.proposals.has_unsent() || !self.forwarded.is_empty();
        has_commands
            && self.role.leads
            && self.engine.role() == self.role
            && !self.is_disk_full
            && !self.engine.is_transferring_leadership()
            && self.entries_in_flight() < MAX_ENTRIES_IN_FLIGHT
    }

    /// Number of this leader's entries with commands that are not committed.
    fn entries_in_flight(&self) -> usize {
        self.appended.range(self.engine.commit_index() + 1..).count()
    }

    /// The room in an entry for the commands of this replica, and for those of its followers.
    fn room_in_entry(&self) -> Room {
        Room { commands: MAX_COMMANDS_PER_ENTRY, bytes: self.settings.entry_bytes }
    }

    /// RP-1. Appends the waiting commands as one entry.
    pub(super) fn append_entry(&mut self, now: Time, out: &mut Out<'_, S>) {
        if !self.may_append() {
            return;
        }
        let mut groups = self.take_forwarded();
        groups.extend(self.proposals.take_unsent(self.room_in_entry()));
        let level = groups.iter().flat_map(|group| &group.commands).map(S::level_of).max().unwrap_or(FIRST_LEVEL);
        let time = self.clock.advance_to(now);
        let batch = Batch { time, level, notices: Vec::new(), groups };
        match batch.write().ok().and_then(|bytes| self.engine.propose(bytes)) {
            Some(index) => {
                out.note("RP-1", format_args!("proposes entry {index} at log time {time}"));
                self.appended.insert(index, AppendedEntry { term: self.role.term, batch });
                self.announced_commit = self.engine.commit_index();
            }
            // Followers forward theirs again too.
            None => self.proposals.record_forwarded(&batch.groups),
        }
    }

    /// Takes the commands of followers for one entry, oldest first.
    fn take_forwarded(&mut self) -> Vec<ProposalGroup<S::Command>> {
        let mut room = self.room_in_entry();
        let mut groups = Vec::new();
        while let Some(next) = self.forwarded.front()
            && (room.take(next.count(), next.bytes) || groups.is_empty())
            && let Some(next) = self.forwarded.pop_front()
        {
            groups.extend(next.groups);
        }
        groups
    }

    /// Whether a follower waits for a commit index that it may not know, and nothing else will tell
    /// it soon. While an entry is in flight, its own commit index will have to be announced; and a
    /// follower for which nothing waits can learn it from the next append or heartbeat. This
    /// replica's own disk may be too slow for it to have applied what is committed.
    pub(super) fn must_announce_commit(&self) -> bool {
        let (announced, commit) = (self.announced_commit, self.engine.commit_index());
        if !self.engine.leads() || !self.role.leads || commit <= announced || self.entries_in_flight() > 0 {
            return false;
        }
        let mut committed = self.appended.range(announced + 1..=commit);
        self.awaited_index > announced || committed.any(|(_, entry)| entry.batch.is_awaited_elsewhere(self.me))
    }

    /// RP-4. Sends the commit index to the followers, unless an append carries it.
    pub(super) fn announce_commit(&mut self) {
        if self.must_announce_commit() {
            self.announced_commit = self.engine.commit_index();
            self.engine.broadcast_commit();
        }
    }

    /// RP-14. Forwards the waiting commands to the leader, if another replica leads.
    pub(super) fn forward_proposals(&mut self, out: &mut Out<'_, S>) {
        let Some(leader) = self.role.leader.filter(|leader| *leader != self.me) else { return };
        while self.proposals.has_unsent() {
            let groups = self.proposals.take_unsent(self.room_in_entry());
            self.proposals.record_forwarded(&groups);
            out.note("RP-14", format_args!("forwards commands to {leader}"));
            out.send_ahead(leader, Message::Forward(write_groups(&groups)));
        }
    }

    /// RP-14. Takes commands that a follower forwards. If this replica cannot append them, it
    /// ignores them: the follower sends them again.
    pub(super) fn receive_forwarded(&mut self, from: NodeId, bytes: &[u8], out: &mut Out<'_, S>) {
        let groups: Vec<ProposalGroup<S::Command>> = match read_groups(bytes) {
            Ok(groups) => groups,
            Err(error) => return out.note("RP-14", format_args!("ignores commands of {from}: {error}")),
        };
        let waiting: usize = self.forwarded.iter().map(ForwardedCommands::count).sum();
        let objection = if !self.role.leads {
            Some("this replica does not lead")
        } else if groups.iter().any(|ProposalGroup { origin: Origin { node, .. }, .. }| *node != from) {
            Some("they name another replica")
        } else if groups.iter().flat_map(|group| &group.commands).any(|command| !self.may_forward(command)) {
            Some("they are not repeatable, or need a newer format level")
        } else if waiting >= self.settings.max_pending_requests {
            Some("too many commands are waiting")
        } else {
            None
        };
        match objection {
            Some(objection) => out.note("RP-14", format_args!("ignores commands of {from}: {objection}")),
            None => self.forwarded.push_back(ForwardedCommands { groups, bytes: bytes.len() }),
        }
    }

    fn may_forward(&self, command: &S::Command) -> bool {
        S::is_repeatable(command) && S::level_of(command) <= self.directory.level()
    }

    /// RP-16. Proposes an empty entry if a deadline of the state machine has passed and no other
    /// entry moves log time.
    pub(super) fn propose_if_deadline_passed(&mut self, out: &mut Out<'_, S>) {
        let time = self.clock.time();
        let has_passed = self.machine.next_deadline().is_some_and(|deadline| deadline <= time);
        let is_idle = self.engine.last_index() == self.position.index && !self.may_append();
        if has_passed && is_idle && !self.is_disk_full {
            let batch = Batch::<S::Command>::of_notices(time, Vec::new());
            if let Some(index) = batch.write().ok().and_then(|bytes| self.engine.propose(bytes)) {
                out.note("RP-16", format_args!("proposes empty entry {index}, because a deadline has passed"));
            }
        }
    }
}
