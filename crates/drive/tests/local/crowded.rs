//! A node whose inbox has more entries than the node handles in a turn.

use quorate_core::mutex::{Central, Command, Event};
use quorate_core::{Group, Incarnation, NodeId};
use quorate_drive::Disk;
use quorate_drive::local::{NodeSetup, create_mailbox, start};
use std::collections::BTreeMap;
use std::sync::mpsc::channel;
use std::time::Duration;

/// Number of times that the client enters and leaves. Each takes two inbox entries, together
/// several times the limit for a turn.
const ROUNDS: usize = 1_000;

#[test]
fn a_node_handles_every_entry_of_a_crowded_inbox() {
    let me = NodeId::from_index(0);
    let (address, mailbox) = create_mailbox::<Central>();
    for _ in 0..ROUNDS {
        address.send_commands(vec![Command::Acquire]);
        address.send_commands(vec![Command::Release]);
    }
    let (sender, receiver) = channel();
    let setup =
        NodeSetup { me, durable: (), incarnation: Incarnation::FIRST, disk: Disk::None, peers: BTreeMap::new() };
    let on_events = move |events: Vec<Event>| events.into_iter().for_each(|event| sender.send(event).unwrap());
    let node = start(setup, (address, mailbox), move || Central::new(me, Group::of_size(1)), on_events).unwrap();
    for round in 0..ROUNDS {
        let [entered, left] = [(); 2].map(|()| receiver.recv_timeout(Duration::from_secs(30)).unwrap());
        assert!(matches!(entered, Event::Entered { .. }), "round {round}: {entered:?}");
        assert!(matches!(left, Event::Left), "round {round}: {left:?}");
    }
    node.stop();
}
