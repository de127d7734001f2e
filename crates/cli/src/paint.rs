//! Colours text, if the stream it is written to is a terminal that supports colours. That stream is
//! standard output, unless a function says otherwise.

use quorate_draw::{overview, terminal};
use quorate_journal::role::Role;
use quorate_journal::words::TextKind;
use quorate_lab::trace::TextPiece;
use std::io::IsTerminal;

const BOLD_RED: &str = "1;31";

/// Wraps the text in an ANSI escape sequence: `code` is a list of attributes, such as `1;31` for
/// bold red.
fn paint(is_enabled: bool, code: &str, text: &str) -> String {
    if is_enabled { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
}

/// Whether standard output is a terminal with colours.
pub(crate) fn is_enabled_on_stdout() -> bool {
    std::io::stdout().is_terminal() && are_colours_allowed()
}

fn is_enabled_on_stderr() -> bool {
    std::io::stderr().is_terminal() && are_colours_allowed()
}

/// Whether the environment allows colours. By convention, an empty NO_COLOR has no effect.
fn are_colours_allowed() -> bool {
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    !is_dumb && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Colours a piece of a trace by its kind.
pub(crate) fn trace_text(piece: TextPiece, text: &str) -> String {
    let code = match piece {
        TextPiece::Column(Role::Idle) => "2",
        TextPiece::Column(Role::Waiting) => "33",
        TextPiece::Column(Role::Follows) => "32",
        TextPiece::Column(Role::Chosen) => "1;32",
        TextPiece::Column(Role::Paused | Role::Down) => BOLD_RED,
        TextPiece::Part(TextKind::Input) => "1",
        TextPiece::Part(TextKind::Rule) => "36",
        TextPiece::Part(TextKind::Send) => "33",
        TextPiece::Part(TextKind::Control) => "2",
        TextPiece::Part(TextKind::Queue) => "34",
        TextPiece::Part(TextKind::Event) => "1;32",
        TextPiece::Part(TextKind::World) => "35",
    };
    paint(is_enabled_on_stdout(), code, text)
}

/// Colours a piece of a picture in text by its style.
pub(crate) fn picture_text(style: terminal::TextStyle, text: &str) -> String {
    let code = match style {
        terminal::TextStyle::Role(role) => return trace_text(TextPiece::Column(role), text),
        terminal::TextStyle::Part(kind) => return trace_text(TextPiece::Part(kind), text),
        terminal::TextStyle::Message => "33",
        terminal::TextStyle::Control | terminal::TextStyle::Faint => "2",
        terminal::TextStyle::Alarm => BOLD_RED,
        terminal::TextStyle::Heading => "1",
    };
    paint(is_enabled_on_stdout(), code, text)
}

/// Colours a piece of an overview in text by its ink.
pub(crate) fn overview_text(ink: overview::Ink, text: &str) -> String {
    let code = match ink {
        overview::Ink::Role(role) => return trace_text(TextPiece::Column(role), text),
        overview::Ink::Messages => "33",
        overview::Ink::Alarm => BOLD_RED,
        overview::Ink::Faint => "2",
    };
    paint(is_enabled_on_stdout(), code, text)
}

pub(crate) fn bold(text: &str) -> String {
    paint(is_enabled_on_stdout(), "1", text)
}

pub(crate) fn dim(text: &str) -> String {
    paint(is_enabled_on_stdout(), "2", text)
}

pub(crate) fn good(text: &str) -> String {
    paint(is_enabled_on_stdout(), "32", text)
}

/// Colours a failure, a warning or an undecided result.
pub(crate) fn bad(text: &str) -> String {
    paint(is_enabled_on_stdout(), BOLD_RED, text)
}

/// Like [`bad`], in text for standard error.
pub(crate) fn bad_on_stderr(text: &str) -> String {
    paint(is_enabled_on_stderr(), BOLD_RED, text)
}
