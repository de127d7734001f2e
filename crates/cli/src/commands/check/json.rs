//! JSON report of `quorate check`.

use super::{main_search, per_second};
use crate::picture::Picture;
use quorate_check::{Pass, SearchEnd, Verdict, Views};
use quorate_journal::property::PropertyKind;
use quorate_lab::check::{CheckRun, CheckSpec, CheckedFamily};
use quorate_lab::mutex::MembershipService;
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct Report<'a> {
    algorithm: &'a str,
    nodes: usize,
    rounds: Rounds,
    #[serde(skip_serializing_if = "Option::is_none")]
    views: Option<ViewChanges>,
    complete: bool,
    /// How the search ended, as [`end_name`] writes it; `not-judged` if the search is complete but
    /// left undecided a property that it had to decide.
    end: &'static str,
    /// Null for random walks, which do not count distinct states; `states_per_second` and
    /// `bytes_per_state` are then null too.
    states: Option<u64>,
    /// Number of transitions taken, plus the initial states. For random walks, the number of steps.
    generated: u64,
    /// Number of steps to the farthest state (breadth first), on the longest path (depth first) or
    /// of the longest walk.
    depth: u64,
    seconds: f64,
    states_per_second: Option<f64>,
    bytes_per_state: Option<f64>,
    collision_probability: f64,
    /// The search for properties that need history.
    #[serde(skip_serializing_if = "Option::is_none")]
    past: Option<AdditionalSearch>,
    /// The search for properties that need fairness.
    #[serde(skip_serializing_if = "Option::is_none")]
    fair: Option<AdditionalSearch>,
    /// Number of random walks.
    #[serde(skip_serializing_if = "Option::is_none")]
    walks: Option<u64>,
    properties: Vec<PropertyResult>,
    /// The command that replays the shortest counterexample, or, if its journal was not written,
    /// repeats the check and writes the journal.
    #[serde(skip_serializing_if = "Option::is_none")]
    replay: Option<String>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pictures: &'a [Picture],
}

/// Number of requests or elections per client, or the word `unbounded`.
#[derive(Serialize)]
#[serde(untagged)]
enum Rounds {
    Bounded(u8),
    Unbounded(&'static str),
}

/// How often the group's view can change, and which service decides on the members.
#[derive(Serialize)]
struct ViewChanges {
    changes: u8,
    membership: MembershipService,
}

impl From<Views> for ViewChanges {
    fn from(Views { max_changes: changes, waits_for_leases }: Views) -> Self {
        Self {
            changes,
            membership: if waits_for_leases { MembershipService::Oracle } else { MembershipService::Impatient },
        }
    }
}

/// An additional search, for properties that need history or fairness.
#[derive(Serialize)]
struct AdditionalSearch {
    states: u64,
    generated: u64,
    seconds: f64,
    bytes_per_state: Option<f64>,
}

impl From<&Pass> for AdditionalSearch {
    fn from(pass: &Pass) -> Self {
        let Pass { states, generated, seconds, bytes_per_state, .. } = *pass;
        Self { states, generated, seconds, bytes_per_state }
    }
}

#[derive(Serialize)]
struct PropertyResult {
    name: &'static str,
    kind: PropertyKind,
    /// Null if the check could not decide.
    holds: Option<bool>,
    counterexample_length: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cycle_length: Option<usize>,
    /// Why the check could not decide.
    #[serde(rename = "why", skip_serializing_if = "Option::is_none")]
    undecided_reason: Option<&'static str>,
}

impl From<&Verdict> for PropertyResult {
    fn from(verdict: &Verdict) -> Self {
        let counterexample = verdict.counterexample.as_ref();
        Self {
            name: verdict.name,
            kind: verdict.kind,
            holds: verdict.holds,
            counterexample_length: counterexample.map(|counterexample| counterexample.len()),
            cycle_length: counterexample
                .and_then(|counterexample| Some(counterexample.len() - counterexample.cycle_start()?)),
            undecided_reason: verdict.undecided_reason,
        }
    }
}

impl<'a> Report<'a> {
    pub(super) fn new<F: CheckedFamily>(
        spec: &'a CheckSpec<F>,
        run: &CheckRun<F>,
        replay: Option<String>,
        pictures: &'a [Picture],
    ) -> Self {
        let findings = &run.findings;
        let Pass { states, generated, depth, seconds, bytes_per_state, .. } = *main_search(findings);
        let states = findings.walk_count.is_none().then_some(states);
        Self {
            algorithm: spec.algorithm.name(),
            nodes: spec.setup.nodes,
            rounds: spec.rounds.map_or(Rounds::Unbounded("unbounded"), Rounds::Bounded),
            views: spec.setup.views.map(ViewChanges::from),
            complete: run.is_complete(),
            end: if findings.end == SearchEnd::Complete && !run.is_complete() {
                "not-judged"
            } else {
                end_name(findings.end)
            },
            states,
            generated,
            depth,
            seconds,
            states_per_second: states.map(|states| per_second(states, seconds)),
            bytes_per_state,
            collision_probability: findings.collision_probability(),
            past: findings.past_pass.as_ref().map(AdditionalSearch::from),
            fair: findings.fair_pass.as_ref().map(AdditionalSearch::from),
            walks: findings.walk_count,
            properties: findings.verdicts.iter().map(PropertyResult::from).collect(),
            replay,
            pictures,
        }
    }
}

fn end_name(end: SearchEnd) -> &'static str {
    match end {
        SearchEnd::Complete => "complete",
        SearchEnd::FirstViolation => "first-breach",
        SearchEnd::MemoryLimit => "memory",
        SearchEnd::IdsExhausted => "numbers",
        SearchEnd::Stopped => "stopped",
    }
}
