//! Tests of timer lengths, of message classes and of the algorithm's facts.

use super::super::{FACTS, Message, Timer, TokenRingAcknowledged};
use super::BOUNDS;
use crate::describe::Class;
use crate::effects::Effect;
use crate::mutex::Model;
use crate::mutex::prelude::*;
use crate::{Group, NodeId};

/// Gives these inputs to the node with this index in a group of three. Returns the effects of the
/// last input.
fn effects_of_last(index: usize, inputs: Vec<Input<TokenRingAcknowledged>>) -> Vec<Effect<TokenRingAcknowledged>> {
    let mut node = TokenRingAcknowledged::new(NodeId::from_index(index), Group::of_size(3), BOUNDS);
    let mut effects = Vec::new();
    for input in inputs {
        effects.clear();
        node.step(Time::ZERO, input, &mut Effects::new(&mut effects));
    }
    effects
}

/// Returns the timers that these effects set.
fn set_timers(effects: &[Effect<TokenRingAcknowledged>]) -> Vec<(Timer, Span)> {
    let timer = |effect: &Effect<_>| match effect {
        Effect::SetTimer { timer, span } => Some((*timer, *span)),
        _ => None,
    };
    effects.iter().filter_map(timer).collect()
}

/// Two messages, the processing of the queued inputs at both nodes (six for each of the three
/// members, and twelve others), and a nanosecond, so that an answer that takes the maximum is in
/// time.
fn max_answer_time() -> Duration {
    BOUNDS.message.times(2) + BOUNDS.processing.times(30) + Duration::from_nanos(1)
}

#[test]
fn ta_3_the_silence_timer_is_longer_than_any_acknowledgement_takes() {
    let effects = effects_of_last(0, [Input::Timer(Timer::Rest)].into());
    let [(Timer::Silence(_), span)] = set_timers(&effects)[..] else { panic!("{:?}", set_timers(&effects)) };
    assert_eq!(span, Span::exactly(max_answer_time()));
    assert!(max_answer_time() > BOUNDS.round_trip());
}

#[test]
fn ta_5_the_token_rests_for_one_message_time() {
    let start = Input::Start { durable: (), incarnation: crate::node::Incarnation::FIRST };
    assert_eq!(set_timers(&effects_of_last(0, [start].into())), [(Timer::Rest, Span::exactly(BOUNDS.message))]);
}

/// During a round, the token may wait for an answer in vain at each of three members, and it rests
/// once on its way, which counts as a fourth answer.
#[test]
fn ta_8_the_round_timer_is_longer_than_a_round_with_crashed_members() {
    let effects = effects_of_last(1, [Input::Command(Command::Acquire)].into());
    assert_eq!(set_timers(&effects), [(Timer::Round, Span::exactly(max_answer_time().times(4)))]);
}

#[test]
fn messages_that_detect_crashes_are_control_messages() {
    let sent_message = |effects: Vec<Effect<_>>| {
        let mut sent = effects.into_iter().filter_map(|effect| match effect {
            Effect::Send { message, .. } => Some(message),
            _ => None,
        });
        sent.next().expect("a message")
    };
    let token: Message = sent_message(effects_of_last(0, [Input::Timer(Timer::Rest)].into()));
    let request = [Input::Command(Command::Acquire), Input::Timer(Timer::Round)];
    let search: Message = sent_message(effects_of_last(1, request.into()));
    let token_arrival = Input::Message { from: NodeId::from_index(0), message: token };
    let acknowledgement: Message = sent_message(effects_of_last(1, [token_arrival].into()));
    let descriptions =
        [token, search, acknowledgement].map(|message| (message.kind(), message.class(), message.on_behalf_of()));
    assert_eq!(
        descriptions,
        [
            ("token", Class::Algorithm, None),
            ("search", Class::Control, Some(NodeId::from_index(1))),
            ("acknowledgement", Class::Control, None)
        ]
    );
}

/// The bound on overtaking is n(n−1)/2.
#[test]
fn the_facts_state_the_model_and_the_bound_on_overtaking() {
    assert_eq!(FACTS.model, Model::Synchronous);
    assert!(FACTS.is_never_quiescent && FACTS.is_nondefault_variant() && FACTS.algorithm() == "token-ring");
    let Fairness::FromRequest(bound) = FACTS.fairness else { panic!("{:?}", FACTS.fairness) };
    assert_eq!([1, 2, 3, 5].map(bound), [0, 1, 3, 10]);
}
