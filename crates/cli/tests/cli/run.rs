//! Types commands, and keeps what came of them.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

/// What a command did.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs a line as it is typed after the prompt, with `quorate` in front or without.
pub(crate) fn run(line: &str) -> Run {
    run_in(Path::new("."), line)
}

/// The algorithms that nodes run. `local` is listed among them, but is of no family: its threads are no nodes.
pub(crate) fn algorithms() -> Vec<String> {
    let listed = run("list --json").json(0);
    let families = listed.as_array().unwrap().iter().filter(|entry| entry["family"].is_string());
    families.map(|entry| entry["name"].as_str().unwrap().to_owned()).collect()
}

/// Runs a line in a folder of its own.
pub(crate) fn run_in(folder: &Path, line: &str) -> Run {
    let words = words(line);
    let skipped = usize::from(words.first().is_some_and(|word| word == "quorate"));
    run_words(folder, &words[skipped..])
}

pub(crate) fn run_words(folder: &Path, words: &[impl AsRef<std::ffi::OsStr>]) -> Run {
    let output = quorate(folder).args(words).output().unwrap();
    Run {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The program, before its arguments.
pub(crate) fn quorate(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quorate"));
    command.current_dir(folder).stdin(Stdio::null()).env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
    command
}

impl Run {
    /// What it printed, if it ended with this code and had nothing to complain about.
    #[track_caller]
    pub(crate) fn ok(self, code: i32) -> String {
        assert_eq!((self.code, self.err.as_str()), (Some(code), ""), "it printed:\n{}", self.out);
        self.out
    }

    /// What it complained about: one paragraph, exit code 2, nothing on standard output.
    #[track_caller]
    pub(crate) fn complaint(self) -> String {
        assert_eq!(self.out, "", "it complained:\n{}", self.err);
        self.refusal()
    }

    /// What it complained about, perhaps after it had shown what was still whole.
    #[track_caller]
    pub(crate) fn refusal(self) -> String {
        assert_eq!(self.code, Some(2), "it complained:\n{}", self.err);
        assert!(self.err.starts_with("error: ") && !self.err.contains("panicked"), "{}", self.err);
        self.err
    }

    #[track_caller]
    pub(crate) fn json(self, code: i32) -> Value {
        serde_json::from_str(&self.ok(code)).unwrap()
    }
}

/// What makes the commands of documents and help short: a part of the command, an option, and its value.
const BRIEF: [(&str, &str, &str); 10] = [
    ("quorate sweep", "--seeds", "10"),
    ("quorate sweep --family", "--seeds", "4"),
    ("quorate shrink", "--tries", "40"),
    ("quorate compare mutex", "--nodes", "3"),
    ("quorate compare election", "--nodes", "4"),
    ("quorate compare multicast", "--nodes", "2,4"),
    ("quorate check peterson", "--nodes", "2"),
    ("quorate check ricart-agrawala --nodes 3", "--rounds", "1"),
    ("quorate run chang-roberts", "--kill", "7@200ms"),
    ("quorate sim detector", "--length", "1m"),
];

/// The same command with less to do. What it does as it stands is seen to by tests that take long.
pub(crate) fn brief(line: &str) -> String {
    let options = BRIEF.iter().filter(|(command, ..)| line.starts_with(command));
    options.fold(line.to_owned(), |line, (_, option, value)| with(&line, option, value))
}

/// The line with this value of an option, and no other.
fn with(line: &str, option: &str, value: &str) -> String {
    let words: Vec<_> = line.split(' ').collect();
    let rest = match words.iter().position(|word| *word == option) {
        Some(place) => [&words[..place], &words[place + 2..]].concat().join(" "),
        None => line.to_owned(),
    };
    format!("{rest} {option} {value}")
}

/// Splits a line as a shell does, by the quotes of both kinds and the backslash outside of them.
pub(crate) fn words(line: &str) -> Vec<String> {
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
    assert_eq!(words(line), ["sim", "a", "--fault", "crash 1 | 2", "--script", "it's here", "", "xyz"]);
}

#[test]
fn a_brief_command_has_its_option_once() {
    assert_eq!(brief("quorate sweep central --seeds 10000 --loss 0.1"), "quorate sweep central --loss 0.1 --seeds 10");
    assert_eq!(brief("quorate compare mutex"), "quorate compare mutex --nodes 3");
    assert_eq!(brief("quorate sim central --nodes 4"), "quorate sim central --nodes 4");
}
