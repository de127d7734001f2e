//! A run as a log for [ShiViz](https://bestchai.bitbucket.io/shiviz), which draws it as an interactive space-time diagram.
//!
//! The log is a file that ShiViz takes as it is. Its first line is the regular expression by which the rest is read, and its
//! second one, which would be another that divides runs, is empty. Who pastes the log instead of choosing the file puts
//! the first line into the field for it. Every event is two lines: the host with its vector clock, and when and what.
//!
//! ```text
//! (?<host>\S*) (?<clock>{.*})\n(?<time>\S*) (?<event>.*)
//!
//! n1 {"n1":1}
//! 0.000 acquire · RA-1 asks everyone with (1, 1) · request → 2,3
//! n2 {"n1":1,"n2":1}
//! 1.203 request from 1 · RA-2 lets (1, 1) pass · reply → 1
//! ```
//!
//! ShiViz demands that each host counts its own events 1, 2, 3, and that nobody knows of an event that is not there. So
//! exactly what is written counts, whatever else the journal holds:
//!
//! - A step counts, unless nothing comes of it that anybody else could see: a tick, a confirmation of the disk.
//! - A crash, a pause, and what ends them, is an event of the node it hits, and counts like a step of it.
//! - What happens to the network is an event of a host of its own, `world`. A lost message is drawn as an arrow to it: the
//!   world heard it instead of its receiver.
//! - In a window, everyone counts from its beginning, and what came before is not known. What a node that is shown hears
//!   through one that is not, it knows nonetheless.
//!
//! It is written as the run goes by; what is kept is the step in hand and what messages under way know.

mod count;
mod pending;

use crate::Window;
use count::Count;
use pending::Pending;
use quorate_core::{NodeId, Time};
use quorate_journal::moment::{Happening, Moment, Observer};
use quorate_journal::record::Header;
use quorate_journal::words::{self, millis};
use std::fmt::{Display, Write as _};
use std::io::{self, Write};

/// The regular expression by which ShiViz reads the log.
pub const PARSER: &str = r"(?<host>\S*) (?<clock>{.*})\n(?<time>\S*) (?<event>.*)";

/// A log under way.
pub struct Shiviz<W: Write> {
    out: W,
    origin: Time,
    window: Window,
    stage: Stage,
    count: Count,
    pending: Option<Pending>,
    events: u64,
    line: String,
    failed: Option<io::Error>,
}

/// Where the run is, as seen from the window. What is between its first and its last line is in it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Before,
    Within,
    After,
}

impl<W: Write> Shiviz<W> {
    /// Begins a log of the run that this header tells of, or of a window of it.
    pub fn new(out: W, header: &Header, window: Window) -> Self {
        let mut log = Self {
            out,
            origin: Time::from_nanos(header.origin),
            window,
            stage: Stage::Before,
            count: Count::new(header.nodes),
            pending: None,
            events: 0,
            line: format!("{PARSER}\n\n"),
            failed: None,
        };
        log.pass_on();
        log
    }

    /// Completes the log, and says how many events it has. ShiViz refuses one that has none.
    pub fn finish(mut self) -> io::Result<u64> {
        self.close();
        match self.failed {
            Some(error) => Err(error),
            None => {
                self.out.flush()?;
                Ok(self.events)
            }
        }
    }

    /// The line in hand goes out.
    fn pass_on(&mut self) {
        if self.failed.is_none()
            && let Err(error) = self.out.write_all(self.line.as_bytes())
        {
            self.failed = Some(error);
        }
        self.line.clear();
    }

    fn advance(&mut self, time: Time) {
        self.close();
        if self.stage == Stage::Before && !self.window.is_before(time) {
            self.stage = Stage::Within;
            self.count.begin();
        }
        if self.stage == Stage::Within && self.window.is_after(time) {
            self.stage = Stage::After;
        }
    }

    fn close(&mut self) {
        if let Some(step) = self.pending.take().filter(|step| !step.is_quiet()) {
            self.count.step(&step);
            self.event(Some(step.node), step.time, &step.text);
        }
    }

    /// Whether what happens now to a node, or to the world, is written.
    fn shows(&self, node: Option<NodeId>) -> bool {
        self.stage == Stage::Within && node.is_none_or(|node| self.window.has(node))
    }

    fn event(&mut self, node: Option<NodeId>, time: Time, text: &str) {
        if !self.shows(node) {
            return;
        }
        let shown = Time::from_nanos(time.nanos().saturating_sub(self.origin.nanos()));
        match node {
            Some(node) => self.count.write(node, &self.window, &mut self.line),
            None => self.count.write_world(&self.window, &mut self.line),
        }
        // ShiViz cuts blanks off at the end of the log, and must find an event there nonetheless.
        let text = if text.trim().is_empty() { "(no words)" } else { text };
        let _ = writeln!(self.line, "\n{} {text}", millis(shown));
        self.events += 1;
        self.pass_on();
    }

    fn world(&mut self, time: Time, what: &Happening<'_>) {
        let text = words::world(what);
        match what {
            Happening::Crashed { node, .. }
            | Happening::Ended { node }
            | Happening::Paused { node }
            | Happening::Resumed { node } => {
                if self.count.has(*node) {
                    self.count.blow(*node);
                    self.event(Some(*node), time, &text);
                }
            }
            Happening::Lost { id, to, .. } => {
                let seen = self.window.has(id.sender) || self.window.has(*to);
                if self.stage == Stage::Within && seen {
                    self.count.world_hears(*id);
                    self.event(None, time, &text);
                } else {
                    self.count.forget(*id, *to);
                }
            }
            Happening::Duplicated { id } => {
                self.count.double(*id);
                if self.stage == Stage::Within && self.window.has(id.sender) {
                    self.count.world_acts();
                    self.event(None, time, &text);
                }
            }
            Happening::Changed { .. } => {
                if self.stage == Stage::Within {
                    self.count.world_acts();
                    self.event(None, time, &text);
                }
            }
        }
    }
}

impl<W: Write, C: Display, E: Display> Observer<C, E> for Shiviz<W> {
    fn observe(&mut self, moment: &Moment<'_, C, E>) {
        if !matches!(moment, Moment::Effect { .. }) {
            self.advance(moment.time());
        }
        if self.stage == Stage::After {
            return;
        }
        match moment {
            Moment::Input { time, node, input, .. } => {
                let shown = self.shows(Some(*node));
                self.pending = self.count.has(*node).then(|| Pending::new(*time, *node, input, shown));
            }
            Moment::Effect { effect, .. } => {
                if let Some(step) = &mut self.pending {
                    step.add(effect);
                }
            }
            Moment::World { time, what } => self.world(*time, what),
        }
    }
}
