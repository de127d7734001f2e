//! Observes a run and turns it into pictures.

use super::Picture;
use super::files::{is_stdout, write_error};
use crate::args::PictureArgs;
use crate::output::{display_path, output};
use crate::report::format_thousands;
use anyhow::{anyhow, bail, ensure};
use quorate_core::Time;
use quorate_core::wrap::{about_reliable, about_viewed, about_watched};
use quorate_draw::scene::{Heading, Violation};
use quorate_draw::scene_builder::{Drawing, MAX_ARROWS, MAX_LANES, MAX_STEPS, Options, SceneBuilder};
use quorate_draw::shiviz::ShivizWriter;
use quorate_draw::{mermaid, svg};
use quorate_journal::moment::{Moment, Observer};
use quorate_journal::property::{PropertyKind, Verdict};
use quorate_journal::record::Header;
use quorate_journal::settings::Offset;
use quorate_journal::words;
use quorate_lab::{FamilyLab, Judge as _, JudgingLevel, Spec, find_entry};
use quorate_live::write_atomically;
use std::io::{BufWriter, Write};
use std::path::Path;

/// Observes a run for all pictures that the options ask for. Costs almost nothing if there are
/// none.
pub(crate) struct PictureObserver<'a, F: FamilyLab> {
    scene_builder: Option<SceneBuilder<F::Command, F::Event>>,
    judge: Option<PropertyJudge<F>>,
    shiviz_log: Option<ShivizWriter<&'a mut dyn Write>>,
    /// Number of nodes in the picture.
    nodes: usize,
    /// Times of the first and the last moment.
    span: Option<(Time, Time)>,
}

impl<F: FamilyLab> Observer<F::Command, F::Event> for PictureObserver<'_, F> {
    fn observe(&mut self, moment: &Moment<'_, F::Command, F::Event>) {
        if self.scene_builder.is_none() && self.shiviz_log.is_none() {
            return;
        }
        let time = moment.time();
        self.span = Some(self.span.map_or((time, time), |(first, last)| (first.min(time), last.max(time))));
        self.scene_builder.observe(moment);
        if let Some(judge) = &mut self.judge {
            judge.properties.observe(moment);
        }
        self.shiviz_log.observe(moment);
    }
}

impl<F: FamilyLab> PictureObserver<'_, F> {
    /// Marks the observed run as incomplete, so that "eventually" properties are not judged.
    pub(crate) fn mark_incomplete(&mut self) {
        if let Some(judge) = &mut self.judge {
            judge.is_complete = false;
        }
    }

    fn finish(self, args: &PictureArgs, header: &Header) -> anyhow::Result<UnwrittenPictures> {
        if let Some(span) = self.span {
            ensure_window_overlaps_run(args, header, span)?;
        }
        let log = match (self.shiviz_log, &args.shiviz) {
            (Some(log), Some(path)) => {
                let steps = log.finish().map_err(|error| write_error("log", path, error))?;
                Some(Picture { form: "shiviz", file: display_path(path), nodes: self.nodes, steps, overview: false })
            }
            (_, _) => None,
        };
        let mut drawing = self.scene_builder.map(SceneBuilder::finish);
        for violated in self.judge.into_iter().flat_map(PropertyJudge::violations) {
            drawing.iter_mut().for_each(|drawing| drawing.add_violation(violated.clone()));
        }
        Ok(UnwrittenPictures { drawing, shiviz_log: log })
    }
}

/// Judges the properties of a run, so that the picture shows where one fails.
struct PropertyJudge<F: FamilyLab> {
    properties: F::Properties,
    /// Whether the run is complete. If not, "eventually" properties are not judged.
    is_complete: bool,
}

impl<F: FamilyLab> PropertyJudge<F> {
    /// Returns a judge for the run. `None` for a journal of a single process, which shows too
    /// little, and for invalid settings.
    fn new(header: &Header) -> Option<Self> {
        let spec = serde_json::from_value::<Spec<F>>(header.run.clone()).ok().filter(|_| header.live.is_none())?;
        spec.validate().ok()?;
        // A counterexample or a run of real processes may end before everything is done.
        let is_complete = header.found_by.is_none() && !header.recorded;
        Some(Self { properties: F::properties(&spec, JudgingLevel::Verdicts), is_complete })
    }

    fn violations(self) -> Vec<Violation> {
        let is_judged =
            |kind: PropertyKind| kind == PropertyKind::Always || (kind == PropertyKind::Eventually && self.is_complete);
        let verdicts = self.properties.verdicts().into_iter().filter(|verdict| is_judged(verdict.kind));
        let to_violation = |verdict: Verdict| {
            let violation = verdict.violation?;
            // A violation counts lines without the header, which is the first line of the journal.
            let (time, line) = (violation.time, violation.line.saturating_add(1));
            Some(Violation { time, line, text: format!("{} fails", verdict.name) })
        };
        verdicts.filter_map(to_violation).collect()
    }
}

/// Rejects a time window (`--from`, `--to`) that contains no part of the run, which lasts from
/// `first` to `last`.
fn ensure_window_overlaps_run(args: &PictureArgs, header: &Header, (first, last): (Time, Time)) -> anyhow::Result<()> {
    let since_origin = |time: Time| Offset::from_nanos(time.nanos().saturating_sub(header.origin));
    let (first, last) = (since_origin(first), since_origin(last));
    let outside = match (args.from, args.to) {
        (Some(from), _) if from > last => Some(format!("--from {from} is after its end")),
        (_, Some(to)) if to < first => Some(format!("--to {to} is before its start")),
        (_, _) => None,
    };
    ensure!(
        outside.is_none(),
        "the run lasts from {first} to {last}, and {}, so there is nothing to draw.",
        outside.unwrap_or_default()
    );
    Ok(())
}

/// The pictures of a run, before the diagrams are written.
pub(crate) struct UnwrittenPictures {
    /// Data of the diagram, if the options ask for one.
    pub(crate) drawing: Option<Drawing>,
    /// The ShiViz log, which was written during the run.
    shiviz_log: Option<Picture>,
}

impl UnwrittenPictures {
    /// Writes the diagrams that the options ask for. Returns all pictures that were written.
    pub(crate) fn write(self, args: &PictureArgs) -> anyhow::Result<Vec<Picture>> {
        let mut pictures = Vec::new();
        if let (Some(path), Some(drawing)) = (&args.svg, &self.drawing) {
            write_picture(path, &svg::draw(drawing, &args.svg_options()))?;
            pictures.push(describe_picture("svg", path, drawing));
        }
        if let (Some(path), Some(drawing)) = (&args.mermaid, &self.drawing) {
            write_picture(path, &draw_sequence_diagram(drawing)?)?;
            pictures.push(describe_picture("mermaid", path, drawing));
        }
        pictures.extend(self.shiviz_log);
        Ok(pictures)
    }
}

/// Returns the drawing as a sequence diagram. Fails if it is too large, because a sequence diagram
/// has no overview.
fn draw_sequence_diagram(drawing: &Drawing) -> anyhow::Result<String> {
    match drawing {
        Drawing::Scene(scene) => Ok(mermaid::draw(scene)),
        Drawing::Overview(overview) => bail!(
            "the run is too large for a sequence diagram: it has {} steps, {} messages and {} nodes; the limits are \
             {MAX_STEPS} steps, {MAX_ARROWS} messages and {MAX_LANES} nodes. Draw a part of the run with --from and \
             --to, or fewer nodes.",
            format_thousands(overview.total.steps),
            format_thousands(overview.total.messages + overview.total.control_messages),
            overview.rows.len() + overview.nodes_without_row
        ),
    }
}

fn describe_picture(form: &'static str, path: &Path, drawing: &Drawing) -> Picture {
    let (nodes, steps, overview) = match drawing {
        Drawing::Scene(scene) => (scene.lanes.len(), scene.steps.len() as u64, false),
        Drawing::Overview(overview) => (overview.rows.len() + overview.nodes_without_row, overview.total.steps, true),
    };
    Picture { form, file: display_path(path), nodes, steps, overview }
}

/// Writes a picture to standard output, or to a file, complete or not at all.
fn write_picture(path: &Path, text: &str) -> anyhow::Result<()> {
    if is_stdout(path) {
        let mut out = output();
        out.write_all(text.as_bytes())?;
        return Ok(out.flush()?);
    }
    let failed = |error| write_error("picture", path, error);
    write_atomically(path, failed, |out| out.write_all(text.as_bytes()).map_err(failed))
}

/// Calls `show_run`, which must show a run to the observer, and writes the pictures that the
/// options ask for. Returns the result of `show_run`, and the pictures or the error of writing
/// them. Fails if `show_run` fails, or an earlier error, such as an invalid option, prevents its
/// call.
pub(crate) fn draw<F: FamilyLab, T>(
    args: &PictureArgs,
    header: &Header,
    show_run: impl FnOnce(&mut PictureObserver<'_, F>) -> anyhow::Result<T>,
) -> anyhow::Result<(T, anyhow::Result<Vec<Picture>>)> {
    let wants_diagram = args.svg.is_some() || args.mermaid.is_some();
    let (result, unwritten) = build_scene(args, header, wants_diagram, show_run)?;
    Ok((result, unwritten.and_then(|unwritten| unwritten.write(args))))
}

/// Calls `show_run`, which must show a run to the observer. Returns its result, and the pictures or
/// the error of drawing them. A ShiViz log is written during the call. Fails if `show_run` fails,
/// or an earlier error, such as an invalid option, prevents its call.
pub(crate) fn build_scene<F: FamilyLab, T>(
    args: &PictureArgs,
    header: &Header,
    wants_diagram: bool,
    show_run: impl FnOnce(&mut PictureObserver<'_, F>) -> anyhow::Result<T>,
) -> anyhow::Result<(T, anyhow::Result<UnwrittenPictures>)> {
    let (mut show_run, mut result) = (Some(show_run), None);
    let unwritten = build_scene_erased::<F>(args, header, wants_diagram, &mut |observer| {
        result = show_run.take().map(|show_run| show_run(observer)).transpose()?;
        Ok(())
    });
    match (result, unwritten) {
        (Some(result), unwritten) => Ok((result, unwritten)),
        (None, Err(error)) => Err(error),
        (None, Ok(_)) => Err(anyhow!("the run did not start, so there is nothing to draw.")),
    }
}

/// [`build_scene`] without the type of the result, so that it is compiled only once per family.
fn build_scene_erased<F: FamilyLab>(
    args: &PictureArgs,
    header: &Header,
    wants_diagram: bool,
    show_run: &mut dyn FnMut(&mut PictureObserver<'_, F>) -> anyhow::Result<()>,
) -> anyhow::Result<UnwrittenPictures> {
    let window = args.window(header)?;
    let nodes = if window.nodes.is_empty() { header.nodes } else { window.nodes.len() };
    let log_window = window.clone();
    let options =
        Options { window, shows_quiet_steps: args.all_steps, forces_overview: args.overview, ..Options::default() };
    let heading = wants_diagram.then(|| build_heading::<F>(header)).transpose()?;
    let scene_builder = heading.map(|heading| SceneBuilder::new(header, heading, F::role_after, options));
    let observe_run = |log: Option<&mut dyn Write>| -> anyhow::Result<UnwrittenPictures> {
        let judge = scene_builder.as_ref().and_then(|_| PropertyJudge::new(header));
        let mut observer = PictureObserver {
            scene_builder,
            judge,
            shiviz_log: log.map(|out| ShivizWriter::new(out, header, log_window)),
            nodes,
            span: None,
        };
        show_run(&mut observer)?;
        observer.finish(args, header)
    };
    match args.shiviz.as_deref() {
        None => observe_run(None),
        Some(path) if is_stdout(path) => {
            let mut out = BufWriter::new(output());
            let unwritten = observe_run(Some(&mut out));
            out.flush()?;
            unwritten
        }
        Some(path) => write_atomically(path, |error| write_error("log", path, error), |out| observe_run(Some(out))),
    }
}

/// Returns the heading of a picture and the entries of its legend.
fn build_heading<F: FamilyLab>(header: &Header) -> anyhow::Result<Heading> {
    let profile = find_entry(&header.algorithm)?.profile();
    // Notes may also name rules of the wrappers around the algorithm, and a fixture may use those
    // of the correct algorithm, which is of the same family.
    let family_abouts = quorate_lab::registry::all()
        .iter()
        .filter(|entry| entry.family() == F::FAMILY)
        .map(|entry| entry.profile().about());
    let abouts = [profile.about(), about_reliable(), about_viewed(), about_watched()].into_iter().chain(family_abouts);
    let mut rules: Vec<(String, String)> = Vec::new();
    for rule in abouts.flat_map(|about| about.rules) {
        if rules.iter().all(|(known, _)| *known != rule.id) {
            rules.push((rule.id, rule.text));
        }
    }
    let roles = F::ROLES.iter().map(|(role, words)| (*role, (*words).to_owned())).collect();
    Ok(Heading {
        algorithm: profile.name.to_owned(),
        nodes: header.nodes,
        detail: describe_origin::<F>(header),
        roles,
        rules,
    })
}

/// Describes the origin of a run.
fn describe_origin<F: FamilyLab>(header: &Header) -> String {
    match (&header.live, &header.found_by) {
        (Some(live), _) => match live.node {
            Some(node) => format!("node {node} only, incarnation {}", live.incarnation),
            // The process that starts the nodes writes this journal, which has only faults.
            None => "faults of the nodes".into(),
        },
        (None, Some(command)) => format!("found by '{}'", words::escape_controls(command)),
        (None, None) if header.recorded => "recorded from real processes".into(),
        (None, None) => match serde_json::from_value::<Spec<F>>(header.run.clone()) {
            Ok(spec) => {
                let links = if spec.is_reliable() { "reliable" } else { "bare" };
                format!("seed {} · {} · {links} links", spec.seed, spec.latency)
            }
            Err(_) => format!("seed {}", header.seed),
        },
    }
}
