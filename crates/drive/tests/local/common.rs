//! A cluster of replicas on threads, and a client that waits for their events.

use quorate_core::{Duration, Group, NodeId};
use quorate_drive::Disk;
use quorate_drive::local::{Address, Mailbox, NodeSetup, RunningNode, create_mailbox, start};
use quorate_replica::registers::{Answer, Change, Read, Registers};
use quorate_replica::{Addresses, Command, Durable, Event, Members, Proposal, Replica, Settings, Ticket};
use quorate_store::{ClusterId, DiskWriter, FileSystem, Owner, RetryDelays, Store, StoreError};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

pub(crate) type Node = Replica<Registers>;
pub(crate) type ReplicaEvent = Event<Registers>;

/// Maximum time that a client waits for an event before the test fails.
const DEADLINE: std::time::Duration = std::time::Duration::from_secs(60);

pub(crate) fn node(number: u32) -> NodeId {
    NodeId::new(number).unwrap()
}

pub(crate) fn owner(me: NodeId) -> Owner {
    Owner { cluster: ClusterId(7), node: me }
}

pub(crate) fn node_folder(folder: &Path, me: NodeId) -> PathBuf {
    folder.join(format!("node-{me}"))
}

/// Segments are small so that a test creates many of them.
pub(crate) const SMALL_SEGMENTS: quorate_store::Settings =
    quorate_store::Settings { segment_bytes: 1 << 14, preallocated_bytes: 1 << 12 };

/// Short ticks, which make tests fast, and frequent checkpoints.
pub(crate) fn settings(founders: usize) -> Settings {
    Settings {
        tick: Duration::from_millis(5),
        checkpoint_every: 50,
        keep_entries: 10,
        ..Settings::new(Members::voters(&Group::of_size(founders)))
    }
}

/// The addresses of all replicas, and the mailboxes of those that have not been started.
pub(crate) struct Cluster {
    pub(crate) addresses: BTreeMap<NodeId, Address<Node>>,
    mailboxes: BTreeMap<NodeId, (Address<Node>, Mailbox<Node>)>,
}

impl Cluster {
    pub(crate) fn new(nodes: usize) -> Self {
        let group = Group::of_size(nodes);
        let mailboxes: BTreeMap<_, _> = group.iter().map(|me| (me, create_mailbox::<Node>())).collect();
        let addresses = mailboxes.iter().map(|(me, (address, _))| (*me, address.clone())).collect();
        Self { addresses, mailboxes }
    }

    /// Starts a replica that stores its log in `folder` of the file system `files` and passes its
    /// events to `on_events`.
    pub(crate) fn start<F>(
        &mut self,
        me: NodeId,
        files: F,
        folder: &Path,
        settings: Settings,
        on_events: impl FnMut(Vec<ReplicaEvent>) + Send + 'static,
    ) -> Result<RunningNode<Node>, StoreError>
    where
        F: FileSystem<File: Send, Lock: Send> + Send + 'static,
    {
        let (address, mailbox) = self.mailboxes.remove(&me).expect("a cluster starts each node only once");
        let (store, durable, recovery) = Store::<Durable, F>::open_in(files, folder, owner(me), SMALL_SEGMENTS)?;
        let retry_delays =
            RetryDelays { first: std::time::Duration::from_millis(5), longest: std::time::Duration::from_millis(50) };
        let max_queued_saves = 1 << 10;
        let disk_writer = DiskWriter::start(store, max_queued_saves, retry_delays, address.reporter())?;
        let (disk, peers) = (Disk::Writer(disk_writer), self.addresses.clone());
        let setup = NodeSetup { me, durable, incarnation: recovery.incarnation, disk, peers };
        Ok(start(setup, (address, mailbox), move || Replica::new(me, settings), on_events).unwrap())
    }
}

/// A client that sends commands to replicas and waits for their events.
pub(crate) struct TestClient {
    sender: Sender<(NodeId, ReplicaEvent)>,
    receiver: Receiver<(NodeId, ReplicaEvent)>,
    addresses: BTreeMap<NodeId, Address<Node>>,
    /// The latest known leader.
    leader: Option<NodeId>,
    /// The number of the latest ticket.
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

    /// Waits for an event for which `select` returns a value, and returns that value. Panics after
    /// `DEADLINE` or if a replica halts.
    pub(crate) fn wait_for<T>(
        &mut self,
        expected: &str,
        mut select: impl FnMut(NodeId, &ReplicaEvent) -> Option<T>,
    ) -> T {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let remaining = deadline.saturating_duration_since(Instant::now());
            let (from, event) =
                self.receiver.recv_timeout(remaining).unwrap_or_else(|_| panic!("no {expected} within {DEADLINE:?}"));
            match &event {
                Event::Leads { .. } => self.leader = Some(from),
                Event::Halted { reason } => panic!("node {from} halted: {reason}"),
                Event::Follows { .. } if self.leader == Some(from) => self.leader = None,
                _ => {}
            }
            if let Some(value) = select(from, &event) {
                return value;
            }
        }
    }

    /// Returns the latest known leader; waits for one if there is none.
    pub(crate) fn leader(&mut self) -> NodeId {
        if let Some(leader) = self.leader {
            return leader;
        }
        self.wait_for("leader", |from, event| matches!(event, Event::Leads { .. }).then_some(from))
    }

    /// Sends a command with a new ticket to a replica and waits for the answer.
    fn request(&mut self, to: NodeId, command: impl FnOnce(Ticket) -> Command<Registers>) -> ReplicaEvent {
        self.ticket += 1;
        let expected = Ticket(self.ticket);
        self.addresses[&to].send_commands(vec![command(expected)]);
        self.wait_for("answer", |_, event| match event {
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

    pub(crate) fn write(&mut self, to: NodeId, key: u64, value: u64) -> ReplicaEvent {
        let command = Change::Write { key, value };
        self.request(to, |ticket| Command::Propose(vec![Proposal { ticket, command }]))
    }

    /// Proposes a write, repeatedly if necessary, until a leader answers.
    pub(crate) fn write_until_answered(&mut self, key: u64, value: u64) {
        self.retry_until_deadline("no leader answered the write", |client| {
            let leader = client.leader();
            matches!(client.write(leader, key, value), Event::Answered { .. })
        });
    }

    /// Repeats an attempt until it returns `true`. Panics after `DEADLINE`.
    fn retry_until_deadline(&mut self, failure: &str, mut attempt: impl FnMut(&mut Self) -> bool) {
        let deadline = Instant::now() + DEADLINE;
        while Instant::now() < deadline {
            if attempt(self) {
                return;
            }
        }
        panic!("{failure} within {DEADLINE:?}");
    }

    pub(crate) fn read(&mut self, to: NodeId, key: u64) -> Option<u64> {
        match self.request(to, |ticket| Command::Query { ticket, query: Read { key } }) {
            Event::Answered { answer: Answer::Value(value), .. } => value,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn change_members(&mut self, voters: &[u32], learners: &[u32]) {
        let node_ids = |numbers: &[u32]| numbers.iter().map(|number| node(*number)).collect();
        let members = Members { voters: node_ids(voters), learners: node_ids(learners) };
        self.retry_until_deadline("no leader changed the members", |client| {
            let (leader, members) = (client.leader(), members.clone());
            matches!(
                client.request(leader, |ticket| Command::Change { ticket, members, addresses: Addresses::new() }),
                Event::Changed { .. }
            )
        });
    }

    /// Proposes a write and waits briefly for the next event. Returns `None` if there is none, for
    /// example while the proposal waits for space on the disk, or if that event is not the answer.
    pub(crate) fn try_write(&mut self, to: NodeId, value: u64) -> Option<ReplicaEvent> {
        self.ticket += 1;
        let expected = Ticket(self.ticket);
        let proposal = Proposal { ticket: expected, command: Change::Write { key: 1, value } };
        self.addresses[&to].send_commands(vec![Command::Propose(vec![proposal])]);
        let is_answer = |event: &ReplicaEvent| match event {
            Event::Answered { ticket, .. } | Event::Refused { ticket, .. } => *ticket == expected,
            _ => false,
        };
        match self.receiver.recv_timeout(std::time::Duration::from_millis(500)) {
            Ok((_, event)) if is_answer(&event) => Some(event),
            Ok(_) | Err(_) => None,
        }
    }

    /// Repeats a write until the replica answers, which shows that its disk has space again.
    pub(crate) fn wait_for_space(&mut self, to: NodeId) {
        self.retry_until_deadline("the disk stayed full", |client| {
            matches!(client.write(to, 0, 0), Event::Answered { .. })
        });
    }
}
