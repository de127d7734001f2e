//! Random schedules of the circulating ring, and faulty peers of both forms of the ring that send
//! any message.

use super::super::{Lap, Message, Timer};
use super::ring;
use crate::mutex::prelude::*;
use crate::mutex::random_schedule::{MAX_ACTIONS, assert_no_panic, test_error, timed_schedules};
use crate::mutex::{COMMANDS, Token, TokenRing, token_ring};
use proptest::prelude::{Just, Strategy, any, prop, prop_oneof, proptest};

fn messages() -> impl Strategy<Value = Message> {
    let token = (any::<u32>(), any::<bool>(), 0..9_u64).prop_map(|(hops, began_with_entry, counter)| {
        Message::Token(Token { fence: Fence { counter, ..Fence::default() }, label: Lap { hops, began_with_entry } })
    });
    prop_oneof![token, Just(Message::Call)]
}

fn inputs() -> impl Strategy<Value = Input<TokenRing>> {
    prop_oneof![
        prop::sample::select(&COMMANDS).prop_map(Input::Command),
        (0..5_usize, messages()).prop_map(|(from, message)| Input::Message { from: NodeId::from_index(from), message }),
        Just(Input::Timer(Timer::Rest)),
    ]
}

#[test]
fn no_peer_message_fails_an_assertion() {
    assert_no_panic(4, ring, inputs());
    assert_no_panic(4, TokenRing::new_on_demand, inputs());
}

proptest! {
    #[test]
    fn every_schedule_is_safe_and_live(schedule in timed_schedules(MAX_ACTIONS, &COMMANDS)) {
        schedule.run(ring, &token_ring::FACTS).map_err(test_error)?;
    }
}

/// In a group of one, a circulating token stays, so the node needs no other state.
#[test]
fn nodes_hold_only_their_floor_while_the_token_sleeps_but_not_while_it_circulates() {
    let group = Group::of_size(2);
    let [lowest, other] = [0, 1].map(NodeId::from_index);
    assert!(!ring(lowest, group.clone()).holds_only_floor() && !ring(other, group.clone()).holds_only_floor());
    assert!(ring(lowest, Group::of_size(1)).holds_only_floor());
    let mut caller = TokenRing::new_on_demand(other, group.clone());
    assert!(TokenRing::new_on_demand(lowest, group).holds_only_floor() && caller.holds_only_floor());
    caller.step(Time::ZERO, Input::Command(Command::Acquire), &mut Effects::new(&mut Vec::new()));
    assert!(!caller.holds_only_floor());
}
