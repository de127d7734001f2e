//! Elections in reports: roles, figures, the example, progress.

use super::run::{Change, ElectionSummary, Starters, SuperPeers, observed_change};
use super::{Election, ElectionEntry, Settings, nodes_down_at_start};
use crate::algorithm::Algorithm;
use crate::family::{AlgorithmWrapper, PresentFamily};
use crate::figures::{CostFigure, FigureRow, ListedCost, RunResults, format_figure, format_in_unit};
use crate::spec::Spec;
use quorate_core::election::circuit;
use quorate_core::election::{AnnouncementMode, Case, Command, Counts, Event, ExpectedMessages, Starting, Structure};
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
    const EXAMPLE_CAPTION: &'static str = "The first of three nodes starts an election; one message time is 1 ms";
    const CONTROL_MESSAGES: &'static str = "heartbeats, acknowledgements and retransmissions";
    const ADVICE_IF_NEVER_HELD: &'static str = "--starters all or more --nodes";
    const PROGRESS_UNIT: &'static str = "nodes that know a leader";

    fn role_after(moment: &Moment<'_, Command, Event>, before: &[Role]) -> Option<(NodeId, Role)> {
        let (_, node, change) = observed_change(moment)?;
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
        let is_ring = entry.facts.structure == Structure::Ring;
        is_ring.then(|| AlgorithmWrapper { title: "Rules for every election on a ring", about: circuit::about() })
    }

    fn listed_cost(entry: &'static ElectionEntry) -> Option<ListedCost> {
        let formula = CostFigure::Formula(entry.facts.cost.formula);
        Some(ListedCost { unit: "per election", figures: vec![("messages_per_election", formula)] })
    }

    fn example(algorithm: Algorithm<Self>) -> Spec<Self> {
        let latency = Latency::Fixed(Duration::from_millis(1));
        Spec {
            latency,
            settings: Settings { starters: Starters::Lowest, ..Settings::default() },
            ..Spec::new(algorithm)
        }
    }

    fn figure_rows(results: &RunResults<'_, Self>) -> Vec<FigureRow> {
        let RunResults { spec, summary, .. } = results;
        let none = || "–".to_owned();
        let mut rows = match &summary.super_peers {
            Some(super_peers) => super_peer_rows(super_peers),
            None => vec![
                FigureRow::measured("leader", summary.leader.map_or_else(none, |leader| leader.to_string())),
                FigureRow::measured("epoch", summary.epoch.map_or_else(none, |epoch| epoch.to_string())),
            ],
        };
        let expected_cost = case_of(spec).and_then(|case| (spec.algorithm.facts.cost.expected_messages)(&case));
        // The expected figures assume an announcement along the ring.
        let is_comparable = |expected_cost: &ExpectedMessages| {
            spec.settings.announce == AnnouncementMode::Ring || expected_cost.counts == Counts::Election
        };
        let expected_cost = expected_cost.filter(is_comparable);
        let (without_announcement, with_announcement) = match &expected_cost {
            Some(expected_cost @ ExpectedMessages { counts: Counts::Election, .. }) => {
                (format_expected(expected_cost), String::new())
            }
            Some(expected_cost @ ExpectedMessages { counts: Counts::WithAnnouncement, .. }) => {
                (String::new(), format_expected(expected_cost))
            }
            None => (String::new(), String::new()),
        };
        let total = summary.election_messages + summary.announcement_messages;
        let time = format_in_unit(summary.time, summary.time_unit);
        rows.extend([
            FigureRow::new("election messages", summary.election_messages, without_announcement),
            FigureRow::measured("announcement messages", summary.announcement_messages),
            FigureRow::new("total messages", total, with_announcement),
            FigureRow::measured("rounds", summary.rounds),
            FigureRow::measured("time until all nodes know the leader", time),
        ]);
        rows
    }

    fn describe_progress(_spec: &Spec<Self>, summary: &ElectionSummary) -> String {
        match (&summary.super_peers, summary.leader) {
            (Some(super_peers), _) => format!("; there are {} super-peers", super_peers.count),
            (None, Some(leader)) => format!("; all nodes know leader {leader}"),
            (None, None) => "; there is no leader that all nodes know".into(),
        }
    }

    fn progress_goal(spec: &Spec<Self>) -> u64 {
        spec.nodes as u64
    }

    fn is_progress(moment: &Moment<'_, Command, Event>) -> bool {
        matches!(observed_change(moment), Some((_, _, Change::LearnsLeader { .. })))
    }
}

fn super_peer_rows(super_peers: &SuperPeers) -> Vec<FigureRow> {
    let SuperPeers { id_bits, reserved_bits, count, expected, ratio, largest_load, mean_load, moved, must_move } =
        super_peers;
    vec![
        FigureRow::measured("id bits, reserved bits", format!("{id_bits}, {reserved_bits}")),
        FigureRow::new("super-peers", count, format!("{} on average", format_figure(Some(*expected)))),
        FigureRow::measured("share of live nodes", format_figure(*ratio)),
        FigureRow::measured("largest load", largest_load),
        FigureRow::measured("mean load", format_figure(*mean_load)),
        FigureRow::new("changes of super-peer", moved, must_move.to_string()),
    ]
}

/// Returns the case that the expected cost depends on; `None` if there are faults after the start,
/// a script, or fewer than two live nodes.
fn case_of(spec: &Spec<Election>) -> Option<Case> {
    let dead = nodes_down_at_start(spec).len();
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
    (is_fault_free && live > 1 && !spec.is_scripted()).then_some(Case { live_nodes: live, dead_nodes: dead, starting })
}

fn format_expected(expected_cost: &ExpectedMessages) -> String {
    match *expected_cost {
        ExpectedMessages { min, max, .. } if min == max => format_figure(max),
        ExpectedMessages { min: Some(min), mean, max, .. } => {
            let mean = mean.map_or_else(String::new, |mean| format!(", {} on average", format_figure(Some(mean))));
            format!("{} to {}{mean}", format_figure(Some(min)), format_figure(max))
        }
        ExpectedMessages { max, .. } => format!("at most {}", format_figure(max)),
    }
}
