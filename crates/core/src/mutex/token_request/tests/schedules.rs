//! Random schedules, and faulty peers that send any message.

use super::super::Message;
use crate::clock::VectorClock;
use crate::mutex::prelude::*;
use crate::mutex::random_schedule::{MAX_ACTIONS, assert_no_panic, schedules, test_error};
use crate::mutex::{COMMANDS, Token, TokenRequest, token_request};
use proptest::prelude::{Strategy, prop, prop_assert_eq, prop_oneof, proptest};

fn messages() -> impl Strategy<Value = Message> {
    let numbers = || prop_oneof![0..4_u64, u64::MAX - 1..=u64::MAX].prop_map(Clock);
    let patience = prop::sample::select(&[Patience::Wait, Patience::Try]);
    let token = prop::collection::vec((0..7_usize, numbers()), 0..4).prop_map(|answers| {
        let mut label = VectorClock::new();
        for (node, Clock(number)) in answers {
            label.raise(NodeId::from_index(node), number);
        }
        Message::Token(Token { fence: Fence::default(), label })
    });
    prop_oneof![
        (numbers(), patience).prop_map(|(number, patience)| Message::Request { number, patience }),
        numbers().prop_map(|number| Message::Denied { number }),
        token,
    ]
}

fn inputs() -> impl Strategy<Value = Input<TokenRequest>> {
    prop_oneof![
        prop::sample::select(&COMMANDS).prop_map(Input::Command),
        (0..5_usize, messages()).prop_map(|(from, message)| Input::Message { from: NodeId::from_index(from), message }),
    ]
}

#[test]
fn no_peer_message_fails_an_assertion() {
    assert_no_panic(4, TokenRequest::new, inputs());
}

proptest! {
    #[test]
    fn every_schedule_ends_with_one_token(schedule in schedules(MAX_ACTIONS, &COMMANDS)) {
        let nodes = schedule.run(TokenRequest::new, &token_request::FACTS).map_err(test_error)?;
        prop_assert_eq!(nodes.iter().filter(|node| node.slot.has_token()).count(), 1, "there is one token");
    }
}
