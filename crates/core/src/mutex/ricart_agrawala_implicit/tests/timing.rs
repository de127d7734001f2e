//! Tests of the waiting time that makes silence a consent.

use super::super::{RicartAgrawalaImplicit, Timer};
use super::BOUNDS;
use crate::effects::Effect;
use crate::mutex::prelude::*;
use crate::{Group, NodeId};

fn effects_of(nodes: usize, commands: &[Command]) -> Vec<Effect<RicartAgrawalaImplicit>> {
    let mut node = RicartAgrawalaImplicit::new(NodeId::from_index(0), Group::of_size(nodes), BOUNDS);
    let mut effects = Vec::new();
    for command in commands {
        effects.clear();
        node.step(Time::ZERO, Input::Command(*command), &mut Effects::new(&mut effects));
    }
    effects
}

/// A round trip, and four queued inputs from each of three members; an answer that takes exactly as
/// long is in time.
#[test]
fn ri_1_the_wait_is_longer_than_any_answer_takes() {
    let longest_answer = BOUNDS.message.times(2) + BOUNDS.processing.times(12);
    let spans: Vec<_> = effects_of(3, &[Command::Acquire])
        .into_iter()
        .filter_map(|effect| match effect {
            Effect::SetTimer { timer: Timer::Silence, span } => Some(span),
            _ => None,
        })
        .collect();
    assert_eq!(spans, [Span::exactly(longest_answer + Duration::from_nanos(1))]);
}

#[test]
fn ri_6_a_cancellation_cancels_the_timer() {
    let cancels = |effect: &Effect<_>| matches!(effect, Effect::CancelTimer(Timer::Silence));
    assert!(effects_of(3, &[Command::Acquire, Command::Cancel]).iter().any(cancels));
}
