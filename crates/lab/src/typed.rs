//! Error messages for invalid commands that people type at a running node.

use quorate_journal::settings::nearest;

/// Maximum number of typed characters that a message repeats.
const MAX_QUOTED: usize = 40;

/// Returns an error message that explains what is wrong with the typed words and lists valid
/// commands.
pub(crate) fn invalid_command(words: &[&str], known: &[&str], forms: &str) -> String {
    let problem = match words {
        [] => "the command is empty.".to_owned(),
        [word, ..] if known.iter().any(|name| name.eq_ignore_ascii_case(word)) => {
            format!("'{}' has wrong arguments.", quote(&words.join(" ")))
        }
        [word, ..] => match nearest(word, known.iter().copied()) {
            Some(name) => format!("unknown command '{}'; did you mean '{name}'?", quote(word)),
            None => format!("unknown command '{}'.", quote(word)),
        },
    };
    format!("{problem} Type {forms}, or the command as JSON.")
}

/// Escapes control characters and shortens long text.
fn quote(text: &str) -> String {
    let short: String = text.chars().take(MAX_QUOTED).collect();
    let more = if short.len() < text.len() { "…" } else { "" };
    format!("{}{more}", short.escape_debug())
}

#[cfg(test)]
mod tests {
    use crate::{Election, Mutex, ScriptFamily};
    use quorate_core::NodeId;
    use quorate_core::mutex::COMMANDS;

    const ME: NodeId = NodeId::from_index(1);
    const REQUEST_NUMBER: u64 = 1;

    #[test]
    fn every_mutex_command_can_be_typed() {
        for command in COMMANDS {
            let json = serde_json::to_string(&command).unwrap();
            for line in [command.name(), &format!("  {} ", command.name().to_uppercase()), &json] {
                assert_eq!(Mutex::parse_command(line, ME, REQUEST_NUMBER), Ok(command), "{line}");
            }
        }
    }

    #[test]
    fn unknown_commands_are_answered_with_the_known_ones() {
        let error = |line: &str| Mutex::parse_command(line, ME, REQUEST_NUMBER).unwrap_err();
        let forms = "Type acquire, try, share, cancel or release, or the command as JSON.";
        assert_eq!(error("aquire"), format!("unknown command 'aquire'; did you mean 'acquire'? {forms}"));
        assert_eq!(error("banana split"), format!("unknown command 'banana'. {forms}"));
        assert_eq!(error("acquire 2"), format!("'acquire 2' has wrong arguments. {forms}"));
        assert_eq!(error(" \t "), format!("the command is empty. {forms}"));
        assert!(error("\u{1b}[2J").starts_with("unknown command '\\u{1b}[2J'"));
        assert!(error(&"x".repeat(1_000)).starts_with(&format!("unknown command '{}…'", "x".repeat(40))));
    }

    #[test]
    fn bad_json_has_its_own_error() {
        for line in ["\"aquire\"", "{\"acquire\":", "{}", "\"acquire\" now"] {
            let error = Mutex::parse_command(line, ME, REQUEST_NUMBER).unwrap_err();
            assert!(error.starts_with("cannot parse the command as JSON: ") && error.ends_with('.'), "{error}");
        }
    }

    #[test]
    fn a_campaign_can_be_typed() {
        assert!(
            Election::parse_command("campaign", ME, REQUEST_NUMBER).is_ok()
                && Election::parse_command("\"campaign\"", ME, REQUEST_NUMBER).is_ok()
        );
        let error = Election::parse_command("elect me", ME, REQUEST_NUMBER).unwrap_err();
        assert_eq!(error, "unknown command 'elect'. Type campaign or resign, or the command as JSON.");
    }
}
