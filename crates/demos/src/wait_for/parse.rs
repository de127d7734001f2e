//! Parses a situation, line by line. Any bytes give a situation or an error message.

use super::lexer::{Kind, Token, tokens};
use super::name::{Name, RESERVED};
use super::parse_error::{ParseError, Problem};
use super::situation::{Process, Situation};
use quorate_core::deadlock::Need;
use quorate_journal::settings::nearest;
use std::collections::{BTreeMap, BTreeSet};

pub const MAX_BYTES: usize = 1 << 20;

const MAX_NAME_CHARACTERS: usize = 100;

const VERBS: &str = "'->', 'waits for', 'holds', 'wants', 'has' or 'began'";
const VERB_WORDS: [&str; 5] = ["waits", "holds", "wants", "has", "began"];
const SEPARATORS: &str = "',', 'and', '|', 'or' or the end of the line";
const AND_SEPARATORS: &str = "',', 'and' or the end of the line";
const END: &str = "the end of the line";

impl Situation {
    pub fn read(bytes: &[u8]) -> Result<Self, ParseError> {
        if bytes.len() > MAX_BYTES {
            return Err(ParseError { line: 1, column: 1, what: Problem::TooLong { most: MAX_BYTES } });
        }
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
            let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
            ParseError { line, column: 1, what: Problem::NotText }
        })?;
        let mut parser = Parser::default();
        // Some editors begin a file with a byte order mark.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (number, line) in (1..).zip(text.lines()) {
            parser.line = number;
            let tokens = tokens(line);
            if !tokens.is_empty() {
                let end = line.trim_end().chars().count() + 1;
                parser.statement(Rest { tokens: &tokens, line: number, end })?;
            }
        }
        parser.finish()
    }
}

#[derive(Default)]
struct Parser {
    situation: Situation,
    line: usize,
    roles: BTreeMap<Name, (Role, usize)>,
    /// Statements that may occur only once, with their lines.
    statement: BTreeMap<String, usize>,
    permits: BTreeMap<Name, (usize, usize)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Process,
    Resource,
}

#[derive(Clone, Copy)]
struct Rest<'a> {
    tokens: &'a [Token<'a>],
    line: usize,
    end: usize,
}

impl<'a> Rest<'a> {
    fn next(&mut self) -> Option<Token<'a>> {
        let (first, rest) = self.tokens.split_first()?;
        self.tokens = rest;
        Some(*first)
    }

    fn column(&self) -> usize {
        self.tokens.first().map_or(self.end, |token| token.column)
    }

    fn mistake(&self, column: usize, what: Problem) -> ParseError {
        ParseError { line: self.line, column, what }
    }

    fn unexpected(&self, token: Option<Token<'_>>, expected: &'static str, known: &[&'static str]) -> ParseError {
        let word = token.filter(|token| token.kind == Kind::Word);
        let nearest = word.and_then(|token| nearest(token.text, known.iter().copied()));
        let column = token.map_or(self.end, |token| token.column);
        self.mistake(column, Problem::Unexpected { found: token.map(|token| token.text.to_owned()), expected, nearest })
    }

    fn name(&mut self, expected: &'static str) -> Result<(Name, usize), ParseError> {
        let token = self.next();
        let Some(Token { kind: Kind::Word, text, column }) = token else {
            return Err(self.unexpected(token, expected, &[]));
        };
        let length = text.chars().count();
        if length > MAX_NAME_CHARACTERS {
            return Err(self.mistake(column, Problem::LongName { length, most: MAX_NAME_CHARACTERS }));
        }
        let name = Name::of(text).ok_or_else(|| self.mistake(column, Problem::NoName(text.to_owned())))?;
        Ok((name, column))
    }

    fn word(&mut self, word: &'static str, expected: &'static str) -> Result<(), ParseError> {
        match self.next() {
            Some(token) if token.kind == Kind::Word && token.text == word => Ok(()),
            token => Err(self.unexpected(token, expected, &[word])),
        }
    }

    fn number(&mut self) -> Result<u32, ParseError> {
        let token = self.next();
        let digits =
            token.filter(|token| token.kind == Kind::Word && token.text.bytes().all(|byte| byte.is_ascii_digit()));
        let Some(Token { text, column, .. }) = digits else {
            return Err(self.unexpected(token, "a whole number", &[]));
        };
        text.parse().map_err(|_| self.mistake(column, Problem::LargeNumber(text.to_owned())))
    }

    fn end(mut self) -> Result<(), ParseError> {
        match self.next() {
            None => Ok(()),
            token => Err(self.unexpected(token, END, &[])),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Separator {
    Comma,
    And,
    Bar,
    Or,
}

impl Parser {
    /// Parses one line: a name, a verb and its arguments.
    fn statement(&mut self, mut rest: Rest<'_>) -> Result<(), ParseError> {
        let (who, column) = rest.name("a name")?;
        let verb = rest.next();
        match verb.map(|token| (token.kind, token.text)) {
            Some((Kind::Arrow, _)) => self.waits(who, column, rest),
            Some((Kind::Word, "waits")) => {
                rest.word("for", "'for'")?;
                self.waits(who, column, rest)
            }
            Some((Kind::Word, "holds")) => self.resources(who, column, rest, "holds"),
            Some((Kind::Word, "wants")) => self.resources(who, column, rest, "wants"),
            Some((Kind::Word, "has")) => self.has(who, column, rest),
            Some((Kind::Word, "began")) => self.began(who, column, rest),
            Some(_) | None => Err(rest.unexpected(verb, VERBS, &VERB_WORDS)),
        }
    }

    fn waits(&mut self, who: Name, column: usize, rest: Rest<'_>) -> Result<(), ParseError> {
        let (on, is_any) = names(rest, SEPARATORS)?;
        self.role(&who, column, Role::Process)?;
        let mut names = Vec::new();
        let mut seen = BTreeSet::new();
        for (name, column) in on {
            self.role(&name, column, Role::Process)?;
            if seen.insert(name.clone()) {
                names.push(name);
            }
        }
        let need = if is_any && names.len() > 1 { Need::Any(names) } else { Need::All(names) };
        self.situation.waits.push((who, need));
        Ok(())
    }

    fn resources(&mut self, who: Name, column: usize, rest: Rest<'_>, verb: &str) -> Result<(), ParseError> {
        let (on, is_any) = names(rest, AND_SEPARATORS)?;
        if is_any {
            // Such a need would be more than a wait for all or for any of some processes.
            let or = rest.tokens.iter().find(|token| token.kind == Kind::Bar || token.text == "or").copied();
            return Err(rest.unexpected(or, AND_SEPARATORS, &[]));
        }
        self.role(&who, column, Role::Process)?;
        for (name, column) in on {
            self.role(&name, column, Role::Resource)?;
            self.once(format!("that {who} {verb} {name}"), column)?;
            let resource = self.situation.resources.entry(name).or_default();
            let list = if verb == "holds" { &mut resource.holders } else { &mut resource.queue };
            list.push(who.clone());
        }
        Ok(())
    }

    /// Permits of a resource, or the priority of a process.
    fn has(&mut self, name: Name, column: usize, mut rest: Rest<'_>) -> Result<(), ParseError> {
        const EXPECTED: &str = "a number of permits or 'priority'";
        let is_number =
            rest.tokens.first().is_some_and(|token| token.text.starts_with(|digit: char| digit.is_ascii_digit()));
        if !is_number {
            rest.word("priority", EXPECTED)?;
            let priority = rest.number()?;
            rest.end()?;
            self.role(&name, column, Role::Process)?;
            self.once(format!("what priority {name} has"), column)?;
            self.process(name).priority = Some(priority);
            return Ok(());
        }
        let at = rest.column();
        let permits = rest.number()?;
        match rest.next() {
            Some(token) if token.text == "permit" || token.text == "permits" => {}
            token => return Err(rest.unexpected(token, "'permits'", &["permits"])),
        }
        rest.end()?;
        self.role(&name, column, Role::Resource)?;
        self.once(format!("how many permits {name} has"), column)?;
        if permits == 0 {
            return Err(rest.mistake(at, Problem::NoPermits(name)));
        }
        self.permits.insert(name.clone(), (self.line, at));
        self.situation.resources.entry(name).or_default().permits = Some(permits);
        Ok(())
    }

    fn began(&mut self, who: Name, column: usize, mut rest: Rest<'_>) -> Result<(), ParseError> {
        if rest.tokens.first().is_some_and(|token| token.text == "at") {
            rest.next();
        }
        let born = rest.number()?;
        rest.end()?;
        self.role(&who, column, Role::Process)?;
        self.once(format!("when {who} began"), column)?;
        self.process(who).born = Some(born);
        Ok(())
    }

    fn process(&mut self, who: Name) -> &mut Process {
        self.situation.processes.entry(who).or_default()
    }

    /// Records the role of a name; a name must not be both a process and a resource.
    fn role(&mut self, name: &Name, column: usize, role: Role) -> Result<(), ParseError> {
        let line = self.line;
        let (before, statement) = *self.roles.entry(name.clone()).or_insert((role, line));
        if before == role {
            if role == Role::Process {
                self.process(name.clone());
            }
            return Ok(());
        }
        let name = name.clone();
        let what = match role {
            Role::Process => Problem::NotAProcess { name, line: statement },
            Role::Resource => Problem::NotAResource { name, line: statement },
        };
        Err(ParseError { line, column, what })
    }

    fn once(&mut self, statement: String, column: usize) -> Result<(), ParseError> {
        match self.statement.get(&statement) {
            Some(line) => Err(ParseError { line: self.line, column, what: Problem::Twice { statement, line: *line } }),
            None => {
                self.statement.insert(statement, self.line);
                Ok(())
            }
        }
    }

    /// Checks that need the whole text.
    fn finish(self) -> Result<Situation, ParseError> {
        for (name, (line, column)) in self.permits {
            let Some(resource) = self.situation.resources.get(&name) else { continue };
            let (permits, holders) = (resource.permits.unwrap_or(u32::MAX), resource.holders.len());
            if holders > permits as usize {
                return Err(ParseError { line, column, what: Problem::TooManyHolders { name, permits, holders } });
            }
        }
        Ok(self.situation)
    }
}

/// Parses a list of names with their columns. Returns whether one of them is enough. Commas mean
/// the same as the last separator.
fn names(mut rest: Rest<'_>, joints: &'static str) -> Result<(Vec<(Name, usize)>, bool), ParseError> {
    let mut names = vec![rest.name("a name")?];
    let mut between: Vec<(Separator, usize)> = Vec::new();
    while let Some(token) = rest.next() {
        let column = token.column;
        let mut separator = match (token.kind, token.text) {
            (Kind::Comma, _) => Separator::Comma,
            (Kind::Bar, _) => Separator::Bar,
            (Kind::Word, "and") => Separator::And,
            (Kind::Word, "or") => Separator::Or,
            (_, _) => return Err(rest.unexpected(Some(token), joints, &RESERVED)),
        };
        // "P2, P3, and P4" is valid English.
        let follows = rest.tokens.first().filter(|_| separator == Separator::Comma).map(|token| token.text);
        if let Some(word) = follows.filter(|word| RESERVED.contains(word)) {
            separator = if word == "and" { Separator::And } else { Separator::Or };
            rest.next();
        }
        between.push((separator, column));
        names.push(rest.name("a name")?);
    }
    let has = |wanted: Separator| between.iter().any(|(separator, _)| *separator == wanted);
    let is_any = has(Separator::Bar) || has(Separator::Or);
    let is_mixed = is_any && (has(Separator::And) || has(Separator::Bar) && has(Separator::Comma));
    // A comma after an 'or' is ambiguous.
    let late = between.iter().rposition(|(separator, _)| *separator == Separator::Comma);
    let early = between.iter().position(|(separator, _)| *separator == Separator::Or);
    let is_unclear = matches!((early, late), (Some(or), Some(comma)) if or < comma);
    match between.last() {
        Some((_, column)) if is_mixed || is_unclear => Err(rest.mistake(*column, Problem::Mixed)),
        Some(_) | None => Ok((names, is_any)),
    }
}
