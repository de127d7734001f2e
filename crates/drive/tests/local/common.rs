//! A cluster of replicas on threads, and a client that waits for their events.

use quorate_core::{Duration, Group, NodeId};
use quorate_drive::Disk;
use quorate_drive::local::{Address, Mailbox, Running, Start, mailbox, start};
use quorate_replica::registers::{Answer, Change, Read, Registers};
use quorate_replica::{Command, Durable, Event, Members, Proposal, Replica, Settings, Ticket};
use quorate_store::{ClusterId, DiskWriter, FileSystem, Owner, RetryDelays, Store, StoreError};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

pub(crate) type Node = Replica<Registers>;
pub(crate) type ReplicaEvent = Event<Registers>;

/// Maximum time that a client waits before the test fails.
const DEADLINE: std::time::Duration = std::time::Duration::from_secs(60);

pub(crate) fn node(number: u32) -> NodeId {
    NodeId::new(number).unwrap()
}

pub(crate) fn owner(me: NodeId) -> Owner {
    Owner { cluster: ClusterId(7), node: me }
}

pub(crate) fn folder_of(folder: &Path, me: NodeId) -> PathBuf {
    folder.join(format!("node-{me}"))
}

/// Small segments, so that a test creates many.
pub(crate) const SEGMENTS: quorate_store::Settings =
    quorate_store::Settings { segment_bytes: 1 << 14, ahead_bytes: 1 << 12 };

pub(crate) fn settings(founders: usize) -> Settings {
    Settings {
        tick: Duration::from_millis(5),
        checkpoint_every: 50,
        keep_entries: 10,
        ..Settings::new(Members::voters(&Group::of_size(founders)))
    }
}

/// The addresses and inboxes of the replicas.
pub(crate) struct Cluster {
    pub(crate) addresses: BTreeMap<NodeId, Address<Node>>,
    mailboxes: BTreeMap<NodeId, (Address<Node>, Mailbox<Node>)>,
}

impl Cluster {
    pub(crate) fn new(nodes: usize) -> Self {
        let group = Group::of_size(nodes);
        let mailboxes: BTreeMap<_, _> = group.iter().map(|me| (me, mailbox::<Node>())).collect();
        let addresses = mailboxes.iter().map(|(me, (address, _))| (*me, address.clone())).collect();
        Self { addresses, mailboxes }
    }

    /// Starts one replica with its disk in a file system. `on_events` receives its events.
    pub(crate) fn start<F>(
        &mut self,
        me: NodeId,
        files: F,
        folder: &Path,
        settings: Settings,
        on_events: impl FnMut(Vec<ReplicaEvent>) + Send + 'static,
    ) -> Result<Running<Node>, StoreError>
    where
        F: FileSystem<File: Send, Lock: Send> + Send + 'static,
    {
        let (address, mailbox) = self.mailboxes.remove(&me).expect("the node is already running");
        let (store, durable, recovery) = Store::<Durable, F>::open_in(files, folder, owner(me), SEGMENTS)?;
        let patience =
            RetryDelays { first: std::time::Duration::from_millis(5), longest: std::time::Duration::from_millis(50) };
        let disk_writer = DiskWriter::start(store, 1 << 10, patience, address.reporter())?;
        let (disk, peers) = (Disk::Writer(disk_writer), self.addresses.clone());
        let setup = Start { me, durable, incarnation: recovery.incarnation, disk, peers };
        Ok(start(setup, (address, mailbox), move || Replica::new(me, settings), on_events).unwrap())
    }
}

/// A client that sends commands to replicas and waits for their events.
pub(crate) struct TestClient {
    sender: Sender<(NodeId, ReplicaEvent)>,
    receiver: Receiver<(NodeId, ReplicaEvent)>,
    addresses: BTreeMap<NodeId, Address<Node>>,
    leader: Option<NodeId>,
    ticket: u64,
}

impl TestClient {
    pub(crate) fn new(cluster: &Cluster) -> Self {
        let (sender, receiver) = channel();
        Self { sender, receiver, addresses: cluster.addresses.clone(), leader: None, ticket: 0 }
    }

    /// Returns the callback through which a replica passes its events to this client.
    pub(crate) fn event_callback(&self, me: NodeId) -> impl FnMut(Vec<ReplicaEvent>) + Send + 'static {
        let sender = self.sender.clone();
        move |events| {
            events.into_iter().for_each(|event| {
                let _ = sender.send((me, event));
            });
        }
    }

    /// Waits for an event for which `found` returns a value. Panics at the deadline.
    pub(crate) fn wait<T>(&mut self, what: &str, mut found: impl FnMut(NodeId, &ReplicaEvent) -> Option<T>) -> T {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let (from, event) = self.receiver.recv_timeout(left).unwrap_or_else(|_| panic!("no {what} in time"));
            match &event {
                Event::Leads { .. } => self.leader = Some(from),
                Event::Halted { reason } => panic!("{from} halts: {reason}"),
                Event::Follows { .. } if self.leader == Some(from) => self.leader = None,
                _ => {}
            }
            if let Some(found) = found(from, &event) {
                return found;
            }
        }
    }

    pub(crate) fn leader(&mut self) -> NodeId {
        if let Some(leader) = self.leader {
            return leader;
        }
        self.wait("leader", |from, event| matches!(event, Event::Leads { .. }).then_some(from))
    }

    fn ask(&mut self, at: NodeId, command: impl FnOnce(Ticket) -> Command<Registers>) -> ReplicaEvent {
        self.ticket += 1;
        let expected = Ticket(self.ticket);
        self.addresses[&at].command(vec![command(expected)]);
        self.wait("answer", |_, event| match event {
            Event::Answered { ticket, .. }
            | Event::Refused { ticket, .. }
            | Event::Unknown { ticket }
            | Event::Changed { ticket, .. }
                if *ticket == expected =>
            {
                Some(event.clone())
            }
            _ => None,
        })
    }

    pub(crate) fn write(&mut self, at: NodeId, key: u64, value: u64) -> ReplicaEvent {
        let command = Change::Write { key, value };
        self.ask(at, |ticket| Command::Propose(vec![Proposal { ticket, command }]))
    }

    /// Writes a value, again if necessary, until a leader has answered.
    pub(crate) fn write_until_answered(&mut self, key: u64, value: u64) {
        self.keep_trying("never written", |client| {
            let leader = client.leader();
            matches!(client.write(leader, key, value), Event::Answered { .. })
        });
    }

    fn keep_trying(&mut self, failure: &str, mut attempt: impl FnMut(&mut Self) -> bool) {
        let deadline = Instant::now() + DEADLINE;
        while Instant::now() < deadline {
            if attempt(self) {
                return;
            }
        }
        panic!("{failure}");
    }

    pub(crate) fn read(&mut self, at: NodeId, key: u64) -> Option<u64> {
        match self.ask(at, |ticket| Command::Query { ticket, query: Read { key } }) {
            Event::Answered { answer: Answer::Value(value), .. } => value,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn change(&mut self, voters: &[u32], learners: &[u32]) {
        let set = |numbers: &[u32]| numbers.iter().map(|number| node(*number)).collect();
        let members = Members { voters: set(voters), learners: set(learners) };
        self.keep_trying("never changed", |client| {
            let (leader, members) = (client.leader(), members.clone());
            matches!(client.ask(leader, |ticket| Command::Change { ticket, members }), Event::Changed { .. })
        });
    }

    /// Writes a value and waits briefly for an answer. Returns `None` if the proposal waits for
    /// space on the disk.
    pub(crate) fn try_write(&mut self, at: NodeId, value: u64) -> Option<ReplicaEvent> {
        self.ticket += 1;
        let expected = Ticket(self.ticket);
        let proposal = Proposal { ticket: expected, command: Change::Write { key: 1, value } };
        self.addresses[&at].command(vec![Command::Propose(vec![proposal])]);
        let answered = |event: &ReplicaEvent| match event {
            Event::Answered { ticket, .. } | Event::Refused { ticket, .. } => *ticket == expected,
            _ => false,
        };
        match self.receiver.recv_timeout(std::time::Duration::from_millis(500)) {
            Ok((_, event)) if answered(&event) => Some(event),
            Ok(_) | Err(_) => None,
        }
    }

    /// Writes until the disk has space again.
    pub(crate) fn wait_for_space(&mut self, at: NodeId) {
        self.keep_trying("the disk never has space", |client| matches!(client.write(at, 0, 0), Event::Answered { .. }));
    }
}
