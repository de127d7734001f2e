//! An algorithm's header as data: `quorate explain` prints the comment at the top of the
//! algorithm's file.
//!
//! A header is the file's `//!` comment: a title, the idea, a table of rules, then paragraphs
//! that begin with `Cost:`, `Assumes:`, `When it fails:` and, optionally, others such as `Try:`,
//! `In views:` or `Departs from the paper:`.

use alloc::string::String;
use alloc::vec::Vec;

/// The name and the explanation that every algorithm of any family has.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    /// The name on the command line.
    pub name: &'static str,
    /// The class of algorithms within the family, such as `token-based`.
    pub class: &'static str,
    pub summary: &'static str,
    /// The text of the algorithm's source file.
    pub source: &'static str,
    /// The seeded bug, if this is a faulty variant.
    pub flaw: Option<&'static str>,
    /// Whether the checker can explore the algorithm's states, which requires nodes that can be
    /// cloned, compared and hashed.
    pub is_checkable: bool,
}

impl Profile {
    /// Parses the header of the algorithm's source file.
    pub fn about(&self) -> About {
        About::from_source(self.source)
    }
}

/// The parsed header of an algorithm.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    pub title: String,
    pub idea: Vec<String>,
    pub rules: Vec<Rule>,
    /// The named paragraphs in order: (`Cost`, text).
    pub sections: Vec<(String, String)>,
}

/// One rule of an algorithm.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// The rule's id, such as `RA-2`. The code, the notes in traces and the tests' names use the
    /// same id.
    pub id: String,
    pub text: String,
}

impl About {
    /// Parses the header of an algorithm's source file.
    pub fn from_source(source: &str) -> Self {
        let mut about = Self::default();
        let mut paragraph = Vec::new();
        for line in source.lines() {
            let Some(text) = line.strip_prefix("//!") else { break };
            let text = text.strip_prefix(' ').unwrap_or(text);
            if text.trim().is_empty() {
                about.add_paragraph(&core::mem::take(&mut paragraph));
            } else {
                paragraph.push(text);
            }
        }
        about.add_paragraph(&paragraph);
        about
    }

    /// Returns the text of the paragraph with this name.
    pub fn section(&self, name: &str) -> Option<&str> {
        self.sections.iter().find(|(title, _)| title == name).map(|(_, text)| text.as_str())
    }

    fn add_paragraph(&mut self, paragraph: &[&str]) {
        let Some(first) = paragraph.first() else { return };
        if self.title.is_empty() {
            self.title = join_lines(paragraph);
        } else if parse_rule(first).is_some() {
            for line in paragraph.iter().filter(|line| !line.starts_with("```")) {
                match (parse_rule(line), self.rules.last_mut()) {
                    (Some(rule), _) => self.rules.push(rule),
                    (None, Some(rule)) => {
                        rule.text.push(' ');
                        rule.text.push_str(line.trim());
                    }
                    (None, None) => {}
                }
            }
        } else if let Some(fenced) = paragraph.strip_prefix(&["```text"]) {
            self.add_paragraph(fenced);
        } else if let Some((name, _)) = first.split_once(": ").filter(|(name, _)| is_section_name(name)) {
            let text = join_lines(paragraph);
            let text = text.get(name.len() + 2..).unwrap_or_default();
            self.sections.push((name.into(), text.into()));
        } else {
            self.idea.push(join_lines(paragraph));
        }
    }
}

fn join_lines(paragraph: &[&str]) -> String {
    let mut text = String::new();
    for line in paragraph {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(line.trim());
    }
    text
}

/// Section names begin with a capital letter and have one to four words, such as `Cost` or
/// `Departs from the paper`.
fn is_section_name(name: &str) -> bool {
    name.starts_with(char::is_uppercase) && name.split(' ').count() <= 4
}

/// Parses `RA-2  a request arrives → …`: capital letters, a dash, digits, two spaces, the rule.
fn parse_rule(line: &str) -> Option<Rule> {
    let (id, text) = line.split_once("  ")?;
    let (letters, digits) = id.split_once('-')?;
    let has_letters = !letters.is_empty() && letters.chars().all(|letter| letter.is_ascii_uppercase());
    let has_number = !digits.is_empty() && digits.chars().all(|digit| digit.is_ascii_digit());
    (has_letters && has_number).then(|| Rule { id: id.into(), text: text.trim().into() })
}

#[cfg(test)]
mod tests {
    use super::About;

    #[test]
    fn a_header_reads_as_title_idea_rules_and_sections() {
        let about = About::from_source(
            "//! Toy (1999).\n//!\n//! One\n//! idea.\n//!\n//! ```text\n//! TY-1  asked  → act\n\
             //!       at once\n//! TY-2  done   → rest\n//! ```\n//!\n\
             //! Cost: 2 messages: no\n//! more.\n\nuse nothing;\n//! not header\n",
        );
        assert_eq!(about.title, "Toy (1999).");
        assert_eq!(about.idea, ["One idea."]);
        let rules: alloc::vec::Vec<_> = about.rules.iter().map(|rule| (&*rule.id, &*rule.text)).collect();
        assert_eq!(rules, [("TY-1", "asked  → act at once"), ("TY-2", "done   → rest")]);
        assert_eq!(about.section("Cost"), Some("2 messages: no more."));
        assert_eq!(about.section("Assumes"), None);
    }

    #[test]
    fn a_file_without_a_header_gives_the_default() {
        assert_eq!(About::from_source("fn main() {}"), About::default());
    }
}
