//! A thread that is paused between two inputs.

use quorate_core::{Effects, Incarnation, Input, Never, NodeId, Protocol, Time};
use quorate_drive::Disk;
use quorate_drive::local::{NodeSetup, create_mailbox, start};
use std::collections::BTreeMap;
use std::sync::mpsc::channel;
use std::time::Duration;

/// Emits the time of each command, and then blocks its thread for the command's duration.
struct Paused;

impl Protocol for Paused {
    type Command = Duration;
    type Message = Never;
    type Timer = Never;
    type Event = Time;
    type Durable = ();

    fn step(&mut self, now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Command(length) => {
                out.emit(now);
                std::thread::sleep(length);
            }
            Input::Message { message: never, .. } | Input::Timer(never) => match never {},
            Input::Start { .. }
            | Input::Suspect(_)
            | Input::Trust(_)
            | Input::Saved(_)
            | Input::DiskFull
            | Input::DiskFree
            | Input::EndOfTurn
            | Input::View(_)
            | Input::Lease(_) => {}
        }
    }
}

/// A leader's lease may have expired during a pause.
#[test]
fn an_input_after_a_pause_happens_at_a_later_time() {
    const ME: NodeId = NodeId::from_index(0);
    const PAUSE: Duration = Duration::from_millis(30);
    let (address, mailbox) = create_mailbox::<Paused>();
    (0..2).for_each(|_| address.send_commands(vec![PAUSE]));
    let (sender, receiver) = channel();
    let (incarnation, peers) = (Incarnation::FIRST, BTreeMap::new());
    let setup = NodeSetup { me: ME, durable: (), incarnation, disk: Disk::None, peers };
    let on_events = move |events: Vec<Time>| {
        for event in events {
            // Sending fails only if the test has ended.
            let _ = sender.send(event);
        }
    };
    let node = start(setup, (address, mailbox), || Paused, on_events).unwrap();
    let [first, second] = [(); 2].map(|()| receiver.recv_timeout(Duration::from_secs(30)).unwrap());
    node.stop();
    let between = second.since(first);
    assert!(u128::from(between.nanos()) >= PAUSE.as_nanos(), "the second input happened {between} after the first");
}
