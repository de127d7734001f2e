//! Sets groups up: their nodes, and the states in which they can begin.

use crate::budgets::Budgets;
use crate::findings::Setup;
use crate::local::Checked;
use crate::membership::Roll;
use crate::stage::{Make, Stage};
use crate::system::{Criterion, Memory, System};
use crate::tables::Tables;
use crate::troupe::Troupe;
use crate::users::Users;
use std::sync::Arc;

pub(crate) fn troupe<'a, P, U>(
    make: &Make<P>,
    users: &U,
    setup: &Setup,
    memory: Option<Memory>,
    judges: &[(u8, Criterion)],
    watched: u32,
) -> Troupe<'a>
where
    P: Checked + 'a,
    U: Users<Command = P::Command, Event = P::Event> + Clone + 'a,
{
    let (stage, mut system, initial) = cast(make, users, setup);
    system.memory = memory;
    system.judges = judges.to_vec();
    system.watched = watched;
    let initial = initial.iter().map(|(state, _)| system.with_memory(state)).collect();
    Troupe { system, oracle: Box::new(stage), initial }
}

pub(crate) type Cast<P, U> = (Stage<P, U>, System, Vec<(Vec<u32>, Vec<i32>)>);

/// The nodes of a group, and the states in which it can begin: one for each choice of the clocks' rates.
pub(crate) fn cast<P, U>(make: &Make<P>, users: &U, setup: &Setup) -> Cast<P, U>
where
    P: Checked,
    U: Users<Command = P::Command, Event = P::Event> + Clone,
{
    let mut stage = Stage::new(Arc::clone(make), users.clone(), setup);
    let mut system = System {
        nodes: setup.nodes,
        fifo: setup.fifo,
        until: setup.timing.map(|timing| timing.until),
        dated: setup.timing.is_some_and(|timing| timing.delay.is_some()),
        views: setup.views,
        deaths: setup.deaths,
        cut_short: setup.cut_short,
        accord: users.accord(),
        memory: None,
        judges: Vec::new(),
        watched: 0,
        tables: Tables::new(),
    };
    let budgets = Budgets {
        losses: setup.losses,
        duplicates: setup.duplicates,
        crashes: setup.crashes,
        restarts: setup.restarts,
        hasty_timers: setup.hasty_timers,
        changes: setup.views.map_or(0, |views| views.changes),
    };
    let drift = setup.timing.map_or(0, |timing| timing.drift_ppm as i32);
    let choices = if drift == 0 { 1 } else { 1_u32 << setup.nodes };
    let founding = setup.views.map(|_| Roll::founding(setup.nodes));
    stage.number_obituaries(&mut system.tables);
    let mut initial = Vec::new();
    for choice in 0..choices {
        let rate = |node: usize| if choice >> node & 1 == 0 { drift } else { -drift };
        let rates: Vec<i32> = (0..setup.nodes).map(rate).collect();
        let (locals, under_way) = stage.begin(&mut system.tables, &rates, founding);
        let mut state = vec![budgets.pack(), 0];
        state.extend(locals);
        state.extend(founding.map(|Roll(word)| word));
        for envelope in under_way {
            system.put_under_way(envelope, &mut state);
        }
        initial.push((state, rates));
    }
    (stage, system, initial)
}
