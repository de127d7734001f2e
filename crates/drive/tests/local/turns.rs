//! A node that saves once per turn instead of once per input.

use quorate_core::{Durable, Effects, Group, Incarnation, Input, Never, NodeId, Protocol, Time};
use quorate_drive::local::{NodeSetup, create_mailbox, start};
use quorate_drive::{Clock, Disk, Engine, EngineParts, LiveJournal, Outlet, StartState};
use quorate_journal::record::{FORMAT, Header, Journal};
use quorate_journal::replay::replay;
use quorate_store::{ClusterId, DiskWriter, Owner, RetryDelays, Settings, Store, StoreError, create_founder};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// Adds up the commands and reports of a turn, and saves and emits their sum at its end.
#[derive(Default)]
struct Adder {
    commands: Vec<u64>,
    /// Number of saves that became durable in this turn.
    new_saves: u64,
    known_saves: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Event {
    /// Emitted when the sum is durable.
    Sum { commands: usize, sum: u64 },
    /// Emitted at the end of a turn in which saves became durable.
    Durable(u64),
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Total(u64);

impl Durable for Total {
    type Write = u64;
    fn apply(&mut self, sum: u64) {
        self.0 += sum;
    }
}

impl Protocol for Adder {
    type Command = u64;
    type Message = Never;
    type Timer = Never;
    type Event = Event;
    type Durable = Total;

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Command(summand) => self.commands.push(summand),
            Input::Saved(count) => {
                self.new_saves += count - self.known_saves;
                self.known_saves = count;
            }
            Input::EndOfTurn => {
                let commands = std::mem::take(&mut self.commands);
                if !commands.is_empty() {
                    let sum = commands.iter().sum();
                    out.save(sum);
                    out.emit(Event::Sum { commands: commands.len(), sum });
                }
                if self.new_saves > 0 {
                    out.emit_ahead(Event::Durable(std::mem::take(&mut self.new_saves)));
                }
            }
            Input::Message { message: never, .. } | Input::Timer(never) => match never {},
            Input::Start { .. }
            | Input::Suspect(_)
            | Input::Trust(_)
            | Input::DiskFull
            | Input::DiskFree
            | Input::View(_)
            | Input::Lease(_) => {}
        }
    }

    fn uses_end_of_turn(&self) -> bool {
        true
    }
}

const ME: NodeId = NodeId::from_index(0);

fn expected_events() -> Vec<Event> {
    vec![Event::Sum { commands: 3, sum: 60 }, Event::Durable(1)]
}

/// Runs a node on a thread, gives it three commands in one turn, and returns its first two events.
fn run_local(disk: impl FnOnce(&quorate_drive::local::Address<Adder>) -> Disk<Total>) -> Vec<Event> {
    let (address, mailbox) = create_mailbox::<Adder>();
    address.send_commands(vec![10, 20, 30]);
    let (sender, receiver) = channel();
    let (durable, incarnation) = (Total::default(), Incarnation::FIRST);
    let setup = NodeSetup { me: ME, durable, incarnation, disk: disk(&address), peers: BTreeMap::new() };
    // The test may have ended.
    let on_events = move |events: Vec<Event>| events.into_iter().for_each(|event| drop(sender.send(event)));
    let node = start(setup, (address, mailbox), Adder::default, on_events).unwrap();
    let events = [(); 2].map(|()| receiver.recv_timeout(Duration::from_secs(30)).unwrap());
    node.stop();
    events.into()
}

#[test]
fn a_node_without_a_disk_ends_its_turn_after_the_inputs_and_after_their_saves() {
    assert_eq!(run_local(|_| Disk::None), expected_events());
}

/// Reads a folder that was closed. Waits while it is still locked: a process that another test just
/// forked holds all locks of this process until it executes its program.
fn reopen(folder: &Path, owner: Owner) -> Total {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        match Store::<Total>::open(folder, owner, Settings::default()) {
            Err(StoreError::Locked { .. }) if Instant::now() < deadline => std::thread::yield_now(),
            opened => return opened.unwrap().1,
        }
    }
}

#[test]
fn a_node_with_a_disk_ends_its_turns() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().join("node");
    let owner = Owner { cluster: ClusterId(7), node: ME };
    create_founder::<Total>(&folder, owner).unwrap();
    let events = run_local(|address| {
        let (store, _, _) = Store::<Total>::open(&folder, owner, Settings::default()).unwrap();
        Disk::Writer(DiskWriter::start(store, 8, RetryDelays::default(), address.reporter()).unwrap())
    });
    assert_eq!(events, expected_events());
    assert_eq!(reopen(&folder, owner), Total(60));
}

/// Collects the events of a node that sends nothing.
impl Outlet<Adder> for Vec<Event> {
    fn send(&mut self, _to: NodeId, _number: u64, message: Never) {
        match message {}
    }

    fn multicast(&mut self, _to: &Group, _first_number: u64, message: Never) {
        match message {}
    }

    fn emit(&mut self, event: Event) {
        self.push(event);
    }
}

/// Which of the later saves are inline depends on the speed of the disk.
#[test]
fn inline_saves_and_saves_of_the_thread_follow_each_other_in_any_order() {
    const SAVES: usize = 40;
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().join("node");
    let owner = Owner { cluster: ClusterId(7), node: ME };
    create_founder::<Total>(&folder, owner).unwrap();
    let (store, _, _) = Store::<Total>::open(&folder, owner, Settings::default()).unwrap();
    let (sender, reports) = channel();
    // The test may have ended.
    let on_report = move |report| drop(sender.send(report));
    let disk = Disk::Writer(DiskWriter::start(store, 8, RetryDelays::default(), on_report).unwrap());
    let mut engine =
        Engine::new(Adder::default(), EngineParts { me: ME, clock: Clock::start(), seed: 1, disk, recorder: () });
    let mut events = Vec::new();
    engine.start(StartState::default(), &mut events);
    engine.settle(&mut events).unwrap();
    for number in 1..=SAVES {
        engine.handle_command(1, &mut events);
        engine.settle(&mut events).unwrap();
        assert_eq!(events.len(), 2 * (number - 1), "an event of a save that is not durable");
        if engine.has_inline_saves() {
            engine.save_inline(&mut events).unwrap();
        } else {
            assert!(number > 1, "the first save is inline");
            engine.handle_disk_report(reports.recv_timeout(Duration::from_secs(30)).unwrap(), &mut events);
        }
        engine.settle(&mut events).unwrap();
        assert_eq!(events.len(), 2 * number);
    }
    assert_eq!(engine.close_disk(), 0);
    assert_eq!(reopen(&folder, owner), Total(SAVES as u64));
}

/// A turn without inputs has no end, and the journal of the turns replays.
#[test]
fn the_journal_has_the_ends_of_turns_and_replays() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("adder.journal");
    let header = Header {
        journal: FORMAT,
        algorithm: "adder".into(),
        family: "toys".into(),
        nodes: 1,
        seed: 1,
        found_by: None,
        recorded: false,
        origin: 0,
        live: None,
        run: Default::default(),
    };
    let recorder = LiveJournal::new(File::create(&path).unwrap(), &header);
    let parts = EngineParts { me: ME, clock: Clock::start(), seed: 1, disk: Disk::<Total>::None, recorder };
    let mut engine = Engine::new(Adder::default(), parts);
    let mut events = Vec::new();
    engine.start(StartState::default(), &mut events);
    engine.settle(&mut events).unwrap();
    for summand in [10, 20, 30] {
        engine.handle_command(summand, &mut events);
    }
    engine.settle(&mut events).unwrap();
    engine.settle(&mut events).unwrap();
    engine.record_end().unwrap();
    assert_eq!(events, expected_events());
    let journal = fs::read_to_string(&path).unwrap();
    let inputs: Vec<_> = journal.lines().filter_map(|line| Some(line.split_once(r#""input":"#)?.1)).collect();
    let kinds: Vec<_> = inputs.iter().map(|input| input.split('"').nth(1).unwrap()).collect();
    let end = "end-of-turn";
    assert_eq!(kinds, ["start", end, "command", "command", "command", end, "saved", end]);
    let mut reader = Journal::open(journal.as_bytes()).unwrap();
    assert_eq!(replay(&mut reader, |_| Adder::default(), &mut ()).unwrap(), journal.lines().count() as u64);
}
