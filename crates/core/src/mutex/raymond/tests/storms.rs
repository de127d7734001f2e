//! Storms, and peers that break every rule.

use super::super::Message;
use crate::mutex::prelude::*;
use crate::mutex::storm::{GUSTS, storms, sunk, trips_over_nothing};
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
fn nothing_that_a_peer_sends_trips_an_assertion() {
    trips_over_nothing(6, Raymond::new, inputs());
}

proptest! {
    /// In the end there is one token, and following the directions leads to it from everywhere.
    #[test]
    fn a_token_on_a_tree_stands_every_storm(storm in storms(GUSTS, &COMMANDS)) {
        let nodes = storm.strike(Raymond::new, &raymond::FACTS).map_err(sunk)?;
        prop_assert_eq!(nodes.iter().filter(|node| node.hand.holds()).count(), 1, "there is one token");
        for start in &nodes {
            let mut at = start;
            for _ in 0..nodes.len() {
                at = &nodes[at.toward.index()];
            }
            prop_assert!(at.hand.holds(), "{:?} does not find the token: {nodes:#?}", start.place);
        }
        let at_root = nodes[0].hand.holds();
        prop_assert_eq!(nodes.iter().all(Raymond::is_idle), at_root, "only the token's place is left behind");
    }
}
