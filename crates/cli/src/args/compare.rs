//! What users type after `quorate compare`.

mod elections;
mod field;
mod multicasts;
mod sizes;

pub(crate) use elections::ElectionPlan;
use elections::StartArg;
pub(crate) use field::LeftOut;
pub(crate) use multicasts::MulticastPlan;
use quorate_lab::multicast::MediumArg;

use super::draw::ThemeArg;
use super::whole;
use crate::picture::FigurePlan;
use clap::Args;
use field::Field;
use quorate_demos::failures::Inquiry;
use quorate_journal::settings::nearest;
use quorate_lab::compare::{self, Forms, Traffic};
use quorate_lab::mutex::MutexEntry;
use quorate_lab::registry::{Family, find};
use quorate_lab::{Mutex, Spec};
use sizes::{Sizes, sizes};
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    quorate compare mutex\n  \
    quorate compare mutex --nodes 4,9,16,25,49 --svg mutex.svg\n  \
    quorate compare mutex --algorithms central,ricart-agrawala --nodes 2-16 --workload all --json\n  \
    quorate compare mutex --algorithms central --nodes 3 --entries 20 --real\n  \
    quorate compare mutex --failures\n  \
    quorate compare election --nodes 4,7 --starters one,all\n  \
    quorate compare multicast --nodes 2,8,64\n\n\
    The book's figures are for groups without faults, and its delays are in message times (T). In the simulator every \
    message takes 1 ms, so delays come out in T. Real delays are in milliseconds, and part of each is the machine's own.\n\n\
    Workloads go from idle to saturated: single (one node asks alone), pair (two take turns), random:LOAD (everyone asks at \
    random times) and all (everyone asks at once, and again after leaving). A load of 10% means that somebody would be inside a tenth of the \
    time if nobody ever had to wait: each of n nodes is content for n T / 10% on the average. Because a handover takes \
    time as well, a load of 50%, which is meant by random alone, keeps most algorithms busy all the time.\n\n\
    --failures lets a node fail in the simulator while another is inside and a third one waits, at many instants, and tells \
    whether the others go on, stop, or are unsafe (two inside).\n\n\
    Elections are counted over all orders in which up to 8 nodes can sit round a ring, and over samples of larger rings.\n\n\
    Multicasts are counted while nobody else sends: the messages that one takes, and the message times until the last member has \
    delivered it.\n\n\
    Exit codes: 0 all is well, 1 a property fails or a figure is not the book's although it must be, 2 the command is \
    wrong or a process failed, 3 somebody interrupted it.")]
pub(crate) struct CompareArgs {
    /// Whose algorithms are compared: mutex, election or multicast.
    family: String,
    /// Which algorithms, such as central,ricart-agrawala; all of the family unless given.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    algorithms: Vec<String>,
    /// Compare all forms of algorithms that have several, such as central's three ways to be busy.
    #[arg(long)]
    forms: bool,
    /// How many nodes the groups have, such as 4,9,16 or 2-16; 4,9,16,25,49 unless given (with --real 4,9, with
    /// --failures 5, elections 4,8,16,32,64, multicasts 2,4,8,16,32,64).
    #[arg(long, value_name = "SIZES", value_parser = sizes)]
    nodes: Option<Sizes>,
    /// How many requests there are in each run, all nodes together; 100 unless given.
    #[arg(long, value_parser = whole::<u64>)]
    entries: Option<u64>,
    /// When nodes ask, such as single,random:10%,all; single,pair,random:1%,random:10%,random,all unless given (with
    /// --real single,random,all).
    #[arg(long, value_name = "WORKLOADS", value_delimiter = ',')]
    workload: Vec<Traffic>,
    /// Who starts elections: one node (each in turn), the lowest, the highest, all; one,all unless given.
    #[arg(long, value_enum, value_name = "WHO", value_delimiter = ',')]
    starters: Vec<StartArg>,
    /// How many orders of a large ring are sampled; 200 unless given. Of rings of up to 8 nodes all are tried.
    #[arg(long, value_parser = whole::<u64>)]
    samples: Option<u64>,
    /// What carries a multicast to all: as many messages as there are receivers, one that those hear whom it is for, or one that
    /// everyone hears; unicast unless given.
    #[arg(long, value_enum)]
    medium: Option<MediumArg>,
    /// Deliver a multicast only when every member holds it.
    #[arg(long)]
    uniform: bool,
    /// Whoever receives a multicast passes it on.
    #[arg(long)]
    relay: bool,
    /// What all chance follows from that is not in the machine.
    #[arg(long, default_value_t = 1, value_parser = whole::<u64>)]
    seed: u64,
    /// Run everything between real processes too, on this machine.
    #[arg(long)]
    real: bool,
    /// Let real processes show each other certificates, made for each run, and hide what they say.
    #[arg(long, requires = "real")]
    tls: bool,
    /// Tell what becomes of the others when a node fails, instead of what an entry costs.
    #[arg(long, conflicts_with_all = ["entries", "workload", "real", "tls", "svg", "theme"])]
    pub(crate) failures: bool,
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
    /// From idle to saturated, unless the user wants another order.
    pub(crate) traffics: Vec<Traffic>,
    /// Who cannot run in groups of some of these sizes.
    pub(crate) left_out: Vec<LeftOut>,
    pub(crate) entries: u64,
    pub(crate) seed: u64,
    /// Without, everything is only simulated.
    pub(crate) reality: Option<Reality>,
    /// Without, nothing is drawn.
    pub(crate) picture: Option<FigurePlan>,
}

/// One algorithm in a group of one size, asked in one way.
#[derive(Clone, Copy)]
pub(crate) struct Heat {
    pub(crate) entry: &'static MutexEntry,
    pub(crate) nodes: usize,
    pub(crate) traffic: Traffic,
}

/// What is tried to see what failures do.
pub(crate) struct FailurePlan {
    pub(crate) inquiries: Vec<Inquiry>,
    /// Who cannot run in groups of some of these sizes.
    pub(crate) left_out: Vec<LeftOut>,
    pub(crate) seed: u64,
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
/// How large groups are unless users say otherwise. Squares, so that those who vote in a grid have a whole one.
const USUAL_SIZES: [usize; 5] = [4, 9, 16, 25, 49];
/// So many processes start in a moment.
const REAL_SIZES: [usize; 2] = [4, 9];
/// In an almost idle group real users would think for minutes.
const REAL_TRAFFICS: [Traffic; 3] = [Traffic::Single, Traffic::Random(compare::OfferedLoad::USUAL), Traffic::All];
const USUAL_ENTRIES: u64 = 100;
/// In a group of so many some are inside, some wait and some are idle.
const FAILURE_SIZE: usize = 5;
/// One that is inside, one that waits and one that is struck although it wants nothing.
const FEWEST_TO_FAIL: usize = 3;

impl CompareArgs {
    /// What these arguments ask for. Every mistake is found before anything runs.
    pub(crate) fn plan(&self) -> anyhow::Result<Plan> {
        self.mutex_only()?;
        let entries = self.entries.unwrap_or(USUAL_ENTRIES);
        anyhow::ensure!(entries > 0, "A comparison in which nobody enters shows nothing: use --entries 100.");
        let traffics = self.traffics()?;
        let usual: &[usize] = if self.real { &REAL_SIZES } else { &USUAL_SIZES };
        let sizes = self.nodes.as_ref().map_or(usual.to_vec(), |sizes| sizes.0.clone());
        let Field { contenders, left_out } = self.field(&sizes)?;
        let largest = sizes.iter().copied().max().unwrap_or_default();
        anyhow::ensure!(
            !self.real || largest <= MOST_PROCESSES,
            "--real starts a process for every node, and {largest} of them are too many to compare on one machine: at \
             most {MOST_PROCESSES}. Without --real, larger groups are simulated."
        );
        let reality = self.real.then(|| reality(self.tls)).transpose()?;
        let picture = self.picture()?;
        Ok(Plan { contenders, sizes, traffics, left_out, entries, seed: self.seed, reality, picture })
    }

    /// What these arguments ask for, where they ask about failures.
    pub(crate) fn failure_plan(&self) -> anyhow::Result<FailurePlan> {
        self.mutex_only()?;
        let sizes = self.nodes.as_ref().map(|sizes| sizes.0.as_slice());
        let smallest = sizes.and_then(|sizes| sizes.iter().min()).copied().unwrap_or(FAILURE_SIZE);
        anyhow::ensure!(
            smallest >= FEWEST_TO_FAIL,
            "--failures needs a node inside, one that waits and one that is idle: groups of {FEWEST_TO_FAIL} or more."
        );
        let Field { contenders, left_out } = match sizes {
            Some(sizes) => self.field(sizes)?,
            // Whoever has no group of the usual size has one that is a little larger.
            None => Field { contenders: self.contenders()?, left_out: Vec::new() },
        };
        let mut inquiries = Vec::new();
        for entry in contenders {
            let fits = |nodes: &usize| (entry.facts.fits)(*nodes).is_ok();
            let own: Vec<_> = match sizes {
                Some(sizes) => sizes.iter().copied().filter(fits).collect(),
                None => (FAILURE_SIZE..=MOST_PROCESSES).find(fits).into_iter().collect(),
            };
            inquiries.extend(own.into_iter().map(|nodes| Inquiry { seed: self.seed, ..Inquiry::of(entry, nodes) }));
        }
        Ok(FailurePlan { inquiries, left_out, seed: self.seed })
    }

    /// Whether elections are compared.
    pub(crate) fn is_of_elections(&self) -> bool {
        self.family == Family::Election.name()
    }

    /// Whether multicasts are compared.
    pub(crate) fn is_of_multicasts(&self) -> bool {
        self.family == Family::Multicast.name()
    }

    fn mutex_only(&self) -> anyhow::Result<()> {
        known_family(&self.family)?;
        if let Some(option) = self.multicast_option() {
            anyhow::bail!("--{option} means nothing to mutual exclusion; it is for 'quorate compare multicast'.");
        }
        let given = [("starters", !self.starters.is_empty()), ("samples", self.samples.is_some())];
        match given.into_iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) => {
                anyhow::bail!("--{option} means nothing to mutual exclusion; it is for 'quorate compare election'.")
            }
            None => Ok(()),
        }
    }

    fn contenders(&self) -> anyhow::Result<Vec<&'static MutexEntry>> {
        once("--algorithms", &self.algorithms)?;
        let forms = if self.forms { Forms::All } else { Forms::Usual };
        Ok(compare::contenders(&self.algorithms, forms)?)
    }

    fn field(&self, sizes: &[usize]) -> anyhow::Result<Field> {
        Field::of(self.contenders()?, sizes, &self.algorithms)
    }

    fn traffics(&self) -> anyhow::Result<Vec<Traffic>> {
        let words: Vec<_> = self.workload.iter().map(ToString::to_string).collect();
        once("--workload", &words)?;
        Ok(match &self.workload[..] {
            [] if self.real => REAL_TRAFFICS.to_vec(),
            [] => Traffic::ALL.to_vec(),
            given => given.to_vec(),
        })
    }

    fn picture(&self) -> anyhow::Result<Option<FigurePlan>> {
        FigurePlan::of(self.svg.as_deref(), self.theme, self.json)
    }
}

fn reality(tls: bool) -> anyhow::Result<Reality> {
    let program = std::env::current_exe()
        .map_err(|error| anyhow::anyhow!("This program cannot be found again, to start a process of it: {error}."))?;
    Ok(Reality { program, tls })
}

/// Whoever names an algorithm or another family is told what can be compared.
fn known_family(name: &str) -> anyhow::Result<()> {
    let families = Family::ALL.map(Family::name);
    if name == Family::Mutex.name() {
        return Ok(());
    }
    let quoted = name.escape_debug();
    let can = "The algorithms of three families can be compared: 'quorate compare mutex', 'quorate compare election' and 'quorate compare \
               multicast'";
    match find(name) {
        Some(entry) if entry.family() != Family::Replica => anyhow::bail!(
            "'{quoted}' is an algorithm, and a family is compared: 'quorate compare {} --algorithms {quoted}'.",
            entry.family()
        ),
        _ if families.contains(&name) => anyhow::bail!("There is no comparison of the {quoted} family yet. {can}."),
        _ => match nearest(name, families) {
            Some(close) => anyhow::bail!("There is no family '{quoted}'. Did you mean '{close}'? {can}."),
            None => anyhow::bail!("There is no family '{quoted}'. {can}."),
        },
    }
}

fn once(option: &str, names: &[String]) -> anyhow::Result<()> {
    for (place, name) in names.iter().enumerate() {
        let is_first = names.iter().position(|other| other == name) == Some(place);
        anyhow::ensure!(is_first, "{option} names '{}' twice; once is enough.", name.escape_debug());
    }
    Ok(())
}

impl Plan {
    /// What is run, in the order in which it is shown.
    pub(crate) fn heats(&self) -> impl Iterator<Item = Heat> + '_ {
        let pairs = self.contenders.iter().flat_map(|entry| self.sizes.iter().map(|nodes| (*entry, *nodes)));
        let fitting = pairs.filter(|(entry, nodes)| (entry.facts.fits)(*nodes).is_ok());
        fitting.flat_map(|(entry, nodes)| {
            self.traffics.iter().map(move |traffic| Heat { entry, nodes, traffic: *traffic })
        })
    }

    /// How often something is run.
    pub(crate) fn runs(&self) -> usize {
        self.heats().count() * if self.reality.is_some() { 2 } else { 1 }
    }

    /// Whether a picture goes to standard output. Then nothing else may.
    pub(crate) fn is_drawn_to_stdout(&self) -> bool {
        self.picture.as_ref().is_some_and(FigurePlan::is_on_stdout)
    }

    /// What is simulated.
    pub(crate) fn simulation(&self, heat: Heat) -> Spec<Mutex> {
        let Heat { entry, nodes, traffic } = heat;
        let mut spec = compare::simulation(entry, nodes, self.seed, &quorate_lab::mutex::Settings::default());
        spec.settings = traffic.settings(self.entries, nodes, spec.typical());
        spec
    }

    /// What real processes carry out.
    pub(crate) fn real_spec(&self, heat: Heat) -> Spec<Mutex> {
        let usual = quorate_lab::mutex::Settings::default();
        let mut spec = quorate_live::spec::<Mutex>(heat.entry.into(), heat.nodes, self.seed, usual);
        spec.settings = heat.traffic.settings(self.entries, heat.nodes, spec.typical());
        spec
    }
}
