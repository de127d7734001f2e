//! Storms in which nothing is late, and peers that break every rule.

use super::super::{Cargo, FACTS, Message, Number, Search, Timer, TokenRingAcknowledged};
use super::ring;
use crate::group::Epoch;
use crate::mutex::prelude::*;
use crate::mutex::storm::{GUSTS, sunk, timed_storms, trips_over_nothing};
use crate::mutex::token_ring::Lap;
use crate::mutex::{COMMANDS, Token};
use proptest::prelude::{Just, Strategy, any, prop, prop_oneof, proptest};

fn messages() -> impl Strategy<Value = Message> {
    let token = (any::<u32>(), any::<bool>(), 0..3_u64, 0..4_u64).prop_map(|(hops, used, epoch, counter)| {
        Cargo::Token(Token { fence: Fence { epoch: Epoch(epoch), counter }, label: Lap { hops, used } })
    });
    let generation = prop_oneof![0..4_u64, Just(u64::MAX)];
    let search = (0..5_usize, generation).prop_map(|(starter, generation)| {
        Cargo::Search(Search { starter: NodeId::from_index(starter), generation: Epoch(generation) })
    });
    prop_oneof![
        (prop_oneof![token, search], any::<u64>())
            .prop_map(|(cargo, number)| Message::Pass { number: Number(number), cargo }),
        (0..9_u64).prop_map(|number| Message::Received(Number(number))),
    ]
}

fn inputs() -> impl Strategy<Value = Input<TokenRingAcknowledged>> {
    let timer = prop_oneof![
        Just(Timer::Rest),
        Just(Timer::Patience),
        (0..9_u64).prop_map(|number| Timer::Silence(Number(number)))
    ];
    prop_oneof![
        prop::sample::select(&COMMANDS).prop_map(Input::Command),
        (0..5_usize, messages()).prop_map(|(from, message)| Input::Message { from: NodeId::from_index(from), message }),
        timer.prop_map(Input::Timer),
    ]
}

#[test]
fn nothing_that_a_peer_sends_trips_an_assertion() {
    trips_over_nothing(4, ring, inputs());
}

proptest! {
    #[test]
    fn acknowledged_passing_stands_every_storm_in_which_nothing_is_late(storm in timed_storms(GUSTS, &COMMANDS)) {
        storm.strike(ring, &FACTS).map_err(sunk)?;
    }
}
