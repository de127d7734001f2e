//! What documentation comments keep to.

use super::{File, Findings, rust_files};

/// The crates that users depend on, and so read the documentation of.
const PUBLISHED: [&str; 9] = ["core", "journal", "sim", "check", "store", "replica", "drive", "net", "quorate"];

#[test]
fn every_public_item_of_a_published_crate_is_documented() {
    let mut findings = Findings::default();
    let mut documented = 0;
    for file in rust_files().iter().filter(|file| is_published(&file.path)) {
        for (number, item, is_documented) in public_items(file) {
            documented += usize::from(is_documented);
            if !is_documented {
                findings.add(&file.path, number, format_args!("`{item}`"));
            }
        }
    }
    assert!(documented > 1_000, "only {documented} documented items found: can this test still read them?");
    findings.settle(
        "every public item of a published crate has a documentation comment",
        "Say what a caller must know: what it does, what it returns, when it fails. Fields and variants whose name says it all\n\
         go without; functions, types, traits, their methods, and constants do not.",
    );
}

fn is_published(path: &str) -> bool {
    let sources =
        PUBLISHED.iter().find_map(|name| path.strip_prefix("crates/")?.strip_prefix(name)?.strip_prefix("/src/"));
    sources.is_some_and(|within| !within.split(['/', '.']).any(|part| part == "tests"))
}

/// Public functions, types, traits with what they ask for, and constants: the line, what stands there, whether a comment is above it.
fn public_items(file: &File) -> Vec<(usize, &str, bool)> {
    let mut items = Vec::new();
    let (mut is_documented, mut is_attribute) = (false, false);
    // The indentation of the public trait that we are in.
    let mut inside: Option<usize> = None;
    for (number, line) in file.lines() {
        let text = line.trim_start();
        let indentation = line.len() - text.len();
        if text.starts_with("///") || text.starts_with("#[doc") {
            is_documented = true;
            continue;
        }
        is_attribute |= text.starts_with("#[");
        if is_attribute {
            is_attribute = !text.ends_with(']');
            continue;
        }
        if inside == Some(indentation) && text == "}" {
            inside = None;
        }
        let item = match (text.strip_prefix("pub "), inside) {
            (Some(item), _) => Some(item),
            (None, Some(outer)) if indentation == outer + 4 => Some(text),
            (None, _) => None,
        };
        if let Some(item) = item.filter(|item| is_item(item)) {
            items.push((number, text, is_documented));
            if item.starts_with("trait ") && !text.ends_with("{}") {
                inside = Some(indentation);
            }
        }
        is_documented = false;
    }
    items
}

/// Whether an item begins here. A module's documentation is its file's header, and `pub use` has that of what it names.
fn is_item(text: &str) -> bool {
    let words = ["fn", "const", "async", "struct", "enum", "trait", "type", "static", "union"];
    text.split_once(' ').is_some_and(|(word, _)| words.contains(&word))
}

#[test]
fn items_without_a_comment_are_seen() {
    let text = "/// A.\n#[error(\n    \"a\"\n)]\npub struct A {\n    pub a: u8,\n}\npub fn b() {}\n/// C.\npub trait C {\n    fn d();\n\
                \n    /// E.\n    fn e() {\n        fn f() {}\n    }\n}\nfn g() {}\npub(crate) fn h() {}\npub use x::Y;\npub mod z;\n";
    let file = File { path: "x.rs".into(), text: text.into() };
    let missing = public_items(&file).into_iter().filter(|item| !item.2);
    assert_eq!(missing.map(|item| item.1).collect::<Vec<_>>(), ["pub fn b() {}", "fn d();"]);
    assert!(is_published("crates/core/src/mutex/central.rs") && !is_published("crates/core/src/mutex/tests/x.rs"));
    assert!(!is_published("crates/net/src/link/tests.rs") && !is_published("crates/lab/src/spec.rs"));
}
