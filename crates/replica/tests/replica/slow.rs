//! Slow links, slow disks and long commands, step by step. The tests are named after the rules at
//! the head of `replica.rs`.

use crate::stepped::{lose_nothing, lose_transfers};
use crate::{members, node};
use quorate_core::{Durable as _, Duration, Input};
use quorate_replica::message::EntryBody;
use quorate_replica::registers::{Change, Read, Registers};
use quorate_replica::sessions::{Answer, Command as SessionCommand, Request, Seen, Sessions};
use quorate_replica::{
    Addresses, Command, Durable, Event, Message, Proposal, Refusal, SessionId, Settings, Ticket, Timer,
};

type Machine = Sessions<Registers>;
type Harness = crate::stepped::Harness<Machine>;

const LONG: Duration = Duration::from_secs(1_000);

/// Three replicas that node 1 leads, with nothing in flight.
fn settled(change: impl FnOnce(Settings) -> Settings) -> Harness {
    let mut harness = Harness::with_settings(3, change(Settings::new(members(&[1, 2, 3], &[]))));
    harness.elect(1);
    harness.ticks(10);
    harness
}

fn open(nonce: u64) -> SessionCommand<Change> {
    SessionCommand::Open { nonce, ttl: LONG }
}

fn request(session: SessionId, number: u64, command: Change) -> SessionCommand<Change> {
    SessionCommand::Request(Request { session, number, seen: Seen::default(), command })
}

impl Harness {
    fn open_session(&mut self, replica: u32) -> SessionId {
        let ticket = self.propose(replica, open(7));
        self.deliver();
        match self.outcome(ticket) {
            Some(Event::Answered { answer: Answer::Opened { session }, .. }) => session,
            other => panic!("{other:?}"),
        }
    }

    /// Lets time pass over links with this delay in ticks and disks that need this many ticks for a
    /// sync, until the condition holds. Returns the number of ticks.
    fn slow_ticks(&mut self, [delay, sync]: [usize; 2], has_happened: impl Fn(&Self) -> bool) -> usize {
        const MAX_TICKS: usize = 400;
        let numbers: Vec<u32> = self.hosts.keys().copied().collect();
        let mut in_flight = Vec::new();
        let mut sync_starts = vec![None; numbers.len()];
        numbers.iter().for_each(|number| self.host(*number).is_disk_blocked = true);
        for tick in 0..MAX_TICKS {
            if has_happened(self) {
                return tick;
            }
            self.now += i64::try_from(self.settings.tick.nanos()).unwrap();
            for (number, start) in numbers.iter().zip(&mut sync_starts) {
                self.step(*number, Input::Timer(Timer::Tick));
                let started = start.get_or_insert(tick);
                if *started + sync <= tick {
                    self.unblock_disk(*number);
                    self.host(*number).is_disk_blocked = true;
                    *start = None;
                }
            }
            let mut received = Vec::new();
            in_flight.retain(|(due, message): &(usize, (u32, u32, Message))| {
                let is_due = *due <= tick;
                received.extend(is_due.then(|| message.clone()));
                !is_due
            });
            for (from, to, message) in received {
                self.receive(from, to, message);
            }
            in_flight.extend(self.messages.drain(..).map(|message| (tick + delay, message)));
        }
        panic!("nothing has happened in {MAX_TICKS} ticks");
    }
}

#[test]
fn rp_1_and_14_entries_and_forwarded_messages_are_bounded_in_length() {
    const ENTRY_BYTES: usize = 100;
    // The commands of the leader and those of its followers, and a few bytes for each command.
    const MAX_BYTES: usize = 4 * ENTRY_BYTES;
    for replica in [1, 2] {
        let mut harness = settled(|settings| Settings { entry_bytes: ENTRY_BYTES, ..settings });
        let proposals = (1..=200).map(|number| Proposal { ticket: Ticket(1_000 + number), command: open(number) });
        harness.step(replica, Input::Command(Command::Propose(proposals.collect())));
        harness.deliver();
        harness.ticks(20);
        for (_, _, message) in &harness.sent {
            match message {
                Message::Forward(bytes) => assert!(bytes.len() <= MAX_BYTES),
                Message::Append { entries, .. } => {
                    let is_short =
                        |body: &EntryBody| !matches!(body, EntryBody::Batch(bytes) if bytes.len() > MAX_BYTES);
                    assert!(entries.iter().all(|entry| is_short(&entry.body)));
                }
                _ => {}
            }
        }
        assert_eq!(harness.hosts[&3].node.machine().map(Sessions::session_count), Some(200));
    }
}

#[test]
fn rp_1_a_command_that_is_longer_than_an_entry_is_refused() {
    for replica in [1, 2] {
        let mut harness = settled(|settings| Settings { entry_bytes: 2, ..settings });
        let ticket = harness.propose(replica, open(u64::MAX));
        assert!(matches!(harness.refusal(ticket), Some(Refusal::TooLong { bytes: 3.., max: 2 })));
    }
}

/// Both followers have the entry on their disks.
#[test]
fn rp_4_a_follower_learns_of_a_commit_although_the_leaders_disk_is_slow() {
    let mut harness = settled(|settings| settings);
    harness.host(1).is_disk_blocked = true;
    let ticket = harness.propose(2, open(7));
    harness.deliver();
    assert!(harness.outcome(ticket).is_some());
    assert!(harness.applied_index(1) < harness.applied_index(2));
}

/// There is no heartbeat by which it could learn that later.
#[test]
fn rp_4_a_follower_learns_at_once_that_its_report_is_recorded() {
    let settings = Settings { heartbeat_ticks: 100, election_ticks: 200, ..Settings::new(members(&[1, 2, 3], &[])) };
    let mut harness = Harness::with_settings(3, settings);
    harness.elect(1);
    harness.ticks(10);
    let reports = [2, 3].map(|number| harness.count_sent(number, |message| matches!(message, Message::Report(_))));
    assert_eq!(reports, [1, 1]);
}

/// A round is repeated after five ticks.
#[test]
fn rp_5_and_15_queries_and_attachments_are_answered_however_long_a_round_takes() {
    for delay in [1, 3, 6, 12] {
        for sync in [0, 8] {
            for replica in [1, 2] {
                let settings = Settings { election_ticks: 100, ..Settings::new(members(&[1, 2, 3], &[])) };
                let mut harness = Harness::with_settings(3, settings);
                harness.elect(1);
                let session = harness.open_session(1);
                let query = harness.give(replica, |ticket| Command::Query { ticket, query: Read { key: 0 } });
                let attachment = harness.give(replica, |ticket| Command::Attach { ticket, session });
                let are_done =
                    |harness: &Harness| [query, attachment].iter().all(|ticket| harness.outcome(*ticket).is_some());
                let ticks = harness.slow_ticks([delay, sync], are_done);
                assert!(ticks <= 5 * (2 * delay + 2 * sync + 6), "delay {delay}, sync {sync}: {ticks} ticks");
            }
        }
    }
}

#[test]
fn rp_9_and_18_a_leader_in_contact_with_its_followers_offers_its_leadership() {
    let is_offer = |message: &Message| matches!(message, Message::TimeoutNow { .. });
    for phase in 0..16 {
        let mut harness = settled(|settings| settings);
        harness.ticks(phase);
        harness.sent.clear();
        harness.give(1, |_| Command::Retire);
        assert!(!harness.events.contains(&(1, Event::Retired)) && harness.count_sent(1, is_offer) == 1, "{phase}");
        let mut harness = settled(|settings| settings);
        harness.ticks(phase);
        let change = harness.give_change(1, &[2, 3], &[]);
        assert_eq!(harness.refusal(change), Some(Refusal::TransferInProgress), "{phase}");
    }
}

#[test]
fn rp_18_a_retired_leader_says_so_only_once_another_replica_leads() {
    let mut harness = settled(|settings| settings);
    harness.drop_rule = lose_transfers();
    harness.request(1, 50, |_| Command::Retire);
    assert!(!harness.events.contains(&(1, Event::Retired)), "it leads, and others could");
    harness.drop_rule = lose_nothing();
    harness.ticks(20);
    assert!(harness.events.contains(&(1, Event::Retired)) && harness.leaders() != [1]);
}

/// Node 2 is the only voter that stays. It receives no offer, or has lost its disk and cannot lead.
#[test]
fn rp_9_a_leader_leaves_although_no_voter_takes_over() {
    for has_lost_disk in [false, true] {
        let mut harness = Harness::with_settings(5, Settings::new(members(&[1, 2, 3], &[])));
        harness.elect(1);
        assert_eq!(harness.change(1, &[1, 2, 3], &[4, 5]), None);
        harness.ticks(20);
        harness.drop_rule = lose_transfers();
        if has_lost_disk {
            harness.boot(2, Durable::wiped(), 1);
            harness.ticks(5);
        }
        for _ in 0..100 {
            harness.give_change(1, &[2, 4, 5], &[]);
            harness.deliver();
            harness.ticks(1);
        }
        let changed = members(&[2, 4, 5], &[]);
        assert!(
            harness
                .events
                .iter()
                .any(|(_, event)| matches!(event, Event::Changed { members, .. } if *members == changed))
        );
        assert!(!harness.leaders().contains(&1));
    }
}

#[test]
fn rp_12_a_sole_voter_reports_that_it_leads_once_its_vote_is_saved() {
    let mut harness = Harness::new(1, &[1]);
    harness.host(1).is_disk_blocked = true;
    harness.give(1, |_| Command::Campaign);
    let leads = |harness: &Harness| harness.events.iter().any(|(_, event)| matches!(event, Event::Leads { .. }));
    assert_eq!((harness.leaders(), leads(&harness)), (vec![1], false));
    harness.unblock_disk(1);
    assert!(leads(&harness));
}

/// A candidate that campaigned again would ignore the votes that are on their way.
#[test]
fn rp_13_a_replica_that_stands_is_elected_although_links_and_disks_are_slow() {
    for [delay, sync] in [[0, 0], [1, 0], [2, 0], [0, 2], [0, 4], [1, 2]] {
        let mut harness = settled(|settings| settings);
        harness.hosts.remove(&1);
        [2, 3].into_iter().for_each(|number| harness.step(number, Input::Suspect(node(1))));
        let ticks = harness.slow_ticks([delay, sync], |harness| !harness.leaders().is_empty());
        assert!(ticks <= 60, "delay {delay}, sync {sync}: {ticks} ticks");
    }
}

#[test]
fn rp_15_a_session_that_was_detached_is_not_attached_later() {
    let mut harness = settled(|settings| settings);
    let session = harness.open_session(1);
    let attachment = harness.give(3, |ticket| Command::Attach { ticket, session });
    harness.give(3, |_| Command::Detach(session));
    assert_eq!(harness.refusal(attachment), Some(Refusal::Detached));
    harness.deliver();
    harness.ticks(10);
    harness.propose(1, request(session, 1, Change::Await { key: 0 }));
    harness.propose(1, SessionCommand::Direct(Change::Write { key: 0, value: 7 }));
    harness.deliver();
    harness.ticks(10);
    let is_reported =
        |(number, event): &(u32, _)| *number == 3 && matches!(event, Event::Attached { .. } | Event::Outcome { .. });
    assert!(!harness.events.iter().any(is_reported));
}

#[test]
fn rp_15_a_session_that_has_ended_is_not_attached_any_more() {
    let mut harness = settled(|settings| settings);
    let session = harness.open_session(1);
    harness.request(3, 10, |ticket| Command::Attach { ticket, session });
    harness.propose(1, SessionCommand::Close { session });
    harness.deliver();
    let outcomes = |harness: &Harness| {
        harness.events.iter().filter(|(number, event)| *number == 3 && matches!(event, Event::Outcome { .. })).count()
    };
    assert_eq!(outcomes(&harness), 1, "the session has ended");
    assert_eq!(harness.change(1, &[1, 2], &[]), None);
    let is_detached = |(_, event): &(u32, _)| matches!(event, Event::Detached { .. });
    assert!(!harness.events.iter().any(is_detached));
}

#[test]
fn rp_9_and_17_a_change_to_the_present_members_records_their_addresses() {
    let mut harness = settled(|settings| settings);
    for (address, members) in [("new:1", members(&[1, 2, 3], &[])), ("new:2", members(&[1, 2, 3], &[]))] {
        let addresses: Addresses = [(node(3), address.to_owned())].into();
        let outcome =
            harness.request(1, 10, |ticket| Command::Change { ticket, members, addresses: addresses.clone() });
        assert!(matches!(outcome, Some(Event::Changed { .. })));
        let configured = harness.events.iter().rev().find_map(|(_, event)| match event {
            Event::Configured { addresses, .. } => Some(addresses.clone()),
            _ => None,
        });
        assert_eq!(configured, Some(addresses));
    }
}

/// The former leader has a longer log, so it refuses its vote, and it cannot lead any more.
#[test]
fn rp_9_a_new_sole_voter_leads_although_it_did_not_learn_that_the_change_is_complete() {
    let mut harness = Harness::new(2, &[1]);
    harness.elect(1);
    assert_eq!(harness.change(1, &[1], &[2]), None);
    harness.ticks(20);
    // Of the leader's log, nothing arrives after the entry that completes the change.
    let last_index = std::cell::Cell::new(u64::MAX);
    harness.drop_rule = Box::new(move |_, _, message| match message {
        Message::Append { entries, commit, .. } => {
            if let Some(entry) = entries.iter().find(|entry| matches!(entry.body, EntryBody::Leave)) {
                last_index.set(entry.index);
            }
            entries.last().is_some_and(|entry| entry.index > last_index.get()) || *commit >= last_index.get()
        }
        // The successor is a candidate of a new term, of which the former leader does not learn.
        Message::Vote { is_pre_vote, .. } => !is_pre_vote,
        _ => false,
    });
    harness.give_change(1, &[2], &[]);
    for nonce in 1_000.. {
        let Some((from, to, message)) = harness.messages.pop_front() else { break };
        harness.receive(from, to, message);
        harness.propose(1, open(nonce));
    }
    assert!(harness.leaders().is_empty() && harness.durable_index(1) > harness.durable_index(2));
    harness.drop_rule = lose_nothing();
    harness.ticks(100);
    assert_eq!(harness.leaders(), [2]);
}
