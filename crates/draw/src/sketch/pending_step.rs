//! A step whose effects are still being recorded.

use super::views::{ADMIT_RULE, BEGIN_RULE, REMOVED_RULE};
use crate::scene::{Cause, Place, Step};
use quorate_core::{Incarnation, NodeId};
use quorate_journal::moment::{Done, Taken};
use quorate_journal::role::Role;
use quorate_journal::words::{self, Sort};
use std::fmt::Display;

/// A step that is not complete yet.
pub(super) struct PendingStep {
    pub(super) node: NodeId,
    pub(super) cause: Cause,
    line: u64,
    place: Place,
    input: String,
    rules: Vec<(String, String)>,
    events: Vec<String>,
    parts: Vec<(Sort, String)>,
    sends: bool,
    revoked: bool,
    input_kind: InputKind,
}

/// Inputs that the picture already shows elsewhere, and all others.
#[derive(Clone, Copy, PartialEq, Eq)]
enum InputKind {
    /// A lease; the lease line shows it.
    Lease,
    /// A view; the picture shows where it begins.
    View,
    /// Any other input.
    Other,
}

impl PendingStep {
    pub(super) fn new<C: Display>(line: u64, place: Place, node: NodeId, input: &Taken<'_, C>) -> Self {
        let cause = match input {
            Taken::Start { incarnation, blank } => Cause::Start { again: *blank || *incarnation != Incarnation::FIRST },
            Taken::Command(_) => Cause::Command,
            Taken::Message { .. } => Cause::Message(None),
            Taken::Timer(_) => Cause::Timer,
            Taken::Saved(_) | Taken::DiskFull | Taken::DiskFree => Cause::Disk,
            Taken::Suspect(_) | Taken::Trust(_) | Taken::View(_) | Taken::Lease(_) => Cause::Membership,
        };
        let input_kind = match input {
            Taken::Lease(_) => InputKind::Lease,
            Taken::View(_) => InputKind::View,
            Taken::Start { .. }
            | Taken::Command(_)
            | Taken::Message { .. }
            | Taken::Timer(_)
            | Taken::Saved(_)
            | Taken::Suspect(_)
            | Taken::Trust(_)
            | Taken::DiskFull
            | Taken::DiskFree => InputKind::Other,
        };
        let (rules, events, parts) = Default::default();
        let input = words::input(input);
        Self { node, cause, line, place, input, rules, events, parts, sends: false, revoked: false, input_kind }
    }

    pub(super) fn add<E: Display>(&mut self, effect: &Done<'_, E>) {
        let Some((sort, text)) = words::effect(effect) else { return };
        // The picture shows when a lease ends, so its timer adds nothing.
        if let Done::SetTimer { timer, .. } | Done::CancelTimer(timer) = effect
            && self.input_kind != InputKind::Other
            && words::json(timer) == "lease"
        {
            return;
        }
        match effect {
            Done::Rule { rule, text } => {
                let (rule, text) = (words::clean(rule), text.to_string());
                self.rules.push((rule.into_owned(), words::clean(&text).into_owned()));
            }
            Done::Emit(_) => {
                self.revoked |= self.rules.last().is_some_and(|(rule, _)| rule == REMOVED_RULE);
                self.events.push(text.clone());
            }
            Done::Send { .. } | Done::Multicast { .. } => self.sends = true,
            Done::Save(_)
            | Done::SetTimer { .. }
            | Done::CancelTimer(_)
            | Done::Handed { .. }
            | Done::Told(_)
            | Done::HoldBack { .. } => {}
        }
        self.parts.push((sort, text));
    }

    /// Whether it has no effect visible outside the node: a tick, a disk confirmation, a first
    /// start.
    pub(super) fn is_quiet(&self) -> bool {
        let is_local = matches!(self.cause, Cause::Timer | Cause::Disk | Cause::Start { again: false });
        is_local && !self.sends && self.parts.iter().all(|(sort, _)| *sort == Sort::Control)
    }

    /// Whether the lines of leases and views already show it: a lease renewal, or the first view of
    /// a group, which all members enter without exchanging messages.
    pub(super) fn is_implied(&self, founding: bool) -> bool {
        let is_implied_rule = |rule: &str| founding && [ADMIT_RULE, BEGIN_RULE].contains(&rule);
        let membership = self.input_kind != InputKind::Other;
        let queues = self.parts.iter().any(|(sort, _)| *sort == Sort::Queue);
        membership
            && !self.sends
            && !self.revoked
            && !queues
            && self.rules.iter().all(|(rule, _)| is_implied_rule(rule))
    }

    pub(super) fn finish(self, lane: usize, role: Role, logical: u64, vector: Option<Vec<u64>>) -> Step {
        let Self { cause, line, place, input, rules, events, parts, sends, revoked, .. } = self;
        Step { line, place, lane, cause, input, rules, events, revoked, parts, sends, role, logical, vector }
    }
}
