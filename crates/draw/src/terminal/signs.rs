//! The signs of the picture.

use crate::scene::{Arrow, Blow, Cause, Step, Stillness};
use quorate_journal::role::Role;

pub(super) fn line(role: Role) -> char {
    match role {
        Role::Idle => '│',
        Role::Waiting => '┆',
        Role::Follows => '╎',
        Role::Chosen => '█',
        Role::Paused => '┊',
        Role::Down => ' ',
    }
}

pub(super) fn still(still: Stillness) -> char {
    match still {
        Stillness::Frozen => '░',
        Stillness::Outside => '·',
    }
}

/// A node's line while it has what is over without its knowledge.
pub(super) const OVER: char = '▒';

/// A node's line where an arrow goes off to the right, or else to the left.
pub(super) fn branch(role: Role, right: bool) -> char {
    match (role, right) {
        (Role::Chosen, true | false) => '█',
        (Role::Down, true) => '╶',
        (Role::Down, false) => '╴',
        (Role::Idle | Role::Waiting | Role::Follows | Role::Paused, true) => '├',
        (Role::Idle | Role::Waiting | Role::Follows | Role::Paused, false) => '┤',
    }
}

pub(super) fn crossing(role: Role, shaft: char) -> char {
    match role {
        Role::Chosen => '█',
        Role::Down => shaft,
        Role::Idle | Role::Waiting | Role::Follows | Role::Paused => '┼',
    }
}

/// What an arrow is made of.
pub(super) const SHAFT: char = '─';
/// What an arrow is made of that began before what is shown.
pub(super) const OLD_SHAFT: char = '╌';
/// Where a message is lost.
pub(super) const LOST: char = '✗';
/// What a cut or the like is made of where it begins or ends.
pub(super) const EDGE: char = '╍';

/// What is drawn across all lanes where somebody acts in a view for the first time.
pub(super) const VIEW: char = '═';

/// What is drawn across all lanes where a property is seen not to hold.
pub(super) const BREACH: char = '━';

pub(super) fn head(right: bool, open: bool) -> char {
    match (right, open) {
        (true, false) => '▶',
        (false, false) => '◀',
        (true, true) => '▷',
        (false, true) => '◁',
    }
}

pub(super) fn step(step: &Step) -> char {
    match (step.cause, step.role == Role::Chosen) {
        (Cause::Start { .. }, _) => START,
        (_, false) if step.sends => SENDS,
        (_, false) => STEPS,
        (_, true) if step.sends => CHOSEN_SENDS,
        (_, true) => CHOSEN_STEPS,
    }
}

/// A step that sends something.
pub(super) const SENDS: char = '●';
/// A step that sends nothing.
pub(super) const STEPS: char = '○';
/// The same, as a hole in the bar of a node that is inside or leads.
pub(super) const CHOSEN_SENDS: char = '◘';
/// The same, as a hole in the bar of a node that is inside or leads.
pub(super) const CHOSEN_STEPS: char = '◙';
/// A start.
pub(super) const START: char = '◆';

pub(super) fn blow(blow: Blow) -> char {
    match blow {
        Blow::Crashed => '✗',
        Blow::Ended => '■',
        Blow::Paused => '‖',
        Blow::Resumed => '▸',
        Blow::Changed => '┄',
    }
}

/// What is added to the name of a copy that the network made.
pub(super) const COPY: char = '⇉';
/// What is added to the name of a message that is sent again.
pub(super) const AGAIN: char = '↻';

pub(super) fn label(arrow: &Arrow) -> String {
    let mut label = arrow.name().to_owned();
    if arrow.again {
        label.push(AGAIN);
    }
    if arrow.copy {
        label.push(COPY);
    }
    label
}
