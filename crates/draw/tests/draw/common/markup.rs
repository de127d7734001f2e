//! A parser of SVG documents, and checks of the positions of texts.

/// A text element of an SVG.
pub(crate) struct Text {
    pub(crate) class: String,
    pub(crate) x: f64,
    pub(crate) y: f64,
    is_centred: bool,
    pub(crate) text: String,
}

/// Parses an SVG and panics at malformed tags, entities and characters. Returns its width and
/// height and all texts. The vertical positions of texts include the offsets of their rows.
pub(crate) fn parse_svg(svg: &str) -> ((f64, f64), Vec<Text>) {
    // The elements that are not closed yet, each with its vertical offset.
    let mut open_elements: Vec<(String, f64)> = Vec::new();
    let mut texts: Vec<Text> = Vec::new();
    let mut size = None;
    let mut rest = svg;
    while let Some(start) = rest.find('<') {
        let content = unescape(&rest[..start]);
        if let Some((name, _)) = open_elements.last() {
            if name == "text"
                && let Some(text) = texts.last_mut()
            {
                text.text.push_str(&content);
            }
        } else {
            assert!(content.trim().is_empty(), "text outside of the root: {content}");
        }
        let end = start + rest[start..].find('>').expect("a tag without an end");
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            let (expected, _) = open_elements.pop().expect("an element must be open before its closing tag");
            assert_eq!(name, expected);
            continue;
        }
        let (name, attributes) = tag.trim_end_matches('/').split_once(' ').unwrap_or((tag.trim_end_matches('/'), ""));
        let attributes = parse_attributes(attributes);
        let get = |name: &str| attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
        let number = |name: &str| get(name).map(|value| value.parse::<f64>().expect("a number"));
        let y_offset = open_elements.last().map_or(0.0, |(_, y_offset)| *y_offset)
            + get("transform")
                .and_then(|value| value.strip_prefix("translate(0 "))
                .map_or(0.0, |y| y.trim_end_matches(')').parse().unwrap());
        if name == "svg" {
            size = Some((number("width").unwrap(), number("height").unwrap()));
        }
        if name == "text" {
            let (x, y) = (number("x").unwrap(), number("y").unwrap() + y_offset);
            let class = get("class").unwrap_or_default().to_owned();
            texts.push(Text { class, x, y, is_centred: get("text-anchor") == Some("middle"), text: String::new() });
        }
        if !tag.ends_with('/') {
            open_elements.push((name.to_owned(), y_offset));
        }
    }
    assert!(
        open_elements.is_empty(),
        "{:?} are not closed",
        open_elements.iter().map(|(name, _)| name).collect::<Vec<_>>()
    );
    (size.expect("no size"), texts)
}

fn parse_attributes(text: &str) -> Vec<(String, String)> {
    let mut attributes = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (name, after) = rest.split_once("=\"").unwrap_or_else(|| panic!("no attribute: {rest}"));
        assert!(name.chars().all(|character| character.is_ascii_alphanumeric() || "-:".contains(character)), "{name}");
        let (value, after) = after.split_once('"').expect("a value without an end");
        attributes.push((name.to_owned(), unescape(value)));
        rest = after.trim();
    }
    attributes
}

fn unescape(text: &str) -> String {
    assert!(
        !text.chars().any(|character| character.is_control() && character != '\n' && character != '\t'),
        "{text:?}"
    );
    for entity in text.split('&').skip(1) {
        let known = ["amp;", "lt;", "gt;", "quot;", "#39;"];
        assert!(known.iter().any(|known| entity.starts_with(known)), "a bare & before {entity}");
    }
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#39;", "'");
    text.replace("&amp;", "&")
}

/// Returns the area that a text covers at least: left, top, right and bottom. Real fonts are at
/// least this wide on average.
fn minimum_area(text: &Text) -> (f64, f64, f64, f64) {
    let size = match text.class.as_str() {
        "title" => 20.0,
        "node" => 15.0,
        "clock mono" => 11.0,
        _ => 11.5,
    };
    let width = text.text.chars().count() as f64 * size * 0.42;
    let left = if text.is_centred { text.x - width / 2.0 } else { text.x };
    (left, text.y - size * 0.7, left + width, text.y)
}

/// Panics if two texts overlap or a text is cut off; the message begins with `picture`.
pub(crate) fn check_layout(svg: &str, picture: &str) {
    let ((width, height), texts) = parse_svg(svg);
    for (index, text) in texts.iter().enumerate() {
        let (left, top, right, bottom) = minimum_area(text);
        assert!(
            left >= 0.0 && right <= width && top >= 0.0 && bottom <= height,
            "{picture}: '{}' is cut off",
            text.text
        );
        for other in &texts[..index] {
            let (other_left, other_top, other_right, other_bottom) = minimum_area(other);
            let overlap = left < other_right && other_left < right && top < other_bottom && other_top < bottom;
            assert!(
                !overlap,
                "{picture}: '{}' [{}] overlaps '{}' [{}]",
                text.text, text.class, other.text, other.class
            );
        }
    }
}
