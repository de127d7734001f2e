//! Tests of the time that a node waits before it takes silence as consent.

use super::super::{RicartAgrawalaImplicit, Timer};
use super::BOUNDS;
use crate::effects::Effect;
use crate::mutex::prelude::*;
use crate::{Group, NodeId};

/// Gives node 1 these commands and returns the effects of the last one.
fn effects_of_last(nodes: usize, commands: &[Command]) -> Vec<Effect<RicartAgrawalaImplicit>> {
    let mut node = RicartAgrawalaImplicit::new(NodeId::from_index(0), Group::of_size(nodes), BOUNDS);
    let mut effects = Vec::new();
    for command in commands {
        effects.clear();
        node.step(Time::ZERO, Input::Command(*command), &mut Effects::new(&mut effects));
    }
    effects
}

/// The slowest answer takes a round trip, and the processing of up to four queued inputs from each
/// of the three members. The wait is a nanosecond longer, so that even this answer arrives in time.
#[test]
fn ri_1_the_wait_is_longer_than_the_slowest_answer() {
    let slowest_answer = BOUNDS.message.times(2) + BOUNDS.processing.times(12);
    let spans: Vec<_> = effects_of_last(3, &[Command::Acquire])
        .into_iter()
        .filter_map(|effect| match effect {
            Effect::SetTimer { timer: Timer::Silence, span } => Some(span),
            _ => None,
        })
        .collect();
    assert_eq!(spans, [Span::exactly(slowest_answer + Duration::from_nanos(1))]);
}

#[test]
fn ri_6_a_cancellation_cancels_the_timer() {
    let cancels = |effect: &Effect<_>| matches!(effect, Effect::CancelTimer(Timer::Silence));
    assert!(effects_of_last(3, &[Command::Acquire, Command::Cancel]).iter().any(cancels));
}
