//! Parses the text of a wait-for graph, line by line. Any bytes give a [`Situation`] or an error.

use super::lexer::{Token, TokenKind, tokenize};
use super::name::{Name, RESERVED};
use super::parse_error::{ParseError, Problem};
use super::situation::{Process, Situation};
use quorate_core::deadlock::Need;
use quorate_journal::settings::nearest;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum length of a text that [`Situation::parse`] accepts.
pub const MAX_BYTES: usize = 1 << 20;

const MAX_NAME_CHARACTERS: usize = 100;

const VERBS: &str = "'->', 'waits for', 'holds', 'wants', 'has' or 'began'";
const VERB_WORDS: [&str; 5] = ["waits", "holds", "wants", "has", "began"];
const SEPARATORS: &str = "',', 'and', '|', 'or' or the end of the line";
const AND_SEPARATORS: &str = "',', 'and' or the end of the line";
const END: &str = "the end of the line";

impl Situation {
    /// Parses a text. Fails at its first error.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        if bytes.len() > MAX_BYTES {
            return Err(ParseError { line: 1, column: 1, problem: Problem::TooLong { max: MAX_BYTES } });
        }
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
            let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
            ParseError { line, column: 1, problem: Problem::NotText }
        })?;
        let mut parser = Parser::default();
        // Some editors begin a file with a byte order mark.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (number, line) in (1..).zip(text.lines()) {
            parser.line = number;
            let tokens = tokenize(line);
            if !tokens.is_empty() {
                let end = line.trim_end().chars().count() + 1;
                parser.parse_statement(TokenCursor { tokens: &tokens, line: number, end })?;
            }
        }
        parser.validate()
    }
}

#[derive(Default)]
struct Parser {
    situation: Situation,
    line: usize,
    /// For each name, whether it is a process or a resource, and the line that says so first.
    roles: BTreeMap<Name, (Role, usize)>,
    /// Statements that may occur only once, with their lines.
    statement_lines: BTreeMap<String, usize>,
    /// The line and column of each resource's number of permits.
    permit_positions: BTreeMap<Name, (usize, usize)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Process,
    Resource,
}

/// The tokens of a line that are not parsed yet.
#[derive(Clone, Copy)]
struct TokenCursor<'a> {
    tokens: &'a [Token<'a>],
    line: usize,
    /// The column after the last character of the line.
    end: usize,
}

impl<'a> TokenCursor<'a> {
    fn next(&mut self) -> Option<Token<'a>> {
        let (first, rest) = self.tokens.split_first()?;
        self.tokens = rest;
        Some(*first)
    }

    fn column(&self) -> usize {
        self.tokens.first().map_or(self.end, |token| token.column)
    }

    fn error_at(&self, column: usize, problem: Problem) -> ParseError {
        ParseError { line: self.line, column, problem }
    }

    fn unexpected_token(&self, token: Option<Token<'_>>, expected: &'static str, known: &[&'static str]) -> ParseError {
        let word = token.filter(|token| token.kind == TokenKind::Word);
        let nearest = word.and_then(|token| nearest(token.text, known.iter().copied()));
        let column = token.map_or(self.end, |token| token.column);
        self.error_at(
            column,
            Problem::Unexpected { found: token.map(|token| token.text.to_owned()), expected, nearest },
        )
    }

    fn take_name(&mut self, expected: &'static str) -> Result<(Name, usize), ParseError> {
        let token = self.next();
        let Some(Token { kind: TokenKind::Word, text, column }) = token else {
            return Err(self.unexpected_token(token, expected, &[]));
        };
        let length = text.chars().count();
        if length > MAX_NAME_CHARACTERS {
            return Err(self.error_at(column, Problem::LongName { length, max: MAX_NAME_CHARACTERS }));
        }
        let name = Name::parse(text).ok_or_else(|| self.error_at(column, Problem::NotAName(text.to_owned())))?;
        Ok((name, column))
    }

    fn expect_word(&mut self, word: &'static str, expected: &'static str) -> Result<(), ParseError> {
        match self.next() {
            Some(token) if token.kind == TokenKind::Word && token.text == word => Ok(()),
            token => Err(self.unexpected_token(token, expected, &[word])),
        }
    }

    fn take_number(&mut self) -> Result<u32, ParseError> {
        let token = self.next();
        let digits =
            token.filter(|token| token.kind == TokenKind::Word && token.text.bytes().all(|byte| byte.is_ascii_digit()));
        let Some(Token { text, column, .. }) = digits else {
            return Err(self.unexpected_token(token, "a whole number", &[]));
        };
        text.parse().map_err(|_| self.error_at(column, Problem::LargeNumber(text.to_owned())))
    }

    fn expect_end(mut self) -> Result<(), ParseError> {
        match self.next() {
            None => Ok(()),
            token => Err(self.unexpected_token(token, END, &[])),
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
    fn parse_statement(&mut self, mut cursor: TokenCursor<'_>) -> Result<(), ParseError> {
        let (subject, column) = cursor.take_name("a name")?;
        let verb = cursor.next();
        match verb.map(|token| (token.kind, token.text)) {
            Some((TokenKind::Arrow, _)) => self.parse_wait(subject, column, cursor),
            Some((TokenKind::Word, "waits")) => {
                cursor.expect_word("for", "'for'")?;
                self.parse_wait(subject, column, cursor)
            }
            Some((TokenKind::Word, "holds")) => self.parse_resources(subject, column, cursor, "holds"),
            Some((TokenKind::Word, "wants")) => self.parse_resources(subject, column, cursor, "wants"),
            Some((TokenKind::Word, "has")) => self.parse_has(subject, column, cursor),
            Some((TokenKind::Word, "began")) => self.parse_began(subject, column, cursor),
            Some(_) | None => Err(cursor.unexpected_token(verb, VERBS, &VERB_WORDS)),
        }
    }

    fn parse_wait(&mut self, process: Name, column: usize, cursor: TokenCursor<'_>) -> Result<(), ParseError> {
        let (awaited, is_any) = parse_names(cursor, SEPARATORS)?;
        self.record_role(&process, column, Role::Process)?;
        let mut names = Vec::new();
        let mut known_names = BTreeSet::new();
        for (name, column) in awaited {
            self.record_role(&name, column, Role::Process)?;
            if known_names.insert(name.clone()) {
                names.push(name);
            }
        }
        let need = if is_any && names.len() > 1 { Need::Any(names) } else { Need::All(names) };
        self.situation.waits.push((process, need));
        Ok(())
    }

    fn parse_resources(
        &mut self,
        process: Name,
        column: usize,
        cursor: TokenCursor<'_>,
        verb: &str,
    ) -> Result<(), ParseError> {
        let (resources, is_any) = parse_names(cursor, AND_SEPARATORS)?;
        if is_any {
            // A wait for any one of several resources cannot be expressed: if each has several
            // holders, it is neither a wait for all of some processes nor for any one of them.
            let or = cursor.tokens.iter().find(|token| token.kind == TokenKind::Bar || token.text == "or").copied();
            return Err(cursor.unexpected_token(or, AND_SEPARATORS, &[]));
        }
        self.record_role(&process, column, Role::Process)?;
        for (name, column) in resources {
            self.record_role(&name, column, Role::Resource)?;
            self.record_once(format!("that {process} {verb} {name}"), column)?;
            let resource = self.situation.resources.entry(name).or_default();
            let list = if verb == "holds" { &mut resource.holders } else { &mut resource.queue };
            list.push(process.clone());
        }
        Ok(())
    }

    /// Parses the rest of `pool has 2 permits` or `P1 has priority 3`.
    fn parse_has(&mut self, name: Name, column: usize, mut cursor: TokenCursor<'_>) -> Result<(), ParseError> {
        const EXPECTED: &str = "a number of permits or 'priority'";
        let is_number =
            cursor.tokens.first().is_some_and(|token| token.text.starts_with(|digit: char| digit.is_ascii_digit()));
        if !is_number {
            cursor.expect_word("priority", EXPECTED)?;
            let priority = cursor.take_number()?;
            cursor.expect_end()?;
            self.record_role(&name, column, Role::Process)?;
            self.record_once(format!("what priority {name} has"), column)?;
            self.process_mut(name).priority = Some(priority);
            return Ok(());
        }
        let permits_column = cursor.column();
        let permits = cursor.take_number()?;
        match cursor.next() {
            Some(token) if token.text == "permit" || token.text == "permits" => {}
            token => return Err(cursor.unexpected_token(token, "'permits'", &["permits"])),
        }
        cursor.expect_end()?;
        self.record_role(&name, column, Role::Resource)?;
        self.record_once(format!("how many permits {name} has"), column)?;
        if permits == 0 {
            return Err(cursor.error_at(permits_column, Problem::NoPermits(name)));
        }
        self.permit_positions.insert(name.clone(), (self.line, permits_column));
        self.situation.resources.entry(name).or_default().permits = Some(permits);
        Ok(())
    }

    fn parse_began(&mut self, process: Name, column: usize, mut cursor: TokenCursor<'_>) -> Result<(), ParseError> {
        if cursor.tokens.first().is_some_and(|token| token.text == "at") {
            cursor.next();
        }
        let start_time = cursor.take_number()?;
        cursor.expect_end()?;
        self.record_role(&process, column, Role::Process)?;
        self.record_once(format!("when {process} began"), column)?;
        self.process_mut(process).start_time = Some(start_time);
        Ok(())
    }

    fn process_mut(&mut self, process: Name) -> &mut Process {
        self.situation.processes.entry(process).or_default()
    }

    /// Records the role of a name. Fails if the name has the other role already.
    fn record_role(&mut self, name: &Name, column: usize, role: Role) -> Result<(), ParseError> {
        let line = self.line;
        let (known_role, role_line) = *self.roles.entry(name.clone()).or_insert((role, line));
        if known_role == role {
            if role == Role::Process {
                self.process_mut(name.clone());
            }
            return Ok(());
        }
        let name = name.clone();
        let problem = match role {
            Role::Process => Problem::NotAProcess { name, line: role_line },
            Role::Resource => Problem::NotAResource { name, line: role_line },
        };
        Err(ParseError { line, column, problem })
    }

    /// Records a statement, as a clause such as `that P1 holds x`. Fails if a line already made it.
    fn record_once(&mut self, statement: String, column: usize) -> Result<(), ParseError> {
        match self.statement_lines.get(&statement) {
            Some(line) => {
                Err(ParseError { line: self.line, column, problem: Problem::Repeated { statement, line: *line } })
            }
            None => {
                self.statement_lines.insert(statement, self.line);
                Ok(())
            }
        }
    }

    /// Makes the checks that need the whole text.
    fn validate(self) -> Result<Situation, ParseError> {
        for (name, (line, column)) in self.permit_positions {
            let Some(resource) = self.situation.resources.get(&name) else { continue };
            let (permits, holders) = (resource.permits.unwrap_or(u32::MAX), resource.holders.len());
            if holders > permits as usize {
                return Err(ParseError { line, column, problem: Problem::TooManyHolders { name, permits, holders } });
            }
        }
        Ok(self.situation)
    }
}

/// Parses a list of names with their columns. Also returns whether it is a choice, of which one
/// name is enough. A comma means the same as the 'and' or 'or' that follows later in the list; if
/// none follows, it means 'and', so commas and '|' do not mix.
fn parse_names(
    mut cursor: TokenCursor<'_>,
    expected_separators: &'static str,
) -> Result<(Vec<(Name, usize)>, bool), ParseError> {
    let mut names = vec![cursor.take_name("a name")?];
    let mut separators: Vec<(Separator, usize)> = Vec::new();
    while let Some(token) = cursor.next() {
        let column = token.column;
        let mut separator = match (token.kind, token.text) {
            (TokenKind::Comma, _) => Separator::Comma,
            (TokenKind::Bar, _) => Separator::Bar,
            (TokenKind::Word, "and") => Separator::And,
            (TokenKind::Word, "or") => Separator::Or,
            (_, _) => return Err(cursor.unexpected_token(Some(token), expected_separators, &RESERVED)),
        };
        // "P2, P3, and P4" is valid English. The reserved words are "and" and "or".
        let next_word = cursor.tokens.first().filter(|_| separator == Separator::Comma).map(|token| token.text);
        if let Some(word) = next_word.filter(|word| RESERVED.contains(word)) {
            separator = if word == "and" { Separator::And } else { Separator::Or };
            cursor.next();
        }
        separators.push((separator, column));
        names.push(cursor.take_name("a name")?);
    }
    let has = |wanted: Separator| separators.iter().any(|(separator, _)| *separator == wanted);
    let is_any = has(Separator::Bar) || has(Separator::Or);
    let is_mixed = is_any && (has(Separator::And) || has(Separator::Bar) && has(Separator::Comma));
    // A comma after an 'or' is ambiguous.
    let last_comma = separators.iter().rposition(|(separator, _)| *separator == Separator::Comma);
    let first_or = separators.iter().position(|(separator, _)| *separator == Separator::Or);
    let is_unclear = matches!((first_or, last_comma), (Some(or), Some(comma)) if or < comma);
    match separators.last() {
        Some((_, column)) if is_mixed || is_unclear => Err(cursor.error_at(*column, Problem::Mixed)),
        Some(_) | None => Ok((names, is_any)),
    }
}
