//! Scripts: text files with faults, client commands and directions, one per line.

use super::clauses::{Clauses, Reader, split_first_word, write_timing};
use super::direction::{Direction, Subject, list_directions};
use super::error::SettingError;
use super::fault::{FaultKind, TimedFault, check_node};
use super::nearest::nearest;
use super::quoted_text::{SplitLine, split_quoted, without_comment, write_text};
use super::read_fault::list_faults;
use quorate_core::{Duration, NodeId};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Faults and commands with their times, and directions that fix single random choices.
///
/// ```text
/// # The client of node 2 requests the lock while the network is partitioned.
/// cut 1 | rest at 5ms for 20ms
/// acquire 2 at 6ms     # waits for node 1
/// release 2 at 40ms
/// message 1 of 2 > 3 takes 9ms
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Script {
    /// The faults, in the order of the lines.
    pub faults: Vec<TimedFault>,
    /// The commands of clients, in the order of the lines.
    pub commands: Vec<TimedCommand>,
    /// The fixed choices, in the order of the lines. No two may fix the same choice.
    pub directions: Vec<Direction>,
}

/// A client's command to a node, with its time: `acquire 2 at 5ms`, `send 1 "Re: Lecture" at 3ms`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TimedCommand {
    /// Time since the start of the run. The default is the start itself.
    pub at: Duration,
    pub node: NodeId,
    /// The command's name, one word that is not the name of a fault or a direction. The command's
    /// text, if it has one, follows after a space: `send Re: Lecture`.
    pub command: String,
}

impl TimedCommand {
    /// Returns the first word of the command.
    pub fn name(&self) -> &str {
        self.name_and_text().0
    }

    /// Returns what follows the first word, if anything does.
    pub fn text(&self) -> Option<&str> {
        self.name_and_text().1
    }

    fn name_and_text(&self) -> (&str, Option<&str>) {
        self.command.split_once(' ').map_or((&self.command, None), |(name, text)| (name, Some(text)))
    }
}

impl Script {
    /// Parses a script with these commands. A line that starts with the name of a fault or a
    /// direction is never a command. A command that takes a text is listed as `send TEXT`.
    pub fn parse(text: &str, commands: &[&str]) -> Result<Self, SettingError> {
        Self::read(text, None, |word| find_command(word, commands))
    }

    /// Like [`parse`](Self::parse), but also fails if a line is impossible in a group of the nodes
    /// 1 to `nodes`. Errors quote that line and its number.
    pub fn parse_for(text: &str, commands: &[&str], nodes: usize) -> Result<Self, SettingError> {
        Self::read(text, Some(nodes), |word| find_command(word, commands))
    }

    /// Returns an error if the script is impossible in a group of the nodes 1 to `nodes`.
    pub fn validate(&self, nodes: usize) -> Result<(), SettingError> {
        self.faults.iter().try_for_each(|fault| fault.validate(nodes))?;
        self.commands.iter().try_for_each(|command| check_node(command, command.node, nodes))?;
        self.directions.iter().try_for_each(|direction| direction.validate(nodes))?;
        let untagged = self.directions.iter().map(|direction| (*direction, ()));
        match find_contradiction(untagged) {
            Some(((one, ()), (other, ()))) => {
                Err(SettingError::SameChoice { text: one.to_string(), other: other.to_string(), line: None })
            }
            None => Ok(()),
        }
    }

    /// Returns whether the script contains no faults, commands or directions.
    pub fn is_empty(&self) -> bool {
        self.faults.is_empty() && self.commands.is_empty() && self.directions.is_empty()
    }

    /// Parses a script. If `nodes` is given, also validates each line for a group of this size.
    /// `command` returns the command with a given name. Errors contain the line number.
    fn read(
        text: &str,
        nodes: Option<usize>,
        command: impl Fn(&str) -> Result<KnownCommand, SettingError>,
    ) -> Result<Self, SettingError> {
        let mut script = Self::default();
        let mut direction_lines = Vec::new();
        // Some editors begin a file with a byte order mark.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (number, line) in (1..).zip(text.lines()) {
            let item = without_comment(line).trim();
            if !item.is_empty() {
                script.add_line(item, nodes, &command).map_err(|mistake| in_line(number, item, mistake))?;
                direction_lines.resize(script.directions.len(), number);
            }
        }
        match find_contradiction(script.directions.iter().copied().zip(direction_lines)) {
            Some((one, other)) => {
                let ((earlier, earlier_line), (later, later_line)) =
                    if one.1 < other.1 { (one, other) } else { (other, one) };
                let (text, other) = (later.to_string(), earlier.to_string());
                let mistake = SettingError::SameChoice { text: text.clone(), other, line: Some(earlier_line) };
                Err(in_line(later_line, &text, mistake))
            }
            None => Ok(script),
        }
    }

    fn add_line(
        &mut self,
        item: &str,
        nodes: Option<usize>,
        command: impl Fn(&str) -> Result<KnownCommand, SettingError>,
    ) -> Result<(), SettingError> {
        let word = split_first_word(item).0;
        let check_nodes = |check: &dyn Fn(usize) -> Result<(), SettingError>| nodes.map_or(Ok(()), check);
        if FaultKind::from_name(word).is_some() {
            let fault: TimedFault = item.parse()?;
            check_nodes(&|nodes| fault.validate_as(&item, nodes))?;
            self.faults.push(fault);
        } else if Subject::from_name(word).is_some() {
            let direction: Direction = item.parse()?;
            check_nodes(&|nodes| direction.validate_as(&item, nodes))?;
            self.directions.push(direction);
        } else {
            let command = read_command(item, command)?;
            check_nodes(&|nodes| check_node(&item, command.node, nodes))?;
            self.commands.push(command);
        }
        Ok(())
    }
}

fn in_line(line: usize, text: &str, mistake: SettingError) -> SettingError {
    SettingError::InLine { line, text: text.into(), mistake: Box::new(mistake) }
}

/// Returns two directions that fix the same choice, or `None`. Each direction comes with a tag,
/// such as its line.
fn find_contradiction<T: Copy + Ord>(
    directions: impl Iterator<Item = (Direction, T)>,
) -> Option<((Direction, T), (Direction, T))> {
    let mut sorted: Vec<_> = directions.collect();
    // Directions about the same message, timer or sync are adjacent after sorting.
    sorted.sort_unstable();
    sorted.windows(2).find_map(|pair| match pair {
        [one, other] if one.0.contradicts(&other.0) => Some((*one, *other)),
        _ => None,
    })
}

struct KnownCommand {
    name: String,
    /// Whether it takes a quoted text.
    takes_text: bool,
}

/// Returns the command with this name, ignoring case.
fn find_command(word: &str, commands: &[&str]) -> Result<KnownCommand, SettingError> {
    let command =
        commands.iter().map(|command| split_first_word(command)).find(|(name, _)| name.eq_ignore_ascii_case(word));
    let command = command.map(|(name, text)| KnownCommand { name: name.into(), takes_text: !text.is_empty() });
    command.ok_or_else(|| unknown_word(word, commands))
}

const FORM: &str = "COMMAND NODE [at TIME]";
/// The form of a command that takes a text.
pub(super) const FORM_WITH_TEXT: &str = "COMMAND NODE \"TEXT\" [at TIME]";

fn read_command(
    item: &str,
    command: impl Fn(&str) -> Result<KnownCommand, SettingError>,
) -> Result<TimedCommand, SettingError> {
    let SplitLine { before, quoted_text } = split_quoted(item)?;
    let Some((text, after)) = quoted_text else { return read_without_text(item, command) };
    let (word, node_text) = split_first_word(before);
    let KnownCommand { name, takes_text } = command(word)?;
    let unexpected_quote =
        |form| SettingError::Unexpected { word: "\"".into(), text: item.into(), nearest: None, form };
    if !takes_text {
        return Err(unexpected_quote(FORM));
    }
    // Only the node may come before the text, and only the time after it.
    if node_text.split_whitespace().count() > 1 {
        return Err(unexpected_quote(FORM_WITH_TEXT));
    }
    if node_text.is_empty() {
        return Err(SettingError::missing(item, "a node before the text", FORM_WITH_TEXT));
    }
    let without_text = format!("{} {}", before.trim_end(), after.trim_start());
    let TimedCommand { at, node, .. } = read_without_text(&without_text, command)?;
    Ok(TimedCommand { at, node, command: format!("{name} {text}") })
}

/// Parses a command without a text.
fn read_without_text(
    item: &str,
    command: impl Fn(&str) -> Result<KnownCommand, SettingError>,
) -> Result<TimedCommand, SettingError> {
    let clauses = Clauses::split(item)?;
    let (word, rest) = split_first_word(clauses.action);
    if word.is_empty() {
        return Err(SettingError::missing(item, "a fault, a command or a direction", "for example 'crash 2 at 10ms'"));
    }
    let KnownCommand { name, takes_text } = command(word)?;
    let form = if takes_text { FORM_WITH_TEXT } else { FORM };
    let mut reader = Reader { text: clauses.action, rest, form };
    let node = reader.take_node()?;
    reader.expect_end(&[])?;
    let can_last = false;
    clauses.read_duration(can_last, &name)?;
    Ok(TimedCommand { at: clauses.read_time(can_last)?, node, command: name })
}

fn unknown_word(word: &str, commands: &[&str]) -> SettingError {
    let subjects = Subject::ALL.map(Subject::name);
    let command_names = commands.iter().map(|command| split_first_word(command).0);
    let names = FaultKind::ALL.map(FaultKind::name).into_iter().chain(command_names).chain(subjects);
    let (expected, known_words) = if commands.is_empty() {
        ("a fault or a direction", format!("{} {}", list_faults(), list_directions()))
    } else {
        let commands = commands.join(", ");
        (
            "a fault, a command or a direction",
            format!("{} Commands are {commands}. {}", list_faults(), list_directions()),
        )
    };
    SettingError::Unknown { word: word.into(), expected, nearest: nearest(word, names).map(String::from), known_words }
}

/// Treats every line that is not a fault or a direction as a command, because a journal does not
/// list the valid commands. Use [`Script::parse`] for input from people.
impl FromStr for Script {
    type Err = SettingError;

    fn from_str(text: &str) -> Result<Self, SettingError> {
        Self::read(text, None, |word| Ok(KnownCommand { name: word.into(), takes_text: true }))
    }
}

/// Prints one item per line. Faults and commands are merged by their times; the faults keep their
/// order, and so do the commands. Directions follow.
impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut commands = self.commands.iter().peekable();
        for fault in &self.faults {
            while let Some(command) = commands.next_if(|command| command.at < fault.at) {
                writeln!(f, "{command}")?;
            }
            writeln!(f, "{fault}")?;
        }
        commands.try_for_each(|command| writeln!(f, "{command}"))?;
        self.directions.iter().try_for_each(|direction| writeln!(f, "{direction}"))
    }
}

impl fmt::Display for TimedCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, text) = self.name_and_text();
        write!(f, "{name} {}", self.node)?;
        if let Some(text) = text {
            f.write_str(" ")?;
            write_text(f, text)?;
        }
        write_timing(f, self.at, None)
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::Script;
    use expect_test::expect;
    use proptest::prelude::{prop_assert_eq, proptest};
    use quorate_core::mutex::COMMANDS;

    fn parse(text: &str) -> Result<Script, super::SettingError> {
        Script::parse(text, &COMMANDS.map(|command| command.name()))
    }

    const SCRIPT: &str = "\u{feff}# A script.\r
        cut 1 | rest at 5ms for 20ms\r

        Acquire 2 at 6ms   # waits for node 1
        TRY 3
        cancel 2 at 7 ms
        release 2 at 9ms
        crash 3 at 7ms#at once
    ";

    #[test]
    fn a_script_separates_faults_from_commands() {
        let script = parse(SCRIPT).unwrap();
        let faults: Vec<_> = script.faults.iter().map(ToString::to_string).collect();
        let commands: Vec<_> = script.commands.iter().map(ToString::to_string).collect();
        assert_eq!(faults, ["cut 1 | rest at 5ms for 20ms", "crash 3 at 7ms"]);
        assert_eq!(commands, ["acquire 2 at 6ms", "try 3", "cancel 2 at 7ms", "release 2 at 9ms"]);
        assert!(!script.is_empty() && parse("# nothing\n\n").unwrap().is_empty());
    }

    #[test]
    fn printing_merges_faults_and_commands_by_time_but_reorders_neither() {
        let script = parse("release 2 at 9ms\ncrash 2 at 5ms\nrestart 2 at 9ms\nacquire 1 at 2ms").unwrap();
        expect![[r#"
            crash 2 at 5ms
            restart 2 at 9ms
            release 2 at 9ms
            acquire 1 at 2ms
        "#]]
        .assert_eq(&script.to_string());
        let script = parse("acquire 1 at 2ms\nrelease 1 at 9ms\ncrash 2 at 5ms\nrestart 2 at 9ms").unwrap();
        expect![[r#"
            acquire 1 at 2ms
            crash 2 at 5ms
            restart 2 at 9ms
            release 1 at 9ms
        "#]]
        .assert_eq(&script.to_string());
    }

    #[test]
    fn a_printed_script_parses_without_the_list_of_commands() {
        let script = Script::parse("campaign 2 at 3ms\nheal", &["campaign"]).unwrap();
        assert_eq!(script.to_string().parse(), Ok(script));
    }

    const TEXT_COMMANDS: [&str; 2] = ["send TEXT", "leave"];

    #[test]
    fn a_command_may_have_a_text() {
        let source =
            "send 1 \"Re: # at 5ms \\\"quoted\\\"\" at 3ms # a comment \" here\nsend 2\nSEND 3 \"\"\nleave 2 at 9ms";
        let script = Script::parse(source, &TEXT_COMMANDS).unwrap();
        let commands: Vec<_> = script.commands.iter().map(|command| (command.name(), command.text())).collect();
        let text = "Re: # at 5ms \"quoted\"";
        assert_eq!(commands, [("send", Some(text)), ("send", None), ("send", Some("")), ("leave", None)]);
        assert_eq!(script.commands[0].command, format!("send {text}"));
        assert_eq!(script.commands[0].at, quorate_core::Duration::from_millis(3));
        assert_eq!(Script::parse(&script.to_string(), &TEXT_COMMANDS), Ok(script.clone()));
        assert_eq!(script.to_string().parse(), Ok(script));
    }

    #[test]
    fn mistakes_in_texts_are_explained() {
        let texts = [
            "send 1 \"x",
            "send \"x\" 1",
            "send 1 at \"x\" 3ms",
            "send 1 \"x\" 3ms",
            "send 1 \"x\" \"y\"",
            "leave 1 \"x\"",
            "sned 1 \"x\"",
            "send 1 x",
        ];
        let message = |text| Script::parse(text, &TEXT_COMMANDS).unwrap_err().to_string() + "\n";
        expect![[r#"
            line 1: 'send 1 "x' lacks the second quotation mark; write COMMAND NODE "TEXT" [at TIME].
            line 1: 'send "x" 1' lacks a node before the text; write COMMAND NODE "TEXT" [at TIME].
            line 1: '"' is unexpected in 'send 1 at "x" 3ms'. Write COMMAND NODE "TEXT" [at TIME].
            line 1, 'send 1 "x" 3ms': '3ms' is unexpected in 'send 1 3ms'. Write COMMAND NODE "TEXT" [at TIME].
            line 1, 'send 1 "x" "y"': '"y"' is unexpected in 'send 1 "y"'. Write COMMAND NODE "TEXT" [at TIME].
            line 1: '"' is unexpected in 'leave 1 "x"'. Write COMMAND NODE [at TIME].
            line 1, 'sned 1 "x"': 'sned' is not a fault, a command or a direction; did you mean 'send'? Faults are crash, restart, pause, resume, disk, close, cut, heal, skew, drift, link. Commands are send TEXT, leave. Directions are message, timer, sync.
            line 1: 'x' is unexpected in 'send 1 x'. Write COMMAND NODE "TEXT" [at TIME].
        "#]]
        .assert_eq(&texts.map(message).concat());
    }

    #[test]
    fn a_script_may_only_name_nodes_that_exist() {
        let error = |text: &str| parse(text).unwrap().validate(3).unwrap_err().to_string() + "\n";
        expect![[r#"
            'try 4 at 5ms' names node 4, but there are only nodes 1 to 3.
            'crash 9 at 10ms' names node 9, but there are only nodes 1 to 3.
        "#]]
        .assert_eq(&["acquire 3\ntry 4 at 5ms", "acquire 1\ncrash 9 at 10ms"].map(error).concat());
    }

    #[test]
    fn an_unknown_node_is_reported_with_its_line() {
        let names = COMMANDS.map(|command| command.name());
        let error = |text: &str| Script::parse_for(text, &names, 3).unwrap_err().to_string() + "\n";
        expect![[r#"
            line 3: 'try 4 at 5ms' names node 4, but there are only nodes 1 to 3.
            line 2: 'crash 9' names node 9, but there are only nodes 1 to 3.
            line 1: 'cut 1,2,3 | rest' leaves no node for 'rest': it names all nodes of the group.
            line 1: 'timer 1 of 4 takes 1ms' names node 4, but there are only nodes 1 to 3.
        "#]]
        .assert_eq(
            &["acquire 3\n\ntry 4 at 5ms", "# x\ncrash 9", "cut 1,2,3 | rest", "timer 1 of 4 takes 1ms"]
                .map(error)
                .concat(),
        );
    }

    #[test]
    fn two_directions_for_one_choice_are_rejected() {
        let error = |text: &str| parse(text).unwrap_err().to_string() + "\n";
        expect![[r#"
            line 3: 'message 1 of 1 > 2 takes 10ms' and 'message 1 of 1 > 2 takes 9ms' on line 1 fix the same choice; leave one of them out.
            line 3: 'message 1 of 1 > 2 is lost' and 'message 1 of 1 > 2 takes 9ms' on line 1 fix the same choice; leave one of them out.
            line 2: 'message 1 of 1 > 2 is lost' and 'message 1 of 1 > 2 is lost' on line 1 fix the same choice; leave one of them out.
            line 2: 'message 1 of 1 > 2 is lost' and 'message 1 of 1 > 2 comes again after 3ms' on line 1 fix the same choice; leave one of them out.
            line 2: 'message 1 of 1 > 2 comes again after 2ms' and 'message 1 of 1 > 2 comes again after 3ms' on line 1 fix the same choice; leave one of them out.
            line 2: 'timer 4 of 1 takes 1ms' and 'timer 4 of 1 takes 3ms' on line 1 fix the same choice; leave one of them out.
            line 3: 'sync 4 of 1 takes 3ms' and 'sync 4 of 1 takes 3ms' on line 1 fix the same choice; leave one of them out.
        "#]].assert_eq(
            &[
                "message 1 of 1 > 2 takes 9ms\n\nmessage 1 of 1 > 2 takes 10ms",
                "message 1 of 1 > 2 takes 9ms\nheal\nmessage 1 of 1 > 2 is lost",
                "message 1 of 1 > 2 is lost\nmessage 1 of 1 > 2 is lost",
                "message 1 of 1 > 2 comes again after 3ms\nmessage 1 of 1 > 2 is lost",
                "message 1 of 1 > 2 comes again after 3ms\nmessage 1 of 1 > 2 comes again after 2ms",
                "timer 4 of 1 takes 3ms\ntimer 4 of 1 takes 1ms",
                "sync 4 of 1 takes 3ms\ntimer 4 of 1 takes 3ms\nsync 4 of 1 takes 3ms",
            ]
            .map(error)
            .concat(),
        );
        let without_contradictions = "message 1 of 1 > 2 comes again after 3ms\nmessage 1 of 1 > 2 takes 2ms\nmessage 1 of 2 > 1 takes 2ms\n\
                    message 2 of 1 > 2 takes 2ms\ntimer 1 of 1 takes 2ms\nsync 1 of 1 takes 2ms\ntimer 1 of 2 takes 2ms";
        let mut script = parse(without_contradictions).unwrap();
        assert_eq!(script.validate(2), Ok(()));
        script.directions.extend(script.directions.last().copied());
        let repeated = script.validate(2).unwrap_err().to_string();
        assert!(repeated.contains("fix the same choice"), "{repeated}");
    }

    #[test]
    fn mistakes_in_a_script_are_explained() {
        let texts = [
            "heal\n\n  crsh 2 at 5ms  # oops",
            "acqire 2 at 5ms",
            "banana",
            "acquire",
            "acquire two at 5ms",
            "acquire 2 3 at 5ms",
            "acquire 2 at 5ms for 3ms",
            "acquire 2 att 5ms",
            "acquire 2 at 5",
            "at 5ms",
            "crash 2 at 5ms for",
            "cut 1 | 1",
            "# \0\nheal\u{7}",
        ];
        let sentences = texts.map(|text| parse(text).unwrap_err().to_string() + "\n").concat();
        expect![[r#"
            line 3, 'crsh 2 at 5ms': 'crsh' is not a fault, a command or a direction; did you mean 'crash'? Faults are crash, restart, pause, resume, disk, close, cut, heal, skew, drift, link. Commands are acquire, try, share, cancel, release. Directions are message, timer, sync.
            line 1, 'acqire 2 at 5ms': 'acqire' is not a fault, a command or a direction; did you mean 'acquire'? Faults are crash, restart, pause, resume, disk, close, cut, heal, skew, drift, link. Commands are acquire, try, share, cancel, release. Directions are message, timer, sync.
            line 1: 'banana' is not a fault, a command or a direction. Faults are crash, restart, pause, resume, disk, close, cut, heal, skew, drift, link. Commands are acquire, try, share, cancel, release. Directions are message, timer, sync.
            line 1: 'acquire' lacks a node; write COMMAND NODE [at TIME].
            line 1, 'acquire two at 5ms': 'two' is not a node number; write for example 2.
            line 1, 'acquire 2 3 at 5ms': '3' is unexpected in 'acquire 2 3'. Write COMMAND NODE [at TIME].
            line 1, 'acquire 2 at 5ms for 3ms': 'acquire' is instantaneous and has no duration; leave out 'for 3ms'.
            line 1: 'att' is unexpected in 'acquire 2 att 5ms'; did you mean 'at'? Write COMMAND NODE [at TIME].
            line 1, 'acquire 2 at 5': '5' has no unit; add one, such as '5ms'. Units are ns, us, ms, s, m, h.
            line 1: 'at 5ms' lacks a fault, a command or a direction; write for example 'crash 2 at 10ms'.
            line 1: 'crash 2 at 5ms for' lacks a duration after 'for'; write for example 'for 20ms'.
            line 1, 'cut 1 | 1': '1 | 1' puts node 1 on two sides; leave it on one.
            line 2: 'heal\u{7}' is not a fault, a command or a direction; did you mean 'heal'? Faults are crash, restart, pause, resume, disk, close, cut, heal, skew, drift, link. Commands are acquire, try, share, cancel, release. Directions are message, timer, sync.
        "#]].assert_eq(&sentences);
        let without_commands = Script::parse("acquire 2", &[]).unwrap_err().to_string() + "\n";
        expect![[r#"
            line 1, 'acquire 2': 'acquire' is not a fault or a direction. Faults are crash, restart, pause, resume, disk, close, cut, heal, skew, drift, link. Directions are message, timer, sync.
        "#]].assert_eq(&without_commands);
    }

    proptest! {
        #[test]
        fn any_text_reads_back(text in proptest::prelude::any::<String>()) {
            let node = quorate_core::NodeId::from_index(0);
            let command = super::TimedCommand { at: Default::default(), node, command: format!("send {text}") };
            let script = Script { commands: vec![command], ..Script::default() };
            prop_assert_eq!(Script::parse(&script.to_string(), &TEXT_COMMANDS), Ok(script));
        }

        #[test]
        fn a_script_reads_back_as_printed(script in samples::script()) {
            let printed = script.to_string();
            prop_assert_eq!(parse(&printed), Ok(script.clone()));
            prop_assert_eq!(printed.parse(), Ok(script));
        }
    }
}
