//! Creates a group and its initial states.

use crate::budgets::Budgets;
use crate::clients::Clients;
use crate::findings::Setup;
use crate::local::Checkable;
use crate::membership::PackedView;
use crate::step_table::{MakeNode, StepTable};
use crate::system::{Criterion, PastProperties, System};
use crate::tables::Tables;
use crate::worker_group::WorkerModel;
use std::sync::Arc;

/// Creates one worker thread's own model of the group. If there are `past_properties`, its initial
/// states contain the words in which the search remembers past events. `criteria` are the
/// conditions that states must satisfy, each with the number of its property. `judged_bits` has one
/// bit for each property: if it is set, the search reports a step that violates the property.
pub(crate) fn worker_model<'a, P, C>(
    make: &MakeNode<P>,
    clients: &C,
    setup: &Setup,
    past_properties: Option<PastProperties>,
    criteria: &[(u8, Criterion)],
    judged_bits: u32,
) -> WorkerModel<'a>
where
    P: Checkable + 'a,
    C: Clients<Command = P::Command, Event = P::Event> + Clone + 'a,
{
    let (step_table, mut system, initial) = initial_states(make, clients, setup);
    system.past_properties = past_properties;
    system.criteria = criteria.to_vec();
    system.judged_bits = judged_bits;
    let initial = initial.iter().map(|(state, _)| system.with_memory(state)).collect();
    WorkerModel { system, stepper: Box::new(step_table), initial }
}

/// A group's step table, its system, and each initial state with the drifts of its nodes' clocks in
/// parts per million.
pub(crate) type InitialStates<P, C> = (StepTable<P, C>, System, Vec<(Vec<u32>, Vec<i32>)>);

/// Creates the nodes of a group and its initial states, one for each choice of clock drifts.
pub(crate) fn initial_states<P, C>(make: &MakeNode<P>, clients: &C, setup: &Setup) -> InitialStates<P, C>
where
    P: Checkable,
    C: Clients<Command = P::Command, Event = P::Event> + Clone,
{
    let mut step_table = StepTable::new(Arc::clone(make), clients.clone(), setup);
    let mut system = System {
        nodes: setup.nodes,
        has_fifo_links: setup.has_fifo_links,
        time_limit: setup.timing.map(|timing| timing.until),
        has_bounded_delays: setup.timing.is_some_and(|timing| timing.delay.is_some()),
        views: setup.views,
        crash_notices: setup.crash_notices,
        crash_interrupts_sends: setup.crash_interrupts_sends,
        goal: clients.goal(),
        past_properties: None,
        criteria: Vec::new(),
        judged_bits: 0,
        tables: Tables::new(),
    };
    let budgets = Budgets {
        losses: setup.losses,
        duplicates: setup.duplicates,
        crashes: setup.crashes,
        restarts: setup.restarts,
        early_timers: setup.early_timers,
        view_changes: setup.views.map_or(0, |views| views.max_changes),
    };
    let max_drift_ppm = setup.timing.map_or(0, |timing| timing.drift_ppm as i32);
    // Bit `node` of a choice is set if that node's clock is slow.
    let drift_choices = if max_drift_ppm == 0 { 1 } else { 1_u32 << setup.nodes };
    let first_view = setup.views.map(|_| PackedView::founding(setup.nodes));
    step_table.assign_notice_numbers(&mut system.tables);
    let mut initial = Vec::new();
    for choice in 0..drift_choices {
        let drift = |node: usize| if choice >> node & 1 == 0 { max_drift_ppm } else { -max_drift_ppm };
        let drifts_ppm: Vec<i32> = (0..setup.nodes).map(drift).collect();
        let (locals, in_flight) = step_table.start_nodes(&mut system.tables, &drifts_ppm, first_view);
        // The number of the first instant is 0.
        let mut state = vec![budgets.pack(), 0];
        state.extend(locals);
        state.extend(first_view.map(|PackedView(word)| word));
        for envelope in in_flight {
            system.add_in_flight(envelope, &mut state);
        }
        initial.push((state, drifts_ppm));
    }
    (step_table, system, initial)
}
