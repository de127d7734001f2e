//! The way of commands into the log. The rules (`RP-…`) are at the head of `replica.rs`.

use super::{AppendedEntry, Out, RunningReplica};
use crate::batch::{Batch, Origin, ProposalGroup, read_groups, write_groups};
use crate::command::{Event, Proposal, Refusal};
use crate::directory::FIRST_LEVEL;
use crate::machine::StateMachine;
use crate::message::Message;
use bytes::Bytes;
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
            match self.reason_to_refuse(now, &proposal.command, is_repeatable) {
                Some(refusal) => out.emit_ahead(Event::Refused { ticket: proposal.ticket, refusal }),
                None => self.proposals.add(proposal, is_repeatable),
            }
        }
    }

    /// RP-1. Why this command is refused, if it is. A command that is not repeatable must reach a
    /// leader that can append it at once; a repeatable one can wait for such a leader.
    fn reason_to_refuse(&self, now: Time, command: &S::Command, is_repeatable: bool) -> Option<Refusal> {
        let level = S::level_of(command);
        if !is_repeatable && !self.role.leads {
            Some(Refusal::NotLeader { leader: self.known_leader(now) })
        } else if !self.is_member() {
            Some(Refusal::NotMember)
        } else if self.is_disk_full {
            Some(Refusal::DiskFull)
        } else if !is_repeatable && self.engine.is_transferring_leadership() {
            Some(Refusal::TransferInProgress)
        } else if self.proposals.len() >= self.settings.max_pending_requests {
            Some(Refusal::Busy)
        } else if level > self.directory.level() {
            Some(Refusal::LevelTooNew { command: level, group: self.directory.level() })
        } else {
            None
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

    /// RP-1. Appends the waiting commands as one entry.
    pub(super) fn append_entry(&mut self, now: Time, out: &mut Out<'_, S>) {
        if !self.may_append() {
            return;
        }
        let mut groups = self.take_forwarded();
        groups.extend(self.proposals.take_unsent(MAX_COMMANDS_PER_ENTRY));
        let level = groups.iter().flat_map(|group| &group.commands).map(S::level_of).max().unwrap_or(FIRST_LEVEL);
        let time = self.clock.advance_to(now);
        let batch = Batch { time, level, notices: Vec::new(), groups };
        match batch.write() {
            Ok(bytes) => self.append_batch(bytes, batch, out),
            Err(error) => {
                out.note("RP-1", format_args!("cannot propose this: {error}"));
                self.refuse_groups(&batch.groups, Refusal::NotEncodable, out);
            }
        }
    }

    /// Takes the commands of followers for one entry, oldest first.
    fn take_forwarded(&mut self) -> Vec<ProposalGroup<S::Command>> {
        let mut commands = 0;
        let mut fits = |group: &ProposalGroup<S::Command>| {
            let has_room = commands < MAX_COMMANDS_PER_ENTRY;
            commands += group.commands.len();
            has_room
        };
        let count = self.forwarded.iter().take_while(|group| fits(group)).count();
        self.forwarded.drain(..count).collect()
    }

    /// Appends an encoded entry to raft's log. If raft takes no more entries, the commands that
    /// were proposed here are refused, and followers forward theirs again.
    fn append_batch(&mut self, bytes: Bytes, batch: Batch<S::Command>, out: &mut Out<'_, S>) {
        match self.engine.propose(bytes) {
            Some(index) => {
                out.note("RP-1", format_args!("proposes entry {index} at log time {}", batch.time));
                self.appended.insert(index, AppendedEntry { term: self.role.term, batch });
                self.announced_commit = self.engine.commit_index();
            }
            None => self.refuse_groups(&batch.groups, Refusal::Busy, out),
        }
    }

    /// Refuses those of the commands that were proposed here.
    fn refuse_groups(&mut self, groups: &[ProposalGroup<S::Command>], refusal: Refusal, out: &mut Out<'_, S>) {
        for ticket in self.proposals.remove_groups(groups) {
            out.emit_ahead(Event::Refused { ticket, refusal });
        }
    }

    /// Whether a follower waits for a commit index that it may not know, and nothing else will tell
    /// it soon. While an entry is in flight, its own commit index will have to be announced; and a
    /// follower for which nothing waits can learn it from the next append or heartbeat.
    pub(super) fn must_announce_commit(&self) -> bool {
        let leads = self.engine.leads() && self.role.leads;
        leads && self.awaited_index > self.announced_commit && self.entries_in_flight() == 0
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
            let groups = self.proposals.take_unsent(MAX_COMMANDS_PER_ENTRY);
            match write_groups(&groups) {
                Ok(bytes) => {
                    out.note("RP-14", format_args!("forwards commands to {leader}"));
                    self.proposals.record_forwarded(&groups);
                    out.send_ahead(leader, Message::Forward(bytes));
                }
                Err(error) => {
                    out.note("RP-14", format_args!("cannot forward this: {error}"));
                    self.refuse_groups(&groups, Refusal::NotEncodable, out);
                }
            }
        }
    }

    /// RP-14. Takes commands that a follower forwards. If this replica cannot append them, it
    /// ignores them: the follower sends them again.
    pub(super) fn receive_forwarded(&mut self, from: NodeId, bytes: &[u8], out: &mut Out<'_, S>) {
        let groups: Vec<ProposalGroup<S::Command>> = match read_groups(bytes) {
            Ok(groups) => groups,
            Err(error) => return out.note("RP-14", format_args!("ignores commands of {from}: {error}")),
        };
        let waiting: usize = self.forwarded.iter().map(|group| group.commands.len()).sum();
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
            None => self.forwarded.extend(groups),
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
