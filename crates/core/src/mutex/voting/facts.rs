//! Expected figures of voting in both of its forms.

use super::{RESOURCE, RequestMode, placement};
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
    let profile = Profile { name, class: "quorum-based", summary, source, flaw: None, checkable: true };
    Facts {
        service: Service::Likely,
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

const fn cost(request_mode: RequestMode) -> Cost {
    match request_mode {
        RequestMode::AllAtOnce => Cost {
            messages: "2nk+n",
            client: "2T",
            sync: "≥T",
            total: |case, entries| case.sum(entries, |node| Voters::of(case).messages_at_once(case, node)),
            client_delay: |case| client_delay(case, Voters::delay_at_once),
            sync_delay: |_| Range::at_least(1),
        },
        RequestMode::Sequential => Cost {
            messages: "2mk+m",
            client: "2mT",
            sync: "≥T",
            total: |case, entries| case.sum(entries, |node| Voters::of(case).messages_one_by_one(case, node)),
            client_delay: |case| client_delay(case, Voters::delay_one_by_one),
            sync_delay: |_| Range::at_least(1),
        },
    }
}

/// The voter of each replica, and the number of votes needed.
struct Voters {
    hosts: Vec<NodeId>,
    needed_votes: usize,
}

impl Voters {
    fn of(case: &Case<'_>) -> Self {
        Self { hosts: placement(RESOURCE, case.group), needed_votes: case.group.majority() }
    }

    /// Returns how many of the first `replicas` replicas have another node as voter.
    fn remote_votes(&self, node: NodeId, replicas: usize) -> u64 {
        self.hosts.iter().take(replicas).filter(|host| **host != node).count() as u64
    }

    /// Returns how many of the needed votes must come from other nodes.
    fn missing_votes(&self, node: NodeId) -> u64 {
        let own_votes = self.hosts.iter().filter(|host| **host == node).count();
        self.needed_votes.saturating_sub(own_votes) as u64
    }

    /// A node whose own replicas are a majority sends no message. Any other node asks all voters,
    /// and without contention has all votes to return. With contention, it has a majority in the
    /// end, after any number of attempts.
    fn messages_at_once(&self, case: &Case<'_>, node: NodeId) -> Range {
        let (missing, remote) = (self.missing_votes(node), self.remote_votes(node, self.hosts.len()));
        match case.load {
            _ if missing == 0 => Range { least: 0, most: is_alone(case).then_some(0) },
            Load::Alone(_) => Range::exactly(3 * remote),
            Load::Everyone | Load::Some => Range::at_least(2 * remote + missing),
        }
    }

    /// Without contention, a node asks the first replicas, as many as it needs.
    fn messages_one_by_one(&self, case: &Case<'_>, node: NodeId) -> Range {
        match case.load {
            Load::Alone(_) => Range::exactly(3 * self.remote_votes(node, self.needed_votes)),
            Load::Everyone | Load::Some => Range::at_least(3 * self.missing_votes(node)),
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
    matches!(case.load, Load::Alone(_))
}

/// Returns the client delay. With contention, a vote may still be on its way back when the next
/// node requests it, and that node then backs off.
fn client_delay(case: &Case<'_>, delay_of: fn(&Voters, NodeId) -> u64) -> Range {
    let voters = Voters::of(case);
    match case.load {
        Load::Alone(node) => Range::exactly(delay_of(&voters, node)),
        Load::Everyone | Load::Some => {
            Range::at_least(case.group.iter().map(|node| delay_of(&voters, node)).min().unwrap_or(0))
        }
    }
}
