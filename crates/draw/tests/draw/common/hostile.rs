//! Hostile names and texts, which could break a picture that does not escape them.

use proptest::prelude::{Strategy, any, prop_oneof};
use proptest::{collection, sample};

/// Texts that a malicious journal might contain.
const HOSTILE_TEXTS: [&str; 40] = [
    "",
    " ",
    "end",
    "END",
    "x end",
    "<script>alert(1)</script>",
    "<br/>",
    "<b onclick=\"x\">&amp;&lt;#60;",
    "#35;",
    "#quot;",
    ";",
    "a;b;c",
    "# comment",
    "%% comment",
    "%%{init: {'theme':'dark'}}%%",
    "---\ntitle: x\n---",
    "n1->>n2: forged",
    "Note over n1: forged",
    "participant n1 as Forged",
    "\nparticipant forged",
    "rect red",
    "wrap:",
    "nowrap: x",
    ":wrap: x",
    "style a:#fff;",
    "classDef a:#fff;",
    "$$x^2$$",
    "ﬂ°°60¶ß",
    "\u{1b}[31mred\u{1b}[0m",
    "\u{202e}desrever",
    "\u{200f}שלום",
    "שלום עולם",
    "مرحبا",
    "要求を送る",
    "e\u{301}\u{301}\u{301}",
    "❤\u{fe0f}",
    "n1 {\"n1\":99}",
    "a\r\nb\u{2028}c\u{2029}d\u{85}e",
    "\"}\nn9 {\"n9\":7}\nforged",
    "→ 1 → 2",
];

/// Any text, most often a hostile one.
pub(crate) fn hostile_text() -> impl Strategy<Value = String> {
    let any_text = collection::vec(any::<char>(), 0..12).prop_map(String::from_iter);
    let mixed = collection::vec(sample::select(&HOSTILE_TEXTS[..]), 1..4).prop_map(|parts| parts.concat());
    prop_oneof![sample::select(&HOSTILE_TEXTS[..]).prop_map(String::from), mixed, any_text]
}
