//! The rules of language that a machine can verify: line length of prose, comments that say
//! something, retired words. CONTRIBUTING.md has the rules; docs/glossary.md has the terms to use
//! instead.

use super::{File, Findings, documentation, files};

const MAX_PROSE_COLUMNS: usize = 100;

/// Words that hide the actor or belong to an abandoned vocabulary. They are matched against each
/// word of comments, strings and identifiers, so `PuppetShow` and `puppet_show` both match
/// `puppet`.
const RETIRED_WORDS: &str = "anybody clerk clerks destiny dice easel errand errands everybody fame \
    farewell gust gusts memoir nobody obituaries obituary puppet puppets scribe somebody troupe weather whoever whomever";

/// Phrases that hide the actor.
const RETIRED_PHRASES: &[&str] = &[
    "are taken for",
    "are told",
    "for ever",
    "is taken for",
    "is told",
    "the one who",
    "those who",
    "was told",
    "were told",
];

/// This file, which lists the retired words.
const THIS_FILE: &str = "crates/cli/tests/tidy/language.rs";

#[test]
fn prose_is_wrapped() {
    let mut findings = Findings::default();
    for file in files_with_prose() {
        for (number, line) in prose(&file) {
            let columns = line.chars().count();
            if columns > MAX_PROSE_COLUMNS && can_be_broken(line) {
                findings.add(&file.path, number, format_args!("has {columns} columns"));
            }
        }
    }
    findings.assert_empty(
        &format!("prose in comments and Markdown has at most {MAX_PROSE_COLUMNS} columns"),
        "Break the line at a space. Tables, code blocks and single long words are exempt.",
    );
}

#[test]
fn no_documentation_comment_is_too_short() {
    let mut findings = Findings::default();
    for file in files().iter().filter(|file| documentation::is_published(&file.path)) {
        for (number, _, comment) in documentation::public_items(file) {
            let words = comment.split_whitespace().count();
            if (1..=2).contains(&words) && !comment.starts_with("#[doc") {
                findings.add(&file.path, number, format_args!("`/// {comment}`"));
            }
        }
    }
    findings.assert_empty(
        "the documentation comment of a public item has at least three words",
        "Say what a caller must know: what the item does, what it returns, when it fails.",
    );
}

#[test]
fn no_retired_word_returns() {
    let mut findings = Findings::default();
    for file in files_with_prose() {
        for (number, line) in file.lines().filter(|(_, line)| !is_written_form(line)) {
            for word in retired(line) {
                findings.add(&file.path, number, format_args!("has \"{word}\""));
            }
        }
    }
    findings.assert_empty(
        "no file uses a retired word",
        "Name the actor (the coordinator, a waiter, no client) or use the field's term; docs/glossary.md lists them.",
    );
}

fn files_with_prose() -> impl Iterator<Item = File> {
    let has_prose = |path: &str| path.ends_with(".rs") || path.ends_with(".md") || ["check", "fix"].contains(&path);
    files().into_iter().filter(move |file| has_prose(&file.path) && file.path != THIS_FILE)
}

/// Whether a line fixes a name in journals or JSON, which must not change.
fn is_written_form(line: &str) -> bool {
    line.contains("serde(rename") || line.contains("serde(alias")
}

/// The lines of prose: whole-line comments of a Rust file or text of a Markdown file, without code
/// blocks, tables, headings and pictures.
fn prose(file: &File) -> Vec<(usize, &str)> {
    let is_markdown = file.path.ends_with(".md");
    let mut in_code = false;
    let is_prose = |&(_, line): &(usize, &str)| {
        let comment = line.trim_start().strip_prefix("//").map(|comment| comment.trim_start_matches(['/', '!']));
        let text = match (is_markdown, comment) {
            (true, _) => line,
            (false, Some(comment)) => comment,
            (false, None) => {
                in_code = false;
                return false;
            }
        };
        let text = text.trim_start();
        let is_fence = text.starts_with("```");
        in_code ^= is_fence;
        !in_code && !is_fence && !text.starts_with(['|', '#']) && !text.starts_with("![")
    };
    file.lines().filter(is_prose).collect()
}

/// Whether a line has a space, outside of a code span, at which it can be broken.
fn can_be_broken(line: &str) -> bool {
    let text = line.trim_start_matches([' ', '/', '!', '-', '*']);
    let mut in_code_span = false;
    text.chars().any(|c| {
        in_code_span ^= c == '`';
        c == ' ' && !in_code_span
    })
}

fn retired(line: &str) -> Vec<&'static str> {
    let words = words(line);
    let text = format!(" {} ", words.join(" "));
    let by_word = RETIRED_WORDS.split(' ').filter(|retired| words.iter().any(|word| word == retired));
    let by_phrase = RETIRED_PHRASES.iter().copied().filter(|phrase| text.contains(&format!(" {phrase} ")));
    by_word.chain(by_phrase).collect()
}

/// The words of a line in lower case; identifiers are split at underscores and capital letters.
fn words(line: &str) -> Vec<String> {
    let mut text = String::new();
    let mut was_lower = false;
    for c in line.chars() {
        if was_lower && c.is_uppercase() {
            text.push(' ');
        }
        text.extend(if c.is_alphabetic() { c } else { ' ' }.to_lowercase());
        was_lower = c.is_lowercase();
    }
    text.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn prose_is_distinguished_from_code_and_tables() {
    let text = "//! Prose.\n//! ```text\n//! code\n//! ```\n//! | table |\nlet code = 1; // beside\n    /// Item.\n";
    let file = File { path: "x.rs".into(), text: text.into() };
    assert_eq!(prose(&file), [(1, "//! Prose."), (7, "    /// Item.")]);
    let text = "# Title\nProse.\n```sh\ncode\n```\n| table |\n![picture](x)\n- item\n";
    let file = File { path: "x.md".into(), text: text.into() };
    assert_eq!(prose(&file), [(2, "Prose."), (8, "- item")]);
    assert!(can_be_broken("/// two words") && !can_be_broken("- [link](target)") && !can_be_broken("/// `a span`"));
}

#[test]
fn retired_words_are_found_in_names_and_sentences() {
    let word = RETIRED_WORDS.split(' ').next().expect("a word");
    let phrase = RETIRED_PHRASES[0];
    let capitalized: String = word.chars().take(1).flat_map(char::to_uppercase).chain(word.chars().skip(1)).collect();
    for line in [format!("/// If {word} waits"), format!("struct {capitalized}Waits;"), format!("fn the_{word}()")] {
        assert_eq!(retired(&line), [word], "{line}");
    }
    assert_eq!(retired(&format!("Nodes {phrase} clients")), [phrase]);
    assert!(retired(&format!("un{word}ish")).is_empty());
}
