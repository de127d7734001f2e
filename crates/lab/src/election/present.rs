//! Elections in reports: roles, figures, the example, progress.

use super::run::{Change, ElectionSummary, Starters, SuperPeers, change};
use super::{Election, ElectionEntry, Settings, absent};
use crate::algorithm::Algorithm;
use crate::family::{AlgorithmWrapper, PresentFamily};
use crate::figures::{Figures, Price, PriceFigure, Row, in_unit, number};
use crate::spec::Spec;
use quorate_core::election::circuit;
use quorate_core::election::{Announce, Case, Command, Counts, Event, ExpectedMessages, Shape, Starting};
use quorate_core::{Duration, NodeId};
use quorate_journal::moment::Moment;
use quorate_journal::role::Role;
use quorate_journal::settings::Latency;

impl PresentFamily for Election {
    const ROLES: &'static [(Role, &'static str)] = &[
        (Role::Idle, "not involved"),
        (Role::Waiting, "knows no leader"),
        (Role::Follows, "knows the leader"),
        (Role::Chosen, "is the leader"),
    ];
    const CHOSEN_NODE_BLOCKS_OTHERS: bool = false;
    const EXAMPLE: &'static str = "The first of three nodes starts an election; one message time is 1 ms";
    const CONTROL: &'static str = "heartbeats, acknowledgements and retransmissions";
    const ADVICE: &'static str = "--starters all or more --nodes";
    const PROGRESS: &'static str = "nodes that know a leader";

    fn role_after(moment: &Moment<'_, Command, Event>, before: &[Role]) -> Option<(NodeId, Role)> {
        let (_, node, change) = change(moment)?;
        let role = match change {
            Change::Campaigns | Change::ExtendsLease { .. } => *before.get(node.index())?,
            Change::BeginsElection(_) | Change::LosesLeader => Role::Waiting,
            Change::LearnsLeader { leader, .. } if leader == node => Role::Chosen,
            Change::LearnsLeader { .. } => Role::Follows,
            Change::Starts | Change::Crashes => Role::Idle,
        };
        Some((node, role))
    }

    fn wrapper(entry: &ElectionEntry) -> Option<AlgorithmWrapper> {
        let is_ring = entry.facts.shape == Shape::Ring;
        is_ring.then(|| AlgorithmWrapper { title: "Rules of the ring around it", about: circuit::about() })
    }

    fn price(entry: &'static ElectionEntry) -> Option<Price> {
        let formula = PriceFigure::Formula(entry.facts.cost.formula);
        Some(Price { of: "an election", figures: vec![("messages_per_election", formula)] })
    }

    fn example(algorithm: Algorithm<Self>) -> Spec<Self> {
        let latency = Latency::Fixed(Duration::from_millis(1));
        Spec {
            latency,
            settings: Settings { starters: Starters::Lowest, ..Settings::default() },
            ..Spec::new(algorithm)
        }
    }

    fn figures(figures: &Figures<'_, Self>) -> Vec<Row> {
        let Figures { spec, summary, .. } = figures;
        let none = || "–".to_owned();
        let mut rows = match &summary.super_peers {
            Some(super_peers) => super_peer_rows(super_peers),
            None => vec![
                Row::measured("leader", summary.leader.map_or_else(none, |leader| leader.to_string())),
                Row::measured("epoch", summary.epoch.map_or_else(none, |epoch| epoch.to_string())),
            ],
        };
        let expected_cost = case(spec).and_then(|case| (spec.algorithm.facts.cost.expected)(&case));
        // The expected figures assume an announcement along the ring.
        let applies = |expected_cost: &ExpectedMessages| {
            spec.settings.announce == Announce::Ring || expected_cost.counts == Counts::Election
        };
        let expected_cost = expected_cost.filter(applies);
        let (without_announcement, with_announcement) = match &expected_cost {
            Some(expected_cost @ ExpectedMessages { counts: Counts::Election, .. }) => {
                (expected_text(expected_cost), String::new())
            }
            Some(expected_cost @ ExpectedMessages { counts: Counts::WithAnnouncement, .. }) => {
                (String::new(), expected_text(expected_cost))
            }
            None => (String::new(), String::new()),
        };
        let all = summary.election_messages + summary.announcement_messages;
        let time = in_unit(summary.time, summary.time_unit);
        rows.extend([
            Row::new("election messages", summary.election_messages, without_announcement),
            Row::measured("announcement messages", summary.announcement_messages),
            Row::new("total messages", all, with_announcement),
            Row::measured("rounds", summary.rounds),
            Row::measured("time until all nodes know", time),
        ]);
        rows
    }

    fn progress(_spec: &Spec<Self>, summary: &ElectionSummary) -> String {
        match (&summary.super_peers, summary.leader) {
            (Some(super_peers), _) => format!("; there are {} super-peers", super_peers.count),
            (None, Some(leader)) => format!("; all nodes know leader {leader}"),
            (None, None) => "; there is no leader that all nodes know".into(),
        }
    }

    fn goal(spec: &Spec<Self>) -> u64 {
        spec.nodes as u64
    }

    fn is_progress(moment: &Moment<'_, Command, Event>) -> bool {
        matches!(change(moment), Some((_, _, Change::LearnsLeader { .. })))
    }
}

fn super_peer_rows(super_peers: &SuperPeers) -> Vec<Row> {
    let SuperPeers { id_bits, reserved_bits, count, expected, ratio, largest_load, mean_load, moved, must_move } =
        super_peers;
    vec![
        Row::measured("id bits, reserved bits", format!("{id_bits}, {reserved_bits}")),
        Row::new("super-peers", count, format!("{} on average", number(Some(*expected)))),
        Row::measured("share of all nodes", number(*ratio)),
        Row::measured("largest load", largest_load),
        Row::measured("mean load", number(*mean_load)),
        Row::new("moves", moved, must_move.to_string()),
    ]
}

/// Returns the case for the expected cost; `None` if there are faults after the start.
fn case(spec: &Spec<Election>) -> Option<Case> {
    let dead = absent(spec).len();
    let live = spec.nodes - dead;
    let starting = match &spec.settings.starters {
        Starters::Lowest => Starting::Lowest,
        Starters::Highest => Starting::Highest,
        Starters::SuccessorOfHighest => Starting::One,
        Starters::All => Starting::All,
        Starters::Named(named) => match named.len() {
            1 => Starting::One,
            several => Starting::Several(several),
        },
    };
    let is_fault_free = spec.faults.iter().all(|timed| timed.at == Duration::ZERO)
        && spec.random_faults.is_empty()
        && spec.settings.crashes == 0
        && spec.script.is_none();
    (is_fault_free && live > 1 && !spec.is_scripted()).then_some(Case { live, dead, starting })
}

fn expected_text(expected_cost: &ExpectedMessages) -> String {
    match *expected_cost {
        ExpectedMessages { least, most, .. } if least == most => number(most),
        ExpectedMessages { least: Some(least), mean, most, .. } => {
            let mean = mean.map_or_else(String::new, |mean| format!(", {} on average", number(Some(mean))));
            format!("{} to {}{mean}", number(Some(least)), number(most))
        }
        ExpectedMessages { most, .. } => format!("at most {}", number(most)),
    }
}
