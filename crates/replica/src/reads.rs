//! Pending queries: they wait for a round of heartbeats that confirms the leader, then until the
//! index that the round returned is applied.

use crate::command::Ticket;
use crate::message::Round;
use quorate_core::{Incarnation, NodeId, Time};

/// The pending queries of one replica. All queries that arrive during a round share the next one.
pub(crate) struct Queries<Q> {
    me: NodeId,
    incarnation: Incarnation,
    /// The number of the last round that began here.
    last_round: u64,
    /// Queries for the next round.
    waiting: Vec<(Ticket, Q)>,
    current_round: Option<CurrentRound<Q>>,
    confirmed: Vec<Confirmed<Q>>,
}

struct CurrentRound<Q> {
    round: Round,
    began_at: Time,
    /// Number of ticks since the round was sent for the last time.
    ticks: usize,
    must_repeat: bool,
    queries: Vec<(Ticket, Q)>,
}

/// Queries that can be answered once this index is applied.
struct Confirmed<Q> {
    index: u64,
    queries: Vec<(Ticket, Q)>,
}

impl<Q> Queries<Q> {
    pub(crate) fn new(me: NodeId, incarnation: Incarnation) -> Self {
        Self { me, incarnation, last_round: 0, waiting: Vec::new(), current_round: None, confirmed: Vec::new() }
    }

    /// Number of pending queries.
    pub(crate) fn len(&self) -> usize {
        let current = self.current_round.as_ref().map_or(0, |current| current.queries.len());
        let confirmed: usize = self.confirmed.iter().map(|confirmed| confirmed.queries.len()).sum();
        self.waiting.len() + current + confirmed
    }

    pub(crate) fn add_waiting(&mut self, ticket: Ticket, query: Q) {
        self.waiting.push((ticket, query));
    }

    /// Adds a query that needs no round, because the leader has a lease.
    pub(crate) fn add_confirmed(&mut self, index: u64, ticket: Ticket, query: Q) {
        self.confirmed.push(Confirmed { index, queries: vec![(ticket, query)] });
    }

    /// Begins the next round, if there are queries and no round is in progress, or repeats the
    /// current one if it is overdue. With `even_without_queries` it also begins one without
    /// queries, to extend the leader's lease.
    pub(crate) fn next_round(&mut self, now: Time, even_without_queries: bool) -> Option<Round> {
        if let Some(current) = &mut self.current_round {
            return std::mem::take(&mut current.must_repeat).then_some(current.round);
        }
        if self.waiting.is_empty() && !even_without_queries {
            return None;
        }
        self.last_round += 1;
        let round = Round { node: self.me, incarnation: self.incarnation, number: self.last_round };
        let queries = std::mem::take(&mut self.waiting);
        self.current_round = Some(CurrentRound { round, began_at: now, ticks: 0, must_repeat: false, queries });
        Some(round)
    }

    /// Ends a successful round, whose queries now wait for `index`. Returns when the round began;
    /// `None` if it is not the current one.
    pub(crate) fn complete_round(&mut self, round: Round, index: u64) -> Option<Time> {
        let current = self.current_round.take_if(|current| current.round == round)?;
        if !current.queries.is_empty() {
            self.confirmed.push(Confirmed { index, queries: current.queries });
        }
        Some(current.began_at)
    }

    /// Counts a tick. After more than `max_ticks` the current round must be sent again: leaders
    /// drop rounds that they cannot confirm, and messages get lost. It stays the same round, so
    /// that a late reply to an earlier message confirms it too.
    pub(crate) fn tick(&mut self, max_ticks: usize) {
        if let Some(current) = &mut self.current_round {
            current.ticks += 1;
            if current.ticks > max_ticks {
                (current.ticks, current.must_repeat) = (0, true);
            }
        }
    }

    /// Removes all queries that wait for an index above this one, and returns their tickets.
    pub(crate) fn remove_beyond(&mut self, index: u64) -> Vec<Ticket> {
        let removed = self.confirmed.extract_if(.., |confirmed| confirmed.index > index);
        removed.flat_map(|confirmed| confirmed.queries).map(|(ticket, _)| ticket).collect()
    }

    /// Removes these pending queries, and returns their tickets.
    pub(crate) fn remove(&mut self, mut is_unwanted: impl FnMut(&Q) -> bool) -> Vec<Ticket> {
        let current = self.current_round.iter_mut().map(|current| &mut current.queries);
        let confirmed = self.confirmed.iter_mut().map(|confirmed| &mut confirmed.queries);
        let lists = std::iter::once(&mut self.waiting).chain(current).chain(confirmed);
        lists
            .flat_map(|queries| {
                queries.extract_if(.., |(_, query)| is_unwanted(query)).map(|(ticket, _)| ticket).collect::<Vec<_>>()
            })
            .collect()
    }

    /// Removes all pending queries, and returns their tickets.
    pub(crate) fn remove_all(&mut self) -> Vec<Ticket> {
        let current = self.current_round.take().map(|current| current.queries).unwrap_or_default();
        let confirmed = self.confirmed.drain(..).flat_map(|confirmed| confirmed.queries);
        self.waiting.drain(..).chain(current).chain(confirmed).map(|(ticket, _)| ticket).collect()
    }

    /// Removes and returns the queries that can be answered when everything up to `applied` is
    /// applied.
    pub(crate) fn take_ready(&mut self, applied: u64) -> Vec<(Ticket, Q)> {
        self.confirmed.extract_if(.., |confirmed| confirmed.index <= applied).flat_map(|ready| ready.queries).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Queries;
    use crate::command::Ticket;
    use quorate_core::{Incarnation, NodeId, Time};

    #[test]
    fn queries_share_rounds_and_overdue_rounds_are_repeated() {
        let even_without_queries = false;
        let next_round = |queries: &mut Queries<_>, now| queries.next_round(now, even_without_queries);
        let mut queries = Queries::new(NodeId::from_index(0), Incarnation::FIRST);
        assert_eq!(next_round(&mut queries, Time::ZERO), None, "there are no queries");
        queries.add_waiting(Ticket(1), "one");
        let first = next_round(&mut queries, Time::ZERO).unwrap();
        queries.add_waiting(Ticket(2), "two");
        assert_eq!(next_round(&mut queries, Time::ZERO), None, "a round is in progress");
        let max_ticks = 1;
        queries.tick(max_ticks);
        assert_eq!(next_round(&mut queries, Time::ZERO), None, "the round is not overdue");
        queries.tick(max_ticks);
        assert_eq!(next_round(&mut queries, Time::from_nanos(7)), Some(first));
        assert_eq!(next_round(&mut queries, Time::from_nanos(7)), None, "it was repeated");
        assert_eq!(queries.complete_round(first, 5), Some(Time::ZERO), "a lease counts from the first message");
        assert_eq!(queries.complete_round(first, 5), None);
        let second = next_round(&mut queries, Time::from_nanos(9)).unwrap();
        assert_eq!(queries.complete_round(second, 5), Some(Time::from_nanos(9)));
        assert!(queries.take_ready(4).is_empty());
        assert_eq!(queries.take_ready(5), [(Ticket(1), "one"), (Ticket(2), "two")]);
        assert_eq!(queries.len(), 0);
    }
}
