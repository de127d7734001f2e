//! The commands that were proposed at one replica and are not applied yet.

use crate::batch::{Origin, ProposalGroup};
use crate::command::{Proposal, Ticket};
use std::collections::{BTreeMap, BTreeSet};

/// Pending proposals, by a number that the replica gives them. Numbers are not used twice in an
/// incarnation.
pub(crate) struct Proposals<C> {
    origin: Origin,
    last_number: u64,
    pending: BTreeMap<u64, PendingProposal<C>>,
    /// The proposals that must be sent, for the first time or again.
    unsent: BTreeSet<u64>,
    /// For each tick in which proposals were forwarded, their numbers.
    forwarded: BTreeMap<u64, Vec<u64>>,
    /// Number of ticks so far.
    ticks: u64,
}

struct PendingProposal<C> {
    ticket: Ticket,
    command: C,
    /// Length of the encoded command.
    bytes: usize,
    is_repeatable: bool,
    /// Whether a leader may have received it.
    was_sent: bool,
}

/// The room for commands in one entry or one forwarded message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    pub(crate) commands: usize,
    pub(crate) bytes: usize,
}

impl Room {
    /// Takes room for commands of this total length. Returns `false` if they do not fit.
    pub(crate) fn take(&mut self, commands: usize, bytes: usize) -> bool {
        let left = (self.commands.checked_sub(commands), self.bytes.checked_sub(bytes));
        let fits = matches!(left, (Some(_), Some(_)));
        *self = Self { commands: left.0.unwrap_or(0), bytes: left.1.unwrap_or(0) };
        fits
    }
}

/// The proposals that end because their leader is gone.
#[derive(Default)]
pub(crate) struct EndedProposals {
    /// No leader has received these.
    pub(crate) never_sent: Vec<Ticket>,
    /// The outcome of these is unknown.
    pub(crate) unknown: Vec<Ticket>,
}

impl<C: Clone> Proposals<C> {
    pub(crate) fn new(origin: Origin) -> Self {
        Self {
            origin,
            last_number: 0,
            pending: BTreeMap::new(),
            unsent: BTreeSet::new(),
            forwarded: BTreeMap::new(),
            ticks: 0,
        }
    }

    /// Number of pending proposals.
    pub(crate) fn len(&self) -> usize {
        self.pending.len()
    }

    pub(crate) fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Adds a proposal, whose encoded command has this length.
    pub(crate) fn add(&mut self, Proposal { ticket, command }: Proposal<C>, bytes: usize, is_repeatable: bool) {
        self.last_number += 1;
        self.unsent.insert(self.last_number);
        let proposal = PendingProposal { ticket, command, bytes, is_repeatable, was_sent: false };
        self.pending.insert(self.last_number, proposal);
    }

    /// Takes proposals that must be sent, in groups with consecutive numbers: as many as fit into
    /// `room`, and the first one even if it does not fit.
    pub(crate) fn take_unsent(&mut self, mut room: Room) -> Vec<ProposalGroup<C>> {
        let mut groups: Vec<ProposalGroup<C>> = Vec::new();
        while let Some(number) = self.unsent.first().copied() {
            let Some(proposal) = self.pending.get_mut(&number) else {
                self.unsent.remove(&number);
                continue;
            };
            if !room.take(1, proposal.bytes) && !groups.is_empty() {
                break;
            }
            self.unsent.remove(&number);
            proposal.was_sent = true;
            let command = proposal.command.clone();
            match groups.last_mut() {
                Some(group) if group.first_number + group.commands.len() as u64 == number => {
                    group.commands.push(command);
                }
                Some(_) | None => {
                    groups.push(ProposalGroup { origin: self.origin, first_number: number, commands: vec![command] });
                }
            }
        }
        groups
    }

    /// Records that these groups were forwarded, so that they are sent again if they are not
    /// applied in time. Ignores groups of other replicas.
    pub(crate) fn record_forwarded(&mut self, groups: &[ProposalGroup<C>]) {
        let own_groups = groups.iter().filter(|group| group.origin == self.origin);
        let numbers = own_groups.flat_map(|group| (group.first_number..).take(group.commands.len()));
        self.forwarded.entry(self.ticks).or_default().extend(numbers);
    }

    /// Counts a tick. Proposals that were forwarded more than `max_ticks` ago must be sent again.
    pub(crate) fn tick(&mut self, max_ticks: u64) {
        self.ticks += 1;
        while let Some(first) = self.forwarded.first_entry().filter(|first| first.key() + max_ticks < self.ticks) {
            let overdue = first.remove().into_iter().filter(|number| self.pending.contains_key(number));
            self.unsent.extend(overdue);
        }
    }

    /// Removes the proposals of an applied group, if they were made here. Returns the ticket of
    /// each of its commands that was still pending.
    pub(crate) fn remove_applied(&mut self, group: &ProposalGroup<C>) -> Vec<Option<Ticket>> {
        if group.origin != self.origin {
            return Vec::new();
        }
        let numbers = (group.first_number..).take(group.commands.len());
        numbers.map(|number| self.remove(number)).collect()
    }

    fn remove(&mut self, number: u64) -> Option<Ticket> {
        self.unsent.remove(&number);
        self.pending.remove(&number).map(|proposal| proposal.ticket)
    }

    /// After a change of the leader, repeatable proposals must be sent again, and all others end.
    pub(crate) fn change_leader(&mut self) -> EndedProposals {
        let mut ended = EndedProposals::default();
        self.forwarded.clear();
        self.pending.retain(|_, proposal| {
            if !proposal.is_repeatable {
                let tickets = if proposal.was_sent { &mut ended.unknown } else { &mut ended.never_sent };
                tickets.push(proposal.ticket);
            }
            proposal.is_repeatable
        });
        self.unsent = self.pending.keys().copied().collect();
        ended
    }

    /// Ends all proposals.
    pub(crate) fn end_all(&mut self) -> EndedProposals {
        self.pending.values_mut().for_each(|proposal| proposal.is_repeatable = false);
        self.change_leader()
    }
}

#[cfg(test)]
mod tests {
    use super::{Proposals, Room};
    use crate::batch::Origin;
    use crate::command::{Proposal, Ticket};
    use quorate_core::{Incarnation, NodeId};

    const ORIGIN: Origin = Origin { node: NodeId::from_index(0), incarnation: Incarnation::FIRST };

    const UNLIMITED: Room = Room { commands: usize::MAX, bytes: usize::MAX };

    /// Proposals with the tickets 1, 2, …, repeatable or not, of 10 bytes each.
    fn proposals(are_repeatable: &[bool]) -> Proposals<char> {
        let mut proposals = Proposals::new(ORIGIN);
        for (number, is_repeatable) in (1..).zip(are_repeatable) {
            proposals.add(Proposal { ticket: Ticket(number), command: 'x' }, 10, *is_repeatable);
        }
        proposals
    }

    #[test]
    fn proposals_are_sent_in_groups_and_again_if_they_are_overdue() {
        let mut proposals = proposals(&[true; 5]);
        let first = proposals.take_unsent(Room { commands: 2, ..UNLIMITED });
        assert_eq!(first.iter().map(|group| (group.first_number, group.commands.len())).collect::<Vec<_>>(), [(1, 2)]);
        proposals.record_forwarded(&first);
        let rest = proposals.take_unsent(UNLIMITED);
        assert!(!proposals.has_unsent());
        assert_eq!(proposals.remove_applied(&rest[0]), [3, 4, 5].map(|ticket| Some(Ticket(ticket))));
        assert!(proposals.remove_applied(&rest[0]).iter().all(Option::is_none), "a copy has no tickets");
        proposals.tick(1);
        assert!(!proposals.has_unsent());
        proposals.tick(1);
        assert_eq!(proposals.take_unsent(UNLIMITED), first);
        let elsewhere = Origin { incarnation: Incarnation(7), ..ORIGIN };
        let foreign = crate::batch::ProposalGroup { origin: elsewhere, ..first[0].clone() };
        assert!(proposals.remove_applied(&foreign).is_empty());
        assert_eq!(proposals.len(), 2);
    }

    #[test]
    fn proposals_are_taken_up_to_a_number_of_bytes() {
        let mut proposals = proposals(&[true; 4]);
        let mut take = |bytes| proposals.take_unsent(Room { bytes, ..UNLIMITED })[0].commands.len();
        assert_eq!([take(29), take(1), take(9)], [2, 1, 1], "the first one is taken even if it is longer");
    }

    #[test]
    fn a_change_of_the_leader_ends_what_is_not_repeatable() {
        let mut proposals = proposals(&[true, false, false]);
        proposals.take_unsent(Room { commands: 2, ..UNLIMITED });
        let ended = proposals.change_leader();
        assert_eq!((ended.unknown, ended.never_sent), (vec![Ticket(2)], vec![Ticket(3)]));
        assert_eq!(proposals.take_unsent(UNLIMITED).len(), 1);
        assert_eq!(proposals.end_all().unknown, [Ticket(1)]);
        assert_eq!(proposals.len(), 0);
    }
}
