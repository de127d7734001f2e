//! The checker's properties against the simulator's: on random walks both must come to the same verdicts.
//!
//! The simulator judges a run by vector clocks, and by all fences and results there ever were. The checker judges it by a few words beside
//! the state. Every walk is played by real nodes before the simulator's judges.

mod elections;
mod multicasts;
mod mutex;

use crate::cast::cast;
use crate::content::mix;
use crate::findings::Setup;
use crate::local::Checked;
use crate::play::Counterexample;
use crate::stage::{Make, Stage};
use crate::system::{Criterion, Memory};
use crate::trail::Guide;
use crate::users::{Judged, Property, Users};
use quorate_sim::property::Verdict;
use std::collections::BTreeSet;

/// The number of the property that is judged so.
fn number(properties: &[Property], judged: fn(&Judged) -> bool) -> Option<u8> {
    properties.iter().position(|property| judged(&property.judged)).map(|number| number as u8)
}

/// The names of the properties that some walk broke. Of each walk the simulator's judges must say the same.
fn broken_by_walks<P, U>(
    make: &Make<P>,
    users: &U,
    setup: &Setup,
    memory: Memory,
    walks: u64,
    judges: impl Fn(&Stage<P, U>, &Counterexample) -> Vec<Verdict>,
) -> BTreeSet<&'static str>
where
    P: Checked,
    U: Users<Command = P::Command, Event = P::Event> + Clone,
{
    let (mut stage, mut system, initial) = cast(make, users, setup);
    let properties = users.properties();
    system.memory = Some(memory);
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
        let verdicts = judges(&stage, &example);
        let simulated: BTreeSet<_> = verdicts
            .iter()
            .filter(|verdict| at_once(verdict.name) && verdict.is_breach())
            .map(|verdict| verdict.name)
            .collect();
        assert_eq!(broken, simulated, "walk {walk}");
        all.extend(broken);
    }
    all
}
