//! A run's story in a text file: what goes wrong, what users ask, and what is not left to chance, one line each.

use super::clauses::{Clauses, Reader, first_word, write_timing};
use super::direction::{Direction, Subject, all_directions};
use super::error::SettingError;
use super::fault::{FaultKind, TimedFault, check_node};
use super::nearest::nearest;
use super::read_fault::all_faults;
use super::said::{Parted, part, without_comment, write_text};
use quorate_core::{Duration, NodeId};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Faults and commands with their times, and directions for single choices.
///
/// ```text
/// # Node 2 asks while the network is cut.
/// cut 1 | rest at 5ms for 20ms
/// acquire 2 at 6ms     # waits for node 1
/// release 2 at 40ms
/// message 1 of 2 > 3 takes 9ms
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Script {
    /// What goes wrong, in the order of the lines.
    pub faults: Vec<TimedFault>,
    /// What users ask, in the order of the lines.
    pub commands: Vec<TimedCommand>,
    /// What is not left to chance, in the order of the lines. No two may be about the same thing.
    pub directions: Vec<Direction>,
}

/// What a user asks of a node, and when: `acquire 2 at 5ms`, `send 1 "Re: Lecture" at 3ms`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TimedCommand {
    /// When, from the start of the run; at the start itself if the text says nothing.
    pub at: Duration,
    pub node: NodeId,
    /// The command's name: one word, and not that of a fault or a direction. What it says, if it says anything, follows after a blank:
    /// `send Re: Lecture`.
    pub word: String,
}

impl TimedCommand {
    /// The command's name.
    pub fn name(&self) -> &str {
        self.parts().0
    }

    /// What it says, if it says anything.
    pub fn text(&self) -> Option<&str> {
        self.parts().1
    }

    fn parts(&self) -> (&str, Option<&str>) {
        self.word.split_once(' ').map_or((&self.word, None), |(name, text)| (name, Some(text)))
    }
}

impl Script {
    /// Reads a script in which these are the commands; a word that is a fault's or a direction's too means that. A command that may say
    /// something is told as `send TEXT`.
    pub fn parse(text: &str, commands: &[&str]) -> Result<Self, SettingError> {
        Self::read(text, None, |word| known(word, commands))
    }

    /// Reads a script that is for the nodes 1 to `nodes`. A mistake is told with its line.
    pub fn parse_for(text: &str, commands: &[&str], nodes: usize) -> Result<Self, SettingError> {
        Self::read(text, Some(nodes), |word| known(word, commands))
    }

    /// Whether it can happen in a group of the nodes 1 to `nodes`.
    pub fn validate(&self, nodes: usize) -> Result<(), SettingError> {
        self.faults.iter().try_for_each(|fault| fault.validate(nodes))?;
        self.commands.iter().try_for_each(|command| check_node(command, command.node, nodes))?;
        self.directions.iter().try_for_each(|direction| direction.validate(nodes))?;
        let contradicts = |(text, other): (Direction, Direction)| SettingError::SameThing {
            text: text.to_string(),
            other: other.to_string(),
            line: None,
        };
        contradiction(self.directions.iter().map(|direction| (*direction, ())))
            .map_or(Ok(()), |((one, ()), (other, ()))| Err(contradicts((one, other))))
    }

    /// Whether nothing happens in it.
    pub fn is_empty(&self) -> bool {
        self.faults.is_empty() && self.commands.is_empty() && self.directions.is_empty()
    }

    fn read(
        text: &str,
        nodes: Option<usize>,
        command: impl Fn(&str) -> Result<Known, SettingError>,
    ) -> Result<Self, SettingError> {
        let mut script = Self::default();
        let mut directed = Vec::new();
        // Some editors begin a file with a byte order mark.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (number, line) in (1..).zip(text.lines()) {
            let item = without_comment(line).trim();
            if !item.is_empty() {
                script.add(item, nodes, &command).map_err(|mistake| in_line(number, item, mistake))?;
                directed.resize(script.directions.len(), number);
            }
        }
        let told = script.directions.iter().copied().zip(directed);
        match contradiction(told) {
            Some((one, other)) => {
                let ((other, before), (one, after)) = if one.1 < other.1 { (one, other) } else { (other, one) };
                let (text, other) = (one.to_string(), other.to_string());
                let mistake = SettingError::SameThing { text: text.clone(), other, line: Some(before) };
                Err(in_line(after, &text, mistake))
            }
            None => Ok(script),
        }
    }

    fn add(
        &mut self,
        item: &str,
        nodes: Option<usize>,
        command: impl Fn(&str) -> Result<Known, SettingError>,
    ) -> Result<(), SettingError> {
        let word = first_word(item).0;
        let fits = |check: &dyn Fn(usize) -> Result<(), SettingError>| nodes.map_or(Ok(()), check);
        if FaultKind::named(word).is_some() {
            let fault: TimedFault = item.parse()?;
            fits(&|nodes| fault.validate_as(&item, nodes))?;
            self.faults.push(fault);
        } else if Subject::named(word).is_some() {
            let direction: Direction = item.parse()?;
            fits(&|nodes| direction.validate_as(&item, nodes))?;
            self.directions.push(direction);
        } else {
            let command = read_command(item, command)?;
            fits(&|nodes| check_node(&item, command.node, nodes))?;
            self.commands.push(command);
        }
        Ok(())
    }
}

fn in_line(line: usize, text: &str, mistake: SettingError) -> SettingError {
    SettingError::InLine { line, text: text.into(), mistake: Box::new(mistake) }
}

/// Two directions that cannot both hold, if there are any, each with what stands beside it.
fn contradiction<T: Copy + Ord>(
    directions: impl Iterator<Item = (Direction, T)>,
) -> Option<((Direction, T), (Direction, T))> {
    let mut sorted: Vec<_> = directions.collect();
    // Those about the same thing stand side by side then.
    sorted.sort_unstable();
    sorted.windows(2).find_map(|pair| match pair {
        [one, other] if one.0.contradicts(&other.0) => Some((*one, *other)),
        _ => None,
    })
}

struct Known {
    name: String,
    /// Whether it may say something.
    speaks: bool,
}

fn known(word: &str, commands: &[&str]) -> Result<Known, SettingError> {
    let known = commands.iter().map(|command| first_word(command)).find(|(name, _)| name.eq_ignore_ascii_case(word));
    let known = known.map(|(name, says)| Known { name: name.into(), speaks: !says.is_empty() });
    known.ok_or_else(|| unknown(word, commands))
}

const FORM: &str = "COMMAND NODE [at TIME]";
/// The same where a command may say something.
pub(super) const FORM_WITH_TEXT: &str = "COMMAND NODE \"TEXT\" [at TIME]";

fn read_command(
    item: &str,
    command: impl Fn(&str) -> Result<Known, SettingError>,
) -> Result<TimedCommand, SettingError> {
    let Parted { before, said } = part(item)?;
    let Some((text, after)) = said else { return read_silent(item, command) };
    let (word, node) = first_word(before);
    let Known { name, speaks } = command(word)?;
    let quotes = |form| SettingError::Unexpected { word: "\"".into(), text: item.into(), nearest: None, form };
    if !speaks {
        return Err(quotes(FORM));
    }
    // Nothing but the node may come before the text, and nothing but the time after it.
    if node.split_whitespace().count() > 1 {
        return Err(quotes(FORM_WITH_TEXT));
    }
    if node.is_empty() {
        return Err(SettingError::missing(item, "a node before the text", FORM_WITH_TEXT));
    }
    let silent = format!("{} {}", before.trim_end(), after.trim_start());
    let TimedCommand { at, node, .. } = read_silent(&silent, command)?;
    Ok(TimedCommand { at, node, word: format!("{name} {text}") })
}

/// Reads a command that says nothing.
fn read_silent(
    item: &str,
    command: impl Fn(&str) -> Result<Known, SettingError>,
) -> Result<TimedCommand, SettingError> {
    let clauses = Clauses::of(item)?;
    let (word, rest) = first_word(clauses.what);
    if word.is_empty() {
        return Err(SettingError::missing(item, "a fault or a command", "for example 'crash 2 at 10ms'"));
    }
    let Known { name: word, speaks } = command(word)?;
    let form = if speaks { FORM_WITH_TEXT } else { FORM };
    let mut reader = Reader { text: clauses.what, rest, form };
    let node = reader.node()?;
    reader.end(&[])?;
    clauses.lasts(false, &word)?;
    Ok(TimedCommand { at: clauses.at(false)?, node, word })
}

fn unknown(word: &str, commands: &[&str]) -> SettingError {
    let subjects = Subject::ALL.map(Subject::name);
    let called = commands.iter().map(|command| first_word(command).0);
    let names = FaultKind::ALL.map(FaultKind::name).into_iter().chain(called).chain(subjects);
    let (what, known) = if commands.is_empty() {
        ("a fault", format!("{} {}", all_faults(), all_directions()))
    } else {
        let commands = commands.join(", ");
        ("a fault or a command", format!("{} Commands are {commands}. {}", all_faults(), all_directions()))
    };
    SettingError::Unknown { word: word.into(), what, nearest: nearest(word, names).map(String::from), known }
}

/// Takes every word that is no fault's and no direction's for a command, since a journal does not say which commands there are.
/// What a person wrote goes through [`Script::parse`].
impl FromStr for Script {
    type Err = SettingError;

    fn from_str(text: &str) -> Result<Self, SettingError> {
        Self::read(text, None, |word| Ok(Known { name: word.into(), speaks: true }))
    }
}

/// A line each; faults and commands mingle by their times as far as the order within either allows. Directions follow.
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
        let (name, text) = self.parts();
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

    const STORY: &str = "\u{feff}# A story.\r
        cut 1 | rest at 5ms for 20ms\r

        Acquire 2 at 6ms   # waits for node 1
        TRY 3
        cancel 2 at 7 ms
        release 2 at 9ms
        crash 3 at 7ms#at once
    ";

    #[test]
    fn a_script_tells_faults_from_commands() {
        let script = parse(STORY).unwrap();
        let faults: Vec<_> = script.faults.iter().map(ToString::to_string).collect();
        let commands: Vec<_> = script.commands.iter().map(ToString::to_string).collect();
        assert_eq!(faults, ["cut 1 | rest at 5ms for 20ms", "crash 3 at 7ms"]);
        assert_eq!(commands, ["acquire 2 at 6ms", "try 3", "cancel 2 at 7ms", "release 2 at 9ms"]);
        assert!(!script.is_empty() && parse("# nothing\n\n").unwrap().is_empty());
    }

    #[test]
    fn a_script_prints_in_the_order_of_its_times() {
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
    fn a_script_reads_from_a_journal_without_its_commands() {
        let script = Script::parse("campaign 2 at 3ms\nheal", &["campaign"]).unwrap();
        assert_eq!(script.to_string().parse(), Ok(script));
    }

    const SPEAKING: [&str; 2] = ["send TEXT", "leave"];

    #[test]
    fn a_command_may_say_something() {
        let story =
            "send 1 \"Re: # at 5ms \\\"quoted\\\"\" at 3ms # a comment \" here\nsend 2\nSEND 3 \"\"\nleave 2 at 9ms";
        let script = Script::parse(story, &SPEAKING).unwrap();
        let said: Vec<_> = script.commands.iter().map(|command| (command.name(), command.text())).collect();
        let text = "Re: # at 5ms \"quoted\"";
        assert_eq!(said, [("send", Some(text)), ("send", None), ("send", Some("")), ("leave", None)]);
        assert_eq!(script.commands[0].word, format!("send {text}"));
        assert_eq!(script.commands[0].at, quorate_core::Duration::from_millis(3));
        assert_eq!(Script::parse(&script.to_string(), &SPEAKING), Ok(script.clone()));
        assert_eq!(script.to_string().parse(), Ok(script));
    }

    #[test]
    fn mistakes_about_texts() {
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
        let told = |text| Script::parse(text, &SPEAKING).unwrap_err().to_string() + "\n";
        expect![[r#"
            Line 1: 'send 1 "x' lacks the second quotation mark; write COMMAND NODE "TEXT" [at TIME].
            Line 1: 'send "x" 1' lacks a node before the text; write COMMAND NODE "TEXT" [at TIME].
            Line 1: '"' makes no sense in 'send 1 at "x" 3ms'. Write COMMAND NODE "TEXT" [at TIME].
            Line 1, 'send 1 "x" 3ms': '3ms' makes no sense in 'send 1 3ms'. Write COMMAND NODE "TEXT" [at TIME].
            Line 1, 'send 1 "x" "y"': '"y"' makes no sense in 'send 1 "y"'. Write COMMAND NODE "TEXT" [at TIME].
            Line 1: '"' makes no sense in 'leave 1 "x"'. Write COMMAND NODE [at TIME].
            Line 1, 'sned 1 "x"': 'sned' is not a fault or a command; did you mean 'send'? Faults are crash, restart, pause, resume, disk, close, cut, heal, skew, drift, link. Commands are send TEXT, leave. Directions are message, timer, sync.
            Line 1: 'x' makes no sense in 'send 1 x'. Write COMMAND NODE "TEXT" [at TIME].
        "#]]
        .assert_eq(&texts.map(told).concat());
    }

    #[test]
    fn a_script_may_only_name_nodes_that_exist() {
        let verdict = |text: &str| parse(text).unwrap().validate(3).unwrap_err().to_string() + "\n";
        expect![[r#"
            'try 4 at 5ms' names node 4, but there are only nodes 1 to 3.
            'crash 9 at 10ms' names node 9, but there are only nodes 1 to 3.
        "#]]
        .assert_eq(&["acquire 3\ntry 4 at 5ms", "acquire 1\ncrash 9 at 10ms"].map(verdict).concat());
    }

    #[test]
    fn a_node_that_is_not_there_is_told_with_its_line() {
        let names = COMMANDS.map(|command| command.name());
        let verdict = |text: &str| Script::parse_for(text, &names, 3).unwrap_err().to_string() + "\n";
        expect![[r#"
            Line 3: 'try 4 at 5ms' names node 4, but there are only nodes 1 to 3.
            Line 2: 'crash 9' names node 9, but there are only nodes 1 to 3.
            Line 1: 'cut 1,2,3 | rest' leaves nobody for 'rest': it names every node there is.
            Line 1: 'timer 1 of 4 takes 1ms' names node 4, but there are only nodes 1 to 3.
        "#]]
        .assert_eq(
            &["acquire 3\n\ntry 4 at 5ms", "# x\ncrash 9", "cut 1,2,3 | rest", "timer 1 of 4 takes 1ms"]
                .map(verdict)
                .concat(),
        );
    }

    #[test]
    fn two_directions_about_one_thing_are_refused() {
        let verdict = |text: &str| parse(text).unwrap_err().to_string() + "\n";
        expect![[r#"
            Line 3: 'message 1 of 1 > 2 takes 10ms' and 'message 1 of 1 > 2 takes 9ms' on line 1 are about the same thing; leave one of them out.
            Line 3: 'message 1 of 1 > 2 is lost' and 'message 1 of 1 > 2 takes 9ms' on line 1 are about the same thing; leave one of them out.
            Line 2: 'message 1 of 1 > 2 is lost' and 'message 1 of 1 > 2 is lost' on line 1 are about the same thing; leave one of them out.
            Line 2: 'message 1 of 1 > 2 is lost' and 'message 1 of 1 > 2 comes again after 3ms' on line 1 are about the same thing; leave one of them out.
            Line 2: 'message 1 of 1 > 2 comes again after 2ms' and 'message 1 of 1 > 2 comes again after 3ms' on line 1 are about the same thing; leave one of them out.
            Line 2: 'timer 4 of 1 takes 1ms' and 'timer 4 of 1 takes 3ms' on line 1 are about the same thing; leave one of them out.
            Line 3: 'sync 4 of 1 takes 3ms' and 'sync 4 of 1 takes 3ms' on line 1 are about the same thing; leave one of them out.
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
            .map(verdict)
            .concat(),
        );
        let fine = "message 1 of 1 > 2 comes again after 3ms\nmessage 1 of 1 > 2 takes 2ms\nmessage 1 of 2 > 1 takes 2ms\n\
                    message 2 of 1 > 2 takes 2ms\ntimer 1 of 1 takes 2ms\nsync 1 of 1 takes 2ms\ntimer 1 of 2 takes 2ms";
        let mut script = parse(fine).unwrap();
        assert_eq!(script.validate(2), Ok(()));
        script.directions.extend(script.directions.last().copied());
        let twice = script.validate(2).unwrap_err().to_string();
        assert!(twice.contains("are about the same thing"), "{twice}");
    }

    #[test]
    fn mistakes_in_a_script() {
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
            Line 3, 'crsh 2 at 5ms': 'crsh' is not a fault or a command; did you mean 'crash'? Faults are crash, restart, pause, resume, disk, close, cut, heal, skew, drift, link. Commands are acquire, try, share, cancel, release. Directions are message, timer, sync.
            Line 1, 'acqire 2 at 5ms': 'acqire' is not a fault or a command; did you mean 'acquire'? Faults are crash, restart, pause, resume, disk, close, cut, heal, skew, drift, link. Commands are acquire, try, share, cancel, release. Directions are message, timer, sync.
            Line 1: 'banana' is not a fault or a command. Faults are crash, restart, pause, resume, disk, close, cut, heal, skew, drift, link. Commands are acquire, try, share, cancel, release. Directions are message, timer, sync.
            Line 1: 'acquire' lacks a node; write COMMAND NODE [at TIME].
            Line 1, 'acquire two at 5ms': 'two' is not a node's number; write for example 2.
            Line 1, 'acquire 2 3 at 5ms': '3' makes no sense in 'acquire 2 3'. Write COMMAND NODE [at TIME].
            Line 1, 'acquire 2 at 5ms for 3ms': 'acquire' happens at once and cannot last; leave out 'for 3ms'.
            Line 1: 'att' makes no sense in 'acquire 2 att 5ms'; did you mean 'at'? Write COMMAND NODE [at TIME].
            Line 1, 'acquire 2 at 5': '5' has no unit; add one, such as '5ms'. Units are ns, us, ms, s, m, h.
            Line 1: 'at 5ms' lacks a fault or a command; write for example 'crash 2 at 10ms'.
            Line 1: 'crash 2 at 5ms for' lacks a length after 'for'; write for example 'for 20ms'.
            Line 1, 'cut 1 | 1': '1 | 1' puts node 1 on two sides; leave it on one.
            Line 2: 'heal\u{7}' is not a fault or a command; did you mean 'heal'? Faults are crash, restart, pause, resume, disk, close, cut, heal, skew, drift, link. Commands are acquire, try, share, cancel, release. Directions are message, timer, sync.
        "#]].assert_eq(&sentences);
        let without_commands = Script::parse("acquire 2", &[]).unwrap_err().to_string() + "\n";
        expect![[r#"
            Line 1, 'acquire 2': 'acquire' is not a fault. Faults are crash, restart, pause, resume, disk, close, cut, heal, skew, drift, link. Directions are message, timer, sync.
        "#]].assert_eq(&without_commands);
    }

    proptest! {
        #[test]
        fn any_text_reads_back(text in proptest::prelude::any::<String>()) {
            let node = quorate_core::NodeId::from_index(0);
            let command = super::TimedCommand { at: Default::default(), node, word: format!("send {text}") };
            let script = Script { commands: vec![command], ..Script::default() };
            prop_assert_eq!(Script::parse(&script.to_string(), &SPEAKING), Ok(script));
        }

        #[test]
        fn a_script_reads_back_as_printed(script in samples::script()) {
            let printed = script.to_string();
            prop_assert_eq!(parse(&printed), Ok(script.clone()));
            prop_assert_eq!(printed.parse(), Ok(script));
        }
    }
}
