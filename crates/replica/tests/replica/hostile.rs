//! No message makes a replica panic: random messages, in any order, to a replica in any state.

use crate::node;
use bytes::Bytes;
use proptest::collection::vec;
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof, proptest};
use proptest::test_runner::TestCaseError;
use quorate_core::{Durable as _, Effect, Effects, Group, Incarnation, Input, Protocol, Time};
use quorate_replica::batch::{Image, Origin, ProposalGroup};
use quorate_replica::directory::{AdmittedLearners, Directory};
use quorate_replica::members::{Configuration, Members};
use quorate_replica::message::{
    Entry, EntryBody, LastCommit, Message, RejectionHint, Round, SnapshotId, SnapshotPiece,
};
use quorate_replica::registers::{Change, Read, Registers};
use quorate_replica::{
    Command, Durable, LogTime, MemberRecord, Proposal, ReadMode, Replica, SessionId, Settings, Ticket, Timer,
};

type Node = Replica<Registers>;

/// Generates mostly small numbers, which are likely to be valid terms and indices, and sometimes
/// any number.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![8 => 0_u64..8, 1 => Just(u64::MAX), 1 => any::<u64>()]
}

fn configuration() -> impl Strategy<Value = Configuration> {
    let set = || vec(1_u32..5, 0..4).prop_map(|numbers| numbers.into_iter().map(node).collect());
    (set(), set(), set(), set(), any::<bool>()).prop_map(|(voters, learners, outgoing, demoted, auto_leave)| {
        Configuration { incoming: Members { voters, learners }, outgoing, demoted, auto_leave }
    })
}

fn entry() -> impl Strategy<Value = Entry> {
    let bytes = || vec(any::<u8>(), 0..6).prop_map(Bytes::from);
    let body = prop_oneof![
        Just(EntryBody::Blank),
        Just(EntryBody::Leave),
        bytes().prop_map(EntryBody::Batch),
        bytes().prop_map(EntryBody::Change)
    ];
    (number(), number(), body).prop_map(|(index, term, body)| Entry { index, term, body })
}

/// An append whose entries are consecutive, in valid terms, in half of the cases.
fn append() -> impl Strategy<Value = Message> {
    let parts = (number(), number(), number(), vec(entry(), 0..4), number(), any::<bool>());
    parts.prop_map(|(term, log_term, index, mut entries, commit, is_consecutive)| {
        if is_consecutive {
            for (offset, entry) in (1..).zip(&mut entries) {
                entry.index = index.saturating_add(offset);
                entry.term = entry.term.clamp(log_term.min(term), term);
            }
            entries.sort_by_key(|entry| (entry.term, entry.index));
            (1..).zip(&mut entries).for_each(|(offset, entry)| entry.index = index.saturating_add(offset));
        }
        Message::Append { term, log_term, index, entries, commit }
    })
}

fn piece() -> impl Strategy<Value = Message> {
    let admitted = vec((1_u32..5, number()), 0..3).prop_map(|admitted| {
        admitted.into_iter().map(|(number, incarnation)| (node(number), Incarnation(incarnation))).collect()
    });
    let image = (number(), admitted).prop_map(|(time, admitted): (u64, AdmittedLearners)| {
        let mut directory = Directory::default();
        directory.admitted = admitted;
        Image::write(LogTime::from_nanos(time), &directory, &Registers::default())
    });
    let bytes = prop_oneof![1 => vec(any::<u8>(), 0..9).prop_map(Bytes::from), 3 => image];
    (number(), number(), number(), configuration(), number(), number(), bytes, any::<bool>()).prop_map(
        |(term, index, log_term, members, length, offset, bytes, is_complete)| {
            let (snapshot_bytes, offset_bytes) = if is_complete { (bytes.len() as u64, 0) } else { (length, offset) };
            let snapshot = SnapshotId { term, index, log_term };
            Message::Piece(SnapshotPiece { snapshot, members, snapshot_bytes, offset_bytes, bytes })
        },
    )
}

fn message() -> impl Strategy<Value = Message> {
    let round = || {
        (1_u32..4, number(), number()).prop_map(|(node_number, incarnation, number)| Round {
            node: node(node_number),
            incarnation: Incarnation(incarnation),
            number,
        })
    };
    let optional_round = move || prop_oneof![Just(None), round().prop_map(Some)];
    let commit = || (number(), number()).prop_map(|(index, term)| LastCommit { index, term });
    let hint = || (number(), number()).prop_map(|(index, log_term)| Some(RejectionHint { index, log_term }));
    prop_oneof![
        1 => (number(), any::<bool>(), any::<bool>(), number(), number(), commit()).prop_map(
            |(term, is_pre_vote, is_forced, log_term, index, commit)| Message::Vote { term, is_pre_vote, is_forced, log_term, index, commit }
        ),
        1 => (number(), any::<bool>(), any::<bool>(), commit())
            .prop_map(|(term, is_pre_vote, is_granted, commit)| Message::VoteReply { term, is_pre_vote, is_granted, commit }),
        3 => append(),
        1 => (number(), number(), number(), prop_oneof![Just(None), hint()])
            .prop_map(|(term, index, commit, rejection_hint)| Message::AppendReply { term, index, commit, rejection_hint }),
        1 => (number(), number(), optional_round()).prop_map(|(term, commit, round)| Message::Heartbeat { term, commit, round }),
        1 => (number(), number(), optional_round()).prop_map(|(term, commit, round)| Message::HeartbeatReply { term, commit, round }),
        1 => number().prop_map(|term| Message::TimeoutNow { term }),
        1 => round().prop_map(|round| Message::ReadIndex { round }),
        1 => (number(), number(), round()).prop_map(|(term, index, round)| Message::ReadIndexReply { term, index, round }),
        1 => (number(), any::<u32>()).prop_map(|(incarnation, level)| {
            Message::AdmissionRequest { incarnation: Incarnation(incarnation), level }
        }),
        1 => (any::<bool>(), any::<u32>()).prop_map(|(has_address, level)| {
            Message::Report(MemberRecord { address: has_address.then(|| "host:7400".into()), level })
        }),
        1 => Just(Message::ReportRequest),
        2 => vec(any::<u8>(), 0..40).prop_map(|bytes| Message::Forward(bytes.into())),
        2 => (1_u32..5, number(), number(), 0..9_u64).prop_map(|(origin, incarnation, first_number, value)| {
            let origin = Origin { node: node(origin), incarnation: Incarnation(incarnation) };
            let commands = vec![Change::Write { key: 1, value }; 3];
            let groups = vec![ProposalGroup { origin, first_number, commands }];
            // The first byte is the format version.
            Message::Forward(postcard::to_extend(&groups, vec![1]).unwrap().into())
        }),
        4 => piece(),
        1 => (number(), number(), number(), number()).prop_map(|(term, index, log_term, held_bytes)| {
            Message::PieceReply { snapshot: SnapshotId { term, index, log_term }, held_bytes }
        }),
    ]
}

#[derive(Clone, Debug)]
enum Action {
    Receive(u32, Message),
    Ticks(u8),
    /// Make all pending writes durable, and confirm them to the replica.
    Sync,
    /// Crash and restart, which loses the pending writes.
    Crash,
    Propose,
    Query,
    Campaign,
    Suspect(u32),
    Stand,
    Attach,
    Retire,
    /// Send the replica votes for every likely term, so that it sometimes becomes leader.
    Elect,
    DiskFull,
    DiskFree,
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        12 => (1_u32..5, message()).prop_map(|(from, message)| Action::Receive(from, message)),
        2 => (1_u8..30).prop_map(Action::Ticks),
        3 => Just(Action::Sync),
        1 => Just(Action::Crash),
        1 => Just(Action::Propose),
        1 => Just(Action::Query),
        1 => Just(Action::Campaign),
        1 => (2_u32..5).prop_map(Action::Suspect),
        1 => prop_oneof![Just(Action::Stand), Just(Action::Attach), Just(Action::Retire)],
        2 => Just(Action::Elect),
        1 => any::<bool>().prop_map(|is_full| if is_full { Action::DiskFull } else { Action::DiskFree }),
    ]
}

struct Harness {
    node: Node,
    settings: Settings,
    durable: Durable,
    /// Writes that are not durable.
    pending_writes: Vec<quorate_replica::Write>,
    /// Number of durable saves of this incarnation.
    durable_saves: u64,
    /// The time in nanoseconds.
    now: i64,
    incarnation: u64,
    /// Number of inputs so far.
    steps: u64,
}

impl Harness {
    fn new(founders: u32, reads: ReadMode) -> Self {
        let founders = Members::voters(&(1..=founders).map(node).collect::<Group>());
        let settings = Settings { reads, checkpoint_every: 4, keep_entries: 1, audit: true, ..Settings::new(founders) };
        let node = Replica::new(node(1), settings.clone());
        let mut harness = Self {
            node,
            settings,
            durable: Durable::default(),
            pending_writes: Vec::new(),
            durable_saves: 0,
            now: 0,
            incarnation: 0,
            steps: 0,
        };
        harness.boot();
        harness
    }

    fn boot(&mut self) {
        self.node = Replica::new(node(1), self.settings.clone());
        self.pending_writes.clear();
        self.durable_saves = 0;
        self.incarnation += 1;
        self.step(Input::Start { durable: self.durable.clone(), incarnation: Incarnation(self.incarnation) });
    }

    fn step(&mut self, input: Input<Node>) {
        // A step takes a millisecond.
        self.now += 1_000_000;
        let mut effects: Vec<Effect<Node>> = Vec::new();
        // Some turns have several inputs.
        self.steps += 1;
        let inputs = if self.steps.is_multiple_of(3) { vec![input] } else { vec![input, Input::EndOfTurn] };
        for input in inputs {
            self.node.step(Time::from_nanos(self.now), input, &mut Effects::new(&mut effects));
        }
        for effect in effects {
            if let Effect::Save(write) = effect {
                self.pending_writes.push(write);
            }
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Receive(from, message) => self.step(Input::Message { from: node(from), message }),
            Action::Ticks(count) => {
                for _ in 0..count {
                    self.now += i64::try_from(self.settings.tick.nanos()).unwrap();
                    self.step(Input::Timer(Timer::Tick));
                }
            }
            Action::Sync => {
                self.durable_saves += self.pending_writes.len() as u64;
                self.pending_writes.drain(..).for_each(|write| self.durable.apply(write));
                self.step(Input::Saved(self.durable_saves));
            }
            Action::Crash => self.boot(),
            Action::Propose => {
                let command = Change::Write { key: 1, value: 1 };
                self.step(Input::Command(Command::Propose(vec![Proposal { ticket: Ticket(1), command }])));
            }
            Action::Query => self.step(Input::Command(Command::Query { ticket: Ticket(2), query: Read { key: 1 } })),
            Action::Campaign => self.step(Input::Command(Command::Campaign)),
            Action::Suspect(peer) => self.step(Input::Suspect(node(peer))),
            Action::Stand => self.step(Input::Timer(Timer::Campaign)),
            Action::Attach => {
                let (ticket, session) = (Ticket(3), SessionId(1));
                self.step(Input::Command(Command::Attach { ticket, session }));
            }
            Action::Retire => self.step(Input::Command(Command::Retire)),
            Action::Elect => {
                for term in 1..8 {
                    for is_pre_vote in [true, false] {
                        let reply =
                            Message::VoteReply { term, is_pre_vote, is_granted: true, commit: LastCommit::default() };
                        self.step(Input::Message { from: node(2), message: reply });
                    }
                    self.act(Action::Sync);
                }
            }
            Action::DiskFull => self.step(Input::DiskFull),
            Action::DiskFree => self.step(Input::DiskFree),
        }
    }
}

/// Runs the actions. The test passes if no step panics.
fn run_actions(founders: u32, reads: ReadMode, actions: Vec<Action>) -> Result<(), TestCaseError> {
    let mut harness = Harness::new(founders, reads);
    actions.into_iter().for_each(|action| harness.act(action));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn no_message_makes_a_member_panic(actions in vec(action(), 1..60)) {
        run_actions(3, ReadMode::Quorum, actions)?;
    }

    #[test]
    fn no_message_makes_a_member_with_leases_panic(actions in vec(action(), 1..60)) {
        run_actions(3, ReadMode::Lease, actions)?;
    }

    #[test]
    fn no_message_makes_a_single_replica_panic(actions in vec(action(), 1..60)) {
        run_actions(1, ReadMode::Quorum, actions)?;
    }

    #[test]
    fn no_message_makes_a_replica_that_waits_for_admission_panic(actions in vec(action(), 1..60)) {
        let mut harness = Harness::new(3, ReadMode::Quorum);
        harness.durable = Durable::wiped();
        harness.boot();
        actions.into_iter().for_each(|action| harness.act(action));
    }
}
