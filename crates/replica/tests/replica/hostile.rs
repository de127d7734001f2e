//! Nothing that a peer sends stops a replica: any message, in any order, to a replica in any state.

use crate::node;
use bytes::Bytes;
use proptest::collection::vec;
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof, proptest};
use proptest::test_runner::TestCaseError;
use quorate_core::{Durable as _, Effect, Effects, Group, Incarnation, Input, Protocol, Time};
use quorate_replica::batch::{Admitted, Image};
use quorate_replica::members::{Configuration, Members};
use quorate_replica::message::{Body, Commit, Entry, Hint, Message, Piece, Round, SnapshotId};
use quorate_replica::registers::{Change, Read, Registers};
use quorate_replica::{Command, Durable, LogTime, Proposal, Reads, Replica, Settings, Ticket, Timer};

type Node = Replica<Registers>;

/// Mostly numbers that matter, now and then any.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![8 => 0_u64..8, 1 => Just(u64::MAX), 1 => any::<u64>()]
}

fn members() -> impl Strategy<Value = Configuration> {
    let set = || vec(1_u32..5, 0..4).prop_map(|numbers| numbers.into_iter().map(node).collect());
    (set(), set(), set(), set(), any::<bool>()).prop_map(|(voters, learners, outgoing, demoted, auto_leave)| {
        Configuration { incoming: Members { voters, learners }, outgoing, demoted, auto_leave }
    })
}

fn entry() -> impl Strategy<Value = Entry> {
    let bytes = || vec(any::<u8>(), 0..6).prop_map(Bytes::from);
    let body = prop_oneof![
        Just(Body::Blank),
        Just(Body::Leave),
        bytes().prop_map(Body::Batch),
        bytes().prop_map(Body::Change)
    ];
    (number(), number(), body).prop_map(|(index, term, body)| Entry { index, term, body })
}

/// Entries that follow on each other more often than chance would have it.
fn append() -> impl Strategy<Value = Message> {
    let parts = (number(), number(), number(), vec(entry(), 0..4), number(), any::<bool>());
    parts.prop_map(|(term, log_term, index, mut entries, commit, tidy)| {
        if tidy {
            for (place, entry) in (1..).zip(&mut entries) {
                entry.index = index.saturating_add(place);
                entry.term = entry.term.clamp(log_term.min(term), term);
            }
            entries.sort_by_key(|entry| (entry.term, entry.index));
            (1..).zip(&mut entries).for_each(|(place, entry)| entry.index = index.saturating_add(place));
        }
        Message::Append { term, log_term, index, entries, commit }
    })
}

fn piece() -> impl Strategy<Value = Message> {
    let admitted = vec((1_u32..5, number()), 0..3)
        .prop_map(|admitted| admitted.into_iter().map(|(who, life)| (node(who), Incarnation(life))).collect());
    let image = (number(), admitted).prop_map(|(time, admitted): (u64, Admitted)| {
        Image::write(LogTime::from_nanos(time), &admitted, &Registers::default())
    });
    let bytes = prop_oneof![1 => vec(any::<u8>(), 0..9).prop_map(Bytes::from), 3 => image];
    (number(), number(), number(), members(), number(), number(), bytes, any::<bool>()).prop_map(
        |(term, index, log_term, members, length, offset, bytes, whole)| {
            let (length, offset) = if whole { (bytes.len() as u64, 0) } else { (length, offset) };
            Message::Piece(Piece { snapshot: SnapshotId { term, index, log_term }, members, length, offset, bytes })
        },
    )
}

fn message() -> impl Strategy<Value = Message> {
    let round = || {
        (1_u32..4, number(), number()).prop_map(|(who, life, number)| Round {
            node: node(who),
            incarnation: Incarnation(life),
            number,
        })
    };
    let maybe = move || prop_oneof![Just(None), round().prop_map(Some)];
    let commit = || (number(), number()).prop_map(|(index, term)| Commit { index, term });
    let hint = || (number(), number()).prop_map(|(index, log_term)| Some(Hint { index, log_term }));
    prop_oneof![
        1 => (number(), any::<bool>(), any::<bool>(), number(), number(), commit()).prop_map(
            |(term, pre, forced, log_term, index, commit)| Message::Vote { term, pre, forced, log_term, index, commit }
        ),
        1 => (number(), any::<bool>(), any::<bool>(), commit())
            .prop_map(|(term, pre, granted, commit)| Message::VoteReply { term, pre, granted, commit }),
        3 => append(),
        1 => (number(), number(), number(), prop_oneof![Just(None), hint()])
            .prop_map(|(term, index, commit, rejected)| Message::AppendReply { term, index, commit, rejected }),
        1 => (number(), number(), maybe()).prop_map(|(term, commit, round)| Message::Heartbeat { term, commit, round }),
        1 => (number(), number(), maybe()).prop_map(|(term, commit, round)| Message::HeartbeatReply { term, commit, round }),
        1 => number().prop_map(|term| Message::TimeoutNow { term }),
        1 => round().prop_map(|round| Message::ReadIndex { round }),
        1 => (number(), number(), round()).prop_map(|(term, index, round)| Message::ReadIndexReply { term, index, round }),
        1 => number().prop_map(|life| Message::Knock { born: Incarnation(life) }),
        4 => piece(),
        1 => (number(), number(), number(), number()).prop_map(|(term, index, log_term, held)| {
            Message::PieceReply { snapshot: SnapshotId { term, index, log_term }, held }
        }),
    ]
}

#[derive(Clone, Debug)]
enum Act {
    Hear(u32, Message),
    Ticks(u8),
    Saved,
    Crash,
    Propose,
    Query,
    Campaign,
    Elect,
    Full(bool),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        12 => (1_u32..5, message()).prop_map(|(from, message)| Act::Hear(from, message)),
        2 => (1_u8..30).prop_map(Act::Ticks),
        3 => Just(Act::Saved),
        1 => Just(Act::Crash),
        1 => Just(Act::Propose),
        1 => Just(Act::Query),
        1 => Just(Act::Campaign),
        2 => Just(Act::Elect),
        1 => any::<bool>().prop_map(Act::Full),
    ]
}

struct Stage {
    node: Node,
    settings: Settings,
    durable: Durable,
    pending: Vec<quorate_replica::Write>,
    saved: u64,
    now: i64,
    life: u64,
}

impl Stage {
    fn new(founders: u32, reads: Reads) -> Self {
        let founders = Members::voters(&(1..=founders).map(node).collect::<Group>());
        let settings = Settings { reads, checkpoint_every: 4, keep_entries: 1, audit: true, ..Settings::new(founders) };
        let node = Replica::new(node(1), settings.clone());
        let mut stage =
            Self { node, settings, durable: Durable::default(), pending: Vec::new(), saved: 0, now: 0, life: 0 };
        stage.boot();
        stage
    }

    fn boot(&mut self) {
        self.node = Replica::new(node(1), self.settings.clone());
        self.pending.clear();
        self.saved = 0;
        self.life += 1;
        self.take(Input::Start { durable: self.durable.clone(), incarnation: Incarnation(self.life) });
    }

    fn take(&mut self, input: Input<Node>) {
        self.now += 1_000_000;
        let mut effects: Vec<Effect<Node>> = Vec::new();
        self.node.step(Time::from_nanos(self.now), input, &mut Effects::new(&mut effects));
        for effect in effects {
            if let Effect::Save(write) = effect {
                self.pending.push(write);
            }
        }
    }

    fn play(&mut self, act: Act) {
        match act {
            Act::Hear(from, message) => self.take(Input::Message { from: node(from), message }),
            Act::Ticks(count) => {
                for _ in 0..count {
                    self.now += 100_000_000;
                    self.take(Input::Timer(Timer::Tick));
                }
            }
            Act::Saved => {
                self.saved += self.pending.len() as u64;
                self.pending.drain(..).for_each(|write| self.durable.apply(write));
                self.take(Input::Saved(self.saved));
            }
            Act::Crash => self.boot(),
            Act::Propose => {
                let command = Change::Write { key: 1, value: 1 };
                self.take(Input::Command(Command::Propose(vec![Proposal { ticket: Ticket(1), command }])));
            }
            Act::Query => self.take(Input::Command(Command::Query { ticket: Ticket(2), query: Read { key: 1 } })),
            Act::Campaign => self.take(Input::Command(Command::Campaign)),
            Act::Elect => {
                // Votes for every term that it may stand in, so that it leads now and then.
                for term in 1..8 {
                    for pre in [true, false] {
                        let reply = Message::VoteReply { term, pre, granted: true, commit: Commit::default() };
                        self.take(Input::Message { from: node(2), message: reply });
                    }
                    self.play(Act::Saved);
                }
            }
            Act::Full(true) => self.take(Input::DiskFull),
            Act::Full(false) => self.take(Input::DiskFree),
        }
    }
}

fn survives(founders: u32, reads: Reads, acts: Vec<Act>) -> Result<(), TestCaseError> {
    let mut stage = Stage::new(founders, reads);
    acts.into_iter().for_each(|act| stage.play(act));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn no_message_stops_a_member(acts in vec(act(), 1..60)) {
        survives(3, Reads::Quorum, acts)?;
    }

    #[test]
    fn no_message_stops_a_member_that_gives_leases(acts in vec(act(), 1..60)) {
        survives(3, Reads::Lease, acts)?;
    }

    #[test]
    fn no_message_stops_one_that_is_alone(acts in vec(act(), 1..60)) {
        survives(1, Reads::Quorum, acts)?;
    }

    #[test]
    fn no_message_stops_one_that_waits_to_be_let_in(acts in vec(act(), 1..60)) {
        let mut stage = Stage::new(3, Reads::Quorum);
        stage.durable = Durable::wiped();
        stage.boot();
        acts.into_iter().for_each(|act| stage.play(act));
    }
}
