//! `quorate explain`: all about one algorithm.

use crate::Verdict;
use crate::args::ExplainArgs;
use crate::families::{Present, Task, of_family};
use crate::output::output;
use crate::picture::{self, Company, Easel, Picture};
use crate::{paint, report};
use quorate_core::about::{About, Profile};
use quorate_lab::experiment::{self, header};
use quorate_lab::trace::{self, Line, Trace};
use quorate_lab::{FamilyLab, Spec, entry};
use quorate_registry::{Family, all};
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
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pictures: &'a [Picture],
}

#[derive(Serialize)]
struct Rule<'a> {
    id: &'a str,
    text: &'a str,
}

pub(crate) fn run(args: &ExplainArgs) -> anyhow::Result<Verdict> {
    of_family(entry(&args.algorithm)?, args)
}

impl Task for &ExplainArgs {
    type Output = anyhow::Result<Verdict>;
    fn perform<F: Present>(self, entry: &'static F::Entry) -> anyhow::Result<Verdict> {
        explain::<F>(self, F::profile(entry))
    }
}

fn explain<F: Present>(args: &ExplainArgs, profile: &Profile) -> anyhow::Result<Verdict> {
    let spec = F::example(profile.name);
    let about = profile.about();
    let pictures = pictures(&spec, args)?;
    if args.picture.takes_stdout() {
        return Ok(Verdict::Holds);
    }
    if args.json {
        let lines = steps(&spec, trace::plain)?;
        report::json(&Report {
            name: profile.name,
            family: F::FAMILY,
            class: profile.class,
            title: &about.title,
            flaw: profile.flaw,
            idea: &about.idea,
            rules: about.rules.iter().map(|rule| Rule { id: &rule.id, text: &rule.text }).collect(),
            sections: about.sections.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect(),
            trace: &lines,
            pictures: &pictures,
        })?;
        return Ok(Verdict::Holds);
    }
    if args.markdown {
        page(&spec, &about)?;
        return Ok(Verdict::Holds);
    }
    let mut out = output();
    writeln!(out, "{}   {}", paint::bold(profile.name), about.title)?;
    if let Some(flaw) = profile.flaw {
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
        writeln!(out, "\n{}\n  {}", paint::bold(name), wrapped(&sentence(text), 2))?;
    }
    writeln!(out, "\n{}", paint::bold(F::EXAMPLE))?;
    writeln!(out, "{}", paint::dim(&trace::heading(spec.nodes)))?;
    for line in steps(&spec, paint::ink)? {
        writeln!(out, "{line}")?;
    }
    writeln!(out, "{}", paint::dim(&format!("{:>10}  {}", "", trace::legend(F::ROLES))))?;
    writeln!(out, "\n{}", paint::dim(&format!("To run it yourself: {} --steps", spec.command("sim"))))?;
    for picture in &pictures {
        writeln!(out, "{}", paint::dim(&picture.line()))?;
    }
    Ok(Verdict::Holds)
}

/// Draws the example, if that is wanted.
fn pictures<F: Present>(spec: &Spec<F>, args: &ExplainArgs) -> anyhow::Result<Vec<Picture>> {
    let speaks = [(args.json, "json"), (args.markdown, "markdown")];
    let speaks = speaks.into_iter().find_map(|(speaks, by)| speaks.then_some(by));
    args.picture.check(&Company { speaks, ..Company::default() })?;
    if !args.picture.is_wanted() {
        return Ok(Vec::new());
    }
    let play = |easel: &mut Easel<'_, F>| Ok(experiment::run_with(spec, io::sink(), easel).map(drop)?);
    let ((), pictures) = picture::draw::<F, _>(&args.picture, &header(spec)?, play)?;
    pictures
}

/// The page in docs/algorithms.
fn page<F: Present>(spec: &Spec<F>, about: &About) -> anyhow::Result<()> {
    let mut out = output();
    writeln!(out, "# {}\n\n{}", spec.algorithm, about.title)?;
    for paragraph in &about.idea {
        writeln!(out, "\n{}", wrapped(paragraph, 0))?;
    }
    writeln!(out, "\n## Rules\n\n| rule | when | then |\n|---|---|---|")?;
    for rule in &about.rules {
        let (when, then) = rule.text.split_once('→').unwrap_or((&rule.text, ""));
        writeln!(out, "| {} | {} | {} |", rule.id, when.trim(), then.trim())?;
    }
    for (name, text) in &about.sections {
        writeln!(out, "\n## {name}\n\n{}", wrapped(&sentence(text), 0))?;
    }
    writeln!(out, "\n## A small run\n\n{}.\n\n```text\n{}", F::EXAMPLE, trace::heading(spec.nodes))?;
    for line in steps(spec, trace::plain)? {
        writeln!(out, "{line}")?;
    }
    writeln!(out, "{:>10}  {}\n```\n\n`{} --steps`", "", trace::legend(F::ROLES), spec.command("sim"))?;
    // The gallery shows what is right, and the page stands beside it.
    if all().iter().any(|entry| entry.name() == spec.algorithm) {
        writeln!(out, "\n![{0}](../gallery/{0}.svg)", spec.algorithm)?;
    }
    Ok(())
}

/// A header goes on after a colon; a section of its own begins a sentence.
pub(crate) fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

fn steps<F: FamilyLab>(
    spec: &Spec<F>,
    paint: impl Fn(trace::Ink, &str) -> String + Copy,
) -> anyhow::Result<Vec<String>> {
    let mut lines = Vec::new();
    let trace = Trace::<F, _>::new(spec.nodes, |line| {
        if !is_idle(line) {
            lines.push(trace::render(line, paint));
        }
    });
    let (_, mut trace) = experiment::run_with(spec, io::sink(), trace)?;
    trace.finish();
    drop(trace);
    Ok(lines)
}

/// A timer that does nothing but begin to wait again.
fn is_idle(line: &Line) -> bool {
    let mut parts = line.parts.iter();
    parts.next().is_some_and(|part| part.text.starts_with("timer "))
        && parts.all(|part| part.text.starts_with("sets timer "))
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
