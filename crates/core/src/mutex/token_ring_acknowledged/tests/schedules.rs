//! Random schedules without late messages, and faulty peers that send any message.

use super::super::{FACTS, Message, PassContent, PassNumber, Search, Timer, TokenRingAcknowledged};
use super::ring;
use crate::group::Epoch;
use crate::mutex::prelude::*;
use crate::mutex::random_schedule::{MAX_ACTIONS, assert_no_panic, test_error, timed_schedules};
use crate::mutex::token_ring::Lap;
use crate::mutex::{COMMANDS, Token};
use proptest::prelude::{Just, Strategy, any, prop, prop_oneof, proptest};

fn messages() -> impl Strategy<Value = Message> {
    let token =
        (any::<u32>(), any::<bool>(), 0..3_u64, 0..4_u64).prop_map(|(hops, began_with_entry, epoch, counter)| {
            PassContent::Token(Token {
                fence: Fence { epoch: Epoch(epoch), counter },
                label: Lap { hops, began_with_entry },
            })
        });
    let generation = prop_oneof![0..4_u64, Just(u64::MAX)];
    let search = (0..5_usize, generation).prop_map(|(starter, generation)| {
        PassContent::Search(Search { starter: NodeId::from_index(starter), generation: Epoch(generation) })
    });
    prop_oneof![
        (prop_oneof![token, search], any::<u64>())
            .prop_map(|(content, number)| Message::Pass { number: PassNumber(number), content }),
        (0..9_u64).prop_map(|number| Message::Acknowledgement(PassNumber(number))),
    ]
}

fn inputs() -> impl Strategy<Value = Input<TokenRingAcknowledged>> {
    let timer = prop_oneof![
        Just(Timer::Rest),
        Just(Timer::Round),
        (0..9_u64).prop_map(|number| Timer::Silence(PassNumber(number)))
    ];
    prop_oneof![
        prop::sample::select(&COMMANDS).prop_map(Input::Command),
        (0..5_usize, messages()).prop_map(|(from, message)| Input::Message { from: NodeId::from_index(from), message }),
        timer.prop_map(Input::Timer),
    ]
}

#[test]
fn no_peer_message_fails_an_assertion() {
    assert_no_panic(4, ring, inputs());
}

proptest! {
    #[test]
    fn every_schedule_without_late_messages_is_safe_and_live(schedule in timed_schedules(MAX_ACTIONS, &COMMANDS)) {
        schedule.run(ring, &FACTS).map_err(test_error)?;
    }
}
