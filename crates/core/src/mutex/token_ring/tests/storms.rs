//! Storms over the ring in both its forms, and peers that break every rule.

use super::super::{Lap, Message, Timer};
use super::ring;
use crate::mutex::prelude::*;
use crate::mutex::storm::{GUSTS, sunk, timed_storms, trips_over_nothing};
use crate::mutex::{COMMANDS, Token, TokenRing, token_ring};
use proptest::prelude::{Just, Strategy, any, prop, prop_oneof, proptest};

fn messages() -> impl Strategy<Value = Message> {
    let token = (any::<u32>(), any::<bool>(), 0..9_u64).prop_map(|(hops, used, counter)| {
        Message::Token(Token { fence: Fence { counter, ..Fence::default() }, label: Lap { hops, used } })
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
fn nothing_that_a_peer_sends_trips_an_assertion() {
    trips_over_nothing(4, ring, inputs());
    trips_over_nothing(4, TokenRing::on_call, inputs());
}

proptest! {
    #[test]
    fn a_token_ring_stands_every_storm(storm in timed_storms(GUSTS, &COMMANDS)) {
        storm.strike(ring, &token_ring::FACTS).map_err(sunk)?;
    }
}

/// Only those who want nothing are done with a token that sleeps, and nobody with one that moves.
#[test]
fn a_name_is_forgotten_only_where_the_token_sleeps() {
    let group = Group::of_size(2);
    let [one, two] = [0, 1].map(NodeId::from_index);
    assert!(!ring(one, group.clone()).is_idle() && !ring(two, group.clone()).is_idle());
    assert!(ring(one, Group::of_size(1)).is_idle());
    let mut caller = TokenRing::on_call(two, group.clone());
    assert!(TokenRing::on_call(one, group).is_idle() && caller.is_idle());
    caller.step(Time::ZERO, Input::Command(Command::Acquire), &mut Effects::new(&mut Vec::new()));
    assert!(!caller.is_idle());
}
