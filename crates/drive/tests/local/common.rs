//! A group of replicas on threads, and a user who waits for what it is told.

use quorate_core::{Duration, Group, NodeId};
use quorate_drive::Disk;
use quorate_drive::local::{Address, Mailbox, Running, Start, mailbox, start};
use quorate_replica::registers::{Answer, Change, Read, Registers};
use quorate_replica::{Command, Durable, Event, Members, Proposal, Replica, Settings, Ticket};
use quorate_store::{ClusterId, FileSystem, Owner, Patience, Scribe, Store, StoreError};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

pub(crate) type Node = Replica<Registers>;
pub(crate) type Told = Event<Registers>;

/// Nothing takes longer than this, or the test fails.
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

/// Small segments, so that there are many.
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

pub(crate) struct Post {
    pub(crate) addresses: BTreeMap<NodeId, Address<Node>>,
    mailboxes: BTreeMap<NodeId, (Address<Node>, Mailbox<Node>)>,
}

impl Post {
    pub(crate) fn new(nodes: usize) -> Self {
        let group = Group::of_size(nodes);
        let mailboxes: BTreeMap<_, _> = group.iter().map(|me| (me, mailbox::<Node>())).collect();
        let addresses = mailboxes.iter().map(|(me, (address, _))| (*me, address.clone())).collect();
        Self { addresses, mailboxes }
    }

    /// Starts one node on a disk in some file system; `hear` gets what it tells.
    pub(crate) fn start<F>(
        &mut self,
        me: NodeId,
        files: F,
        folder: &Path,
        settings: Settings,
        hear: impl FnMut(Vec<Told>) + Send + 'static,
    ) -> Result<Running<Node>, StoreError>
    where
        F: FileSystem<File: Send, Lock: Send> + Send + 'static,
    {
        let (address, letters) = self.mailboxes.remove(&me).expect("it runs already");
        let (store, durable, recovery) = Store::<Durable, F>::open_in(files, folder, owner(me), SEGMENTS)?;
        let patience =
            Patience { first: std::time::Duration::from_millis(5), longest: std::time::Duration::from_millis(50) };
        let scribe = Scribe::start(store, 1 << 10, patience, address.reporter())?;
        let (disk, peers) = (Disk::Scribe(scribe), self.addresses.clone());
        let setup = Start { me, durable, incarnation: recovery.incarnation, disk, peers };
        Ok(start(setup, (address, letters), move || Replica::new(me, settings), hear).unwrap())
    }
}

pub(crate) struct User {
    sender: Sender<(NodeId, Told)>,
    receiver: Receiver<(NodeId, Told)>,
    addresses: BTreeMap<NodeId, Address<Node>>,
    leader: Option<NodeId>,
    ticket: u64,
}

impl User {
    pub(crate) fn new(post: &Post) -> Self {
        let (sender, receiver) = channel();
        Self { sender, receiver, addresses: post.addresses.clone(), leader: None, ticket: 0 }
    }

    pub(crate) fn ear(&self, me: NodeId) -> impl FnMut(Vec<Told>) + Send + 'static {
        let sender = self.sender.clone();
        move |events| {
            events.into_iter().for_each(|event| {
                let _ = sender.send((me, event));
            });
        }
    }

    pub(crate) fn wait<T>(&mut self, what: &str, mut found: impl FnMut(NodeId, &Told) -> Option<T>) -> T {
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

    fn ask(&mut self, at: NodeId, command: impl FnOnce(Ticket) -> Command<Registers>) -> Told {
        self.ticket += 1;
        let wanted = Ticket(self.ticket);
        self.addresses[&at].command(vec![command(wanted)]);
        self.wait("answer", |_, event| match event {
            Event::Answered { ticket, .. }
            | Event::Refused { ticket, .. }
            | Event::Unknown { ticket }
            | Event::Changed { ticket, .. }
                if *ticket == wanted =>
            {
                Some(event.clone())
            }
            _ => None,
        })
    }

    pub(crate) fn write(&mut self, at: NodeId, key: u64, value: u64) -> Told {
        let command = Change::Write { key, value };
        self.ask(at, |ticket| Command::Propose(vec![Proposal { ticket, command }]))
    }

    pub(crate) fn insist(&mut self, key: u64, value: u64) {
        self.keep_trying("never written", |user| {
            let leader = user.leader();
            matches!(user.write(leader, key, value), Event::Answered { .. })
        });
    }

    fn keep_trying(&mut self, in_vain: &str, mut attempt: impl FnMut(&mut Self) -> bool) {
        let deadline = Instant::now() + DEADLINE;
        while Instant::now() < deadline {
            if attempt(self) {
                return;
            }
        }
        panic!("{in_vain}");
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
        self.keep_trying("never changed", |user| {
            let (leader, members) = (user.leader(), members.clone());
            matches!(user.ask(leader, |ticket| Command::Change { ticket, members }), Event::Changed { .. })
        });
    }

    /// Writes, and waits for an answer or for word that the disk is full: what was proposed just before waits for room.
    pub(crate) fn write_unless_stuck(&mut self, at: NodeId, value: u64) -> Option<Told> {
        self.ticket += 1;
        let wanted = Ticket(self.ticket);
        let proposal = Proposal { ticket: wanted, command: Change::Write { key: 1, value } };
        self.addresses[&at].command(vec![Command::Propose(vec![proposal])]);
        let answered = |event: &Told| matches!(event, Event::Answered { ticket, .. } | Event::Refused { ticket, .. } if *ticket == wanted);
        match self.receiver.recv_timeout(std::time::Duration::from_millis(500)) {
            Ok((_, event)) if answered(&event) => Some(event),
            Ok(_) | Err(_) => None,
        }
    }

    pub(crate) fn wait_for_room(&mut self, at: NodeId) {
        self.keep_trying("there is never room", |user| matches!(user.write(at, 0, 0), Event::Answered { .. }));
    }
}
