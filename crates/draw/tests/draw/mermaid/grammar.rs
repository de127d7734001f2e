//! A parser for the subset of Mermaid's sequence diagrams used here, after `sequenceDiagram.jison`
//! and Mermaid's processing before and after that grammar.

/// One statement of a diagram, with unescaped texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Statement {
    Title(String),
    Participant { id: String },
    Message { from: String, to: String, arrow: String, text: String },
    Note { over: Vec<String>, text: String },
    Activate(String),
    Deactivate(String),
    Rect(String),
    End,
}

/// Parses a diagram. Fails if Mermaid would refuse it or interpret a text as syntax.
pub(crate) fn parse(text: &str) -> Result<Vec<Statement>, String> {
    if text.encode_utf16().count() > 50_000 {
        return Err("it is longer than Mermaid allows".into());
    }
    let encoded = encode(text)?;
    let mut lines = encoded.lines();
    if lines.next() != Some("sequenceDiagram") {
        return Err("the first line must be 'sequenceDiagram'".into());
    }
    let mut state = State::default();
    let statements: Result<Vec<_>, String> = lines.map(|line| state.parse_statement(line)).collect();
    state.check_closed()?;
    statements
}

/// Delimiters of an escaped code point.
const OPEN: char = '\u{f0001}';
const CLOSE: char = '\u{f0002}';

/// Replaces every escape `#…;`, as Mermaid does first. Fails if a character remains that Mermaid
/// would interpret.
fn encode(text: &str) -> Result<String, String> {
    if text.contains(['\r', 'ﬂ', '°', '¶', 'ß', OPEN, CLOSE]) {
        return Err("a carriage return, or a character that Mermaid reserves".into());
    }
    // Mermaid applies two regular expressions for flow-chart styles, which would corrupt an escape.
    for line in text.lines() {
        let is_style = ["style", "classDef"].iter().filter_map(|word| line.split_once(word)).any(|(_, rest)| {
            rest.match_indices(':').any(|(colon, _)| {
                let word = rest[colon + 1..].split(char::is_whitespace).next().unwrap_or_default();
                word.contains('#')
            })
        });
        if is_style {
            return Err(format!("parsed as a style: {line}"));
        }
    }
    let mut encoded = String::new();
    let mut rest = text;
    while let Some(start) = rest.find('#') {
        encoded.push_str(&rest[..start]);
        let escape = &rest[start + 1..];
        let end = escape.find(';').ok_or("a # that begins a comment")?;
        let digits = &escape[..end];
        if digits.is_empty() || !digits.chars().all(|digit| digit.is_ascii_digit()) {
            return Err(format!("#{digits}; is not a number"));
        }
        encoded.push(OPEN);
        encoded.push_str(digits);
        encoded.push(CLOSE);
        rest = &escape[end + 1..];
    }
    encoded.push_str(rest);
    if encoded.contains(';') {
        return Err("a ; that ends a statement".into());
    }
    if encoded.contains("%%") {
        return Err("a comment or a directive".into());
    }
    if encoded.replace("<br/>", "").contains('<') {
        return Err("markup".into());
    }
    Ok(encoded)
}

/// Returns a text as Mermaid displays it. Fails if Mermaid would interpret the text.
fn decode(text: &str) -> Result<String, String> {
    if text.contains("$$") {
        return Err("parsed as a formula".into());
    }
    if text.contains('&') {
        return Err("parsed as an entity".into());
    }
    let trimmed = text.trim();
    if [":", "wrap:", "nowrap:"].iter().any(|setting| trimmed.starts_with(setting)) {
        return Err(format!("parsed as a setting: {trimmed}"));
    }
    let mut decoded = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(OPEN) {
        decoded.push_str(&rest[..start].replace("<br/>", "\n"));
        let escape = &rest[start + OPEN.len_utf8()..];
        let end = escape.find(CLOSE).ok_or("a number without end")?;
        let number: u32 = escape[..end].parse().map_err(|_| "a number that is too large")?;
        decoded.push(char::from_u32(number).ok_or("a number that is not a character")?);
        rest = &escape[end + CLOSE.len_utf8()..];
    }
    decoded.push_str(&rest.replace("<br/>", "\n"));
    Ok(decoded)
}

/// The participants, activations and blocks so far.
#[derive(Default)]
struct State {
    participants: Vec<String>,
    active_participants: Vec<String>,
    open_blocks: usize,
}

impl State {
    fn parse_statement(&mut self, line: &str) -> Result<Statement, String> {
        let line = line.strip_prefix("    ").ok_or_else(|| format!("not indented: {line:?}"))?;
        let keyword = line.split(' ').next().unwrap_or_default();
        match keyword {
            "title" => Ok(Statement::Title(decode(line.strip_prefix("title ").ok_or("no title")?)?)),
            "participant" => self.parse_participant(line),
            "Note" => self.parse_note(line),
            "activate" => {
                let id = self.known_participant(&line["activate ".len()..])?;
                self.active_participants.push(id.clone());
                Ok(Statement::Activate(id))
            }
            "deactivate" => {
                let id = self.known_participant(line.strip_prefix("deactivate ").ok_or("no participant")?)?;
                let index = self.active_participants.iter().position(|active| *active == id);
                self.active_participants.remove(index.ok_or_else(|| format!("{id} is not active"))?);
                Ok(Statement::Deactivate(id))
            }
            "rect" => {
                self.open_blocks += 1;
                Ok(Statement::Rect(line["rect ".len()..].to_owned()))
            }
            "end" if line == "end" => {
                self.open_blocks = self.open_blocks.checked_sub(1).ok_or("an end without a block")?;
                Ok(Statement::End)
            }
            _ => self.parse_message(line),
        }
    }

    /// Fails if a block or an activation is still open.
    fn check_closed(&self) -> Result<(), String> {
        match (self.open_blocks, self.active_participants.is_empty()) {
            (0, true) => Ok(()),
            _ => Err("a block or an activation is not closed".into()),
        }
    }

    fn parse_participant(&mut self, line: &str) -> Result<Statement, String> {
        let (id, name) = line["participant ".len()..].split_once(" as ").ok_or("no name")?;
        let is_node = id.strip_prefix('n').is_some_and(|number| number.chars().all(|digit| digit.is_ascii_digit()));
        if !is_node || name.trim().is_empty() || self.participants.iter().any(|known| known == id) {
            return Err(format!("no participant: {line:?}"));
        }
        self.participants.push(id.into());
        Ok(Statement::Participant { id: id.into() })
    }

    fn parse_note(&self, line: &str) -> Result<Statement, String> {
        let (over, text) = line.strip_prefix("Note over ").and_then(|rest| rest.split_once(':')).ok_or("no note")?;
        let over: Result<Vec<_>, _> = over.split(',').map(|id| self.known_participant(id)).collect();
        let over = over?;
        if over.len() > 2 {
            return Err("a note over more than two participants".into());
        }
        Ok(Statement::Note { over, text: decode(text)? })
    }

    fn parse_message(&self, line: &str) -> Result<Statement, String> {
        let (signal, text) = line.split_once(':').ok_or_else(|| format!("no text: {line:?}"))?;
        for arrow in ["-->>", "->>", "--x", "-x", "--)", "-)"] {
            if let Some((from, to)) = signal.split_once(arrow) {
                let (from, to) = (self.known_participant(from)?, self.known_participant(to)?);
                return Ok(Statement::Message { from, to, arrow: arrow.into(), text: decode(text)? });
            }
        }
        Err(format!("no statement: {line:?}"))
    }

    fn known_participant(&self, id: &str) -> Result<String, String> {
        let known = self.participants.iter().find(|known| *known == id);
        known.cloned().ok_or_else(|| format!("unknown participant {id:?}"))
    }
}
