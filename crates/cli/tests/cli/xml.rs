//! A small XML parser for tests: elements, attributes, text, comments and entities. It rejects
//! malformed documents and all other markup.

/// An element with its own text, without the text of its children.
#[derive(Debug)]
pub(crate) struct Element {
    pub(crate) name: String,
    pub(crate) attributes: Vec<(String, String)>,
    pub(crate) text: String,
}

/// Returns all elements of a document in document order, or an error.
pub(crate) fn parse(text: &str) -> Result<Vec<Element>, String> {
    if let Some(character) = text.chars().find(|character| !is_allowed(*character)) {
        return Err(format!("the character {character:?} is not allowed in XML"));
    }
    let mut reader = Reader { rest: text, elements: Vec::new(), enclosing: Vec::new() };
    reader.skip_declaration();
    while !reader.rest.is_empty() {
        reader.read_next()?;
    }
    match (reader.enclosing.last(), reader.elements.is_empty()) {
        (Some(index), _) => Err(format!("<{}> is never closed", reader.elements[*index].name)),
        (None, true) => Err("there is no element".into()),
        (None, false) => Ok(reader.elements),
    }
}

fn is_allowed(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

struct Reader<'a> {
    rest: &'a str,
    elements: Vec<Element>,
    /// The indices of the elements that enclose `rest`, outermost first.
    enclosing: Vec<usize>,
}

impl<'a> Reader<'a> {
    fn skip_declaration(&mut self) {
        if let Some(rest) = self.rest.strip_prefix("<?xml ") {
            self.rest = rest.split_once("?>").map_or("", |(_, rest)| rest);
        }
    }

    /// Reads a comment, a tag or text.
    fn read_next(&mut self) -> Result<(), String> {
        if let Some(rest) = self.rest.strip_prefix("<!--") {
            let (comment, rest) = rest.split_once("-->").ok_or("a comment does not end")?;
            self.rest = rest;
            return if comment.contains("--") { Err("a comment has -- in it".into()) } else { Ok(()) };
        }
        if let Some(rest) = self.rest.strip_prefix("</") {
            return self.read_end_tag(rest);
        }
        if let Some(rest) = self.rest.strip_prefix('<') {
            return self.read_start_tag(rest);
        }
        let end = self.rest.find('<').unwrap_or(self.rest.len());
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        self.add_text(text)
    }

    fn add_text(&mut self, text: &str) -> Result<(), String> {
        if text.contains("]]>") {
            return Err("]]> is not allowed in text".into());
        }
        let decoded = decode(text)?;
        match self.enclosing.last() {
            Some(index) => self.elements[*index].text.push_str(&decoded),
            None if text.trim().is_empty() => {}
            None => return Err(format!("text outside of the root element: {text:?}")),
        }
        Ok(())
    }

    fn read_end_tag(&mut self, rest: &'a str) -> Result<(), String> {
        let (name, rest) = rest.split_once('>').ok_or("an end tag does not end")?;
        self.rest = rest;
        match self.enclosing.pop() {
            Some(index) if self.elements[index].name == name.trim_end() => Ok(()),
            _ => Err(format!("</{name}> does not close the innermost open element")),
        }
    }

    fn read_start_tag(&mut self, rest: &'a str) -> Result<(), String> {
        if self.enclosing.is_empty() && !self.elements.is_empty() {
            return Err("there is a second root".into());
        }
        let (name, mut rest) = split_name(rest)?;
        let mut attributes: Vec<(String, String)> = Vec::new();
        loop {
            let trimmed = rest.trim_start();
            if let Some(after) = trimmed.strip_prefix("/>") {
                self.elements.push(Element { name, attributes, text: String::new() });
                self.rest = after;
                return Ok(());
            }
            if let Some(after) = trimmed.strip_prefix('>') {
                self.enclosing.push(self.elements.len());
                self.elements.push(Element { name, attributes, text: String::new() });
                self.rest = after;
                return Ok(());
            }
            if trimmed.len() == rest.len() {
                return Err(format!("no space before an attribute of <{name}>"));
            }
            let (attribute, after) = split_name(trimmed)?;
            let after = after.strip_prefix('=').ok_or_else(|| format!("{attribute} has no value"))?;
            let quote = after.chars().next().filter(|quote| "'\"".contains(*quote)).ok_or("a value without quotes")?;
            let (value, after) = after[1..].split_once(quote).ok_or("a value does not end")?;
            if value.contains('<') || attributes.iter().any(|(earlier, _)| *earlier == attribute) {
                return Err(format!("the attribute {attribute} is invalid: {value:?}"));
            }
            attributes.push((attribute, decode(value)?));
            rest = after;
        }
    }
}

/// Splits off a leading name.
fn split_name(text: &str) -> Result<(String, &str), String> {
    let is_part = |character: char| character.is_ascii_alphanumeric() || "-_:.".contains(character);
    let end = text.find(|character| !is_part(character)).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    if name.starts_with(|first: char| first.is_ascii_alphabetic()) {
        Ok((name.to_owned(), rest))
    } else {
        Err(format!("no name at {:?}", text.chars().take(20).collect::<String>()))
    }
}

/// Replaces entities such as `&lt;` by their characters.
fn decode(text: &str) -> Result<String, String> {
    let mut parts = text.split('&');
    let mut decoded = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (entity, rest) = part.split_once(';').ok_or_else(|| format!("& without ; before {part:?}"))?;
        let number = entity.strip_prefix('#').map(|number| match number.strip_prefix('x') {
            Some(digits) => u32::from_str_radix(digits, 16),
            None => number.parse(),
        });
        let character = match (entity, number) {
            ("lt", _) => '<',
            ("gt", _) => '>',
            ("amp", _) => '&',
            ("quot", _) => '"',
            ("apos", _) => '\'',
            (_, Some(Ok(number))) => {
                let found = char::from_u32(number).filter(|found| is_allowed(*found));
                found.ok_or_else(|| format!("the character &{entity}; is not allowed in XML"))?
            }
            (_, _) => return Err(format!("the entity &{entity}; is unknown")),
        };
        decoded.push(character);
        decoded.push_str(rest);
    }
    Ok(decoded)
}

#[test]
fn malformed_documents_are_rejected() {
    for text in [
        "",
        "text",
        "<a>",
        "<a></b>",
        "<a/><b/>",
        "<a/>text",
        "<a b=c/>",
        "<a b='<'/>",
        "<a b='1' b='2'/>",
        "<a b='1'c='2'/>",
        "<a b/>",
        "<a>&bogus;</a>",
        "<a>&#0;</a>",
        "<a>& </a>",
        "<a>]]></a>",
        "<a>\u{1b}</a>",
        "<a><!-- -- --></a>",
        "<1/>",
        "<a><b></a></b>",
    ] {
        assert!(parse(text).is_err(), "{text:?} was accepted");
    }
    let elements = parse("<?xml version='1.0'?>\n<a b=\"&lt;&#x41;\"><!-- c -->&amp;d<e/>f</a>\n").unwrap();
    assert_eq!(elements[0].attributes, [("b".to_owned(), "<A".to_owned())]);
    assert_eq!((elements[0].text.as_str(), elements[1].name.as_str()), ("&df", "e"));
}
