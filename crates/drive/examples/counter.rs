//! A counter on three replicas with real disks: `cargo run -p quorate-drive --example counter`.
//!
//! A second run continues to count where the first one stopped.

use quorate_core::{Group, Never, NodeId};
use quorate_drive::Disk;
use quorate_drive::local::{Address, Mailbox, NodeSetup, RunningNode, create_mailbox, start};
use quorate_replica::{
    Bytes, Command, Durable, Event, FormatError, LogPosition, Members, Outbox, Proposal, Replica, SessionId, Settings,
    StateMachine, Ticket,
};
use quorate_store::{ClusterId, DiskWriter, Owner, RetryDelays, Store, create_founder};
use std::collections::BTreeMap;
use std::error::Error;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

#[derive(Default)]
struct Counter(u64);

impl StateMachine for Counter {
    type Command = u64;
    type Query = ();
    type Answer = u64;
    type Outcome = Never;
    type Image = std::iter::Once<Bytes>;

    fn apply(&mut self, _at: LogPosition, _from: Option<SessionId>, command: &u64, _out: &mut Outbox<Never>) -> u64 {
        self.0 += command;
        self.0
    }

    fn query(&self, _at: LogPosition, _query: &()) -> u64 {
        self.0
    }

    fn freeze(&self) -> Self::Image {
        std::iter::once(Bytes::copy_from_slice(&self.0.to_be_bytes()))
    }

    fn thaw(pieces: impl Iterator<Item = Bytes>) -> Result<Self, FormatError> {
        let bytes: Vec<u8> = pieces.flatten().collect();
        let malformed = |_| FormatError::Malformed { name: "counter", reason: "it is not eight bytes long".into() };
        bytes.try_into().map(|bytes| Self(u64::from_be_bytes(bytes))).map_err(malformed)
    }

    fn fingerprint(&self) -> u64 {
        self.0
    }
}

type Node = Replica<Counter>;
type NodeEvent = (NodeId, Event<Counter>);

/// Maximum number of saves that wait for a node's disk.
const MAX_QUEUED_SAVES: usize = 1_024;

fn main() -> Result<(), Box<dyn Error>> {
    let group = Group::of_size(3);
    let (sender, receiver) = channel();
    let mailboxes: BTreeMap<_, _> = group.iter().map(|me| (me, create_mailbox::<Node>())).collect();
    let addresses: BTreeMap<_, _> = mailboxes.iter().map(|(me, (address, _))| (*me, address.clone())).collect();
    let settings = Settings::new(Members::voters(&group));
    let mut nodes = Vec::new();
    for (me, mailbox) in mailboxes {
        nodes.push(start_node(me, mailbox, addresses.clone(), settings.clone(), sender.clone())?);
    }

    let leader = wait_for(&receiver, |(node, event)| matches!(event, Event::Leads { .. }).then_some(*node))?;
    println!("{leader} leads");
    for number in 1..=3 {
        // The answer to a proposal contains its ticket.
        let proposal = Proposal { ticket: Ticket(number), command: 1 };
        addresses[&leader].send_commands(vec![Command::Propose(vec![proposal])]);
        let count = wait_for(&receiver, |(_, event)| match event {
            Event::Answered { ticket, answer, .. } if ticket.0 == number => Some(*answer),
            _ => None,
        })?;
        println!("counted to {count}");
    }
    nodes.into_iter().for_each(|node| {
        node.stop();
    });
    Ok(())
}

/// Opens the node's folder, creating it the first time, and starts the node with its durable state.
fn start_node(
    me: NodeId,
    (address, mailbox): (Address<Node>, Mailbox<Node>),
    peers: BTreeMap<NodeId, Address<Node>>,
    settings: Settings,
    sender: Sender<NodeEvent>,
) -> Result<RunningNode<Node>, Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("quorate-counter-{me}"));
    // A real cluster chooses this number once at random and stores it.
    let owner = Owner { cluster: ClusterId(42), node: me };
    if !folder.exists() {
        create_founder::<Durable>(&folder, owner)?;
    }
    let (store, durable, recovery) = Store::<Durable>::open(&folder, owner, quorate_store::Settings::default())?;
    let disk_writer = DiskWriter::start(store, MAX_QUEUED_SAVES, RetryDelays::default(), address.reporter())?;
    let setup = NodeSetup { me, durable, incarnation: recovery.incarnation, disk: Disk::Writer(disk_writer), peers };
    let on_events = move |events: Vec<Event<Counter>>| {
        events.into_iter().for_each(|event| {
            // The receiver is gone once the program ends.
            let _ = sender.send((me, event));
        });
    };
    Ok(start(setup, (address, mailbox), move || Replica::new(me, settings), on_events)?)
}

/// Waits for an event for which `select` returns a value, and returns that value.
fn wait_for<T>(receiver: &Receiver<NodeEvent>, select: impl Fn(&NodeEvent) -> Option<T>) -> Result<T, Box<dyn Error>> {
    loop {
        if let Some(value) = select(&receiver.recv_timeout(Duration::from_secs(30))?) {
            return Ok(value);
        }
    }
}
