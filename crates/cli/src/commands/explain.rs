//! `quorate explain`: all about one algorithm.

use crate::Verdict;
use crate::args::ExplainArgs;
use crate::output::output;
use crate::{paint, report};
use quorate_lab::trace::{self, Trace};
use quorate_lab::{Spec, experiment};
use quorate_registry::Family;
use quorate_sim::mutex::Pattern;
use quorate_sim::settings::Latency;
use serde::Serialize;
use std::io::{self, Write};

#[derive(Serialize)]
struct Report<'a> {
    name: &'a str,
    family: Family,
    class: &'a str,
    title: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    flaw: Option<&'a str>,
    idea: &'a [String],
    rules: Vec<Rule<'a>>,
    sections: std::collections::BTreeMap<&'a str, &'a str>,
    trace: &'a [String],
}

#[derive(Serialize)]
struct Rule<'a> {
    id: &'a str,
    text: &'a str,
}

pub(crate) fn run(args: &ExplainArgs) -> anyhow::Result<Verdict> {
    let spec = example(&args.algorithm);
    let entry = spec.validate()?;
    let about = entry.facts.about();
    if args.json {
        let lines = steps(&spec, trace::plain)?;
        report::json(&Report {
            name: entry.name(),
            family: entry.family(),
            class: entry.facts.class,
            title: &about.title,
            flaw: entry.facts.flaw,
            idea: &about.idea,
            rules: about.rules.iter().map(|rule| Rule { id: &rule.id, text: &rule.text }).collect(),
            sections: about.sections.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect(),
            trace: &lines,
        })?;
        return Ok(Verdict::Holds);
    }
    let mut out = output();
    writeln!(out, "{}   {}", paint::bold(entry.name()), about.title)?;
    if let Some(flaw) = entry.facts.flaw {
        writeln!(out, "\n{}", paint::bad(&format!("Wrong on purpose: {flaw}.")))?;
    }
    for paragraph in &about.idea {
        writeln!(out, "\n{}", wrapped(paragraph, 0))?;
    }
    if !about.rules.is_empty() {
        writeln!(out, "\n{}", paint::bold("Rules"))?;
        for rule in &about.rules {
            let (when, then) = rule.text.split_once('→').unwrap_or((&rule.text, ""));
            writeln!(out, "  {:<6}{:<28}→ {}", rule.id, when.trim(), wrapped(then.trim(), 38))?;
        }
    }
    for (name, text) in &about.sections {
        writeln!(out, "\n{}\n  {}", paint::bold(name), wrapped(text, 2))?;
    }
    writeln!(out, "\n{}", paint::bold("Three nodes ask at once; one message time is 1 ms"))?;
    writeln!(out, "{}", paint::dim(&trace::heading(spec.nodes)))?;
    for line in steps(&spec, paint::part)? {
        writeln!(out, "{line}")?;
    }
    writeln!(out, "{}", paint::dim(&format!("{:>10}  {}", "", trace::LEGEND)))?;
    writeln!(out, "\n{}", paint::dim(&format!("To run it yourself: {} --steps", spec.command("sim"))))?;
    Ok(Verdict::Holds)
}

/// The book's example: everyone asks once, at once.
pub(crate) fn example(algorithm: &str) -> Spec {
    let latency = Latency::Fixed(quorate_core::Duration::from_millis(1));
    Spec { entries: 3, workload: Pattern::All, latency, ..Spec::new(algorithm) }
}

fn steps(spec: &Spec, paint: impl Fn(trace::Sort, &str) -> String + Copy) -> anyhow::Result<Vec<String>> {
    let mut lines = Vec::new();
    // The boot of every node says nothing here.
    let trace = Trace::new(spec.nodes, |line| {
        if !line.parts.iter().all(|part| part.text == "starts") {
            lines.push(trace::render(line, paint));
        }
    });
    let (_, mut trace) = experiment::run_with(spec, io::sink(), trace)?;
    trace.finish();
    drop(trace);
    Ok(lines)
}

/// Breaks a paragraph at 100 columns; lines after the first are indented.
fn wrapped(text: &str, indent: usize) -> String {
    let mut lines = String::new();
    let mut column = indent;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if column + length + 1 > 100 && column > indent {
            lines.push('\n');
            lines.push_str(&" ".repeat(indent));
            column = indent;
        } else if column > indent {
            lines.push(' ');
            column += 1;
        }
        lines.push_str(word);
        column += length;
    }
    lines
}
