//! A run as a log for [ShiViz](https://bestchai.bitbucket.io/shiviz), which draws it as an
//! interactive space-time diagram.
//!
//! ShiViz can open the log as a file. The first line is the regular expression with which ShiViz
//! parses the rest. The second line, an optional expression that separates runs, is empty. To paste
//! a log instead of opening the file, put its first line into the field for the expression. Every
//! event takes two lines: the host with its vector clock, then the time and the event.
//!
//! ```text
//! (?<host>\S*) (?<clock>{.*})\n(?<time>\S*) (?<event>.*)
//!
//! n1 {"n1":1}
//! 0.000 acquire · RA-1 requests entry with (1, 1) · request → 2,3
//! n2 {"n1":1,"n2":1}
//! 1.203 request from 1 · RA-2 replies to (1, 1) · reply → 1
//! ```
//!
//! ShiViz requires that each host numbers its own events 1, 2, 3, and that no clock refers to an
//! event that is missing. Therefore clocks count exactly the events in the log:
//!
//! - A step counts, unless its input is a timer, a report of the disk or a first start and it has
//!   no visible effect: no send, event or rule note, no delivery by a wrapper, and no change of the
//!   hold-back queue.
//! - A crash, a pause, a stop and a resume are events of the node and count like its steps.
//! - Any other event, such as a loss or a partition, belongs to a host of its own, `world`. A lost
//!   message is drawn as an arrow to `world`, as if `world` had received it.
//! - In the log of a [`Window`], every node counts from the window's start, and earlier events are
//!   unknown. If a shown node learns of an event through a hidden node, that event still counts.
//!
//! The log is written while the run is observed. Memory holds the current step, and the clocks of
//! nodes and of messages in flight.

mod clocks;
mod pending;

use crate::Window;
use clocks::VectorClocks;
use pending::UnwrittenStep;
use quorate_core::{NodeId, Time};
use quorate_journal::moment::{Moment, Observer, WorldEvent};
use quorate_journal::record::Header;
use quorate_journal::words::{self, format_millis};
use std::fmt::{Display, Write as _};
use std::io::{self, Write};

/// The regular expression with which ShiViz parses the log.
pub const PARSER: &str = r"(?<host>\S*) (?<clock>{.*})\n(?<time>\S*) (?<event>.*)";

/// A log that is being written.
pub struct ShivizWriter<W: Write> {
    out: W,
    origin: Time,
    window: Window,
    phase: WindowPhase,
    clocks: VectorClocks,
    pending_step: Option<UnwrittenStep>,
    event_count: u64,
    /// The text of the current event or of the log's head.
    unwritten_text: String,
    write_error: Option<io::Error>,
}

/// Position of the current moment relative to the window.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WindowPhase {
    Before,
    Within,
    After,
}

impl<W: Write> ShivizWriter<W> {
    /// Starts a log of the run with this header, or of a window of it.
    pub fn new(out: W, header: &Header, window: Window) -> Self {
        let mut log = Self {
            out,
            origin: Time::from_nanos(header.origin),
            window,
            phase: WindowPhase::Before,
            clocks: VectorClocks::new(header.nodes),
            pending_step: None,
            event_count: 0,
            unwritten_text: format!("{PARSER}\n\n"),
            write_error: None,
        };
        log.write_text();
        log
    }

    /// Completes the log and returns its number of events. ShiViz refuses a log without events.
    /// Fails with the first error of writing or flushing.
    pub fn finish(mut self) -> io::Result<u64> {
        self.close_step();
        match self.write_error {
            Some(error) => Err(error),
            None => {
                self.out.flush()?;
                Ok(self.event_count)
            }
        }
    }

    /// Writes the unwritten text and clears it. After a failure, nothing more is written.
    fn write_text(&mut self) {
        if self.write_error.is_none()
            && let Err(error) = self.out.write_all(self.unwritten_text.as_bytes())
        {
            self.write_error = Some(error);
        }
        self.unwritten_text.clear();
    }

    /// Completes the current step, and advances to the time of the next step or event.
    fn advance(&mut self, time: Time) {
        self.close_step();
        if self.phase == WindowPhase::Before && !self.window.starts_after(time) {
            self.phase = WindowPhase::Within;
            self.clocks.begin_window();
        }
        if self.phase == WindowPhase::Within && self.window.ends_before(time) {
            self.phase = WindowPhase::After;
        }
    }

    fn close_step(&mut self) {
        if let Some(step) = self.pending_step.take().filter(|step| !step.is_quiet()) {
            self.clocks.count_step(&step);
            self.write_event(Some(step.node), step.time, &step.text);
        }
    }

    /// Whether the log shows events of a node now, or of the world if `node` is `None`.
    fn shows(&self, node: Option<NodeId>) -> bool {
        self.phase == WindowPhase::Within && node.is_none_or(|node| self.window.shows_node(node))
    }

    fn write_event(&mut self, node: Option<NodeId>, time: Time, text: &str) {
        if !self.shows(node) {
            return;
        }
        let relative_time = Time::from_nanos(time.nanos().saturating_sub(self.origin.nanos()));
        match node {
            Some(node) => self.clocks.write(node, &self.window, &mut self.unwritten_text),
            None => self.clocks.write_world(&self.window, &mut self.unwritten_text),
        }
        // ShiViz trims the end of the log, and must still find an event there.
        let text = if text.trim().is_empty() { "(no text)" } else { text };
        let _ = writeln!(self.unwritten_text, "\n{} {text}", format_millis(relative_time));
        self.event_count += 1;
        self.write_text();
    }

    fn observe_world_event(&mut self, time: Time, event: &WorldEvent<'_>) {
        let text = words::describe_world_event(event);
        match event {
            WorldEvent::Crashed { node, .. }
            | WorldEvent::Ended { node }
            | WorldEvent::Paused { node }
            | WorldEvent::Resumed { node } => {
                if self.clocks.has_node(*node) {
                    self.clocks.count_local_event(*node);
                    self.write_event(Some(*node), time, &text);
                }
            }
            WorldEvent::Lost { id, to, .. } => {
                let has_shown_end = self.window.shows_node(id.sender) || self.window.shows_node(*to);
                if self.phase == WindowPhase::Within && has_shown_end {
                    self.clocks.count_world_receipt(*id);
                    self.write_event(None, time, &text);
                } else {
                    self.clocks.drop_message(*id, *to);
                }
            }
            WorldEvent::Duplicated { id } => {
                self.clocks.duplicate_message(*id);
                if self.phase == WindowPhase::Within && self.window.shows_node(id.sender) {
                    self.clocks.count_world_event();
                    self.write_event(None, time, &text);
                }
            }
            WorldEvent::Changed { .. } => {
                if self.phase == WindowPhase::Within {
                    self.clocks.count_world_event();
                    self.write_event(None, time, &text);
                }
            }
        }
    }
}

impl<W: Write, C: Display, E: Display> Observer<C, E> for ShivizWriter<W> {
    fn observe(&mut self, moment: &Moment<'_, C, E>) {
        if !matches!(moment, Moment::Effect { .. }) {
            self.advance(moment.time());
        }
        if self.phase == WindowPhase::After {
            return;
        }
        match moment {
            Moment::Input { time, node, input, .. } => {
                let is_shown = self.shows(Some(*node));
                self.pending_step =
                    self.clocks.has_node(*node).then(|| UnwrittenStep::new(*time, *node, input, is_shown));
            }
            Moment::Effect { effect, .. } => {
                if let Some(step) = &mut self.pending_step {
                    step.add_effect(effect);
                }
            }
            Moment::World { time, event } => self.observe_world_event(*time, event),
        }
    }
}
