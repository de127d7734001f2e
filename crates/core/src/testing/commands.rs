//! The names of each family's commands in scripts.

use super::ScriptCommand;
use crate::deadlock::{Agent, Need};
use crate::node::NodeId;
use crate::{deadlock, election, multicast, mutex};

impl ScriptCommand for mutex::Command {
    const WORDS: &'static str = "acquire, try, share, cancel, release";

    fn from_word(word: &str) -> Option<Self> {
        mutex::COMMANDS.into_iter().find(|known| known.name() == word)
    }
}

impl ScriptCommand for election::Command {
    const WORDS: &'static str = "campaign, resign";

    fn from_word(word: &str) -> Option<Self> {
        election::COMMANDS.into_iter().find(|known| known.name() == word)
    }
}

impl ScriptCommand for multicast::Command {
    const WORDS: &'static str = "send (the payload x), leave";

    fn from_word(word: &str) -> Option<Self> {
        match word {
            "send" => Some(Self::send("x")),
            "leave" => Some(Self::leave()),
            _ => None,
        }
    }
}

impl ScriptCommand for deadlock::Command {
    const WORDS: &'static str = "ask-P2+R3 (all of these), ask-P2|P3 (any of these), answer-P2, \
                                 give-up (cancel the request), look (check for a deadlock); \
                                 @1 at the end selects the second process of the site";

    fn from_word(word: &str) -> Option<Self> {
        let (word, process) = word.split_once('@').unwrap_or((word, "0"));
        let process = process.parse().ok()?;
        match word.split_once('-').unwrap_or((word, "")) {
            ("ask", agents) => Some(Self::Ask { process, need: parse_need(agents)? }),
            ("answer", word) => Some(Self::Answer { process, to: parse_agent(word)? }),
            ("give", "up") => Some(Self::Cancel { process }),
            ("look", "") => Some(Self::Check { process }),
            _ => None,
        }
    }
}

/// Parses `P2+R3` (all of these), `P2|P3` (any one of these) or nothing (no agents).
fn parse_need(words: &str) -> Option<Need<Agent>> {
    if words.contains('|') {
        return words.split('|').map(parse_agent).collect::<Option<_>>().map(Need::Any);
    }
    words.split('+').filter(|word| !word.is_empty()).map(parse_agent).collect::<Option<_>>().map(Need::All)
}

/// Parses `P2` (the first process of site 2), `P2.1` (its second process) or `R3` (the first
/// resource of site 3).
fn parse_agent(word: &str) -> Option<Agent> {
    let (kind, location) = word.split_at_checked(1)?;
    let (site, index) = location.split_once('.').unwrap_or((location, "0"));
    let (site, index) = (NodeId::new(site.parse().ok()?)?, index.parse().ok()?);
    match kind {
        "P" => Some(Agent::process(site, index)),
        "R" => Some(Agent::resource(site, index)),
        _ => None,
    }
}
