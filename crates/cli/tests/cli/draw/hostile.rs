//! Hostile journals: their texts are escaped, and extreme numbers do not break a picture.

use super::{RUNS, RecordedRun, parse_picture, text_of};
use serde_json::{Value, json};

/// Texts that a hostile journal may contain.
fn hostile_texts() -> Vec<String> {
    let long = "x".repeat(10_000);
    let texts = [
        "<script>alert(1)</script>",
        "\" onload=\"alert(1)",
        "' onload='alert(1)",
        "]]>",
        "<![CDATA[",
        "<!-- -->",
        "&lt;&amp;&#x1b;&bogus;",
        "</text></svg>",
        "\u{1b}[31mred\u{7}",
        "one\ntwo\r\nthree\ttab",
        "\u{0}\u{1}\u{7f}\u{85}\u{2028}\u{fffe}\u{ffff}",
        "\u{202e}desrever\u{202c}\u{200f}\u{2066}",
        "שלום عربي",
        "a; b: c, d -> e ->> f %% comment #35;",
        "end\nend",
        "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 👩‍👩‍👧‍👦",
        "",
        " ",
        &long,
    ];
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// Puts the text into every field of a journal that can hold free text.
fn poison(journal: &str, text: &str) -> String {
    let mut lines = journal.lines();
    let mut header: Value = serde_json::from_str(lines.next().unwrap()).unwrap();
    header["found_by"] = json!(text);
    let mut poisoned = format!("{header}\n");
    for line in lines {
        let mut step: Value = serde_json::from_str(line).unwrap();
        poison_value(&mut step, text);
        poisoned += &format!("{step}\n");
    }
    poisoned
}

fn poison_value(value: &mut Value, text: &str) {
    match value {
        Value::Array(parts) => parts.iter_mut().for_each(|part| poison_value(part, text)),
        Value::Object(fields) => {
            for (name, part) in fields {
                match name.as_str() {
                    "kind" | "text" | "changed" => *part = text.into(),
                    "rule" => *part = json!({ "id": text, "text": text }),
                    // The body of a message is arbitrary JSON.
                    "body" => *part = json!({ text: [text, { "deep": text }] }),
                    _ => poison_value(part, text),
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Whether a character would act on the output instead of being shown. U+2068 and U+2069 are
/// allowed, because pictures isolate right-to-left text with them.
fn is_active(character: char) -> bool {
    (character.is_control() && character != '\n')
        || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2028}' | '\u{2029}' | '\u{200f}' | '\u{fffe}' | '\u{ffff}')
}

#[test]
fn hostile_texts_are_escaped() {
    for line in RUNS {
        let recorded = RecordedRun::new(line);
        let journal = recorded.read("run.journal");
        for text in hostile_texts() {
            recorded.write("bad.journal", poison(&journal, &text));
            let printed =
                recorded.run("draw bad.journal --svg a.svg --mermaid a.mmd --shiviz a.log --clocks both --notes full");
            assert_eq!((printed.code, printed.err.as_str()), (Some(0), ""), "{text:?}");
            let [svg, mermaid, shiviz] = ["a.svg", "a.mmd", "a.log"].map(|name| recorded.read(name));
            let terminal = recorded.run("draw bad.journal").exits(0);
            for output in [&svg, &mermaid, &shiviz, &terminal] {
                assert_eq!(output.chars().find(|character| is_active(*character)), None, "{text:?} in\n{output}");
            }
            let shown = text_of(&parse_picture(&svg));
            // A picture escapes control and formatting characters, such as line ends and joiners.
            // It shows at least the start of every other text.
            let start: String = text.chars().take(20).collect();
            if !text.trim().is_empty()
                && !text.chars().any(is_active)
                && !text.contains('\n')
                && !text.contains('\u{200d}')
            {
                assert!(shown.contains(&start), "{text:?} is not shown in\n{svg}");
            }
            // Pictures shorten the text of 10,000 characters.
            assert!(svg.len() < 5_000_000, "{text:?} makes {} bytes", svg.len());
            recorded.run("draw bad.journal --overview --svg a.svg").exits(0);
            parse_picture(&recorded.read("a.svg"));
        }
    }
}

/// Times and origins at the limits of their type.
#[test]
fn hostile_numbers_break_nothing() {
    let recorded = RecordedRun::new("sim ricart-agrawala --entries 3");
    let text = recorded.read("run.journal");
    let lines: Vec<_> = text.lines().collect();
    let extremes = [i64::MIN, i64::MIN + 1, -1, 0, i64::MAX - 1, i64::MAX];
    for (early, late) in extremes.into_iter().flat_map(|early| extremes.map(|late| (early, late))) {
        let mut journal = vec![lines[0].to_owned()];
        for (index, line) in lines.iter().enumerate().skip(1) {
            let mut step: Value = serde_json::from_str(line).unwrap();
            if step.get("end").is_some() {
                journal.push(step.to_string());
                continue;
            }
            step["time"] = json!(if index < lines.len() / 2 { early } else { late });
            journal.push(step.to_string());
        }
        for origin in [i64::MIN, i64::MAX] {
            journal[0] = lines[0].replacen("\"run\":", &format!("\"origin\":{origin},\"run\":"), 1);
            recorded.write("bad.journal", journal.join("\n") + "\n");
            for options in ["", "--overview"] {
                recorded.run(&format!("draw bad.journal --svg a.svg --shiviz a.log {options}")).exits(0);
                parse_picture(&recorded.read("a.svg"));
                recorded.run(&format!("draw bad.journal {options}")).exits(0);
            }
        }
    }
}
