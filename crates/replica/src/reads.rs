//! Queries that wait: for a round, then for the entries that the round named.

use crate::command::Ticket;
use crate::message::Round;
use quorate_core::{Incarnation, NodeId, Time};

/// Queries at one replica. All that come while a round is under way share the next one.
pub(crate) struct Queries<Q> {
    me: NodeId,
    incarnation: Incarnation,
    number: u64,
    waiting: Vec<(Ticket, Q)>,
    open: Option<Open<Q>>,
    confirmed: Vec<Confirmed<Q>>,
}

struct Open<Q> {
    round: Round,
    began: Time,
    ticks: usize,
    queries: Vec<(Ticket, Q)>,
}

/// Queries that may be answered once this index is applied.
struct Confirmed<Q> {
    index: u64,
    queries: Vec<(Ticket, Q)>,
}

impl<Q> Queries<Q> {
    pub(crate) fn new(me: NodeId, incarnation: Incarnation) -> Self {
        Self { me, incarnation, number: 0, waiting: Vec::new(), open: None, confirmed: Vec::new() }
    }

    pub(crate) fn len(&self) -> usize {
        let open = self.open.as_ref().map_or(0, |open| open.queries.len());
        let confirmed: usize = self.confirmed.iter().map(|confirmed| confirmed.queries.len()).sum();
        self.waiting.len() + open + confirmed
    }

    pub(crate) fn wait(&mut self, ticket: Ticket, query: Q) {
        self.waiting.push((ticket, query));
    }

    /// A query that needs none, because the leader asks under a lease.
    pub(crate) fn confirm(&mut self, index: u64, ticket: Ticket, query: Q) {
        self.confirmed.push(Confirmed { index, queries: vec![(ticket, query)] });
    }

    /// The next round, if one is called for and none is under way. `regardless` calls for one without queries.
    pub(crate) fn next_round(&mut self, now: Time, regardless: bool) -> Option<Round> {
        if self.open.is_some() || (self.waiting.is_empty() && !regardless) {
            return None;
        }
        self.number += 1;
        let round = Round { node: self.me, incarnation: self.incarnation, number: self.number };
        self.open = Some(Open { round, began: now, ticks: 0, queries: std::mem::take(&mut self.waiting) });
        Some(round)
    }

    /// A round succeeded. Tells when it began, if it is the one under way.
    pub(crate) fn succeed(&mut self, round: Round, index: u64) -> Option<Time> {
        let open = self.open.take_if(|open| open.round == round)?;
        if !open.queries.is_empty() {
            self.confirmed.push(Confirmed { index, queries: open.queries });
        }
        Some(open.began)
    }

    /// A tick passes. A round that takes too long is lost: leaders drop what they cannot answer, and links lose things.
    pub(crate) fn tick(&mut self, patience: usize) {
        if let Some(open) = &mut self.open {
            open.ticks += 1;
        }
        if let Some(open) = self.open.take_if(|open| open.ticks > patience) {
            self.waiting.splice(..0, open.queries);
        }
    }

    /// All queries that wait for a higher index than this one. They wait no longer.
    pub(crate) fn beyond(&mut self, index: u64) -> Vec<Ticket> {
        let gone = self.confirmed.extract_if(.., |confirmed| confirmed.index > index);
        gone.flat_map(|confirmed| confirmed.queries).map(|(ticket, _)| ticket).collect()
    }

    /// All queries that wait. They wait no longer.
    pub(crate) fn all(&mut self) -> Vec<Ticket> {
        let open = self.open.take().map(|open| open.queries).unwrap_or_default();
        let confirmed = self.confirmed.drain(..).flat_map(|confirmed| confirmed.queries);
        self.waiting.drain(..).chain(open).chain(confirmed).map(|(ticket, _)| ticket).collect()
    }

    /// The queries that may be answered when everything up to an index is applied.
    pub(crate) fn ready(&mut self, applied: u64) -> Vec<(Ticket, Q)> {
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
        queries.wait(Ticket(1), "one");
        let first = queries.next_round(Time::ZERO, false).unwrap();
        queries.wait(Ticket(2), "two");
        assert_eq!(queries.next_round(Time::ZERO, false), None);
        queries.tick(1);
        queries.tick(1);
        let second = queries.next_round(Time::from_nanos(7), false).unwrap();
        assert_eq!(queries.succeed(first, 5), None);
        assert_eq!(queries.succeed(second, 5), Some(Time::from_nanos(7)));
        assert!(queries.ready(4).is_empty());
        assert_eq!(queries.ready(5), [(Ticket(1), "one"), (Ticket(2), "two")]);
        assert_eq!(queries.len(), 0);
    }
}
