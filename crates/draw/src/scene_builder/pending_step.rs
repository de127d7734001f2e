//! A step whose effects are still being recorded.

use super::views::{ADMIT_RULE, BEGIN_RULE, REMOVED_RULE};
use crate::scene::{Cause, Step, TimePosition};
use quorate_core::{Incarnation, NodeId};
use quorate_journal::moment::{ObservedEffect, ObservedInput};
use quorate_journal::role::Role;
use quorate_journal::words::{self, TextKind};
use std::fmt::Display;

pub(super) struct PendingStep {
    pub(super) node: NodeId,
    pub(super) cause: Cause,
    line: u64,
    position: TimePosition,
    input: String,
    rules: Vec<(String, String)>,
    events: Vec<String>,
    effects: Vec<(TextKind, String)>,
    has_sends: bool,
    reports_revocation: bool,
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
    pub(super) fn new<C: Display>(
        line: u64,
        position: TimePosition,
        node: NodeId,
        input: &ObservedInput<'_, C>,
    ) -> Self {
        let cause = match input {
            ObservedInput::Start { incarnation, is_disk_blank } => {
                // A node whose disk was erased has run before, whatever its incarnation is.
                Cause::Start { is_restart: *is_disk_blank || *incarnation != Incarnation::FIRST }
            }
            ObservedInput::Command(_) => Cause::Command,
            ObservedInput::Message { .. } => Cause::Message(None),
            ObservedInput::Timer(_) => Cause::Timer,
            ObservedInput::Saved(_) | ObservedInput::DiskFull | ObservedInput::DiskFree => Cause::Disk,
            ObservedInput::EndOfTurn => Cause::EndOfTurn,
            ObservedInput::Suspect(_) | ObservedInput::Trust(_) | ObservedInput::View(_) | ObservedInput::Lease(_) => {
                Cause::Membership
            }
        };
        let input_kind = match input {
            ObservedInput::Lease(_) => InputKind::Lease,
            ObservedInput::View(_) => InputKind::View,
            ObservedInput::Start { .. }
            | ObservedInput::Command(_)
            | ObservedInput::Message { .. }
            | ObservedInput::Timer(_)
            | ObservedInput::Saved(_)
            | ObservedInput::Suspect(_)
            | ObservedInput::Trust(_)
            | ObservedInput::DiskFull
            | ObservedInput::DiskFree
            | ObservedInput::EndOfTurn => InputKind::Other,
        };
        let (rules, events, effects) = Default::default();
        let input = words::describe_input(input);
        Self {
            node,
            cause,
            line,
            position,
            input,
            rules,
            events,
            effects,
            has_sends: false,
            reports_revocation: false,
            input_kind,
        }
    }

    pub(super) fn add_effect<E: Display>(&mut self, effect: &ObservedEffect<'_, E>) {
        let Some((kind, text)) = words::describe_effect(effect) else { return };
        // The picture shows when a lease ends, so its timer adds nothing.
        if let ObservedEffect::SetTimer { timer, .. } | ObservedEffect::CancelTimer(timer) = effect
            && self.input_kind != InputKind::Other
            && words::format_body(timer) == "lease"
        {
            return;
        }
        match effect {
            ObservedEffect::Rule { rule, text } => {
                let (rule, text) = (words::escape_controls(rule), text.to_string());
                self.rules.push((rule.into_owned(), words::escape_controls(&text).into_owned()));
            }
            ObservedEffect::Emit(_) => {
                // After this rule's note, the node emits only the loss of its entry or leadership.
                self.reports_revocation |= self.rules.last().is_some_and(|(rule, _)| rule == REMOVED_RULE);
                self.events.push(text.clone());
            }
            ObservedEffect::Send { .. } | ObservedEffect::Multicast { .. } => self.has_sends = true,
            ObservedEffect::Save(_)
            | ObservedEffect::SetTimer { .. }
            | ObservedEffect::CancelTimer(_)
            | ObservedEffect::Delivered { .. }
            | ObservedEffect::Membership(_)
            | ObservedEffect::HoldBack { .. } => {}
        }
        self.effects.push((kind, text));
    }

    /// Whether the step has no visible effect: no send, event or rule note, and no change of the
    /// hold-back queue. Only a step caused by a timer, the disk, the end of a turn or a first start
    /// can be quiet.
    pub(super) fn is_quiet(&self) -> bool {
        let is_local =
            matches!(self.cause, Cause::Timer | Cause::Disk | Cause::EndOfTurn | Cause::Start { is_restart: false });
        is_local && !self.has_sends && self.effects.iter().all(|(kind, _)| *kind == TextKind::Control)
    }

    /// Whether the picture already shows the step as a lease or a view: its input is one of them,
    /// it sends nothing, reports no revocation, does not change the hold-back queue, and applies no
    /// rules except those by which the members enter the first view of the group.
    pub(super) fn is_shown_elsewhere(&self, is_first_view: bool) -> bool {
        let is_shown_rule = |rule: &str| is_first_view && [ADMIT_RULE, BEGIN_RULE].contains(&rule);
        let is_lease_or_view = self.input_kind != InputKind::Other;
        let changes_queue = self.effects.iter().any(|(kind, _)| *kind == TextKind::Queue);
        is_lease_or_view
            && !self.has_sends
            && !self.reports_revocation
            && !changes_queue
            && self.rules.iter().all(|(rule, _)| is_shown_rule(rule))
    }

    pub(super) fn finish(self, lane: usize, role: Role, logical_clock: u64, vector_clock: Option<Vec<u64>>) -> Step {
        let Self { cause, line, position, input, rules, events, effects, has_sends, reports_revocation, .. } = self;
        Step {
            line,
            position,
            lane,
            cause,
            input,
            rules,
            events,
            reports_revocation,
            effects,
            has_sends,
            role,
            logical_clock,
            vector_clock,
        }
    }
}
