//! What people type at a running node, when it is not what the node understands.

use quorate_journal::settings::nearest;

/// How much of what was typed is repeated.
const QUOTED: usize = 40;

/// A sentence for whoever typed this: what it looks like, and what can be typed.
pub(crate) fn unheard(words: &[&str], known: &[&str], forms: &str) -> String {
    let said = match words {
        [] => "Nothing was asked.".to_owned(),
        [word, ..] if known.iter().any(|name| name.eq_ignore_ascii_case(word)) => {
            format!("'{}' makes no sense.", quoted(&words.join(" ")))
        }
        [word, ..] => match nearest(word, known.iter().copied()) {
            Some(name) => format!("'{}' means nothing here; did you mean '{name}'?", quoted(word)),
            None => format!("'{}' means nothing here.", quoted(word)),
        },
    };
    format!("{said} Type {forms}, or the command in JSON as a journal has it.")
}

/// Free of control characters, and not too long.
fn quoted(text: &str) -> String {
    let short: String = text.chars().take(QUOTED).collect();
    let more = if short.len() < text.len() { "…" } else { "" };
    format!("{}{more}", short.escape_debug())
}

#[cfg(test)]
mod tests {
    use crate::{Election, Mutex, ScriptFamily};
    use quorate_core::NodeId;
    use quorate_core::mutex::COMMANDS;

    const ME: NodeId = NodeId::from_index(1);

    #[test]
    fn every_command_of_a_mutual_exclusion_can_be_typed() {
        for command in COMMANDS {
            let json = serde_json::to_string(&command).unwrap();
            for line in [command.name(), &format!("  {} ", command.name().to_uppercase()), &json] {
                assert_eq!(Mutex::command(line, ME, 1), Ok(command), "{line}");
            }
        }
    }

    #[test]
    fn who_types_something_else_is_told_what_can_be_typed() {
        let told = |line: &str| Mutex::command(line, ME, 1).unwrap_err();
        let forms = "Type acquire, try, share, cancel or release, or the command in JSON as a journal has it.";
        assert_eq!(told("aquire"), format!("'aquire' means nothing here; did you mean 'acquire'? {forms}"));
        assert_eq!(told("banana split"), format!("'banana' means nothing here. {forms}"));
        assert_eq!(told("acquire 2"), format!("'acquire 2' makes no sense. {forms}"));
        assert_eq!(told(" \t "), format!("Nothing was asked. {forms}"));
        assert!(told("\u{1b}[2J").starts_with("'\\u{1b}[2J' means nothing"));
        assert!(told(&"x".repeat(1_000)).starts_with(&format!("'{}…' means", "x".repeat(40))));
    }

    #[test]
    fn bad_json_is_told_apart_from_bad_words() {
        for line in ["\"aquire\"", "{\"acquire\":", "{}", "\"acquire\" now"] {
            let told = Mutex::command(line, ME, 1).unwrap_err();
            assert!(told.starts_with("This is no command in JSON: ") && told.ends_with('.'), "{told}");
        }
    }

    #[test]
    fn a_campaign_can_be_typed() {
        assert!(Election::command("campaign", ME, 1).is_ok() && Election::command("\"campaign\"", ME, 1).is_ok());
        let told = Election::command("elect me", ME, 1).unwrap_err();
        assert_eq!(
            told,
            "'elect' means nothing here. Type campaign or resign, or the command in JSON as a journal has it."
        );
    }
}
