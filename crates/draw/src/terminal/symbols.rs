//! The symbols of the picture.

use crate::scene::{Arrow, Cause, InactiveReason, MarkKind, Step};
use quorate_journal::role::Role;

/// Returns the symbol of the lane of a node in this role.
pub(super) fn lane(role: Role) -> char {
    match role {
        Role::Idle => '│',
        Role::Waiting => '┆',
        Role::Follows => '╎',
        Role::Chosen => '█',
        Role::Paused => '┊',
        Role::Down => ' ',
    }
}

/// Returns the symbol of the lane of a node that does not act in its group.
pub(super) fn inactive(reason: InactiveReason) -> char {
    match reason {
        InactiveReason::Frozen => '░',
        InactiveReason::Outside => '·',
    }
}

/// The lane of a node that believes it is chosen (in the critical section or leader) although its
/// lease has expired.
pub(super) const LEASE_EXPIRED: char = '▒';

/// Returns the symbol of a lane where an arrow starts, to the right or to the left.
pub(super) fn branch(role: Role, is_rightward: bool) -> char {
    match (role, is_rightward) {
        (Role::Chosen, true | false) => '█',
        (Role::Down, true) => '╶',
        (Role::Down, false) => '╴',
        (Role::Idle | Role::Waiting | Role::Follows | Role::Paused, true) => '├',
        (Role::Idle | Role::Waiting | Role::Follows | Role::Paused, false) => '┤',
    }
}

/// Returns the symbol where an arrow crosses a lane.
pub(super) fn crossing(role: Role, shaft: char) -> char {
    match role {
        Role::Chosen => '█',
        Role::Down => shaft,
        Role::Idle | Role::Waiting | Role::Follows | Role::Paused => '┼',
    }
}

pub(super) const SHAFT: char = '─';
/// Shaft of an arrow that starts before the window.
pub(super) const EARLIER_SHAFT: char = '╌';
/// A lost message or a crash; also precedes the text of a violation.
pub(super) const CROSS: char = '✗';
/// Line across all lanes where a lasting fault begins or ends.
pub(super) const EDGE: char = '╍';

/// Line across all lanes where the first member begins to act in a view.
pub(super) const VIEW: char = '═';

/// Line across all lanes where a property is violated.
pub(super) const VIOLATION: char = '━';

/// Returns the symbol of an arrowhead, which is hollow if the message does not arrive in the
/// picture.
pub(super) fn head(is_rightward: bool, is_hollow: bool) -> char {
    match (is_rightward, is_hollow) {
        (true, false) => '▶',
        (false, false) => '◀',
        (true, true) => '▷',
        (false, true) => '◁',
    }
}

pub(super) fn step(step: &Step) -> char {
    match (step.cause, step.role == Role::Chosen) {
        (Cause::Start { .. }, _) => START,
        (_, false) if step.has_sends => SENDS,
        (_, false) => SENDS_NOTHING,
        (_, true) if step.has_sends => CHOSEN_SENDS,
        (_, true) => CHOSEN_SENDS_NOTHING,
    }
}

/// A step that sends something.
pub(super) const SENDS: char = '●';
/// A step that sends nothing.
pub(super) const SENDS_NOTHING: char = '○';
/// A step that sends something, as a hole in the lane of a chosen node.
pub(super) const CHOSEN_SENDS: char = '◘';
/// A step that sends nothing, as a hole in the lane of a chosen node.
pub(super) const CHOSEN_SENDS_NOTHING: char = '◙';
pub(super) const START: char = '◆';

pub(super) fn mark(kind: MarkKind) -> char {
    match kind {
        MarkKind::Crashed => CROSS,
        MarkKind::Stopped => '■',
        MarkKind::Paused => '‖',
        MarkKind::Resumed => '▸',
        // A line across all lanes for a change that no band represents, such as a clock skew, or
        // for a remark of the checker.
        MarkKind::Changed => '┄',
    }
}

/// Suffix of the name of a duplicate made by the network.
pub(super) const DUPLICATE: char = '⇉';
/// Suffix of the name of a retransmitted message.
pub(super) const RETRANSMISSION: char = '↻';

/// Returns the name of a message with the suffixes that apply.
pub(super) fn label(arrow: &Arrow) -> String {
    let mut label = arrow.name().to_owned();
    if arrow.is_retransmission {
        label.push(RETRANSMISSION);
    }
    if arrow.is_duplicate {
        label.push(DUPLICATE);
    }
    label
}
