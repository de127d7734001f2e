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
    is_repeatable: bool,
    /// Whether a leader may have received it.
    was_sent: bool,
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

    pub(crate) fn add(&mut self, Proposal { ticket, command }: Proposal<C>, is_repeatable: bool) {
        self.last_number += 1;
        self.unsent.insert(self.last_number);
        self.pending.insert(self.last_number, PendingProposal { ticket, command, is_repeatable, was_sent: false });
    }

    /// Takes up to `max_commands` proposals that must be sent, in groups with consecutive numbers.
    pub(crate) fn take_unsent(&mut self, max_commands: usize) -> Vec<ProposalGroup<C>> {
        let mut groups: Vec<ProposalGroup<C>> = Vec::new();
        for _ in 0..max_commands {
            let Some(number) = self.unsent.pop_first() else { break };
            let Some(proposal) = self.pending.get_mut(&number) else { continue };
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
    /// applied in time.
    pub(crate) fn record_forwarded(&mut self, groups: &[ProposalGroup<C>]) {
        let numbers = groups.iter().flat_map(|group| (group.first_number..).take(group.commands.len()));
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

    /// Removes proposals that a leader could not append, and returns their tickets.
    pub(crate) fn remove_groups(&mut self, groups: &[ProposalGroup<C>]) -> Vec<Ticket> {
        groups.iter().flat_map(|group| self.remove_applied(group)).flatten().collect()
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
    use super::Proposals;
    use crate::batch::Origin;
    use crate::command::{Proposal, Ticket};
    use quorate_core::{Incarnation, NodeId};

    const ORIGIN: Origin = Origin { node: NodeId::from_index(0), incarnation: Incarnation::FIRST };

    /// Proposals with the tickets 1, 2, …, repeatable or not.
    fn proposals(are_repeatable: &[bool]) -> Proposals<char> {
        let mut proposals = Proposals::new(ORIGIN);
        for (number, is_repeatable) in (1..).zip(are_repeatable) {
            proposals.add(Proposal { ticket: Ticket(number), command: 'x' }, *is_repeatable);
        }
        proposals
    }

    #[test]
    fn proposals_are_sent_in_groups_and_again_if_they_are_overdue() {
        let mut proposals = proposals(&[true; 5]);
        let first = proposals.take_unsent(2);
        assert_eq!(first.iter().map(|group| (group.first_number, group.commands.len())).collect::<Vec<_>>(), [(1, 2)]);
        proposals.record_forwarded(&first);
        let rest = proposals.take_unsent(9);
        assert!(!proposals.has_unsent());
        assert_eq!(proposals.remove_applied(&rest[0]), [3, 4, 5].map(|ticket| Some(Ticket(ticket))));
        assert!(proposals.remove_applied(&rest[0]).iter().all(Option::is_none), "a copy has no tickets");
        proposals.tick(1);
        assert!(!proposals.has_unsent());
        proposals.tick(1);
        assert_eq!(proposals.take_unsent(9), first);
        let elsewhere = Origin { incarnation: Incarnation(7), ..ORIGIN };
        let foreign = crate::batch::ProposalGroup { origin: elsewhere, ..first[0].clone() };
        assert!(proposals.remove_applied(&foreign).is_empty());
        assert_eq!(proposals.len(), 2);
    }

    #[test]
    fn a_change_of_the_leader_ends_what_is_not_repeatable() {
        let mut proposals = proposals(&[true, false, false]);
        proposals.take_unsent(2);
        let ended = proposals.change_leader();
        assert_eq!((ended.unknown, ended.never_sent), (vec![Ticket(2)], vec![Ticket(3)]));
        assert_eq!(proposals.take_unsent(9).len(), 1);
        assert_eq!(proposals.end_all().unknown, [Ticket(1)]);
        assert_eq!(proposals.len(), 0);
    }
}
