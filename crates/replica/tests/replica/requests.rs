//! Requests of clients with sessions, step by step: forwarded commands, attachments, empty entries,
//! and what a full disk or a lost leadership does to requests. The tests are named after the rules
//! at the head of `replica.rs`.

use crate::stepped::lose_nothing;
use crate::{members, node};
use quorate_core::{Duration, Incarnation, Input};
use quorate_replica::batch::{Origin, ProposalGroup};
use quorate_replica::message::{Entry, EntryBody};
use quorate_replica::registers::{Change, Read, Registers};
use quorate_replica::sessions::{Answer, Command as SessionCommand, MIN_TTL, Request, Seen, Sessions};
use quorate_replica::settings::OldRelease;
use quorate_replica::{Command, Event, Message, Proposal, Refusal, SessionId, Settings, Ticket, Timer};

type Machine = Sessions<Registers>;
type Harness = crate::stepped::Harness<Machine>;

/// Three replicas that node 1 leads, with nothing in flight.
fn settled(change: impl FnOnce(Settings) -> Settings) -> Harness {
    let mut harness = Harness::with_settings(3, change(Settings::new(members(&[1, 2, 3], &[]))));
    harness.elect(1);
    harness.ticks(10);
    harness
}

impl Harness {
    fn open(&mut self, replica: u32, ttl: Duration) -> SessionId {
        let command = SessionCommand::Open { nonce: self.now.unsigned_abs(), ttl };
        let ticket = self.propose(replica, command);
        self.deliver();
        self.ticks(1);
        match self.outcome(ticket) {
            Some(Event::Answered { answer: Answer::Opened { session }, .. }) => session,
            other => panic!("{other:?}"),
        }
    }

    fn applied_count(&self, replica: u32) -> u64 {
        self.hosts[&replica].node.machine().map_or(0, |machine| machine.inner().applied_count())
    }

    /// Number of events of a replica that satisfy a condition.
    fn count_events(&self, replica: u32, is_counted: impl Fn(&Event<Machine>) -> bool) -> usize {
        self.events.iter().filter(|(number, event)| *number == replica && is_counted(event)).count()
    }

    fn query(&mut self, replica: u32) -> Ticket {
        self.give(replica, |ticket| Command::Query { ticket, query: Read { key: 0 } })
    }
}

fn request(session: SessionId, number: u64, command: Change) -> SessionCommand<Change> {
    SessionCommand::Request(Request { session, number, seen: Seen::default(), command })
}

const LONG: Duration = Duration::from_secs(1_000);
const WRITE: Change = Change::Write { key: 0, value: 7 };

fn is_forward(message: &Message) -> bool {
    matches!(message, Message::Forward(_))
}

/// Opens many sessions at a follower: five times as many as an entry may have commands of one
/// replica. They arrive while two entries are in flight.
#[test]
fn rp_1_forwarded_commands_fill_several_entries() {
    const COMMANDS_PER_ENTRY: u64 = 4_096;
    let mut harness = settled(|settings| settings);
    let before = harness.durable_index(1);
    let open = |number| SessionCommand::Open { nonce: number, ttl: LONG };
    let proposals =
        (1..=5 * COMMANDS_PER_ENTRY).map(|number| Proposal { ticket: Ticket(number), command: open(number) });
    harness.step(2, Input::Command(Command::Propose(proposals.collect())));
    harness.deliver();
    assert_eq!(harness.durable_index(1), before + 5);
}

/// Nodes 2 and 3 forward two commands each while two entries are in flight.
#[test]
fn rp_14_a_leader_bounds_the_forwarded_commands_that_wait() {
    let mut harness = settled(|settings| Settings { max_pending_requests: 2, ..settings });
    harness.drop_rule = Box::new(|from, _, message| from != 1 && matches!(message, Message::AppendReply { .. }));
    for nonce in [1, 2] {
        harness.propose(1, SessionCommand::Open { nonce, ttl: LONG });
        harness.deliver();
    }
    for (replica, nonces) in [(2, [3, 4]), (3, [5, 6])] {
        for nonce in nonces {
            harness.propose(replica, SessionCommand::Open { nonce, ttl: LONG });
            harness.deliver();
        }
    }
    harness.drop_rule = lose_nothing();
    harness.ticks(3);
    let sessions = |harness: &Harness| harness.hosts[&1].node.machine().map_or(0, Sessions::session_count);
    assert_eq!(sessions(&harness), 4);
    harness.ticks(20);
    assert_eq!(sessions(&harness), 6);
}

#[test]
fn rp_1_and_12_a_leader_that_loses_its_leadership_ends_what_is_not_repeatable() {
    let mut harness = settled(|settings| settings);
    harness.partitioned.insert(1);
    // Two of them are in entries in flight, and no other replica has received the rest.
    let tickets = [1, 2, 3, 4].map(|_| harness.propose(1, SessionCommand::Direct(WRITE)));
    harness.ticks(40);
    let outcomes = tickets.map(|ticket| harness.outcome(ticket));
    assert!(
        matches!(
            outcomes,
            [
                Some(Event::Unknown { .. }),
                Some(Event::Unknown { .. }),
                Some(Event::Refused { refusal: Refusal::NotLeader { .. }, .. }),
                Some(Event::Refused { refusal: Refusal::NotLeader { .. }, .. }),
            ]
        ),
        "{outcomes:?}"
    );
}

#[test]
fn rp_9_a_removed_replica_refuses_repeatable_commands() {
    let mut harness = settled(|settings| settings);
    assert_eq!(harness.change(1, &[1, 2], &[]), None);
    let ticket = harness.propose(3, SessionCommand::Open { nonce: 9, ttl: LONG });
    assert_eq!(harness.refusal(ticket), Some(Refusal::NotMember));
}

/// Node 2 asks the leader for a round, restarts, and asks for another one, whose request is lost.
/// The answer to the first one does not know the write in between.
#[test]
fn rp_5_a_round_of_an_earlier_incarnation_confirms_nothing() {
    let mut harness = settled(|settings| settings);
    harness.drop_rule = Box::new(|_, _, message| matches!(message, Message::ReadIndexReply { .. }));
    harness.query(2);
    harness.deliver();
    let is_reply = |(_, _, message): &&(u32, Vec<u32>, Message)| matches!(message, Message::ReadIndexReply { .. });
    let (_, _, reply) = harness.sent.iter().rfind(is_reply).cloned().expect("the leader confirmed the round");
    harness.restart(2, 1);
    harness.ticks(2);
    harness.drop_rule = Box::new(|from, _, message| from == 2 && matches!(message, Message::ReadIndex { .. }));
    let query = harness.query(2);
    harness.receive(1, 2, reply);
    assert_eq!(harness.outcome(query), None);
    harness.drop_rule = lose_nothing();
    harness.ticks(10);
    assert!(matches!(harness.outcome(query), Some(Event::Answered { .. })));
}

/// Node 2 restarts. It numbers its proposals from 1 again, and then applies the entry with the
/// first proposal of its last incarnation.
#[test]
fn rp_4_a_restarted_replica_does_not_take_an_earlier_answer_for_its_own() {
    let mut harness = settled(|settings| settings);
    let first = harness.open(2, LONG);
    harness.restart(2, 1);
    let ticket = harness.propose(2, SessionCommand::Open { nonce: 9, ttl: LONG });
    harness.ticks(6);
    match harness.outcome(ticket) {
        Some(Event::Answered { answer: Answer::Opened { session }, .. }) => assert_ne!(session, first),
        other => panic!("{other:?}"),
    }
}

#[test]
fn rp_14_an_applied_command_is_not_forwarded_again() {
    let mut harness = settled(|settings| settings);
    harness.open(2, LONG);
    harness.ticks(20);
    assert_eq!(harness.count_sent(2, is_forward), 1);
}

/// A command of node 3, which is down before it could repeat it, arrives as `forward` decides.
/// Returns how often node 1 has executed it.
fn executed(forward: impl FnOnce(&mut Harness, SessionId, Message)) -> u64 {
    let mut harness = settled(|settings| settings);
    let session = harness.open(3, LONG);
    harness.drop_rule = Box::new(|_, _, message| is_forward(message));
    harness.propose(3, request(session, 1, WRITE));
    harness.drop_rule = lose_nothing();
    harness.hosts.remove(&3);
    let (_, _, message) = harness.sent.iter().rfind(|(_, _, message)| is_forward(message)).cloned().unwrap();
    forward(&mut harness, session, message);
    harness.ticks(20);
    harness.applied_count(1)
}

fn forwarded(command: SessionCommand<Change>) -> Message {
    let origin = Origin { node: node(3), incarnation: Incarnation::FIRST };
    let groups = vec![ProposalGroup { origin, first_number: 100, commands: vec![command] }];
    // The first byte is the format version.
    Message::Forward(postcard::to_extend(&groups, vec![1]).unwrap().into())
}

#[test]
fn rp_14_a_leader_executes_only_repeatable_commands_that_a_member_forwards_in_its_own_name() {
    assert_eq!(executed(|harness, _, message| harness.receive(3, 1, message)), 1);
    assert_eq!(executed(|harness, _, message| harness.receive(2, 1, message)), 0, "it names node 3");
    let direct = forwarded(SessionCommand::Direct(WRITE));
    assert_eq!(executed(|harness, _, _| harness.receive(3, 1, direct)), 0, "a copy would be executed again");
    let to_a_follower = |harness: &mut Harness, _, message| {
        harness.receive(3, 2, message);
        harness.request(1, 2, |_| Command::Transfer(node(2)));
        assert_eq!(harness.leaders(), [2]);
    };
    assert_eq!(executed(to_a_follower), 0, "node 2 led only later");
    let from_a_removed_member = |harness: &mut Harness, _, message| {
        assert_eq!(harness.change(1, &[1, 2], &[]), None);
        harness.receive(3, 1, message);
    };
    assert_eq!(executed(from_a_removed_member), 0, "node 3 was removed");
}

/// Node 2 runs an older release, which does not know the command.
#[test]
fn rp_17_a_leader_takes_no_forwarded_command_of_a_newer_level() {
    let settings = Settings::new(members(&[1, 2, 3], &[]));
    let old_release = OldRelease { level: 1, until: Incarnation(9) };
    let mut harness = Harness::with_old_releases(3, settings, [(2, old_release)].into());
    harness.elect(1);
    harness.ticks(10);
    let session = harness.open(3, LONG);
    harness.receive(3, 1, forwarded(request(session, 1, Change::Swap { key: 0, value: 7 })));
    harness.ticks(10);
    assert_eq!(harness.applied_count(1), 0);
    assert!(!harness.events.iter().any(|(_, event)| matches!(event, Event::Halted { .. })));
}

#[test]
fn rp_15_a_replica_without_contact_attaches_no_session() {
    let mut harness = settled(|settings| settings);
    let session = harness.open(1, LONG);
    harness.partitioned.insert(1);
    let attached = harness.request(1, 3, |ticket| Command::Attach { ticket, session });
    assert_eq!(attached, None);
}

#[test]
fn rp_15_a_detached_session_gets_no_outcomes() {
    let mut harness = settled(|settings| settings);
    let session = harness.open(1, LONG);
    harness.request(1, 1, |ticket| Command::Attach { ticket, session });
    for (number, is_attached) in [(1, true), (2, false)] {
        if !is_attached {
            harness.step(1, Input::Command(Command::Detach(session)));
        }
        harness.propose(1, request(session, number, Change::Await { key: 0 }));
        harness.propose(1, SessionCommand::Direct(WRITE));
        harness.deliver();
        assert_eq!(harness.count_events(1, |event| matches!(event, Event::Outcome { .. })), 1);
    }
}

/// Node 3 misses the end of a session, and later some entries, and installs a snapshot each time.
#[test]
fn rp_15_a_session_that_has_ended_before_a_snapshot_is_detached_once() {
    let mut harness = settled(|settings| Settings { checkpoint_every: 5, keep_entries: 1, ..settings });
    let session = harness.open(3, LONG);
    harness.request(3, 1, |ticket| Command::Attach { ticket, session });
    for _ in 0..2 {
        harness.partitioned.insert(3);
        harness.propose(1, SessionCommand::Close { session });
        harness.deliver();
        for _ in 0..20 {
            harness.propose(1, SessionCommand::Direct(WRITE));
            harness.deliver();
        }
        harness.partitioned.clear();
        harness.ticks(20);
        assert_eq!(harness.applied_index(3), harness.applied_index(1));
        assert_eq!(harness.count_events(3, |event| *event == Event::Detached { session }), 1);
    }
}

/// The leader cannot commit the entry, because no append arrives.
#[test]
fn rp_16_a_deadline_costs_one_empty_entry() {
    let mut harness = settled(|settings| settings);
    harness.open(1, MIN_TTL);
    let before = harness.durable_index(1);
    harness.drop_rule = Box::new(|_, _, message| matches!(message, Message::Append { .. }));
    harness.ticks(40);
    assert_eq!(harness.durable_index(1), before + 1);
}

#[test]
fn rp_16_commands_that_move_log_time_replace_the_empty_entry() {
    let mut harness = settled(|settings| settings);
    let session = harness.open(1, MIN_TTL);
    let before = harness.durable_index(1);
    let ticks = 20;
    for number in 1..=ticks {
        harness.now += i64::try_from(harness.settings.tick.nanos()).unwrap();
        let proposal = Proposal { ticket: Ticket(1_000 + number), command: SessionCommand::Direct(WRITE) };
        harness.turn(1, vec![Input::Command(Command::Propose(vec![proposal])), Input::Timer(Timer::Tick)]);
        harness.deliver();
    }
    assert_eq!(harness.durable_index(1), before + ticks);
    let attached = harness.request(1, 1, |ticket| Command::Attach { ticket, session });
    assert!(matches!(attached, Some(Event::Refused { refusal: Refusal::NoSession, .. })), "{attached:?}");
}

/// Two entries are in flight until the disk confirms them. There is no other voter to lead.
#[test]
fn rp_11_a_leader_whose_disk_is_full_appends_no_command_that_waits() {
    let mut harness = Harness::new(1, &[1]);
    harness.elect(1);
    harness.ticks(5);
    let before = harness.durable_index(1);
    harness.host(1).is_disk_blocked = true;
    let tickets = [1, 2, 3].map(|_| harness.propose(1, SessionCommand::Direct(WRITE)));
    harness.step(1, Input::DiskFull);
    harness.unblock_disk(1);
    assert_eq!(harness.durable_index(1), before + 2);
    harness.step(1, Input::DiskFree);
    assert!(tickets.into_iter().all(|ticket| matches!(harness.outcome(ticket), Some(Event::Answered { .. }))));
}

/// A learner waits for its admission, and a session expires.
#[test]
fn rp_11_a_leader_whose_disk_is_full_proposes_nothing_itself() {
    let mut harness = Harness::new(2, &[1]);
    harness.elect(1);
    harness.ticks(5);
    harness.open(1, MIN_TTL);
    harness.drop_rule = Box::new(|_, _, message| matches!(message, Message::AdmissionRequest { .. }));
    harness.give_change(1, &[1], &[2]);
    harness.deliver();
    harness.drop_rule = lose_nothing();
    harness.step(1, Input::DiskFull);
    let saves = harness.saves(1);
    harness.ticks(40);
    assert_eq!((harness.leaders(), harness.saves(1)), (vec![1], saves));
    harness.step(1, Input::DiskFree);
    harness.ticks(40);
    assert!(harness.applied_index(2) > 0);
    assert_eq!(harness.hosts[&1].node.machine().map(Sessions::session_count), Some(0));
}

#[test]
fn rp_11_a_replica_whose_disk_is_full_does_not_campaign() {
    let mut harness = Harness::new(1, &[1]);
    harness.step(1, Input::DiskFull);
    harness.ticks(40);
    assert_eq!(harness.leaders(), [0_u32; 0]);
    harness.step(1, Input::DiskFree);
    harness.ticks(40);
    assert_eq!(harness.leaders(), [1]);
}

/// The number of appends with and without entries that node 1 has sent. An append without entries
/// announces the commit index.
fn count_appends(harness: &Harness) -> [usize; 2] {
    let is_announcement = |message: &Message| matches!(message, Message::Append { entries, .. } if entries.is_empty());
    let is_append = |message: &Message| matches!(message, Message::Append { .. });
    let announcements = harness.count_sent(1, is_announcement);
    [harness.count_sent(1, is_append) - announcements, announcements]
}

#[test]
fn rp_4_a_commit_index_is_announced_at_once_only_if_a_follower_waits_for_it() {
    let mut harness = settled(|settings| settings);
    harness.sent.clear();
    harness.propose(1, SessionCommand::Direct(WRITE));
    harness.deliver();
    assert_eq!(count_appends(&harness), [2, 0]);
    let opened = harness.propose(3, SessionCommand::Open { nonce: 7, ttl: MIN_TTL });
    harness.deliver();
    assert!(matches!(harness.outcome(opened), Some(Event::Answered { .. })));
    assert_eq!(count_appends(&harness), [4, 2]);
}

#[test]
fn rp_4_a_commit_index_is_not_announced_while_an_entry_is_in_flight() {
    let mut harness = settled(|settings| settings);
    harness.sent.clear();
    for nonce in [7, 8] {
        harness.propose(3, SessionCommand::Open { nonce, ttl: MIN_TTL });
    }
    harness.deliver();
    assert_eq!(count_appends(&harness), [4, 2], "each command makes an entry, and only the last is announced");
}

#[test]
fn rp_11_a_follower_whose_disk_is_full_applies_what_it_has() {
    let mut harness = settled(|settings| settings);
    harness.propose(1, SessionCommand::Direct(WRITE));
    harness.deliver();
    harness.step(2, Input::DiskFull);
    let (term, commit) = (harness.term(), harness.applied_index(1));
    assert!(harness.applied_index(2) < commit);
    harness.receive(1, 2, Message::Heartbeat { term, commit, round: None });
    assert_eq!(harness.applied_index(2), commit);
}

/// Node 2 receives an entry that no release can read.
#[test]
fn rp_12_a_replica_that_halts_ends_its_requests() {
    let mut harness = settled(|settings| settings);
    harness.drop_rule = Box::new(|from, _, _| from == 2);
    let requests = [harness.query(2), harness.propose(2, SessionCommand::Open { nonce: 9, ttl: LONG })];
    let index = harness.durable_index(2);
    let term = harness.hosts[&2].durable.ballot.term;
    let entries = vec![Entry { index: index + 1, term, body: EntryBody::Batch(vec![0; 3].into()) }];
    harness.receive(1, 2, Message::Append { term, log_term: term, index, entries, commit: index + 1 });
    assert_eq!(harness.count_events(2, |event| matches!(event, Event::Halted { .. })), 1);
    let outcomes = requests.map(|ticket| harness.outcome(ticket));
    assert!(
        matches!(outcomes, [Some(Event::Refused { refusal: Refusal::Halted, .. }), Some(Event::Unknown { .. })]),
        "{outcomes:?}"
    );
}
