//! Notices of crashes and restarts: which node receives which, in which order, and which are void,
//! so that no node receives them.
//!
//! `setup(3, 2, 1)` is a group of three nodes with at most two crashes and one restart.

use crate::checker::elections::setup;
use quorate_check::{Checker, CrashNotices, Effort, Search, Setup};
use quorate_core::election::{Command, Event, Refusal};
use quorate_core::{Effects, Epoch, Fixed, Incarnation, Input, Never, NodeId, Protocol, Time};
use quorate_erased::Erased;
use quorate_journal::moment::{Moment, ObservedInput, Observer, WorldEvent};
use quorate_lab::election::check::ElectionClients;
use std::sync::Arc;

/// A node that records its own restarts and the notices it receives, and violates a property as
/// soon as they are exactly the wanted ones.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Recorder {
    wanted: Fixed<Vec<Notice>>,
    received: Vec<Notice>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Notice {
    Crashed(NodeId),
    Restarted(NodeId),
    /// The node itself has restarted.
    SelfRestarted,
}

impl Recorder {
    fn record(&mut self, notice: Notice, out: &mut Effects<'_, Self>) {
        self.received.push(notice);
        if self.received == *self.wanted {
            // The check judges only that epochs grow.
            out.emit(Event::Began { epoch: Epoch(2) });
            out.emit(Event::Began { epoch: Epoch(1) });
        }
    }
}

impl Protocol for Recorder {
    type Command = Command;
    type Message = Never;
    type Timer = Never;
    type Event = Event;
    type Durable = ();

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Start { incarnation, .. } if incarnation != Incarnation::FIRST => {
                self.record(Notice::SelfRestarted, out);
            }
            Input::Suspect(node) => self.record(Notice::Crashed(node), out),
            Input::Trust(node) => self.record(Notice::Restarted(node), out),
            Input::Command(_) => out.emit(Event::Refused(Refusal::NotEligible)),
            Input::Timer(never) => match never {},
            Input::Message { message, .. } => match message {},
            Input::Start { .. }
            | Input::Saved(_)
            | Input::DiskFull
            | Input::DiskFree
            | Input::EndOfTurn
            | Input::View(_)
            | Input::Lease(_) => {}
        }
    }
}

fn node(number: u32) -> NodeId {
    NodeId::new(number).unwrap()
}

/// Records the run in short texts.
#[derive(Default)]
struct RunLog(Vec<String>);

impl Observer<Command, Event> for RunLog {
    fn observe(&mut self, moment: &Moment<'_, Command, Event>) {
        match moment {
            Moment::Input { node, input: ObservedInput::Suspect(other), .. } => {
                self.0.push(format!("{node} suspects {other}"));
            }
            Moment::Input { node, input: ObservedInput::Trust(other), .. } => {
                self.0.push(format!("{node} trusts {other}"));
            }
            Moment::Input { node, input: ObservedInput::Start { incarnation, .. }, .. }
                if *incarnation != Incarnation::FIRST =>
            {
                self.0.push(format!("{node} restarts"));
            }
            Moment::World { event: WorldEvent::Crashed { node, .. }, .. } => self.0.push(format!("{node} crashes")),
            Moment::Input { .. } | Moment::Effect { .. } | Moment::World { .. } => {}
        }
    }
}

/// Returns a shortest run in which some node receives exactly these notices, if there is one.
fn shortest_run(setup: &Setup, wanted: &[Notice]) -> Option<Vec<String>> {
    let wanted = Fixed::new(wanted.to_vec());
    let make = Arc::new(move |_: NodeId| Erased::new(Recorder { wanted: wanted.clone(), received: Vec::new() }));
    let passive_clients = ElectionClients { rounds: Some(0), ..ElectionClients::new(setup.nodes) };
    let mut checker = Checker::new(make, passive_clients, setup.clone()).unwrap();
    let properties = Some(vec!["epochs-grow".to_owned()]);
    let effort = Effort {
        search: Search::Breadth,
        threads: 1,
        memory_limit: 1 << 30, // bytes
        reduce: false,
        stop_at_first: false,
        properties,
    };
    let findings = checker.run(&effort, &mut |_, _| true);
    assert!(findings.is_complete());
    let example = findings.verdicts[0].counterexample.as_ref()?;
    Some(checker.replay(example, RunLog::default()).unwrap().0)
}

#[test]
fn other_nodes_are_notified_of_a_crash_and_of_the_restart() {
    let log = shortest_run(&setup(2, 1, 1), &[Notice::Crashed(node(2)), Notice::Restarted(node(2))]).unwrap();
    assert_eq!(log, ["2 crashes", "1 suspects 2", "2 restarts", "1 trusts 2"]);
    // A crash notice is void once the next incarnation has begun; the notice of that restart is
    // not.
    let log = shortest_run(&setup(2, 1, 1), &[Notice::Restarted(node(2))]).unwrap();
    assert_eq!(log, ["2 crashes", "2 restarts", "1 trusts 2"]);
    assert_eq!(shortest_run(&setup(2, 1, 1), &[Notice::Restarted(node(2)), Notice::Crashed(node(2))]), None);
}

#[test]
fn a_notice_about_an_ended_incarnation_is_void() {
    let (crashed, restarted) = (Notice::Crashed(node(2)), Notice::Restarted(node(2)));
    let log = shortest_run(&setup(2, 2, 1), &[crashed, crashed]).unwrap();
    assert_eq!(log, ["2 crashes", "1 suspects 2", "2 restarts", "2 crashes", "1 suspects 2"]);
    assert!(shortest_run(&setup(2, 2, 1), &[crashed, restarted, crashed]).is_some());
    assert_eq!(
        shortest_run(&setup(2, 2, 1), &[crashed, crashed, restarted]),
        None,
        "a restart notice cannot follow the notice of the second crash"
    );
    assert_eq!(shortest_run(&setup(2, 2, 1), &[restarted, restarted]), None);
}

#[test]
fn a_restarted_node_is_notified_of_crashed_nodes() {
    let log = shortest_run(&setup(2, 2, 1), &[Notice::SelfRestarted, Notice::Crashed(node(2))]).unwrap();
    // Either node may crash first; the notice does not arrive before node 1 has restarted.
    assert!(log[..2] == ["2 crashes", "1 crashes"] || log[..2] == ["1 crashes", "2 crashes"], "{log:?}");
    assert_eq!(log[2..], ["1 restarts", "1 suspects 2"]);
    assert_eq!(
        shortest_run(&setup(2, 2, 1), &[Notice::SelfRestarted, Notice::Crashed(node(2)), Notice::Crashed(node(2))]),
        None
    );
    let group_of_three = setup(3, 2, 0);
    let log = shortest_run(&group_of_three, &[Notice::Crashed(node(3)), Notice::Crashed(node(2))]).unwrap();
    assert_eq!(log.len(), 4);
    assert_eq!(
        shortest_run(&group_of_three, &[Notice::Crashed(node(3)), Notice::Crashed(node(3))]),
        None,
        "a node receives only one notice of a crash"
    );
}

#[test]
fn nodes_receive_no_notices_unless_the_setup_asks_for_them() {
    for crash_notices in [CrashNotices::Off, CrashNotices::ToClients] {
        let setup = Setup { crash_notices, ..setup(2, 1, 1) };
        assert_eq!(shortest_run(&setup, &[Notice::Crashed(node(2))]), None);
        assert_eq!(shortest_run(&setup, &[Notice::Restarted(node(2))]), None);
    }
}
