//! Every public item of a published crate has a documentation comment.

use super::{File, Findings, rust_files};

/// The published crates, whose documentation users read.
const PUBLISHED_CRATES: [&str; 9] = ["core", "journal", "sim", "check", "store", "replica", "drive", "net", "quorate"];

#[test]
fn every_public_item_of_a_published_crate_is_documented() {
    let mut findings = Findings::default();
    let mut documented = 0;
    for file in rust_files().iter().filter(|file| is_published(&file.path)) {
        for (number, item, comment) in public_items(file) {
            documented += usize::from(!comment.is_empty());
            if comment.is_empty() {
                findings.add(&file.path, number, format_args!("`{item}`"));
            }
        }
    }
    assert!(documented > 1_000, "only {documented} documented items found: if the format changed, adapt this test");
    findings.assert_empty(
        "every public item of a published crate has a documentation comment",
        "Say what a caller must know: what it does, what it returns, when it fails. Fields and variants may go without.",
    );
}

/// Whether the file is source code of a published crate, and not in a module `tests`.
pub(super) fn is_published(path: &str) -> bool {
    let path_inside = PUBLISHED_CRATES
        .iter()
        .find_map(|name| path.strip_prefix("crates/")?.strip_prefix(name)?.strip_prefix("/src/"));
    path_inside.is_some_and(|path| !path.split(['/', '.']).any(|part| part == "tests"))
}

/// The public items and the items of public traits: the line number, the line, and the text of the
/// comment above it.
pub(super) fn public_items(file: &File) -> Vec<(usize, &str, String)> {
    let mut items = Vec::new();
    let (mut comment, mut in_attribute) = (String::new(), false);
    // The indentation of the enclosing public trait.
    let mut trait_indentation: Option<usize> = None;
    for (number, line) in file.lines() {
        let text = line.trim_start();
        let indentation = line.len() - text.len();
        if text.starts_with("///") || text.starts_with("#[doc") {
            comment.push_str(text.trim_start_matches('/'));
            continue;
        }
        in_attribute |= text.starts_with("#[");
        if in_attribute {
            in_attribute = !text.ends_with(']');
            continue;
        }
        if trait_indentation == Some(indentation) && text == "}" {
            trait_indentation = None;
        }
        let item = match (text.strip_prefix("pub "), trait_indentation) {
            (Some(item), _) => Some(item),
            (None, Some(trait_indentation)) if indentation == trait_indentation + 4 => Some(text),
            (None, _) => None,
        };
        if let Some(item) = item.filter(|item| is_item(item)) {
            items.push((number, text, comment.trim().to_owned()));
            if item.starts_with("trait ") && !text.ends_with("{}") {
                trait_indentation = Some(indentation);
            }
        }
        comment.clear();
    }
    items
}

/// Whether the text begins an item. A module is documented by its file's header, a `pub use` by its
/// target.
fn is_item(text: &str) -> bool {
    let words = ["fn", "const", "async", "struct", "enum", "trait", "type", "static", "union"];
    text.split_once(' ').is_some_and(|(word, _)| words.contains(&word))
}

#[test]
fn items_without_a_comment_are_found() {
    let text = "/// A.\n#[error(\n    \"a\"\n)]\npub struct A {\n    pub a: u8,\n}\npub fn b() {}\n/// C.\npub trait C {\n    fn d();\n\
                \n    /// E.\n    fn e() {\n        fn f() {}\n    }\n}\nfn g() {}\npub(crate) fn h() {}\npub use x::Y;\npub mod z;\n";
    let file = File { path: "x.rs".into(), text: text.into() };
    let undocumented = public_items(&file).into_iter().filter(|(_, _, comment)| comment.is_empty());
    assert_eq!(undocumented.map(|(_, item, _)| item).collect::<Vec<_>>(), ["pub fn b() {}", "fn d();"]);
    assert!(is_published("crates/core/src/mutex/central.rs") && !is_published("crates/core/src/mutex/tests/x.rs"));
    assert!(!is_published("crates/net/src/link/tests.rs") && !is_published("crates/lab/src/spec.rs"));
}
