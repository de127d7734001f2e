//! What stands before a run while it goes by, and what comes of it.

use super::Picture;
use super::files::{is_stdout, unwritten};
use crate::args::PictureArgs;
use crate::output::{name, output};
use crate::report::grouped;
use anyhow::{anyhow, bail, ensure};
use quorate_core::Time;
use quorate_core::wrap::{about_reliable, about_viewed, about_watched};
use quorate_draw::scene::{Breach, Heading};
use quorate_draw::shiviz::Shiviz;
use quorate_draw::sketch::{Drawing, MOST_ARROWS, MOST_LANES, MOST_STEPS, Options, Sketch};
use quorate_draw::{mermaid, svg};
use quorate_journal::moment::{Moment, Observer};
use quorate_journal::property::{Kind, Verdict};
use quorate_journal::record::Header;
use quorate_journal::settings::Offset;
use quorate_journal::words;
use quorate_lab::{Care, FamilyLab, Judge, Spec, entry};
use quorate_live::write_whole;
use std::io::{BufWriter, Write};
use std::path::Path;

/// Watches a run for all pictures that are wanted of it. Where none is, it costs next to nothing.
pub(crate) struct Easel<'a, F: FamilyLab> {
    sketch: Option<Sketch<F::Command, F::Event>>,
    judge: Option<Bench<F>>,
    log: Option<Shiviz<&'a mut dyn Write>>,
    /// How many nodes are looked at.
    nodes: usize,
    /// When the first and the last thing happened.
    span: Option<(Time, Time)>,
}

impl<F: FamilyLab> Observer<F::Command, F::Event> for Easel<'_, F> {
    fn observe(&mut self, moment: &Moment<'_, F::Command, F::Event>) {
        if self.sketch.is_none() && self.log.is_none() {
            return;
        }
        let time = moment.time();
        self.span = Some(self.span.map_or((time, time), |(first, last)| (first.min(time), last.max(time))));
        self.sketch.observe(moment);
        if let Some(bench) = &mut self.judge {
            bench.properties.observe(moment);
        }
        self.log.observe(moment);
    }
}

impl<F: FamilyLab> Easel<'_, F> {
    /// The run goes on, but nobody can read how: what must hold in its end is not judged.
    pub(crate) fn tear(&mut self) {
        if let Some(bench) = &mut self.judge {
            bench.whole = false;
        }
    }

    fn finish(self, args: &PictureArgs, header: &Header) -> anyhow::Result<Drawn> {
        if let Some(span) = self.span {
            ensure_within(args, header, span)?;
        }
        let log = match (self.log, &args.shiviz) {
            (Some(log), Some(path)) => {
                let steps = log.finish().map_err(|error| unwritten("log", path, error))?;
                Some(Picture { form: "shiviz", file: name(path), nodes: self.nodes, steps, overview: false })
            }
            (_, _) => None,
        };
        let mut drawing = self.sketch.map(Sketch::finish);
        for breach in self.judge.into_iter().flat_map(Bench::breaches) {
            drawing.iter_mut().for_each(|drawing| drawing.blame(breach.clone()));
        }
        Ok(Drawn { drawing, log })
    }
}

/// Judges a run that is drawn, so that the picture shows where a property fails.
struct Bench<F: FamilyLab> {
    properties: F::Properties,
    /// Whether the run came to its end. What must hold in the end is not judged otherwise.
    whole: bool,
}

impl<F: FamilyLab> Bench<F> {
    /// The judge of such a run. What one life tells is too little.
    fn new(header: &Header) -> Option<Self> {
        let spec = serde_json::from_value::<Spec<F>>(header.run.clone()).ok().filter(|_| header.live.is_none())?;
        spec.validate().ok()?;
        let whole = header.found_by.is_none() && !header.recorded;
        Some(Self { properties: F::properties(&spec, Care::Verdicts), whole })
    }

    fn breaches(self) -> Vec<Breach> {
        let counts = |kind: Kind| kind == Kind::Always || (kind == Kind::Eventually && self.whole);
        let verdicts = self.properties.verdicts().into_iter().filter(|verdict| counts(verdict.kind));
        let breach = |verdict: Verdict| {
            let violation = verdict.violation?;
            // The header is the journal's first line.
            let (time, line) = (violation.time, violation.line.saturating_add(1));
            Some(Breach { time, line, text: format!("{} fails", verdict.name) })
        };
        verdicts.filter_map(breach).collect()
    }
}

/// A window that shows nothing was meant to show something.
fn ensure_within(args: &PictureArgs, header: &Header, (first, last): (Time, Time)) -> anyhow::Result<()> {
    let shown = |time: Time| Offset::from_nanos(time.nanos().saturating_sub(header.origin));
    let (first, last) = (shown(first), shown(last));
    let beside = match (args.from, args.to) {
        (Some(from), _) if from > last => Some(format!("--from {from} is after its end")),
        (_, Some(to)) if to < first => Some(format!("--to {to} is before its beginning")),
        (_, _) => None,
    };
    ensure!(
        beside.is_none(),
        "The run goes from {first} to {last}, and {}: there is nothing to draw.",
        beside.unwrap_or_default()
    );
    Ok(())
}

/// What came of a run's drawing.
pub(crate) struct Drawn {
    /// The data of its diagram, if one is wanted.
    pub(crate) drawing: Option<Drawing>,
    /// What was written while it went by.
    log: Option<Picture>,
}

impl Drawn {
    /// Writes the diagrams that are wanted; returns all that was written.
    pub(crate) fn write(self, args: &PictureArgs) -> anyhow::Result<Vec<Picture>> {
        let mut pictures = Vec::new();
        if let (Some(path), Some(drawing)) = (&args.svg, &self.drawing) {
            put(path, &svg::draw(drawing, &args.look()))?;
            pictures.push(picture("svg", path, drawing));
        }
        if let (Some(path), Some(drawing)) = (&args.mermaid, &self.drawing) {
            put(path, &sequence(drawing)?)?;
            pictures.push(picture("mermaid", path, drawing));
        }
        pictures.extend(self.log);
        Ok(pictures)
    }
}

/// The drawing as a sequence diagram, which has no form for what is too long.
fn sequence(drawing: &Drawing) -> anyhow::Result<String> {
    match drawing {
        Drawing::Scene(scene) => Ok(mermaid::draw(scene)),
        Drawing::Overview(overview) => bail!(
            "This is too much for a sequence diagram: {} steps, {} messages and {} nodes, where at most {MOST_STEPS} steps, \
             {MOST_ARROWS} messages and {MOST_LANES} nodes fit. Draw a part of the run, with --from and --to, or fewer of its nodes.",
            grouped(overview.total.steps),
            grouped(overview.total.messages + overview.total.control),
            overview.lanes.len() + overview.more_nodes
        ),
    }
}

fn picture(form: &'static str, path: &Path, drawing: &Drawing) -> Picture {
    let (nodes, steps, overview) = match drawing {
        Drawing::Scene(scene) => (scene.lanes.len(), scene.steps.len() as u64, false),
        Drawing::Overview(overview) => (overview.lanes.len() + overview.more_nodes, overview.total.steps, true),
    };
    Picture { form, file: name(path), nodes, steps, overview }
}

/// Writes a picture, to standard output or into a file that is there whole or not at all.
fn put(path: &Path, text: &str) -> anyhow::Result<()> {
    if is_stdout(path) {
        let mut out = output();
        out.write_all(text.as_bytes())?;
        return Ok(out.flush()?);
    }
    let failed = |error| unwritten("picture", path, error);
    write_whole(path, failed, |out| out.write_all(text.as_bytes()).map_err(failed))
}

/// Lets a run go by before an easel, and writes the pictures that are wanted. What came of the run is told even if its
/// pictures could not be written.
pub(crate) fn draw<F: FamilyLab, T>(
    args: &PictureArgs,
    header: &Header,
    play: impl FnOnce(&mut Easel<'_, F>) -> anyhow::Result<T>,
) -> anyhow::Result<(T, anyhow::Result<Vec<Picture>>)> {
    let wants_diagram = args.svg.is_some() || args.mermaid.is_some();
    let (played, drawn) = sketch(args, header, wants_diagram, play)?;
    Ok((played, drawn.and_then(|drawn| drawn.write(args))))
}

/// Lets a run go by before an easel, and returns what came of both. A log for ShiViz is written meanwhile.
pub(crate) fn sketch<F: FamilyLab, T>(
    args: &PictureArgs,
    header: &Header,
    wants_diagram: bool,
    play: impl FnOnce(&mut Easel<'_, F>) -> anyhow::Result<T>,
) -> anyhow::Result<(T, anyhow::Result<Drawn>)> {
    let (mut play, mut played) = (Some(play), None);
    let drawn = sketch_of::<F>(args, header, wants_diagram, &mut |easel| {
        played = play.take().map(|play| play(easel)).transpose()?;
        Ok(())
    });
    match (played, drawn) {
        (Some(played), drawn) => Ok((played, drawn)),
        (None, Err(error)) => Err(error),
        (None, Ok(_)) => Err(anyhow!("Nothing was run, so there is nothing to draw.")),
    }
}

/// The same whatever the run returns, so that it is compiled once a family.
fn sketch_of<F: FamilyLab>(
    args: &PictureArgs,
    header: &Header,
    wants_diagram: bool,
    play: &mut dyn FnMut(&mut Easel<'_, F>) -> anyhow::Result<()>,
) -> anyhow::Result<Drawn> {
    let window = args.window(header)?;
    let nodes = if window.nodes.is_empty() { header.nodes } else { window.nodes.len() };
    let seen = window.clone();
    let options = Options { window, quiet: args.all, overview: args.overview, ..Options::default() };
    let heading = wants_diagram.then(|| heading::<F>(header)).transpose()?;
    let sketch = heading.map(|heading| Sketch::new(header, heading, F::stands, options));
    let work = |log: Option<&mut dyn Write>| -> anyhow::Result<Drawn> {
        let judge = sketch.as_ref().and_then(|_| Bench::new(header));
        let mut easel = Easel { sketch, judge, log: log.map(|out| Shiviz::new(out, header, seen)), nodes, span: None };
        play(&mut easel)?;
        easel.finish(args, header)
    };
    match args.shiviz.as_deref() {
        None => work(None),
        Some(path) if is_stdout(path) => {
            let mut out = BufWriter::new(output());
            let drawn = work(Some(&mut out));
            out.flush()?;
            drawn
        }
        Some(path) => write_whole(path, |error| unwritten("log", path, error), |out| work(Some(out))),
    }
}

/// What stands above a picture, and what its legend says.
fn heading<F: FamilyLab>(header: &Header) -> anyhow::Result<Heading> {
    let profile = entry(&header.algorithm)?.profile();
    // The algorithm may stand on reliable links, which have rules of their own; and one that is wrong on purpose may keep to
    // the rules of the right one.
    let family = quorate_lab::registry::all()
        .iter()
        .filter(|entry| entry.family() == F::FAMILY)
        .map(|entry| entry.profile().about());
    let abouts = [profile.about(), about_reliable(), about_viewed(), about_watched()].into_iter().chain(family);
    let mut rules: Vec<(String, String)> = Vec::new();
    for rule in abouts.flat_map(|about| about.rules) {
        if rules.iter().all(|(known, _)| *known != rule.id) {
            rules.push((rule.id, rule.text));
        }
    }
    let roles = F::ROLES.iter().map(|(role, words)| (*role, (*words).to_owned())).collect();
    Ok(Heading { algorithm: profile.name.to_owned(), nodes: header.nodes, detail: detail::<F>(header), roles, rules })
}

/// Where a run comes from.
fn detail<F: FamilyLab>(header: &Header) -> String {
    match (&header.live, &header.found_by) {
        (Some(live), _) => match live.node {
            Some(node) => format!("node {node} alone, its life {}", live.incarnation),
            None => "what was done to the nodes".into(),
        },
        (None, Some(command)) => format!("found by '{}'", words::clean(command)),
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
