//! What users type after `quorate compare`.

use super::draw::ThemeArg;
use super::whole;
use crate::families::mutex::WorkloadArg;
use crate::picture::ensure_writable;
use clap::Args;
use quorate_draw::style::Theme;
use quorate_lab::{Mutex, Spec, compare, mutex};
use quorate_registry::{Family, MutexEntry, find};
use quorate_sim::settings::nearest;
use std::path::{Path, PathBuf};

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    quorate compare mutex\n  \
    quorate compare mutex --algorithms central,ricart-agrawala --nodes 2-16 --workload all --json\n  \
    quorate compare mutex --algorithms central --nodes 3 --entries 20 --real\n  \
    quorate compare mutex --nodes 2,4,8,16,32 --svg mutex.svg\n\n\
    The book's figures are for groups without faults, and its delays are in message times (T). In the simulator every \
    message takes 1 ms, so delays come out in T. Real delays are in milliseconds, and part of each is the machine's own.\n\n\
    Exit codes: 0 all is well, 1 a property fails or a figure is not the book's although it must be, 2 the command is \
    wrong or a process failed, 3 somebody interrupted it.")]
pub(crate) struct CompareArgs {
    /// Whose algorithms are compared; so far this is mutex.
    family: String,
    /// Which algorithms, such as central,ricart-agrawala; all of the family unless given.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    algorithms: Vec<String>,
    /// How many nodes the groups have, such as 2,4,8 or 2-16.
    #[arg(long, value_name = "SIZES", default_value = "2,4,8", value_parser = sizes)]
    nodes: Sizes,
    /// How many requests there are in each run, all nodes together.
    #[arg(long, default_value_t = 100, value_parser = whole::<u64>)]
    entries: u64,
    /// When nodes ask: one alone, all at once and again, or at random times.
    #[arg(long, value_enum, default_value = "random")]
    workload: WorkloadArg,
    /// What all chance follows from that is not in the machine.
    #[arg(long, default_value_t = 1, value_parser = whole::<u64>)]
    seed: u64,
    /// Run everything between real processes too, on this machine.
    #[arg(long)]
    real: bool,
    /// Let real processes show each other certificates, made for each run, and hide what they say.
    #[arg(long, requires = "real")]
    tls: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Draw it into this file, with the book's figures as lines; - is standard output.
    #[arg(long, value_name = "FILE", help_heading = "Pictures")]
    svg: Option<PathBuf>,
    /// Dark on light, light on dark, or as whoever looks at it prefers.
    #[arg(long, value_enum, help_heading = "Pictures")]
    theme: Option<ThemeArg>,
}

/// A comparison that makes sense.
pub(crate) struct Plan {
    pub(crate) contenders: Vec<&'static MutexEntry>,
    pub(crate) sizes: Vec<usize>,
    pub(crate) seed: u64,
    pub(crate) settings: mutex::Settings,
    /// Without, everything is only simulated.
    pub(crate) reality: Option<Reality>,
    /// Without, nothing is drawn.
    pub(crate) picture: Option<PicturePlan>,
}

/// A picture that is wanted.
pub(crate) struct PicturePlan {
    /// Where it goes; to standard output without.
    pub(crate) path: Option<PathBuf>,
    pub(crate) theme: Theme,
}

/// How real processes are started.
pub(crate) struct Reality {
    pub(crate) program: PathBuf,
    pub(crate) tls: bool,
}

impl Reality {
    /// How nodes speak to each other.
    pub(crate) fn links(&self) -> &'static str {
        if self.tls { "tls" } else { "tcp" }
    }
}

/// Each process takes a connection to each other, and they all share the cores of one machine.
const MOST_PROCESSES: usize = 64;

impl CompareArgs {
    /// What these arguments ask for. Every mistake is found before anything runs.
    pub(crate) fn plan(&self) -> anyhow::Result<Plan> {
        known_family(&self.family)?;
        anyhow::ensure!(self.entries > 0, "A comparison in which nobody enters shows nothing: use --entries 100.");
        once(&self.algorithms)?;
        let contenders = compare::contenders(&self.algorithms)?;
        let sizes = self.nodes.0.clone();
        let largest = sizes.iter().copied().max().unwrap_or_default();
        anyhow::ensure!(
            !self.real || largest <= MOST_PROCESSES,
            "--real starts a process for every node, and {largest} of them are too many to compare on one machine: at \
             most {MOST_PROCESSES}. Without --real, larger groups are simulated."
        );
        let settings =
            mutex::Settings { entries: self.entries, workload: self.workload.into(), ..mutex::Settings::default() };
        let reality = self.real.then(|| reality(self.tls)).transpose()?;
        Ok(Plan { contenders, sizes, seed: self.seed, settings, reality, picture: self.picture()? })
    }

    fn picture(&self) -> anyhow::Result<Option<PicturePlan>> {
        let Some(file) = &self.svg else {
            anyhow::ensure!(self.theme.is_none(), "--theme says how a picture in SVG looks: add --svg FILE.");
            return Ok(None);
        };
        let path = (file != Path::new("-")).then(|| file.clone());
        anyhow::ensure!(
            path.is_some() || !self.json,
            "--svg - and --json both want standard output; give one of them a file."
        );
        path.iter().try_for_each(|path| ensure_writable("picture", path))?;
        Ok(Some(PicturePlan { path, theme: self.theme.map(Into::into).unwrap_or_default() }))
    }
}

fn reality(tls: bool) -> anyhow::Result<Reality> {
    let program = std::env::current_exe()
        .map_err(|error| anyhow::anyhow!("This program cannot be found again, to start a process of it: {error}."))?;
    Ok(Reality { program, tls })
}

/// Whoever names an algorithm or another family is told what can be compared.
fn known_family(name: &str) -> anyhow::Result<()> {
    let families = [Family::Mutex, Family::Election, Family::Replica].map(Family::name);
    if name == Family::Mutex.name() {
        return Ok(());
    }
    let quoted = name.escape_debug();
    let can = "So far the algorithms of the mutex family can be compared: 'quorate compare mutex'";
    match find(name) {
        Some(entry) if entry.family() == Family::Mutex => anyhow::bail!(
            "'{quoted}' is an algorithm, and a family is compared: 'quorate compare mutex --algorithms {quoted}'."
        ),
        _ if families.contains(&name) => anyhow::bail!("There is no comparison of the {quoted} family yet. {can}."),
        _ => match nearest(name, families) {
            Some(close) => anyhow::bail!("There is no family '{quoted}'. Did you mean '{close}'? {can}."),
            None => anyhow::bail!("There is no family '{quoted}'. {can}."),
        },
    }
}

fn once(names: &[String]) -> anyhow::Result<()> {
    for (place, name) in names.iter().enumerate() {
        let is_first = names.iter().position(|other| other == name) == Some(place);
        anyhow::ensure!(is_first, "--algorithms names '{}' twice; once is enough.", name.escape_debug());
    }
    Ok(())
}

/// How many nodes groups have, in the order in which they are to be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Sizes(Vec<usize>);

/// Groups beyond that tell nothing new, and take their time.
const MOST_NODES: usize = 1_000;

/// Reads sizes and ranges of them: `2,4,8`, `2-16`.
fn sizes(text: &str) -> Result<Sizes, String> {
    let mut sizes = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (size(text, first)?, size(text, last)?);
        if first > last {
            return Err(format!("'{part}' ends before it begins; write {last}-{first}."));
        }
        if let Some(twice) = (first..=last).find(|size| sizes.contains(size)) {
            return Err(format!("'{text}' names groups of {twice} twice; once is enough."));
        }
        sizes.extend(first..=last);
    }
    Ok(Sizes(sizes))
}

/// Reads one size, before a range of it is spelled out.
fn size(text: &str, part: &str) -> Result<usize, String> {
    let part = part.trim();
    if part.is_empty() || !part.bytes().all(|byte| byte.is_ascii_digit()) {
        let text = text.escape_debug();
        return Err(format!("'{text}' does not say how large groups are; write for example 2,4,8 or 2-16."));
    }
    match part.parse() {
        Ok(0 | 1) => Err("A comparison needs at least two nodes: alone, nobody sends anything.".into()),
        Ok(size) if size <= MOST_NODES => Ok(size),
        Ok(_) | Err(_) => Err(format!("groups of {part} are too large to compare; at most {MOST_NODES} nodes fit.")),
    }
}

impl Plan {
    /// What is run, in the order in which it is shown.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&'static MutexEntry, usize)> + '_ {
        self.contenders.iter().flat_map(|entry| self.sizes.iter().map(|nodes| (*entry, *nodes)))
    }

    /// How often something is run.
    pub(crate) fn runs(&self) -> usize {
        self.contenders.len() * self.sizes.len() * if self.reality.is_some() { 2 } else { 1 }
    }

    /// Whether a picture goes to standard output. Then nothing else may.
    pub(crate) fn is_drawn_to_stdout(&self) -> bool {
        self.picture.as_ref().is_some_and(|picture| picture.path.is_none())
    }

    /// What real processes carry out.
    pub(crate) fn real_spec(&self, entry: &MutexEntry, nodes: usize) -> Spec<Mutex> {
        quorate_live::spec(entry.facts.profile.name, nodes, self.seed, self.settings.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::{Sizes, sizes};

    #[test]
    fn sizes_are_lists_and_ranges_in_the_order_given() {
        for (text, expected) in
            [("2", &[2][..]), ("8,2", &[8, 2]), ("2-5", &[2, 3, 4, 5]), ("9, 3-4", &[9, 3, 4]), ("7-7", &[7])]
        {
            assert_eq!(sizes(text), Ok(Sizes(expected.to_vec())), "{text}");
        }
        assert_eq!(sizes("2-1000").map(|sizes| sizes.0.len()), Ok(999));
    }

    #[test]
    fn sizes_that_make_no_sense_are_told() {
        for (text, expected) in [
            ("", "does not say how large groups are"),
            ("2,,4", "does not say how large groups are"),
            ("2-", "does not say how large groups are"),
            ("-3", "does not say how large groups are"),
            ("2-3-4", "does not say how large groups are"),
            ("two", "does not say how large groups are"),
            ("+2", "does not say how large groups are"),
            ("0", "at least two nodes"),
            ("1-4", "at least two nodes"),
            ("5-3", "ends before it begins; write 3-5."),
            ("2-9,4", "names groups of 4 twice"),
            ("1001", "at most 1000 nodes fit"),
            ("2-99999999999999999999999", "at most 1000 nodes fit"),
        ] {
            let told = sizes(text).expect_err(text);
            assert!(told.contains(expected), "{text}: {told}");
        }
    }
}
