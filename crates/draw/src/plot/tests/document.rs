//! A parser of SVG documents as plots write them: it panics at malformed tags, entities and
//! characters.

/// An element with its contents.
#[derive(Debug, Default)]
pub(super) struct Element {
    pub(super) name: String,
    pub(super) attributes: Vec<(String, String)>,
    /// All text in the element and its children except titles, unescaped.
    pub(super) text: String,
    pub(super) children: Vec<Element>,
}

impl Element {
    /// Returns the value of an attribute.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn number(&self, name: &str) -> f64 {
        let value = self.get(name).unwrap_or_else(|| panic!("{} has no {name}: {self:?}", self.name));
        value.parse().unwrap_or_else(|_| panic!("{name}={value} is not a number"))
    }

    /// Returns this element and all elements in it.
    pub(super) fn all(&self) -> Vec<&Element> {
        std::iter::once(self).chain(self.children.iter().flat_map(Element::all)).collect()
    }

    pub(super) fn tooltip(&self) -> Option<&str> {
        self.children.iter().find(|child| child.name == "title").map(|title| title.text.as_str())
    }
}

struct Reader<'a> {
    rest: &'a str,
}

pub(super) fn read(text: &str) -> Element {
    let mut reader = Reader { rest: text };
    let root = reader.read_element();
    assert_eq!(reader.rest.trim(), "", "something follows the root");
    root
}

impl<'a> Reader<'a> {
    fn read_element(&mut self) -> Element {
        self.expect("<");
        let mut element = Element { name: self.read_name().to_owned(), ..Element::default() };
        loop {
            self.rest = self.rest.trim_start();
            if self.accept("/>") {
                return element;
            }
            if self.accept(">") {
                break;
            }
            let name = self.read_name().to_owned();
            self.expect("=\"");
            let value = unescape(self.read_until('"'));
            assert!(element.get(&name).is_none(), "{name} occurs twice in {}", element.name);
            element.attributes.push((name, value));
        }
        self.read_content(&mut element);
        element
    }

    fn read_content(&mut self, element: &mut Element) {
        loop {
            let end = self.rest.find('<').unwrap_or_else(|| panic!("{} does not end", element.name));
            let (before, rest) = self.rest.split_at(end);
            self.rest = rest;
            element.text.push_str(&unescape(before));
            if self.accept("</") {
                assert_eq!(self.read_name(), element.name, "another element ends");
                self.expect(">");
                return;
            }
            let child = self.read_element();
            if child.name != "title" {
                element.text.push_str(&child.text);
            }
            element.children.push(child);
        }
    }

    fn read_name(&mut self) -> &'a str {
        let is_part = |character: char| character.is_ascii_alphanumeric() || "-:".contains(character);
        let end = self.rest.find(|character| !is_part(character)).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        assert!(name.starts_with(|first: char| first.is_ascii_alphabetic()), "no name before {:.40}", self.rest);
        self.rest = rest;
        name
    }

    /// Returns the text before `end`, and skips `end`.
    fn read_until(&mut self, end: char) -> &'a str {
        let (before, rest) = self.rest.split_once(end).unwrap_or_else(|| panic!("no {end} in {:.40}", self.rest));
        assert!(!before.contains('<'), "markup in an attribute: {before}");
        self.rest = rest;
        before
    }

    /// Skips `expected` if it comes next, and returns whether it does.
    fn accept(&mut self, expected: &str) -> bool {
        self.rest.strip_prefix(expected).inspect(|rest| self.rest = rest).is_some()
    }

    fn expect(&mut self, expected: &str) {
        assert!(self.accept(expected), "{expected} expected before {:.40}", self.rest);
    }
}

fn unescape(text: &str) -> String {
    let mut parts = text.split('&');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (entity, rest) = part.split_once(';').unwrap_or_else(|| panic!("&{part:.20} does not end"));
        let character = match entity {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "#39" => '\'',
            "#x2068" => '\u{2068}',
            "#x2069" => '\u{2069}',
            _ => panic!("unexpected entity &{entity};"),
        };
        plain.push(character);
        plain.push_str(rest);
    }
    let is_allowed =
        |character: char| matches!(character, '\n' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    assert!(plain.chars().all(is_allowed), "characters that XML forbids: {plain:?}");
    plain
}

#[test]
fn the_parser_reads_documents_and_refuses_malformed_ones() {
    let root = read("<svg a=\"1 &lt; 2\"><g><text x=\"1\"><title>t</title>a &amp; b</text></g><p/></svg>\n");
    assert_eq!(root.get("a"), Some("1 < 2"));
    assert_eq!(
        root.all().iter().map(|element| element.name.as_str()).collect::<Vec<_>>(),
        ["svg", "g", "text", "title", "p"]
    );
    assert_eq!((root.text.as_str(), root.children[0].children[0].tooltip()), ("a & b", Some("t")));
    for wrong in [
        "<svg>",
        "<svg></g>",
        "<svg a=1/>",
        "<svg a=\"1\" a=\"2\"/>",
        "<svg a=\"<\"/>",
        "<svg>&</svg>",
        "<svg>&nbsp;</svg>",
        "<svg>\u{1}</svg>",
        "<svg/><svg/>",
        "<svg><text></svg></text>",
    ] {
        assert!(std::panic::catch_unwind(|| read(wrong)).is_err(), "{wrong} was accepted");
    }
}
