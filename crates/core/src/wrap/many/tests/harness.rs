//! A protocol that executes simple commands and emits an event for most inputs, and a test harness
//! around one node with many instances of it.

use crate::wrap::prelude::*;
use crate::wrap::{Limits, Many, ManyDurable, ManyEvent, Named, OneOfMany};
use expect_test::Expect;
use std::format;
use std::string::{String, ToString};

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct TestProtocol {
    /// A busy instance must not be forgotten.
    is_busy: bool,
    /// The instance's floor, which every command and message that it handles increases by 1.
    steps: u64,
}

/// An instruction to an instance, in a command or a message.
#[derive(Clone, Copy, Debug)]
pub(super) enum Task {
    /// Become busy.
    Work,
    /// Become idle.
    Rest,
    Save(u8),
    SetTimer,
    CancelTimer,
    Send,
}

/// The timer that the tasks set and cancel.
pub(super) const TIMER: u8 = 7;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SavedWrites(pub(super) Vec<u8>);

impl Durable for SavedWrites {
    type Write = u8;
    fn apply(&mut self, write: u8) {
        self.0.push(write);
    }

    /// Marks a lost disk by the write 255, which no test saves.
    fn wiped() -> Self {
        Self([u8::MAX].into())
    }
}

impl Protocol for TestProtocol {
    type Command = Task;
    type Message = Task;
    type Timer = u8;
    type Event = String;
    type Durable = SavedWrites;

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Start { durable, incarnation } => {
                out.emit(format!("starts incarnation {incarnation} with {:?}", durable.0));
            }
            Input::Command(task) | Input::Message { message: task, .. } => self.execute(task, out),
            Input::Timer(timer) => out.emit(format!("timer {timer} fires")),
            Input::Saved(count) => out.emit(format!("has saved {count}")),
            Input::Suspect(node) => out.emit(format!("suspects {node}")),
            // Makes the instance idle, so that a test can make all instances idle together.
            Input::Trust(node) => {
                self.is_busy = false;
                out.emit(format!("trusts {node}"));
            }
            Input::DiskFull => out.emit_ahead("disk is full".into()),
            Input::DiskFree => out.emit_ahead("disk has room".into()),
            Input::View(view) => out.emit_ahead(format!("has view {} of {}", view.epoch(), view.members())),
            Input::Lease(until) => out.emit_ahead(format!("has a lease until {until}")),
            Input::EndOfTurn => out.emit_ahead("ends its turn".into()),
        }
    }

    fn uses_end_of_turn(&self) -> bool {
        true
    }
}

impl TestProtocol {
    fn execute(&mut self, task: Task, out: &mut Effects<'_, Self>) {
        self.steps += 1;
        out.note("step", format_args!("{} so far", self.steps));
        match task {
            Task::Work => self.is_busy = true,
            Task::Rest => self.is_busy = false,
            Task::Save(write) => out.save(write),
            Task::SetTimer => out.set_timer(TIMER, Span::exactly(Duration::from_millis(1))),
            Task::CancelTimer => out.cancel_timer(TIMER),
            Task::Send => {
                out.send_ahead(NodeId::from_index(1), Task::Rest);
                out.multicast(&Group::of_size(3), Task::Rest);
            }
        }
    }
}

impl OneOfMany for TestProtocol {
    type Floor = u64;

    fn holds_only_floor(&self) -> bool {
        !self.is_busy
    }

    fn floor(&self) -> u64 {
        self.steps
    }

    fn raise_floor(&mut self, floor: &u64) {
        self.steps = self.steps.max(*floor);
    }
}

type ManyTestProtocols = Many<&'static str, TestProtocol>;

pub(super) struct Harness {
    pub(super) node: ManyTestProtocols,
    /// The recorded effects and notes, as text.
    pub(super) lines: Vec<String>,
}

impl Harness {
    pub(super) fn new(limits: Limits) -> Self {
        Self { node: Many::new(TestProtocol::default(), limits), lines: Vec::new() }
    }

    /// Starts an incarnation that finds these writes on its disk, by name.
    pub(super) fn start(&mut self, incarnation: u64, saved_writes: &[(&'static str, &[u8])]) {
        let mut durable = ManyDurable::default();
        for (name, writes) in saved_writes {
            writes.iter().for_each(|write| durable.apply(Named { name: *name, inner: *write }));
        }
        self.step(Input::Start { durable, incarnation: Incarnation(incarnation) });
    }

    pub(super) fn command(&mut self, name: &'static str, task: Task) {
        self.step(Input::Command(Named { name, inner: task }));
    }

    /// Delivers a message from the node with the number `from`, counted from 1.
    pub(super) fn deliver(&mut self, from: usize, name: &'static str, task: Task) {
        let message = Named { name, inner: task };
        self.step(Input::Message { from: NodeId::from_index(from - 1), message });
    }

    pub(super) fn fire_timer(&mut self, name: &'static str, timer: u8) {
        self.step(Input::Timer(Named { name, inner: timer }));
    }

    pub(super) fn enter_view(&mut self, epoch: u64, size: usize) {
        self.step(Input::View(View::new(Epoch(epoch), View::founding(Group::of_size(size)).stays())));
    }

    pub(super) fn step(&mut self, input: Input<ManyTestProtocols>) {
        let mut recorder = LineRecorder { lines: &mut self.lines };
        self.node.step(Time::ZERO, input, &mut Effects::new(&mut recorder));
    }

    pub(super) fn expect_lines(&mut self, expected: Expect) {
        expected.assert_eq(&self.take_lines());
    }

    /// Returns all lines recorded since the last call, one effect per line.
    pub(super) fn take_lines(&mut self) -> String {
        let mut lines = self.lines.join("\n");
        lines.push('\n');
        self.lines.clear();
        lines
    }
}

struct LineRecorder<'a> {
    lines: &'a mut Vec<String>,
}

impl Sink<ManyTestProtocols> for LineRecorder<'_> {
    fn effect(&mut self, effect: Effect<ManyTestProtocols>) {
        self.lines.push(match effect {
            Effect::Send { to, message, order } => format!("sends {message:?} to {to} {order:?}"),
            Effect::Multicast { to, message, order } => format!("sends {message:?} to all of {to} {order:?}"),
            Effect::Save(Named { name, inner }) => format!("{name} saves {inner}"),
            Effect::SetTimer { timer: Named { name, inner }, span } => format!("{name} sets {inner} to {span}"),
            Effect::CancelTimer(Named { name, inner }) => format!("{name} cancels {inner}"),
            Effect::Emit { event: ManyEvent::Instance { name, event }, .. } => format!("{name} {event}"),
            Effect::Emit { event, .. } => event.to_string(),
        });
    }

    fn note(&mut self, note: Note<'_>) {
        match note {
            Note::Rule { rule, text } => self.lines.push(format!("{rule} {text}")),
            Note::Delivered { .. } | Note::Membership(_) | Note::HoldBack { .. } => {}
        }
    }
}
