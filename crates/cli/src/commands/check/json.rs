//! JSON report of `quorate check`.

use super::{main_pass, rate};
use crate::picture::Picture;
use quorate_check::{End, Pass, Verdict, Views};
use quorate_journal::property::Kind;
use quorate_lab::check::{CheckRun, CheckSpec, CheckedFamily};
use quorate_lab::mutex::MembershipService;
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct Report<'a> {
    algorithm: &'a str,
    nodes: usize,
    rounds: Rounds,
    #[serde(skip_serializing_if = "Option::is_none")]
    views: Option<Changes>,
    complete: bool,
    end: &'static str,
    /// Null for random walks, which do not count distinct states.
    states: Option<u64>,
    generated: u64,
    depth: u64,
    seconds: f64,
    states_per_second: Option<f64>,
    bytes_per_state: Option<f64>,
    collision_probability: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    past: Option<AdditionalSearch>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fair: Option<AdditionalSearch>,
    #[serde(skip_serializing_if = "Option::is_none")]
    walks: Option<u64>,
    properties: Vec<Row>,
    #[serde(skip_serializing_if = "Option::is_none")]
    replay: Option<String>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pictures: &'a [Picture],
}

#[derive(Serialize)]
#[serde(untagged)]
enum Rounds {
    Counted(u8),
    Word(&'static str),
}

/// How the group's views change.
#[derive(Serialize)]
struct Changes {
    changes: u8,
    membership: MembershipService,
}

impl From<Views> for Changes {
    fn from(Views { changes, waits_for_leases }: Views) -> Self {
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
struct Row {
    name: &'static str,
    kind: Kind,
    /// Null if the check could not decide.
    holds: Option<bool>,
    counterexample_length: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cycle_length: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'static str>,
}

impl From<&Verdict> for Row {
    fn from(verdict: &Verdict) -> Self {
        let example = verdict.counterexample.as_ref();
        Self {
            name: verdict.name,
            kind: verdict.kind,
            holds: verdict.holds,
            counterexample_length: example.map(|example| example.len()),
            cycle_length: example.and_then(|example| Some(example.len() - example.cycle()?)),
            why: verdict.unknown,
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
        let Pass { states, generated, depth, seconds, bytes_per_state, .. } = *main_pass(findings);
        let states = findings.walks.is_none().then_some(states);
        Self {
            algorithm: spec.algorithm.name(),
            nodes: spec.setup.nodes,
            rounds: spec.rounds.map_or(Rounds::Word("unbounded"), Rounds::Counted),
            views: spec.setup.views.map(Changes::from),
            complete: run.is_complete(),
            end: if findings.end == End::Complete && !run.is_complete() { "not-judged" } else { word(findings.end) },
            states,
            generated,
            depth,
            seconds,
            states_per_second: states.map(|states| rate(states, seconds)),
            bytes_per_state,
            collision_probability: findings.collision_probability(),
            past: findings.past.as_ref().map(AdditionalSearch::from),
            fair: findings.fair.as_ref().map(AdditionalSearch::from),
            walks: findings.walks,
            properties: findings.verdicts.iter().map(Row::from).collect(),
            replay,
            pictures,
        }
    }
}

fn word(end: End) -> &'static str {
    match end {
        End::Complete => "complete",
        End::FirstViolation => "first-breach",
        End::Memory => "memory",
        End::IdsExhausted => "numbers",
        End::Stopped => "stopped",
    }
}
