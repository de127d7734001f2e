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
    const WORDS: &'static str = "ask-P2+R3 (all of these), ask-P2|P3 (any of these), answer-P2, give-up, look; \
                                 @1 at the end selects the second process of the site";

    fn from_word(word: &str) -> Option<Self> {
        let (word, process) = word.split_once('@').unwrap_or((word, "0"));
        let process = process.parse().ok()?;
        match word.split_once('-').unwrap_or((word, "")) {
            ("ask", whom) => Some(Self::Ask { process, need: need(whom)? }),
            ("answer", whom) => Some(Self::Answer { process, to: agent(whom)? }),
            ("give", "up") => Some(Self::GiveUp { process }),
            ("look", "") => Some(Self::Look { process }),
            _ => None,
        }
    }
}

fn need(words: &str) -> Option<Need<Agent>> {
    if words.contains('|') {
        return words.split('|').map(agent).collect::<Option<_>>().map(Need::Any);
    }
    words.split('+').filter(|word| !word.is_empty()).map(agent).collect::<Option<_>>().map(Need::All)
}

/// Parses `P2`, `P2.1` or `R3`.
fn agent(word: &str) -> Option<Agent> {
    let (kind, place) = word.split_at_checked(1)?;
    let (site, which) = place.split_once('.').unwrap_or((place, "0"));
    let (site, which) = (NodeId::new(site.parse().ok()?)?, which.parse().ok()?);
    match kind {
        "P" => Some(Agent::process(site, which)),
        "R" => Some(Agent::resource(site, which)),
        _ => None,
    }
}
