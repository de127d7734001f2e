//! What members of a group must have told their users, whatever happened.

use super::world::{Life, World};
use crate::group::Epoch;
use crate::multicast::{Delivery, Event, MessageId, Payload, Plan, Promise};
use std::collections::{BTreeMap, BTreeSet};
use std::format;
use std::string::String;
use std::vec::Vec;

#[derive(Debug, Default)]
struct Segment {
    life: Option<Life>,
    state: u64,
    delivered: Vec<MessageId>,
    went_on: bool,
    stayed: bool,
}

/// The first promise that was broken.
pub(super) fn judge(world: &World, plan: &Plan, promise: Promise) -> Result<(), String> {
    let members = world.members();
    for (life, log) in &world.logs {
        let is_last = members.contains(life);
        once_each(*life, log)?;
        as_sent(world, *life, log)?;
        if promise.fifo {
            fifo(*life, log)?;
        }
        if is_last {
            answered(*life, log)?;
        }
    }
    if promise.causal {
        causal(world)?;
    }
    for (epoch, segments) in segments(world) {
        together(epoch, &segments, promise)?;
        if plan.delivery == Delivery::Uniform {
            uniform(epoch, &segments, promise)?;
        }
    }
    memory(world, plan)
}

fn once_each(life: Life, log: &[Event]) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for id in delivered(log) {
        if !seen.insert(id) {
            return Err(format!("{life:?} delivers {id} twice"));
        }
    }
    Ok(())
}

/// Whoever is in to the end has heard all that it sent, and whatever anybody heard was sent like that.
fn as_sent(world: &World, life: Life, log: &[Event]) -> Result<(), String> {
    for event in log {
        if let Event::Delivered { id, payload } = event {
            let text = payload.text().unwrap_or_default();
            if !text.ends_with(&format!(" of {}", id.sender)) {
                return Err(format!("{life:?} hears {text} of {id}"));
            }
        }
    }
    let since = log.iter().rposition(|event| matches!(event, Event::Out { .. })).map_or(0, |place| place + 1);
    let heard: BTreeSet<_> = delivered(log).collect();
    for event in &log[since..] {
        if let Event::Sent { id } = event
            && world.members().contains(&life)
            && !heard.contains(id)
        {
            return Err(format!("{life:?} sent {id} and never heard it"));
        }
    }
    let mut texts: BTreeMap<MessageId, &Payload> = BTreeMap::new();
    for event in world.logs.values().flatten() {
        if let Event::Delivered { id, payload } = event
            && *texts.entry(*id).or_insert(payload) != payload
        {
            return Err(format!("{id} says different things"));
        }
    }
    Ok(())
}

fn fifo(life: Life, log: &[Event]) -> Result<(), String> {
    let mut last = BTreeMap::new();
    for id in delivered(log) {
        let before = last.insert((id.sender, id.view), id.number).unwrap_or(0);
        if id.number != before + 1 {
            return Err(format!("{life:?} delivers {id} after {before} of that sender"));
        }
    }
    Ok(())
}

/// Whoever was told to wait is told when to ask again, unless it leaves.
fn answered(life: Life, log: &[Event]) -> Result<(), String> {
    let wait = log.iter().rposition(|event| matches!(event, Event::Wait { .. }));
    let ready = log.iter().rposition(|event| matches!(event, Event::Ready { .. } | Event::View { .. }));
    let gone = log.iter().rposition(|event| matches!(event, Event::Left { .. } | Event::Out { .. }));
    if wait > ready && gone <= ready { Err(format!("{life:?} waits for ever")) } else { Ok(()) }
}

/// What was sent after something was heard is delivered after it, by all who were there.
fn causal(world: &World) -> Result<(), String> {
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
                // What it heard in a stay that is over, the others need not have.
                Event::Out { .. } => before.clear(),
                _ => {}
            }
        }
    }
    for (life, log) in &world.logs {
        let mut here = BTreeSet::new();
        let mut first = None;
        for event in log {
            match event {
                Event::View { view, .. } => {
                    first = first.or(Some(view.epoch()));
                }
                Event::Out { .. } => first = None,
                Event::Delivered { id, .. } => {
                    let missing = causes.get(id).into_iter().flatten();
                    let missing = missing.filter(|cause| Some(cause.view) >= first && !here.contains(*cause));
                    if let Some(cause) = missing.into_iter().next() {
                        return Err(format!("{life:?} delivers {id} without {cause} before it"));
                    }
                    here.insert(*id);
                }
                _ => {}
            }
        }
    }
    Ok(())
}

fn segments(world: &World) -> BTreeMap<Epoch, Vec<Segment>> {
    let mut all: BTreeMap<Epoch, Vec<Segment>> = BTreeMap::new();
    for (life, log) in &world.logs {
        let mut open: Option<(Epoch, Segment)> = None;
        for event in log {
            match event {
                Event::View { view, state, .. } => {
                    if let Some((epoch, segment)) = open.take() {
                        all.entry(epoch).or_default().push(Segment { went_on: true, ..segment });
                    }
                    let segment = Segment { life: Some(*life), state: *state, ..Segment::default() };
                    open = Some((view.epoch(), segment));
                }
                Event::Delivered { id, .. } => {
                    if let Some((_, segment)) = &mut open {
                        segment.delivered.push(*id);
                    }
                }
                // Who has left hears nothing more.
                Event::Out { .. } | Event::Left { .. } => {
                    if let Some((epoch, segment)) = open.take() {
                        all.entry(epoch).or_default().push(segment);
                    }
                }
                _ => {}
            }
        }
        if let Some((epoch, segment)) = open {
            let stayed = world.members().contains(life) && epoch == world.view.epoch();
            all.entry(epoch).or_default().push(Segment { stayed, ..segment });
        }
    }
    all
}

/// Whoever went on from a view, or is in it to the end, delivered the same in it; and whoever began it had the same state.
fn together(epoch: Epoch, segments: &[Segment], promise: Promise) -> Result<(), String> {
    let mut last: Option<&Segment> = None;
    for segment in segments {
        if segment.state != segments[0].state {
            return Err(format!(
                "{:?} and {:?} begin view {epoch} in different states",
                segment.life, segments[0].life
            ));
        }
        if let Some(id) = segment.delivered.iter().find(|id| id.view != epoch) {
            return Err(format!("{:?} delivers {id} in view {epoch}", segment.life));
        }
    }
    for segment in segments.iter().filter(|segment| segment.went_on || segment.stayed) {
        let other = last.replace(segment).unwrap_or(segment);
        let set = |segment: &Segment| segment.delivered.iter().copied().collect::<BTreeSet<_>>();
        let is_same = if promise.total { segment.delivered == other.delivered } else { set(segment) == set(other) };
        if !is_same {
            return Err(format!("in view {epoch} {segment:?} and {other:?}"));
        }
    }
    Ok(())
}

/// What anybody delivered, even if it died then, everyone who went on delivered.
fn uniform(epoch: Epoch, segments: &[Segment], promise: Promise) -> Result<(), String> {
    for segment in segments {
        for other in segments.iter().filter(|other| other.went_on || other.stayed) {
            let is_in = if promise.total {
                other.delivered.starts_with(&segment.delivered)
            } else {
                segment.delivered.iter().all(|id| other.delivered.contains(id))
            };
            if !is_in {
                return Err(format!("in view {epoch} what {segment:?} delivered {other:?} did not"));
            }
        }
    }
    Ok(())
}

/// Nobody ever keeps more than windows allow, and little when all is quiet.
fn memory(world: &World, plan: &Plan) -> Result<(), String> {
    let window = usize::try_from(plan.window.messages).unwrap_or(usize::MAX);
    // Of each member's messages a window, in the view that ends and in the one that begins.
    let most = 2 * 7 * window;
    if world.most_kept > most {
        return Err(format!("somebody keeps {} messages, more than {most}", world.most_kept));
    }
    let unsaid = match plan.delivery {
        Delivery::Prompt => window.div_ceil(2).max(1) - 1,
        Delivery::Uniform => 0,
    };
    for life in world.members() {
        let kept = world.nodes[&life].inner().kept();
        if kept > unsaid * world.group().len() {
            return Err(format!("{life:?} keeps {kept} messages when all is quiet"));
        }
        if world.nodes[&life].inner().waiting() > 0 {
            return Err(format!("{life:?} holds back messages when all is quiet"));
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
