//! Colours, if the output is a terminal that supports them.

use quorate_draw::{overview, terminal};
use quorate_journal::role::Role;
use quorate_journal::words::TextKind;
use quorate_lab::trace::Ink;
use std::io::IsTerminal;

/// Wraps the text in an ANSI escape sequence: `code` is a list of attributes, such as `1;31` for
/// bold red.
fn paint(is_enabled: bool, code: &str, text: &str) -> String {
    if is_enabled { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
}

/// Whether standard output is a terminal with colours.
pub(crate) fn on_stdout() -> bool {
    std::io::stdout().is_terminal() && are_allowed()
}

fn on_stderr() -> bool {
    std::io::stderr().is_terminal() && are_allowed()
}

/// Whether the environment allows colours. By convention, an empty NO_COLOR has no effect.
fn are_allowed() -> bool {
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    !is_dumb && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

pub(crate) fn ink(ink: Ink, text: &str) -> String {
    let code = match ink {
        Ink::Column(Role::Idle) => "2",
        Ink::Column(Role::Waiting) => "33",
        Ink::Column(Role::Follows) => "32",
        Ink::Column(Role::Chosen) => "1;32",
        Ink::Column(Role::Paused | Role::Down) => "1;31",
        Ink::Part(TextKind::Input) => "1",
        Ink::Part(TextKind::Rule) => "36",
        Ink::Part(TextKind::Send) => "33",
        Ink::Part(TextKind::Control) => "2",
        Ink::Part(TextKind::Queue) => "34",
        Ink::Part(TextKind::Event) => "1;32",
        Ink::Part(TextKind::World) => "35",
    };
    paint(on_stdout(), code, text)
}

pub(crate) fn picture(style: terminal::TextStyle, text: &str) -> String {
    let code = match style {
        terminal::TextStyle::Role(role) => return ink(Ink::Column(role), text),
        terminal::TextStyle::Part(kind) => return ink(Ink::Part(kind), text),
        terminal::TextStyle::Message => "33",
        terminal::TextStyle::Control | terminal::TextStyle::Faint => "2",
        terminal::TextStyle::Alarm => "1;31",
        terminal::TextStyle::Heading => "1",
    };
    paint(on_stdout(), code, text)
}

pub(crate) fn overview(ink: overview::Ink, text: &str) -> String {
    let code = match ink {
        overview::Ink::Role(role) => return self::ink(Ink::Column(role), text),
        overview::Ink::Messages => "33",
        overview::Ink::Alarm => "1;31",
        overview::Ink::Faint => "2",
    };
    paint(on_stdout(), code, text)
}

pub(crate) fn bold(text: &str) -> String {
    paint(on_stdout(), "1", text)
}

pub(crate) fn dim(text: &str) -> String {
    paint(on_stdout(), "2", text)
}

pub(crate) fn good(text: &str) -> String {
    paint(on_stdout(), "32", text)
}

pub(crate) fn bad(text: &str) -> String {
    paint(on_stdout(), "1;31", text)
}

/// Paints text for standard error.
pub(crate) fn warn(text: &str) -> String {
    paint(on_stderr(), "1;31", text)
}
