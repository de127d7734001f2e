//! A step in hand, which may still do something.

use crate::scene::{Cause, Place, Step};
use quorate_core::{Incarnation, NodeId};
use quorate_sim::moment::{Done, Taken};
use quorate_sim::role::Role;
use quorate_sim::words::{self, Sort};
use std::fmt::Display;

/// A step that is not complete yet.
pub(super) struct Draft {
    pub(super) node: NodeId,
    pub(super) cause: Cause,
    line: u64,
    place: Place,
    input: String,
    rules: Vec<(String, String)>,
    events: Vec<String>,
    parts: Vec<(Sort, String)>,
    sends: bool,
}

impl Draft {
    pub(super) fn new<C: Display>(line: u64, place: Place, node: NodeId, input: &Taken<'_, C>) -> Self {
        let cause = match input {
            Taken::Start { incarnation, blank } => Cause::Start { again: *blank || *incarnation != Incarnation::FIRST },
            Taken::Command(_) => Cause::Command,
            Taken::Message { .. } => Cause::Message(None),
            Taken::Timer(_) => Cause::Timer,
            Taken::Saved(_) | Taken::DiskFull | Taken::DiskFree => Cause::Disk,
            Taken::Suspect(_) | Taken::Trust(_) | Taken::View(_) | Taken::Lease(_) => Cause::Membership,
        };
        let (rules, events, parts) = Default::default();
        Self { node, cause, line, place, input: words::input(input), rules, events, parts, sends: false }
    }

    pub(super) fn add<E: Display>(&mut self, effect: &Done<'_, E>) {
        let Some((sort, text)) = words::effect(effect) else { return };
        match effect {
            Done::Rule { rule, text } => {
                let (rule, text) = (words::clean(rule), text.to_string());
                self.rules.push((rule.into_owned(), words::clean(&text).into_owned()));
            }
            Done::Emit(_) => self.events.push(text.clone()),
            Done::Send { .. } | Done::Multicast { .. } => self.sends = true,
            Done::Save(_) | Done::SetTimer { .. } | Done::CancelTimer(_) | Done::Handed { .. } | Done::Told(_) => {}
        }
        self.parts.push((sort, text));
    }

    /// Whether nothing comes of it that anybody else could see: a tick, a confirmation of the disk, a first boot.
    pub(super) fn is_quiet(&self) -> bool {
        let inner = matches!(self.cause, Cause::Timer | Cause::Disk | Cause::Start { again: false });
        inner && !self.sends && self.parts.iter().all(|(sort, _)| *sort == Sort::Control)
    }

    pub(super) fn finish(self, lane: usize, role: Role, logical: u64, vector: Option<Vec<u64>>) -> Step {
        let Self { cause, line, place, input, rules, events, parts, sends, .. } = self;
        Step { line, place, lane, cause, input, rules, events, parts, sends, role, logical, vector }
    }
}
