//! The properties that the events of all members must satisfy in every run.

use super::simulation::{MAX_NODES, Process, World};
use crate::group::Epoch;
use crate::multicast::{Delivery, Event, MessageId, OrderGuarantee, Payload, Plan};
use std::collections::{BTreeMap, BTreeSet};
use std::format;
use std::string::String;
use std::vec::Vec;

/// The deliveries of a process in one view.
#[derive(Debug, Default)]
struct Segment {
    process: Option<Process>,
    /// Digest of the replicated state at the beginning of the view.
    state_digest: u64,
    delivered: Vec<MessageId>,
    /// Whether the process continued to a later view.
    has_survived: bool,
    /// Whether this is the last view of the run, and the process is a member at the end.
    is_in_view_at_end: bool,
}

/// Returns a description of the first violation as an error.
pub(super) fn check(world: &World, plan: &Plan, guarantee: OrderGuarantee) -> Result<(), String> {
    let members = world.members();
    for (process, log) in &world.logs {
        let is_member = members.contains(process);
        check_no_duplicates(*process, log)?;
        check_deliveries_match_sends(world, *process, log)?;
        if guarantee.fifo {
            check_fifo(*process, log)?;
        }
        if is_member {
            check_waiters_are_answered(*process, log)?;
        }
    }
    if guarantee.causal {
        check_causal(world)?;
    }
    for (epoch, segments) in segments(world) {
        check_same_deliveries(epoch, &segments, guarantee)?;
        if plan.delivery == Delivery::Uniform {
            check_uniform(epoch, &segments, guarantee)?;
        }
    }
    check_memory(world, plan)
}

fn check_no_duplicates(process: Process, log: &[Event]) -> Result<(), String> {
    let mut delivered_ids = BTreeSet::new();
    for id in delivered(log) {
        if !delivered_ids.insert(id) {
            return Err(format!("{process:?} delivers {id} twice"));
        }
    }
    Ok(())
}

/// Checks that a member of the last view has delivered all messages that it sent in its latest
/// stay, and that every message was delivered as its sender sent it: with the same payload
/// everywhere, whose text ends with the sender's number.
fn check_deliveries_match_sends(world: &World, process: Process, log: &[Event]) -> Result<(), String> {
    for event in log {
        if let Event::Delivered { id, payload } = event {
            let text = payload.text().unwrap_or_default();
            if !text.ends_with(&format!(" of {}", id.sender)) {
                return Err(format!("{process:?} delivers {text} as {id}"));
            }
        }
    }
    let stay_start = log.iter().rposition(|event| matches!(event, Event::Excluded { .. })).map_or(0, |index| index + 1);
    let delivered_ids: BTreeSet<_> = delivered(log).collect();
    for event in &log[stay_start..] {
        if let Event::Sent { id } = event
            && world.members().contains(&process)
            && !delivered_ids.contains(id)
        {
            return Err(format!("{process:?} sent {id} and never delivered it"));
        }
    }
    let mut payloads: BTreeMap<MessageId, &Payload> = BTreeMap::new();
    for event in world.logs.values().flatten() {
        if let Event::Delivered { id, payload } = event
            && *payloads.entry(*id).or_insert(payload) != payload
        {
            return Err(format!("{id} has different payloads"));
        }
    }
    Ok(())
}

fn check_fifo(process: Process, log: &[Event]) -> Result<(), String> {
    let mut last = BTreeMap::new();
    for id in delivered(log) {
        let before = last.insert((id.sender, id.view), id.number).unwrap_or(0);
        if id.number != before + 1 {
            return Err(format!("{process:?} delivers {id} after message {before} of that sender"));
        }
    }
    Ok(())
}

/// Checks that after its last `Wait` a process emits `Ready` or a view, unless it has left or was
/// excluded.
fn check_waiters_are_answered(process: Process, log: &[Event]) -> Result<(), String> {
    let wait = log.iter().rposition(|event| matches!(event, Event::Wait { .. }));
    let ready = log.iter().rposition(|event| matches!(event, Event::Ready { .. } | Event::View { .. }));
    let departed = log.iter().rposition(|event| matches!(event, Event::Left { .. } | Event::Excluded { .. }));
    if wait > ready && departed <= ready { Err(format!("{process:?} waits forever")) } else { Ok(()) }
}

/// Checks that a process delivers a message after all messages that its sender had sent or
/// delivered before it. Messages of views before the current stay of the process do not count.
fn check_causal(world: &World) -> Result<(), String> {
    let mut causes: BTreeMap<MessageId, BTreeSet<MessageId>> = BTreeMap::new();
    for log in world.logs.values() {
        let mut before = BTreeSet::new();
        for event in log {
            match event {
                Event::Delivered { id, .. } => {
                    before.insert(*id);
                }
                Event::Sent { id } => {
                    causes.insert(*id, before.clone());
                    before.insert(*id);
                }
                // Other members need not have the messages that the process delivered in an earlier
                // stay.
                Event::Excluded { .. } => before.clear(),
                _ => {}
            }
        }
    }
    for (process, log) in &world.logs {
        let mut delivered_here = BTreeSet::new();
        let mut first_view = None;
        for event in log {
            match event {
                Event::View { view, .. } => {
                    first_view = first_view.or(Some(view.epoch()));
                }
                Event::Excluded { .. } => first_view = None,
                Event::Delivered { id, .. } => {
                    let missing = causes.get(id).into_iter().flatten();
                    let missing =
                        missing.filter(|cause| Some(cause.view) >= first_view && !delivered_here.contains(*cause));
                    if let Some(cause) = missing.into_iter().next() {
                        return Err(format!("{process:?} delivers {id} without {cause} before it"));
                    }
                    delivered_here.insert(*id);
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// Splits the deliveries of each process by view.
fn segments(world: &World) -> BTreeMap<Epoch, Vec<Segment>> {
    let mut segments: BTreeMap<Epoch, Vec<Segment>> = BTreeMap::new();
    for (process, log) in &world.logs {
        let mut current: Option<(Epoch, Segment)> = None;
        for event in log {
            match event {
                Event::View { view, state, .. } => {
                    if let Some((epoch, segment)) = current.take() {
                        segments.entry(epoch).or_default().push(Segment { has_survived: true, ..segment });
                    }
                    let segment = Segment { process: Some(*process), state_digest: *state, ..Segment::default() };
                    current = Some((view.epoch(), segment));
                }
                Event::Delivered { id, .. } => {
                    if let Some((_, segment)) = &mut current {
                        segment.delivered.push(*id);
                    }
                }
                // A member that has left or was excluded delivers nothing more in this view.
                Event::Excluded { .. } | Event::Left { .. } => {
                    if let Some((epoch, segment)) = current.take() {
                        segments.entry(epoch).or_default().push(segment);
                    }
                }
                _ => {}
            }
        }
        if let Some((epoch, segment)) = current {
            let is_in_view_at_end = world.members().contains(process) && epoch == world.view.epoch();
            segments.entry(epoch).or_default().push(Segment { is_in_view_at_end, ..segment });
        }
    }
    segments
}

/// Checks that members that survived a view, or are in it at the end, delivered the same messages
/// in it, in the same order if the guarantee is total. Checks also that all members began the view
/// with the same state, and delivered only messages of this view in it.
fn check_same_deliveries(epoch: Epoch, segments: &[Segment], guarantee: OrderGuarantee) -> Result<(), String> {
    let mut previous: Option<&Segment> = None;
    for segment in segments {
        if segment.state_digest != segments[0].state_digest {
            return Err(format!(
                "{:?} and {:?} begin view {epoch} in different states",
                segment.process, segments[0].process
            ));
        }
        if let Some(id) = segment.delivered.iter().find(|id| id.view != epoch) {
            return Err(format!("{:?} delivers {id} in view {epoch}", segment.process));
        }
    }
    for segment in segments.iter().filter(|segment| segment.has_survived || segment.is_in_view_at_end) {
        let other = previous.replace(segment).unwrap_or(segment);
        let set = |segment: &Segment| segment.delivered.iter().copied().collect::<BTreeSet<_>>();
        let is_same = if guarantee.total { segment.delivered == other.delivered } else { set(segment) == set(other) };
        if !is_same {
            return Err(format!("in view {epoch}, {segment:?} and {other:?} delivered different messages or orders"));
        }
    }
    Ok(())
}

/// Checks that every survivor of a view delivered all messages that any member delivered in it,
/// even a member that then crashed; if the guarantee is total, first and in the same order.
fn check_uniform(epoch: Epoch, segments: &[Segment], guarantee: OrderGuarantee) -> Result<(), String> {
    for segment in segments {
        for other in segments.iter().filter(|other| other.has_survived || other.is_in_view_at_end) {
            let has_all = if guarantee.total {
                other.delivered.starts_with(&segment.delivered)
            } else {
                segment.delivered.iter().all(|id| other.delivered.contains(id))
            };
            if !has_all {
                return Err(format!("in view {epoch}, {other:?} did not deliver all messages of {segment:?}"));
            }
        }
    }
    Ok(())
}

/// Checks that members never keep more messages than their windows allow, and that once all
/// messages have arrived they keep few and hold none back.
fn check_memory(world: &World, plan: &Plan) -> Result<(), String> {
    let window = usize::try_from(plan.window.messages).unwrap_or(usize::MAX);
    // One window of each node's messages, in the view that ends and in the one that begins.
    let max_kept = 2 * MAX_NODES * window;
    if world.max_kept > max_kept {
        return Err(format!("a member keeps {} messages; the limit is {max_kept}", world.max_kept));
    }
    // Of each sender, a member leaves less than half a window unacknowledged, and nothing if
    // delivery is uniform.
    let max_unacknowledged = match plan.delivery {
        Delivery::Prompt => window.div_ceil(2).max(1) - 1,
        Delivery::Uniform => 0,
    };
    for process in world.members() {
        let kept = world.nodes[&process].inner().kept_count();
        if kept > max_unacknowledged * world.members().len() {
            return Err(format!("{process:?} keeps {kept} messages after all messages have arrived"));
        }
        if world.nodes[&process].inner().waiting_count() > 0 {
            return Err(format!("{process:?} holds back messages after all messages have arrived"));
        }
    }
    Ok(())
}

fn delivered(log: &[Event]) -> impl Iterator<Item = MessageId> + '_ {
    log.iter().filter_map(|event| match event {
        Event::Delivered { id, .. } => Some(*id),
        _ => None,
    })
}
