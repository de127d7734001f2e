//! Compares the checker's verdicts with those of observers: on random walks both must agree.
//!
//! Observers judge a simulated run, and they remember everything; a check remembers only a few
//! words in each state. This module tests one against the other: the checker judges random walks
//! through the states, and real nodes replay every walk, which an observer judges.

use crate::clients::{Clients, Judged, Property};
use crate::content::mix;
use crate::findings::Setup;
use crate::initial_states::initial_states;
use crate::local::Checkable;
use crate::path::PathGuide;
use crate::replay::{Counterexample, replay};
use crate::step_table::MakeNode;
use crate::system::{self, Criterion, PastProperties};
use quorate_journal::moment::Observer;
use quorate_journal::property::Verdict;
use std::collections::BTreeSet;

/// Largest group in which the checker judges the order of requests. In larger groups, the observer
/// must not judge it either.
pub const MAX_ORDERED_NODES: usize = system::MAX_ORDERED_NODES;

/// Maximum number of steps of a walk.
const STEPS_PER_WALK: u64 = 120;

/// Returns the number of the property that is judged this way.
fn property_number(properties: &[Property], judged: fn(&Judged) -> bool) -> Option<u8> {
    properties.iter().position(|property| judged(&property.judged)).map(|number| number as u8)
}

/// Returns the names of the properties that at least one of `walks` random walks violates.
/// `make_observer` creates an observer for a walk, and `verdicts` returns the observer's verdicts.
/// The group must have no views.
///
/// # Panics
///
/// If the verdicts of a fresh observer of a walk differ from the checker's, or if real nodes cannot
/// follow a walk.
pub fn violated_by_walks<P, C, O>(
    make: &MakeNode<P>,
    clients: &C,
    setup: &Setup,
    walks: u64,
    make_observer: impl Fn() -> O,
    verdicts: impl Fn(O) -> Vec<Verdict>,
) -> BTreeSet<&'static str>
where
    P: Checkable,
    C: Clients<Command = P::Command, Event = P::Event> + Clone,
    O: Observer<P::Command, P::Event>,
{
    let (mut step_table, mut system, initial) = initial_states(make, clients, setup);
    let properties = clients.properties();
    system.past_properties = Some(PastProperties {
        order: property_number(&properties, |judged| matches!(judged, Judged::ByOrder))
            .filter(|_| setup.nodes <= MAX_ORDERED_NODES),
        fences: property_number(&properties, |judged| matches!(judged, Judged::ByFences)),
        results: property_number(&properties, |judged| matches!(judged, Judged::ByResults)),
    });
    // All properties are judged.
    system.judged_bits = u32::MAX;
    let criteria = properties.iter().zip(0..).filter_map(|(property, number)| match property.judged {
        Judged::ByState(condition) => Some((number, Criterion::Facets(condition))),
        Judged::ByBound(condition, bound) => Some((number, Criterion::Bound(condition, bound))),
        Judged::ByEnds(condition) => Some((number, Criterion::AtEnds(condition))),
        Judged::ByExclusiveHolds => Some((number, Criterion::OneHolder)),
        _ => None,
    });
    system.criteria = criteria.collect();
    // A walk stops anywhere, so it does not show how runs end or whether they repeat forever.
    // `violated_properties` leaves out criteria about ends as well.
    let is_judged_by_walks = |name: &str| {
        let property = properties.iter().find(|property| property.name == name);
        property.is_some_and(|property| {
            !matches!(property.judged, Judged::ByEnds(_) | Judged::ByDeadlock | Judged::ByFairRuns)
        })
    };
    let mut violated_by_any = BTreeSet::new();
    for walk in 0..walks {
        let mut found_by_checker = BTreeSet::new();
        // The constant separates this choice from the choices of steps below.
        let (initial_state, drifts_ppm) = &initial[mix(walk ^ 0x7365_6564) as usize % initial.len()];
        let mut state = system.with_memory(initial_state);
        let mut steps = Vec::new();
        let mut guide = PathGuide::new(&mut system, &mut step_table, &state);
        for step in 0..STEPS_PER_WALK {
            let candidates = guide.candidates(&state);
            let random = mix(mix(walk) ^ step);
            let Some(candidate) = candidates.get(random as usize % candidates.len().max(1)).copied() else { break };
            let by_step = guide.violations().iter().filter(|(_, action)| *action == candidate.action);
            found_by_checker.extend(by_step.map(|(number, _)| properties[usize::from(*number)].name));
            steps.push(guide.take_transition(&mut state, candidate));
            let violated = guide.lookup.system.violated_properties(&state);
            found_by_checker.extend(violated.map(|number| properties[usize::from(number)].name));
        }
        let is_timed = setup.timing.is_some();
        let example =
            Counterexample { steps, cycle_start: None, drifts_ppm: drifts_ppm.clone(), is_timed, has_views: false };
        let replayed = replay(&step_table, &example, make_observer());
        assert!(replayed.is_ok(), "real nodes cannot replay walk {walk}");
        let verdicts = replayed.map(&verdicts).unwrap_or_default();
        let found_by_observer: BTreeSet<_> = verdicts
            .iter()
            .filter(|verdict| is_judged_by_walks(verdict.name) && verdict.is_violated())
            .map(|verdict| verdict.name)
            .collect();
        assert_eq!(
            found_by_checker, found_by_observer,
            "walk {walk}: checker and observer must find the same violations"
        );
        violated_by_any.extend(found_by_checker);
    }
    violated_by_any
}
