//! Expected figures of voting in both of its forms.

use super::{RESOURCE, RequestMode, place_replicas};
use crate::mutex::Service;
use crate::mutex::prelude::*;

/// Expected figures of the default form.
pub const FACTS: Facts = facts(RequestMode::AllAtOnce);

/// Expected figures of a form.
pub const fn facts(request_mode: RequestMode) -> Facts {
    let (name, summary) = match request_mode {
        RequestMode::AllAtOnce => {
            ("voting", "ask all replicas' voters at once; a majority of votes admits, else back off")
        }
        RequestMode::Sequential => {
            ("voting-sequential", "ask the replicas' voters one by one until a majority has voted")
        }
    };
    let source = include_str!("../voting.rs");
    let profile = Profile { name, class: "quorum-based", summary, source, flaw: None, is_checkable: true };
    Facts {
        service: Service::AlmostCertain,
        variant_choices: choices(request_mode),
        ..Facts::new(profile, cost(request_mode))
    }
}

const fn choices(request_mode: RequestMode) -> &'static [Choice] {
    match request_mode {
        RequestMode::AllAtOnce => &[Choice { algorithm: "voting", option: "asks", value: "all", is_default: true }],
        RequestMode::Sequential => {
            &[Choice { algorithm: "voting", option: "asks", value: "sequential", is_default: false }]
        }
    }
}

/// In the formulas, there are n replicas, m votes suffice, and a node makes k attempts. They count
/// a request and an answer for each vote of an attempt, and at the end one return of each vote.
const fn cost(request_mode: RequestMode) -> Cost {
    match request_mode {
        RequestMode::AllAtOnce => Cost {
            messages_formula: "2nk+n",
            client_delay_formula: "2T",
            sync_delay_formula: "≥T",
            message_count: |case, entries| {
                case.total_cost(entries, |node| Voters::for_case(case).messages_at_once(case, node))
            },
            client_delay: |case| client_delay(case, Voters::delay_at_once),
            sync_delay: |_| Range::at_least(1),
        },
        RequestMode::Sequential => Cost {
            messages_formula: "2mk+m",
            client_delay_formula: "2mT",
            sync_delay_formula: "≥T",
            message_count: |case, entries| {
                case.total_cost(entries, |node| Voters::for_case(case).messages_one_by_one(case, node))
            },
            client_delay: |case| client_delay(case, Voters::delay_one_by_one),
            sync_delay: |_| Range::at_least(1),
        },
    }
}

/// The voter of each replica, and the number of votes needed.
struct Voters {
    replica_voters: Vec<NodeId>,
    needed_votes: usize,
}

impl Voters {
    fn for_case(case: &Case<'_>) -> Self {
        Self { replica_voters: place_replicas(RESOURCE, case.group), needed_votes: case.group.majority() }
    }

    /// Returns how many of the first `replicas` replicas have another node as voter.
    fn remote_votes(&self, node: NodeId, replicas: usize) -> u64 {
        self.replica_voters.iter().take(replicas).filter(|voter| **voter != node).count() as u64
    }

    /// Returns how many of the needed votes must come from other nodes.
    fn missing_votes(&self, node: NodeId) -> u64 {
        let own_votes = self.replica_voters.iter().filter(|voter| **voter == node).count();
        self.needed_votes.saturating_sub(own_votes) as u64
    }

    /// Messages per entry if a node requests all votes at once. A node whose own replicas are a
    /// majority sends no message, unless other nodes compete for them. Any other node asks all
    /// voters, and without contention returns all votes. With contention, it has a majority in the
    /// end, after any number of attempts.
    fn messages_at_once(&self, case: &Case<'_>, node: NodeId) -> Range {
        let (missing, remote) = (self.missing_votes(node), self.remote_votes(node, self.replica_voters.len()));
        match case.load {
            _ if missing == 0 => Range { min: 0, max: is_alone(case).then_some(0) },
            Load::OneNode(_) => Range::exactly(3 * remote),
            Load::AllNodes | Load::SomeNodes => Range::at_least(2 * remote + missing),
        }
    }

    /// Messages per entry if a node requests one vote after the other. Without contention, it asks
    /// the first replicas, as many as it needs.
    fn messages_one_by_one(&self, case: &Case<'_>, node: NodeId) -> Range {
        match case.load {
            Load::OneNode(_) => Range::exactly(3 * self.remote_votes(node, self.needed_votes)),
            Load::AllNodes | Load::SomeNodes => Range::at_least(3 * self.missing_votes(node)),
        }
    }

    fn delay_at_once(&self, node: NodeId) -> u64 {
        2 * self.missing_votes(node).min(1)
    }

    fn delay_one_by_one(&self, node: NodeId) -> u64 {
        2 * self.remote_votes(node, self.needed_votes)
    }
}

const fn is_alone(case: &Case<'_>) -> bool {
    matches!(case.load, Load::OneNode(_))
}

/// Returns the client delay. If several nodes request, it is only a lower bound: a vote may still
/// be on its way back when the next node requests it, and that node then backs off.
fn client_delay(case: &Case<'_>, delay_of: fn(&Voters, NodeId) -> u64) -> Range {
    let voters = Voters::for_case(case);
    match case.load {
        Load::OneNode(node) => Range::exactly(delay_of(&voters, node)),
        Load::AllNodes | Load::SomeNodes => {
            Range::at_least(case.group.iter().map(|node| delay_of(&voters, node)).min().unwrap_or(0))
        }
    }
}
