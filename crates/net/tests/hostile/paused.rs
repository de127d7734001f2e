//! A process that is paused between two inputs.

use crate::chatter::{Command, Event};
use crate::cluster::{Endpoint, NodeOptions, TestNode, node};
use crate::within;
use quorate_net::tls::Security;
use std::collections::BTreeMap;
use std::time::Duration;

/// A leader's lease may have expired during a pause.
#[tokio::test]
async fn an_input_after_a_pause_happens_at_a_later_time() {
    const PAUSE: Duration = Duration::from_millis(30);
    let options = NodeOptions::default();
    let mut paused = TestNode::start(node(1), 0, &Endpoint::new(), BTreeMap::new(), Security::Plain, &options);
    for _ in 0..2 {
        paused.handle.try_command(Command::Pause(PAUSE)).unwrap();
    }
    let mut times = Vec::new();
    while times.len() < 2 {
        let event = within("an event", paused.next_event()).await;
        if let Event::PausedAt(time) = event {
            times.push(time);
        }
    }
    let between = times[1].since(times[0]);
    assert!(u128::from(between.nanos()) >= PAUSE.as_nanos(), "the second input happened {between} after the first");
}
