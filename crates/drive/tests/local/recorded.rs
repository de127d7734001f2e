//! Appends the saves of real replicas to a simulated disk, with a power loss at each of its
//! operations in turn, which loses or tears unsynced data.

use quorate_core::{Durable as _, Effect, Effects, Group, Incarnation, Input, NodeId, Protocol, Time};
use quorate_replica::registers::{Change, Registers};
use quorate_replica::{Command, Durable, Members, Message, Proposal, Replica, Settings, Ticket, Timer, Write};
use quorate_store::faults::{Fault, FaultyFiles, Loss};
use quorate_store::{ClusterId, Identity, Origin, Owner, Store, StoreError, create_in};
use std::collections::VecDeque;
use std::path::Path;

type Node = Replica<Registers>;

/// Three replicas whose messages and saves take no time. A test can cut off the third one.
struct Replicas {
    nodes: Vec<Node>,
    /// For each replica, the writes of each step that saved something.
    saves: [Vec<Vec<Write>>; 3],
    save_counts: [u64; 3],
    /// The messages in transit, each with the receiver's index and the sender.
    messages: VecDeque<(usize, NodeId, Message)>,
    now_nanos: i64,
    is_third_cut_off: bool,
}

impl Replicas {
    fn new() -> Self {
        let settings = Settings {
            checkpoint_every: 15,
            keep_entries: 3,
            piece_bytes: 40,
            ..Settings::new(Members::voters(&Group::of_size(3)))
        };
        let nodes = (0..3).map(|index| Replica::new(NodeId::from_index(index), settings.clone())).collect();
        let mut replicas = Self {
            nodes,
            saves: Default::default(),
            save_counts: [0; 3],
            messages: VecDeque::new(),
            now_nanos: 0,
            is_third_cut_off: false,
        };
        for index in 0..3 {
            replicas.step(index, Input::Start { durable: Durable::default(), incarnation: Incarnation::FIRST });
        }
        replicas
    }

    /// Steps a replica, ends its turn, and completes its saves immediately.
    fn step(&mut self, index: usize, input: Input<Node>) {
        let mut effects: Vec<Effect<Node>> = Vec::new();
        for input in [input, Input::EndOfTurn] {
            self.nodes[index].step(Time::from_nanos(self.now_nanos), input, &mut Effects::new(&mut effects));
        }
        let me = NodeId::from_index(index);
        let mut writes = Vec::new();
        for effect in effects {
            match effect {
                Effect::Save(write) => writes.push(write),
                Effect::Send { to, message, .. } => self.messages.push_back((to.index(), me, message)),
                Effect::Multicast { to, message, .. } => {
                    self.messages.extend(to.others(me).map(|to| (to.index(), me, message.clone())));
                }
                Effect::SetTimer { .. } | Effect::CancelTimer(_) | Effect::Emit { .. } => {}
            }
        }
        if !writes.is_empty() {
            self.save_counts[index] += writes.len() as u64;
            self.saves[index].push(writes);
            self.step(index, Input::Saved(self.save_counts[index]));
        }
    }

    fn deliver_all(&mut self) {
        while let Some((to, from, message)) = self.messages.pop_front() {
            if !(self.is_third_cut_off && (to == 2 || from.index() == 2)) {
                self.step(to, Input::Message { from, message });
            }
        }
    }

    /// Advances time by a tick, and fires the tick timer of every replica.
    fn tick(&mut self) {
        self.now_nanos += 40_000_000;
        for index in 0..3 {
            self.step(index, Input::Timer(Timer::Tick));
        }
        self.deliver_all();
    }

    fn write(&mut self, value: u64) {
        let proposal = Proposal { ticket: Ticket(value), command: Change::Write { key: value % 7, value } };
        let leader = self.nodes.iter().position(Replica::leads).expect("a leader");
        self.step(leader, Input::Command(Command::Propose(vec![proposal])));
        self.deliver_all();
    }
}

/// Returns the saves of each replica in a run with entries, votes, checkpoints and, at the third
/// replica, a snapshot from the leader.
fn record_saves() -> [Vec<Vec<Write>>; 3] {
    let mut replicas = Replicas::new();
    replicas.step(0, Input::Command(Command::Campaign));
    replicas.deliver_all();
    for value in 0..120 {
        replicas.is_third_cut_off = (30..80).contains(&value);
        replicas.write(value);
        replicas.tick();
    }
    // The followers learn of the last commit by a heartbeat.
    (0..4).for_each(|_| replicas.tick());
    let states: Vec<_> = replicas.nodes.iter().map(|node| node.machine().cloned()).collect();
    assert!(states.iter().all(|state| *state == states[0]), "{states:?}");
    replicas.saves
}

fn owner() -> Owner {
    Owner { cluster: ClusterId(5), node: NodeId::from_index(0) }
}

fn folder() -> &'static Path {
    Path::new("/replica")
}

const SMALL_SEGMENTS: quorate_store::Settings =
    quorate_store::Settings { segment_bytes: 4_000, preallocated_bytes: 1_024 };

fn open(files: &FaultyFiles) -> Result<(Store<Durable, FaultyFiles>, Durable), StoreError> {
    Store::open_in(files.clone(), folder(), owner(), SMALL_SEGMENTS).map(|(store, durable, _)| (store, durable))
}

fn new_files() -> FaultyFiles {
    let files = FaultyFiles::new();
    create_in::<Durable, _>(
        files.clone(),
        folder(),
        Identity { owner: owner(), origin: Origin::Founded },
        Incarnation::FIRST,
    )
    .unwrap();
    files
}

/// Appends until an operation fails. Returns the number of acknowledged appends.
fn append_all(files: &FaultyFiles, saves: &[Vec<Write>]) -> usize {
    let Ok((mut store, _)) = open(files) else { return 0 };
    saves.iter().take_while(|writes| store.append(writes).is_ok()).count()
}

fn check_a_crash_at_every_operation(saves: &[Vec<Write>]) {
    // The state on the disk after each number of appends.
    let mut states = vec![Durable::default()];
    for writes in saves {
        let mut state = states.last().unwrap().clone();
        writes.iter().cloned().for_each(|write| state.apply(write));
        states.push(state);
    }
    let undisturbed = new_files();
    let operations_before = undisturbed.operation_count();
    assert_eq!(append_all(&undisturbed, saves), saves.len());
    for operation in 1..=undisturbed.operation_count() - operations_before {
        let files = new_files();
        files.fail_at(operations_before + operation, Fault::PowerLoss);
        let acknowledged = append_all(&files, saves);
        for loss in [Loss::Everything, Loss::Sectors { seed: operation }, Loss::Prefix { seed: operation }] {
            let files = files.duplicate();
            files.power_on(loss);
            let (_, found) = open(&files).unwrap_or_else(|error| panic!("operation {operation}, {loss:?}: {error}"));
            // The append that failed may have reached the disk or not.
            let is_allowed = states[acknowledged..].iter().take(2).any(|state| *state == found);
            assert!(is_allowed, "operation {operation}, {loss:?}: {acknowledged} appends were acknowledged");
        }
    }
}

#[test]
fn the_run_has_votes_entries_checkpoints_and_a_snapshot() {
    let saves = record_saves();
    let has = |index: usize, matches: fn(&Write) -> bool| saves[index].iter().flatten().any(matches);
    assert!(has(0, |write| matches!(write, Write::Ballot(_))));
    assert!(has(1, |write| matches!(write, Write::Entries(_))));
    assert!(has(1, |write| matches!(write, Write::Checkpoint { .. })));
    assert!(has(2, |write| matches!(write, Write::Install(_))));
}

#[test]
fn the_disk_of_a_leader_survives_a_crash_at_every_operation() {
    check_a_crash_at_every_operation(&record_saves()[0]);
}

#[test]
fn the_disk_of_a_follower_that_was_cut_off_survives_a_crash_at_every_operation() {
    check_a_crash_at_every_operation(&record_saves()[2]);
}
