//! Pending queries: they wait for a round, then until the index that the round returned is applied.

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
    current: Option<CurrentRound<Q>>,
    confirmed: Vec<Confirmed<Q>>,
}

struct CurrentRound<Q> {
    round: Round,
    began: Time,
    ticks: usize,
    queries: Vec<(Ticket, Q)>,
}

/// Queries that can be answered once this index is applied.
struct Confirmed<Q> {
    index: u64,
    queries: Vec<(Ticket, Q)>,
}

impl<Q> Queries<Q> {
    pub(crate) fn new(me: NodeId, incarnation: Incarnation) -> Self {
        Self { me, incarnation, last_round: 0, waiting: Vec::new(), current: None, confirmed: Vec::new() }
    }

    pub(crate) fn len(&self) -> usize {
        let current = self.current.as_ref().map_or(0, |current| current.queries.len());
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

    /// Begins the next round, if there are queries and no round is in progress.
    /// `even_without_queries` begins one anyway, to extend the leader's lease.
    pub(crate) fn next_round(&mut self, now: Time, even_without_queries: bool) -> Option<Round> {
        if self.current.is_some() || (self.waiting.is_empty() && !even_without_queries) {
            return None;
        }
        self.last_round += 1;
        let round = Round { node: self.me, incarnation: self.incarnation, number: self.last_round };
        self.current = Some(CurrentRound { round, began: now, ticks: 0, queries: std::mem::take(&mut self.waiting) });
        Some(round)
    }

    /// Ends a successful round. Returns when it began; `None` if it is not the current one.
    pub(crate) fn complete_round(&mut self, round: Round, index: u64) -> Option<Time> {
        let current = self.current.take_if(|current| current.round == round)?;
        if !current.queries.is_empty() {
            self.confirmed.push(Confirmed { index, queries: current.queries });
        }
        Some(current.began)
    }

    /// Counts a tick. After `max_ticks` the current round counts as lost, because leaders drop
    /// rounds that they cannot answer and links lose messages.
    pub(crate) fn tick(&mut self, max_ticks: usize) {
        if let Some(current) = &mut self.current {
            current.ticks += 1;
        }
        if let Some(current) = self.current.take_if(|current| current.ticks > max_ticks) {
            self.waiting.splice(..0, current.queries);
        }
    }

    /// Removes and returns all queries that wait for a higher index than this one.
    pub(crate) fn remove_beyond(&mut self, index: u64) -> Vec<Ticket> {
        let removed = self.confirmed.extract_if(.., |confirmed| confirmed.index > index);
        removed.flat_map(|confirmed| confirmed.queries).map(|(ticket, _)| ticket).collect()
    }

    /// Removes and returns all pending queries.
    pub(crate) fn remove_all(&mut self) -> Vec<Ticket> {
        let current = self.current.take().map(|current| current.queries).unwrap_or_default();
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
    fn queries_share_rounds_and_lost_rounds_are_repeated() {
        let mut queries = Queries::new(NodeId::from_index(0), Incarnation::FIRST);
        assert_eq!(queries.next_round(Time::ZERO, false), None);
        queries.add_waiting(Ticket(1), "one");
        let first = queries.next_round(Time::ZERO, false).unwrap();
        queries.add_waiting(Ticket(2), "two");
        assert_eq!(queries.next_round(Time::ZERO, false), None);
        queries.tick(1);
        queries.tick(1);
        let second = queries.next_round(Time::from_nanos(7), false).unwrap();
        assert_eq!(queries.complete_round(first, 5), None);
        assert_eq!(queries.complete_round(second, 5), Some(Time::from_nanos(7)));
        assert!(queries.take_ready(4).is_empty());
        assert_eq!(queries.take_ready(5), [(Ticket(1), "one"), (Ticket(2), "two")]);
        assert_eq!(queries.len(), 0);
    }
}
