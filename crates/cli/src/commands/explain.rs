//! `quorate explain`: explains an algorithm.

use crate::CommandOutcome;
use crate::args::ExplainArgs;
use crate::output::output;
use crate::paint;
use crate::picture::{self, CommandIo, Picture, PictureObserver};
use crate::report::print_json;
use quorate_core::about::{About, Profile};
use quorate_demos::{armies, local};
use quorate_lab::experiment::{self, header};
use quorate_lab::registry::{self, Family, Task, dispatch_to_family};
use quorate_lab::trace::{self, Line, Trace};
use quorate_lab::{AlgorithmWrapper, FamilyLab, Spec, find_entry};
use serde::Serialize;
use std::io::{self, Write};

/// Columns of a line of prose.
const LINE_WIDTH: usize = 100;

/// Columns for the condition of a rule and a space. A longer condition has a line of its own.
const WHEN_WIDTH: usize = 28;

#[derive(Serialize)]
struct ExplanationReport<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    family: Option<Family>,
    class: &'a str,
    title: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    flaw: Option<&'a str>,
    idea: &'a [String],
    rules: Vec<RuleReport<'a>>,
    /// Rules of the wrapper around the algorithm, which several algorithms share.
    #[serde(rename = "rules_around", skip_serializing_if = "Vec::is_empty")]
    wrapper_rules: Vec<RuleReport<'a>>,
    sections: std::collections::BTreeMap<&'a str, &'a str>,
    trace: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pictures: &'a [Picture],
}

#[derive(Serialize)]
struct RuleReport<'a> {
    id: &'a str,
    text: &'a str,
}

pub(crate) fn run(args: &ExplainArgs) -> anyhow::Result<CommandOutcome> {
    if args.algorithm == local::PROFILE.name {
        return super::local::explain(args);
    }
    if args.algorithm == armies::PROFILE.name {
        return super::armies::explain(args);
    }
    dispatch_to_family(find_entry(&args.form.resolve(&args.algorithm)?)?, args)
}

impl Task for &ExplainArgs {
    type Output = anyhow::Result<CommandOutcome>;
    fn perform<F: FamilyLab>(self, entry: &'static F::Entry) -> anyhow::Result<CommandOutcome> {
        explain::<F>(self, entry)
    }
}

/// A small run that illustrates the algorithm.
pub(crate) struct Example<'a> {
    pub(crate) title: &'a str,
    pub(crate) lines: Vec<String>,
    /// The command that repeats the run and shows its trace.
    pub(crate) command: String,
}

fn explain<F: FamilyLab>(args: &ExplainArgs, entry: &'static F::Entry) -> anyhow::Result<CommandOutcome> {
    let (profile, wrapper) = (F::profile(entry), F::wrapper(entry));
    let spec = F::example(entry.into());
    let pictures = draw_pictures(&spec, args)?;
    if args.picture.takes_stdout() {
        return Ok(CommandOutcome::Holds);
    }
    let is_plain = args.json || args.markdown;
    let mut lines =
        if is_plain { trace_example(&spec, trace::unpainted)? } else { trace_example(&spec, paint::trace_text)? };
    if !args.json {
        let heading = trace::heading(spec.nodes);
        let legend = format!("{no_time:>10}  {}", trace::legend(F::ROLES), no_time = "");
        let [heading, legend] = [heading, legend].map(|line| if is_plain { line } else { paint::dim(&line) });
        lines.insert(0, heading);
        lines.push(legend);
    }
    let example = Example { title: F::EXAMPLE_CAPTION, lines, command: format!("{} --steps", spec.command("sim")) };
    let subject = Subject { profile, family: Some(F::FAMILY), wrapper };
    print_report(args, &subject, &example, &pictures)
}

/// The algorithm to explain.
struct Subject<'a> {
    profile: &'a Profile,
    family: Option<Family>,
    wrapper: Option<AlgorithmWrapper>,
}

/// Explains a demonstration, which belongs to no family.
pub(crate) fn explain_demo(
    args: &ExplainArgs,
    profile: &Profile,
    example: &Example<'_>,
) -> anyhow::Result<CommandOutcome> {
    print_report(args, &Subject { profile, family: None, wrapper: None }, example, &[])
}

/// Writes the report as JSON, as Markdown or for a terminal.
fn print_report(
    args: &ExplainArgs,
    subject: &Subject<'_>,
    example: &Example<'_>,
    pictures: &[Picture],
) -> anyhow::Result<CommandOutcome> {
    let Subject { profile, family, wrapper } = subject;
    let about = profile.about();
    if args.json {
        print_json(&ExplanationReport {
            name: profile.name,
            family: *family,
            class: profile.class,
            title: &about.title,
            flaw: profile.flaw,
            idea: &about.idea,
            rules: build_rule_rows(&about.rules),
            wrapper_rules: wrapper.as_ref().map_or_else(Vec::new, |wrapper| build_rule_rows(&wrapper.about.rules)),
            sections: about.sections.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect(),
            trace: &example.lines,
            pictures,
        })?;
    } else if args.markdown {
        print_markdown(profile.name, &about, wrapper.as_ref(), example)?;
    } else {
        print_text(profile, &about, wrapper.as_ref(), example, pictures)?;
    }
    Ok(CommandOutcome::Holds)
}

fn build_rule_rows(rules: &[quorate_core::about::Rule]) -> Vec<RuleReport<'_>> {
    rules.iter().map(|rule| RuleReport { id: &rule.id, text: &rule.text }).collect()
}

/// Prints the explanation for a terminal.
fn print_text(
    profile: &Profile,
    about: &About,
    wrapper: Option<&AlgorithmWrapper>,
    example: &Example<'_>,
    pictures: &[Picture],
) -> anyhow::Result<()> {
    let mut out = output();
    writeln!(out, "{}   {}", paint::bold(profile.name), about.title)?;
    if let Some(flaw) = profile.flaw {
        writeln!(out, "\n{}", paint::bad(&format!("Wrong on purpose: {flaw}.")))?;
    }
    for paragraph in &about.idea {
        writeln!(out, "\n{}", wrap_text(paragraph, 0))?;
    }
    let wrapper = wrapper.map(|wrapper| (wrapper.title, &wrapper.about.rules));
    for (title, rules) in [("Rules", &about.rules)].into_iter().chain(wrapper).filter(|(_, rules)| !rules.is_empty()) {
        writeln!(out, "\n{}", paint::bold(title))?;
        // The ids, at least as wide as `RA-2`, and two spaces.
        let id_width = rules.iter().map(|rule| rule.id.len()).max().unwrap_or_default().max(4) + 2;
        for rule in rules {
            let (when, then) = rule.text.split_once('→').unwrap_or((&rule.text, ""));
            let when = when.split_whitespace().collect::<Vec<_>>().join(" ");
            let gap = if when.chars().count() >= WHEN_WIDTH {
                format!("\n{:1$}", "", 2 + id_width + WHEN_WIDTH)
            } else {
                String::new()
            };
            writeln!(
                out,
                "  {:<id_width$}{when:<WHEN_WIDTH$}{gap}→ {}",
                rule.id,
                wrap_text(then.trim(), 2 + id_width + WHEN_WIDTH + 2)
            )?;
        }
    }
    for (name, text) in &about.sections {
        writeln!(out, "\n{}\n  {}", paint::bold(name), wrap_text(&capitalize(text), 2))?;
    }
    writeln!(out, "\n{}", paint::bold(example.title))?;
    for line in &example.lines {
        writeln!(out, "{line}")?;
    }
    writeln!(out, "\n{}", paint::dim(&format!("To run it yourself: {}", example.command)))?;
    for picture in pictures {
        writeln!(out, "{}", paint::dim(&picture.report_line()))?;
    }
    Ok(())
}

/// Checks the options for pictures. If they request any, runs the example and draws them.
fn draw_pictures<F: FamilyLab>(spec: &Spec<F>, args: &ExplainArgs) -> anyhow::Result<Vec<Picture>> {
    let options = [(args.json, "json"), (args.markdown, "markdown")];
    let stdout_option = options.into_iter().find_map(|(is_given, option)| is_given.then_some(option));
    args.picture.validate(&CommandIo { stdout_option, ..CommandIo::default() })?;
    if !args.picture.is_wanted() {
        return Ok(Vec::new());
    }
    let run_example =
        |pictures: &mut PictureObserver<'_, F>| Ok(experiment::run_with(spec, io::sink(), pictures).map(drop)?);
    let ((), pictures) = picture::draw::<F, _>(&args.picture, &header(spec)?, run_example)?;
    pictures
}

/// Prints the explanation as a Markdown page.
fn print_markdown(
    name: &str,
    about: &About,
    wrapper: Option<&AlgorithmWrapper>,
    example: &Example<'_>,
) -> anyhow::Result<()> {
    let mut out = output();
    writeln!(out, "# {name}\n\n{}", wrap_text(&about.title, 0))?;
    for paragraph in &about.idea {
        writeln!(out, "\n{}", wrap_text(paragraph, 0))?;
    }
    let wrapper = wrapper.map(|wrapper| (wrapper.title, &wrapper.about.rules));
    for (title, rules) in [("Rules", &about.rules)].into_iter().chain(wrapper) {
        writeln!(out, "\n## {title}\n\n| rule | when | then |\n|---|---|---|")?;
        for rule in rules {
            let (when, then) = rule.text.split_once('→').unwrap_or((&rule.text, ""));
            writeln!(out, "| {} | {} | {} |", rule.id, when.trim(), then.trim())?;
        }
    }
    for (section, text) in &about.sections {
        writeln!(out, "\n## {section}\n\n{}", wrap_text(&capitalize(text), 0))?;
    }
    writeln!(out, "\n## A small run\n\n{}.\n\n```text", example.title)?;
    for line in &example.lines {
        writeln!(out, "{line}")?;
    }
    writeln!(out, "```\n\n`{}`", example.command)?;
    // The gallery has a picture of every algorithm except the fixtures.
    if registry::all().iter().any(|entry| entry.name() == name) {
        writeln!(out, "\n![{name}](../gallery/{name}.svg)")?;
    }
    Ok(())
}

/// Capitalizes the first letter of a text, such as a section of an [`About`]. A formula at the
/// beginning, such as n or n−1, does not change.
pub(crate) fn capitalize(text: &str) -> String {
    let first = text.split_whitespace().next().unwrap_or_default();
    let is_formula = first == "n" || first.contains(['−', '(', '²']);
    if first.starts_with(|letter: char| letter.is_lowercase()) && is_formula {
        return text.to_owned();
    }
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// Runs the example and returns its trace, without lines that show only timers.
fn trace_example<F: FamilyLab>(
    spec: &Spec<F>,
    paint: impl Fn(trace::TextPiece, &str) -> String + Copy,
) -> anyhow::Result<Vec<String>> {
    let mut lines = Vec::new();
    let trace = Trace::<F>::new(spec.nodes, |line| {
        if !shows_only_timers(line) {
            lines.push(trace::render(line, paint));
        }
    });
    let (_, mut trace) = experiment::run_with(spec, io::sink(), trace)?;
    trace.finish();
    drop(trace);
    Ok(lines)
}

/// Whether the line shows only that a timer fires and that the node then sets timers.
fn shows_only_timers(line: &Line) -> bool {
    let mut parts = line.parts.iter();
    parts.next().is_some_and(|part| part.text.starts_with("timer "))
        && parts.all(|part| part.text.starts_with("sets timer "))
}

/// Wraps a paragraph at [`LINE_WIDTH`]. The first line begins in column `indent`, where the caller
/// prints it; the other lines are indented as far.
pub(crate) fn wrap_text(text: &str, indent: usize) -> String {
    let mut lines = String::new();
    let mut column = indent;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if column + length + 1 > LINE_WIDTH && column > indent {
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
