//! Runs commands and keeps their results.
//!
//! Exit codes: 0 if all properties hold, 1 if one fails, 2 after an error, 3 if the result is
//! undecided.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

/// The result of a command.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// The exit code; `None` if a signal ended the program.
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs a command line, with or without `quorate` in front.
pub(crate) fn run(line: &str) -> Run {
    run_in(Path::new("."), line)
}

/// Returns the algorithms of all families, without demonstrations such as `local`.
pub(crate) fn algorithms() -> Vec<String> {
    let listed = run("list --json").json(0);
    let of_families = listed.as_array().unwrap().iter().filter(|entry| entry["family"].is_string());
    of_families.map(|entry| entry["name"].as_str().unwrap().to_owned()).collect()
}

/// Runs a command line in a folder.
pub(crate) fn run_in(folder: &Path, line: &str) -> Run {
    let words = split_words(line);
    let arguments = words.strip_prefix(&["quorate".to_owned()]).unwrap_or(&words);
    run_words(folder, arguments)
}

pub(crate) fn run_words(folder: &Path, words: &[impl AsRef<std::ffi::OsStr>]) -> Run {
    let output = quorate(folder).args(words).output().unwrap();
    Run {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Returns the command of the program, without arguments.
pub(crate) fn quorate(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quorate"));
    command.current_dir(folder).stdin(Stdio::null()).env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
    command
}

impl Run {
    /// Returns the output. Fails unless the exit code is `code` and standard error is empty.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> String {
        assert_eq!((self.code, self.err.as_str()), (Some(code), ""), "output:\n{}", self.out);
        self.out
    }

    /// Returns the error. Fails unless the exit code is 2 and standard output is empty.
    #[track_caller]
    pub(crate) fn error(self) -> String {
        assert_eq!(self.out, "", "error:\n{}", self.err);
        self.error_after_output()
    }

    /// Returns the error. Fails unless the exit code is 2, but allows output before the error.
    #[track_caller]
    pub(crate) fn error_after_output(self) -> String {
        assert_eq!(self.code, Some(2), "error:\n{}", self.err);
        assert!(self.err.starts_with("error: ") && !self.err.contains("panicked"), "{}", self.err);
        self.err
    }

    /// Parses the output as JSON. Fails unless the exit code is `code` and standard error is empty.
    #[track_caller]
    pub(crate) fn json(self, code: i32) -> Value {
        serde_json::from_str(&self.exits(code)).unwrap()
    }
}

/// How to shorten commands of documents and help: the start of a command, an option, and a small
/// value of the option. If several entries set an option of a command, the last one counts.
const SHORTENED_OPTIONS: [(&str, &str, &str); 10] = [
    ("quorate sweep", "--seeds", "10"),
    ("quorate sweep --family", "--seeds", "4"),
    ("quorate shrink", "--tries", "40"),
    ("quorate compare mutex", "--nodes", "3"),
    ("quorate compare election", "--nodes", "4"),
    ("quorate compare multicast", "--nodes", "2,4"),
    ("quorate check peterson", "--nodes", "2"),
    ("quorate check ricart-agrawala --nodes 3", "--rounds", "1"),
    ("quorate run chang-roberts", "--kill", "7@200ms"),
    ("quorate sim detector", "--for", "1m"),
];

/// Returns the same command with less work. Long tests run the original commands.
pub(crate) fn shorten(line: &str) -> String {
    let options = SHORTENED_OPTIONS.iter().filter(|(command, ..)| line.starts_with(command));
    options.fold(line.to_owned(), |line, (_, option, value)| with_option(&line, option, value))
}

/// Returns the line with this value of the option, added or in place of the present one.
fn with_option(line: &str, option: &str, value: &str) -> String {
    let words: Vec<_> = line.split(' ').collect();
    let rest = match words.iter().position(|word| *word == option) {
        Some(index) => [&words[..index], &words[index + 2..]].concat().join(" "),
        None => line.to_owned(),
    };
    format!("{rest} {option} {value}")
}

/// Splits a line as a shell does, with quotes of both kinds, and backslashes outside of them.
pub(crate) fn split_words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' | '\'' => {
                word.get_or_insert_default().extend(characters.by_ref().take_while(|inner| *inner != character));
            }
            '\\' => word.get_or_insert_default().extend(characters.next()),
            character if character.is_whitespace() => words.extend(word.take()),
            character => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    words
}

#[test]
fn words_are_split_as_a_shell_splits_them() {
    let line = r#"  sim a --fault "crash 1 | 2"  --script 'it'\''s here' '' x"y"z "#;
    assert_eq!(split_words(line), ["sim", "a", "--fault", "crash 1 | 2", "--script", "it's here", "", "xyz"]);
}

#[test]
fn a_shortened_command_has_its_option_once() {
    assert_eq!(
        shorten("quorate sweep central --seeds 10000 --loss 0.1"),
        "quorate sweep central --loss 0.1 --seeds 10"
    );
    assert_eq!(shorten("quorate compare mutex"), "quorate compare mutex --nodes 3");
    assert_eq!(shorten("quorate sim central --nodes 4"), "quorate sim central --nodes 4");
}
