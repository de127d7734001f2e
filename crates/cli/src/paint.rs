//! Colours text, if the stream it is written to is a terminal that supports colours. That stream is
//! standard output, unless a function says otherwise.

use quorate_draw::{overview, terminal};
use quorate_journal::role::Role;
use quorate_journal::words::TextKind;
use quorate_lab::trace::TextPiece;
use std::io::IsTerminal;

// Attributes of ANSI escape sequences.
const BOLD: &str = "1";
const DIM: &str = "2";
const GREEN: &str = "32";
const YELLOW: &str = "33";
const BLUE: &str = "34";
const MAGENTA: &str = "35";
const CYAN: &str = "36";
const BOLD_RED: &str = "1;31";
const BOLD_GREEN: &str = "1;32";

/// Wraps the text in an ANSI escape sequence, unless colours are disabled. `code` is one of the
/// constants above.
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
        TextPiece::Column(Role::Idle) => DIM,
        TextPiece::Column(Role::Waiting) => YELLOW,
        TextPiece::Column(Role::Follows) => GREEN,
        TextPiece::Column(Role::Chosen) => BOLD_GREEN,
        TextPiece::Column(Role::Paused | Role::Down) => BOLD_RED,
        TextPiece::Part(TextKind::Input) => BOLD,
        TextPiece::Part(TextKind::Rule) => CYAN,
        TextPiece::Part(TextKind::Send) => YELLOW,
        TextPiece::Part(TextKind::Control) => DIM,
        TextPiece::Part(TextKind::Queue) => BLUE,
        TextPiece::Part(TextKind::Event) => BOLD_GREEN,
        TextPiece::Part(TextKind::World) => MAGENTA,
    };
    paint(is_enabled_on_stdout(), code, text)
}

/// Colours a piece of a picture in text by its style.
pub(crate) fn picture_text(style: terminal::TextStyle, text: &str) -> String {
    let code = match style {
        terminal::TextStyle::Role(role) => return trace_text(TextPiece::Column(role), text),
        terminal::TextStyle::Part(kind) => return trace_text(TextPiece::Part(kind), text),
        terminal::TextStyle::Message => YELLOW,
        terminal::TextStyle::Control | terminal::TextStyle::Faint => DIM,
        terminal::TextStyle::Alarm => BOLD_RED,
        terminal::TextStyle::Heading => BOLD,
    };
    paint(is_enabled_on_stdout(), code, text)
}

/// Colours a piece of an overview in text by its ink.
pub(crate) fn overview_text(ink: overview::Ink, text: &str) -> String {
    let code = match ink {
        overview::Ink::Role(role) => return trace_text(TextPiece::Column(role), text),
        overview::Ink::Messages => YELLOW,
        overview::Ink::Alarm => BOLD_RED,
        overview::Ink::Faint => DIM,
    };
    paint(is_enabled_on_stdout(), code, text)
}

pub(crate) fn bold(text: &str) -> String {
    paint(is_enabled_on_stdout(), BOLD, text)
}

pub(crate) fn dim(text: &str) -> String {
    paint(is_enabled_on_stdout(), DIM, text)
}

pub(crate) fn good(text: &str) -> String {
    paint(is_enabled_on_stdout(), GREEN, text)
}

/// Colours a failure, a warning or an undecided result.
pub(crate) fn bad(text: &str) -> String {
    paint(is_enabled_on_stdout(), BOLD_RED, text)
}

/// Like [`bad`], in text for standard error.
pub(crate) fn bad_on_stderr(text: &str) -> String {
    paint(is_enabled_on_stderr(), BOLD_RED, text)
}
