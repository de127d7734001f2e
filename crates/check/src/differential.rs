//! The checker's properties against those that observers judge: on random walks both must come to the same verdicts.
//!
//! A family judges a simulated run by observers that remember everything, and a check by a few words beside the state. Its tests hold one
//! against the other here: every walk is played by real nodes before the family's observers.

use crate::cast::cast;
use crate::content::mix;
use crate::findings::Setup;
use crate::local::Checked;
use crate::play::{Counterexample, play};
use crate::stage::Make;
use crate::system::{self, Criterion, Memory};
use crate::trail::Guide;
use crate::users::{Judged, Property, Users};
use quorate_journal::moment::Observer;
use quorate_journal::property::Verdict;
use std::collections::BTreeSet;

/// The largest group in which the order of requests is judged.
pub const MOST_ORDERED: usize = system::MOST_ORDERED;

/// The number of the property that is judged so.
fn number(properties: &[Property], judged: fn(&Judged) -> bool) -> Option<u8> {
    properties.iter().position(|property| judged(&property.judged)).map(|number| number as u8)
}

/// The names of the properties that at least one of `walks` random walks breaks.
///
/// # Panics
///
/// If the verdicts of a fresh observer that watches a walk differ from the checker's, or if real nodes cannot follow a walk.
pub fn broken_by_walks<P, U, O>(
    make: &Make<P>,
    users: &U,
    setup: &Setup,
    walks: u64,
    observer: impl Fn() -> O,
    verdicts: impl Fn(O) -> Vec<Verdict>,
) -> BTreeSet<&'static str>
where
    P: Checked,
    U: Users<Command = P::Command, Event = P::Event> + Clone,
    O: Observer<P::Command, P::Event>,
{
    let (mut stage, mut system, initial) = cast(make, users, setup);
    let properties = users.properties();
    system.memory = Some(Memory {
        order: number(&properties, |judged| matches!(judged, Judged::ByOrder)).filter(|_| setup.nodes <= MOST_ORDERED),
        fences: number(&properties, |judged| matches!(judged, Judged::ByFences)),
        results: number(&properties, |judged| matches!(judged, Judged::ByResults)),
    });
    system.watched = u32::MAX;
    let by_state = properties.iter().zip(0..).filter_map(|(property, number)| match property.judged {
        Judged::ByState(judge) => Some((number, Criterion::Facets(judge))),
        Judged::ByBound(judge, bound) => Some((number, Criterion::Bound(judge, bound))),
        Judged::ByEnds(judge) => Some((number, Criterion::AtEnds(judge))),
        Judged::ByTerms => Some((number, Criterion::Terms)),
        _ => None,
    });
    system.judges = by_state.collect();
    let at_once = |name: &str| {
        let property = properties.iter().find(|property| property.name == name);
        property.is_some_and(|property| {
            !matches!(property.judged, Judged::ByEnds(_) | Judged::ByDeadlock | Judged::ByFairRuns)
        })
    };
    let mut all = BTreeSet::new();
    for walk in 0..walks {
        let mut broken = BTreeSet::new();
        let (first, rates) = &initial[mix(walk ^ 0x7365_6564) as usize % initial.len()];
        let mut state = system.with_memory(first);
        let mut steps = Vec::new();
        let mut guide = Guide::new(&mut system, &mut stage, &state);
        for step in 0..120 {
            let candidates = guide.candidates(&state);
            let chance = mix(mix(walk) ^ step);
            let Some(candidate) = candidates.get(chance as usize % candidates.len().max(1)).copied() else { break };
            let names = guide.breaches().iter().filter(|(_, action)| *action == candidate.action);
            broken.extend(names.map(|(number, _)| properties[usize::from(*number)].name));
            steps.push(guide.take(&mut state, candidate));
            broken.extend(guide.lookup.system.broken(&state).map(|number| properties[usize::from(number)].name));
        }
        let timed = setup.timing.is_some();
        let example = Counterexample { steps, cycle: None, rates: rates.clone(), timed, views: false };
        let played = play(&stage, &example, observer());
        assert!(played.is_ok(), "real nodes cannot follow walk {walk}");
        let judged = played.map(&verdicts).unwrap_or_default();
        let simulated: BTreeSet<_> = judged
            .iter()
            .filter(|verdict| at_once(verdict.name) && verdict.is_breach())
            .map(|verdict| verdict.name)
            .collect();
        assert_eq!(broken, simulated, "walk {walk}");
        all.extend(broken);
    }
    all
}
