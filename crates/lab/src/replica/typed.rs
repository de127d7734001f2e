//! Commands that people type at a running replica.

use super::ticket::RequestId;
use super::{Command, MAX_CLIENTS};
use crate::typed::invalid_command;
use quorate_core::NodeId;
use quorate_journal::settings::NodeSet;
use quorate_replica::registers::{Change, Read};
use quorate_replica::sessions::Command as SessionCommand;
use quorate_replica::{Addresses, Members, Proposal, Ticket};
use std::collections::BTreeSet;

const COMMAND_NAMES: [&str; 7] = ["read", "write", "compare-and-set", "members", "transfer", "retire", "campaign"];

const COMMAND_FORMS: &str = "read KEY, write KEY VALUE, compare-and-set KEY OLD NEW (OLD is a number or 'nothing'), members 1-3 or \
                     members 1-3 learners 4, transfer NODE, retire, or campaign; the default KEY is 0";

/// Larger sets are probably typing errors.
const MAX_MEMBERS: usize = 1_000;

/// Parses a command that a person types at `node`. `number` grows with every command at that node;
/// its upper bits are the incarnation, and the lower twenty a counter.
pub(super) fn parse_command(words: &[&str], node: NodeId, number: u64) -> Result<Command, String> {
    // Different from all clients of workloads and scripts.
    let client = MAX_CLIENTS + u64::from(node.number());
    // A ticket has room for the lower bits only.
    let ticket = RequestId { client, number: number & Ticket::MAX_NUMBER, attempt: 1 }.to_ticket();
    let change = |command| Some(Command::Propose(vec![Proposal { ticket, command: SessionCommand::Direct(command) }]));
    let command = match (words.first().map(|word| word.to_lowercase()).as_deref(), words.get(1..).unwrap_or_default()) {
        (Some("read"), []) => Some(Command::Query { ticket, query: Read { key: 0 } }),
        (Some("read"), [key]) => parse_number(key).map(|key| Command::Query { ticket, query: Read { key } }),
        (Some("write"), [value]) => parse_number(value).and_then(|value| change(Change::Write { key: 0, value })),
        (Some("write"), [key, value]) => {
            parse_number(key).zip(parse_number(value)).and_then(|(key, value)| change(Change::Write { key, value }))
        }
        (Some("compare-and-set"), [old, new]) => compare_and_set("0", old, new).and_then(change),
        (Some("compare-and-set"), [key, old, new]) => compare_and_set(key, old, new).and_then(change),
        (Some("members"), lists) => {
            parse_members(lists).map(|members| Command::Change { ticket, members, addresses: Addresses::new() })
        }
        (Some("transfer"), [to]) => to.parse().ok().and_then(NodeId::new).map(Command::Transfer),
        (Some("retire"), []) => Some(Command::Retire),
        (Some("campaign"), []) => Some(Command::Campaign),
        _ => None,
    };
    command.ok_or_else(|| invalid_command(words, &COMMAND_NAMES, COMMAND_FORMS))
}

fn compare_and_set(key: &str, old: &str, new: &str) -> Option<Change> {
    let expect = if old.eq_ignore_ascii_case("nothing") { None } else { Some(parse_number(old)?) };
    Some(Change::CompareAndSet { key: parse_number(key)?, expect, value: parse_number(new)? })
}

/// Parses the whole set of members. Nodes that are not named leave.
fn parse_members(lists: &[&str]) -> Option<Members> {
    let members = match lists {
        [voters] => Members { voters: parse_nodes(voters)?, learners: BTreeSet::new() },
        [voters, word, learners] if word.eq_ignore_ascii_case("learners") => {
            Members { voters: parse_nodes(voters)?, learners: parse_nodes(learners)? }
        }
        _ => return None,
    };
    members.is_valid().then_some(members)
}

fn parse_nodes(text: &str) -> Option<BTreeSet<NodeId>> {
    let set: NodeSet = text.parse().ok()?;
    (set.len() <= MAX_MEMBERS).then(|| set.iter().collect())
}

fn parse_number(text: &str) -> Option<u64> {
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::super::ticket::RequestId;
    use super::super::{Command, Replica};
    use crate::ScriptFamily;
    use quorate_core::NodeId;
    use quorate_replica::registers::{Change, Read};
    use quorate_replica::sessions::Command as SessionCommand;
    use std::collections::BTreeSet;

    const ME: NodeId = NodeId::from_index(1);

    fn parse(line: &str) -> Command {
        Replica::parse_command(line, ME, 7).unwrap()
    }

    /// The proposed change.
    fn change(command: Command) -> Change {
        let Command::Propose(proposals) = command else { panic!("{command} proposes nothing") };
        match proposals[0].command {
            SessionCommand::Direct(change) => change,
            _ => panic!("a person has no session"),
        }
    }

    #[test]
    fn reads_and_writes_use_the_first_register_by_default() {
        for (line, key) in [("read", 0), ("READ 3", 3)] {
            assert!(matches!(parse(line), Command::Query { query: Read { key: read }, .. } if read == key), "{line}");
        }
        let changes = ["write 9", "write 3 9", "compare-and-set nothing 9", "compare-and-set 3 8 9"];
        let expected = [
            Change::Write { key: 0, value: 9 },
            Change::Write { key: 3, value: 9 },
            Change::CompareAndSet { key: 0, expect: None, value: 9 },
            Change::CompareAndSet { key: 3, expect: Some(8), value: 9 },
        ];
        assert_eq!(changes.map(|line| change(parse(line))), expected);
    }

    #[test]
    fn the_members_command_names_the_whole_set() {
        let set = |numbers: &[u32]| numbers.iter().copied().filter_map(NodeId::new).collect::<BTreeSet<_>>();
        for (line, voters, learners) in
            [("members 1-3", &[1, 2, 3][..], &[][..]), ("members 1,4 learners 2-3", &[1, 4], &[2, 3])]
        {
            let Command::Change { members, .. } = parse(line) else { panic!("{line} changes nothing") };
            assert_eq!((members.voters, members.learners), (set(voters), set(learners)), "{line}");
        }
        assert_eq!(parse("transfer 3"), Command::Transfer(NodeId::from_index(2)));
        assert_eq!(parse("campaign"), Command::Campaign);
        assert_eq!(parse("retire"), Command::Retire);
    }

    #[test]
    fn tickets_and_requests_are_unique_per_node_and_number() {
        let mut tickets = BTreeSet::new();
        for node in (0..5).map(NodeId::from_index) {
            for number in [0, 1, 2, 1 << 27, (3 << 20) + 1, (1_750_000_000_007 << 20) + 1] {
                let Command::Propose(proposals) = Replica::parse_command("write 1", node, number).unwrap() else {
                    panic!("a write is proposed")
                };
                let [proposal] = &proposals[..] else { panic!("one write is one proposal") };
                let request = RequestId::from_ticket(proposal.ticket);
                assert!(request.client > super::MAX_CLIENTS && tickets.insert(proposal.ticket), "{node} {number}");
            }
        }
    }

    #[test]
    fn every_command_can_be_typed_as_json() {
        for line in ["read 3", "write 3 9", "compare-and-set 1 2 3", "members 1-3 learners 4", "transfer 2", "campaign"]
        {
            let command = parse(line);
            assert_eq!(parse(&serde_json::to_string(&command).unwrap()), command, "{line}");
        }
    }

    #[test]
    fn invalid_commands_are_rejected_with_the_valid_forms() {
        let invalid = ";raed;read x;read 1 2;write;write 1 2 3;write -1;members;members 0;members x;members 1-4000000000;\
                     members 1 learners 1;members 1 pupils 2;transfer;transfer 0;transfer me;campaign now;\
                     compare-and-set 1;compare-and-set 1 none 2";
        for line in invalid.split(';') {
            let error = Replica::parse_command(line, ME, 1).unwrap_err();
            assert!(error.contains("Type read KEY, write KEY VALUE") && error.ends_with('.'), "{line}: {error}");
        }
        assert!(Replica::parse_command("raed", ME, 1).unwrap_err().contains("did you mean 'read'?"));
    }
}
