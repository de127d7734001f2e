//! Random schedules, and faulty peers that send any message.

use super::super::Message;
use crate::mutex::prelude::*;
use crate::mutex::random_schedule::{MAX_ACTIONS, assert_no_panic, schedules, test_error};
use crate::mutex::{COMMANDS, Raymond, Token, raymond};
use proptest::prelude::{Strategy, prop, prop_assert, prop_assert_eq, prop_oneof, proptest};

const MESSAGES: [Message; 4] = [
    Message::Request { patience: Patience::Wait },
    Message::Request { patience: Patience::Try },
    Message::Token(Token { fence: Fence { epoch: crate::Epoch(0), counter: 3 }, label: () }),
    Message::Denied,
];

fn inputs() -> impl Strategy<Value = Input<Raymond>> {
    prop_oneof![
        prop::sample::select(&COMMANDS).prop_map(Input::Command),
        (0..7_usize, prop::sample::select(&MESSAGES))
            .prop_map(|(from, message)| Input::Message { from: NodeId::from_index(from), message }),
    ]
}

#[test]
fn no_peer_message_fails_an_assertion() {
    assert_no_panic(6, Raymond::new, inputs());
}

proptest! {
    /// At the end there is one token, and the directions of all nodes lead to it.
    #[test]
    fn every_schedule_ends_with_one_token_and_the_paths_to_it(schedule in schedules(MAX_ACTIONS, &COMMANDS)) {
        let nodes = schedule.run(Raymond::new, &raymond::FACTS).map_err(test_error)?;
        prop_assert_eq!(nodes.iter().filter(|node| node.slot.has_token()).count(), 1, "there is one token");
        for start in &nodes {
            let mut node = start;
            for _ in 0..nodes.len() {
                node = &nodes[node.token_direction.index()];
            }
            prop_assert!(node.slot.has_token(), "{:?} does not find the token: {nodes:#?}", start.config);
        }
        let at_root = nodes[0].slot.has_token();
        prop_assert_eq!(nodes.iter().all(Raymond::holds_only_floor), at_root, "states can be discarded exactly if the token is at the root");
    }
}
