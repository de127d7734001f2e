//! Arguments that describe a simulated run, shared by `quorate sim`, `sweep` and `shrink`.

use super::{FormArgs, LinksArg, no_effect, parse_whole};
use crate::output::display_path;
use clap::Args;
use quorate_journal::settings::{Chance, Latency, Length, Script, TimedFault};
use quorate_lab::options::{CommonOptions, OptionsError};
use quorate_lab::registry::FamilyArgs;
use quorate_lab::registry::{Entry, Family};
use quorate_lab::{Algorithm, FamilyLab, FaultMix, Spec, find_entry};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

/// Describes a simulated run. Journals record all of it.
#[derive(Args)]
pub(crate) struct RunArgs {
    /// Name of the algorithm, as 'quorate list' shows it.
    // `sweep` makes it optional, because `--family` replaces it.
    #[arg(required = true)]
    algorithm: Option<String>,
    /// Number of nodes; their ids start at 1.
    #[arg(long, default_value_t = 3, value_parser = parse_whole::<usize>)]
    pub(crate) nodes: usize,
    /// Random seed. The same seed repeats the same run.
    #[arg(long, default_value_t = 1, value_parser = parse_whole::<u64>)]
    seed: u64,
    /// Time a message takes: fixed:1ms, uniform:1ms..5ms or long-tail:2ms.
    #[arg(long, default_value = "uniform:1ms..5ms")]
    latency: Latency,
    /// Upper bound of message delays that nodes assume when they set timeouts, such as 5ms
    /// [default: the longest time of --latency; for long-tail ten times the median]
    #[arg(long, alias = "bound", value_name = "DURATION")]
    delay_bound: Option<Length>,
    /// Time a node needs to process one input.
    #[arg(long, default_value = "fixed:0ms")]
    processing: Latency,
    /// Time a disk sync takes, such as fixed:1ms [default: fixed:0ms; for replicas
    /// uniform:0ms..10ms]
    #[arg(long)]
    disk: Option<Latency>,
    /// Probability that a message is lost, such as 0.1 or 10%.
    #[arg(long, default_value = "0")]
    loss: Chance,
    /// Probability that a message is delivered twice, such as 0.1 or 10%.
    #[arg(long, default_value = "0")]
    duplicate: Chance,
    /// Links deliver messages in the order in which they were sent (FIFO).
    #[arg(long)]
    fifo: bool,
    /// Links below the algorithm: reliable adds a layer that retransmits and orders messages, bare
    /// adds none, and auto adds it if messages can be lost or duplicated and the algorithm does not
    /// tolerate loss.
    #[arg(long, value_enum, default_value = "auto")]
    links: LinksArg,
    /// A fault, such as "crash 2 at 10ms". May be repeated.
    #[arg(long = "fault", value_name = "FAULT")]
    faults: Vec<TimedFault>,
    /// Script of faults, commands and directions (fixed delays of single messages, timers and disk
    /// syncs), one per line.
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// Numbers of random faults of each kind, such as pause=2,cut=1. Kinds: crash, pause, cut (a
    /// partition), deaf (a node receives nothing from another), skew and drift (of a clock), full
    /// and disk (a full or failing disk).
    #[arg(long, default_value = "", value_name = "MIX", hide_default_value = true)]
    random_faults: FaultMix,
    /// Stop the run at this simulated time.
    #[arg(long, value_name = "DURATION")]
    until: Option<Length>,
    #[command(flatten)]
    form: FormArgs,
    #[command(flatten)]
    families: FamilyArgs,
    #[command(flatten)]
    last: LastArgs,
}

/// The last option of a run. This struct also resets the help heading, so that the options that a
/// command adds do not appear under a family's heading.
#[derive(Args)]
#[command(next_help_heading = None::<&str>)]
struct LastArgs {
    /// Inject all faults that a replicated log must tolerate, as the seed chooses: crashes,
    /// which can tear writes; full, failing and lost disks; partitions of every kind; bad links;
    /// pauses; clock drift; outages.
    #[arg(long, help_heading = "Options of replicated logs")]
    chaos: bool,
}

impl RunArgs {
    /// Returns the algorithm to run, in the form that options such as `--requests` choose.
    pub(crate) fn entry(&self) -> anyhow::Result<&'static Entry> {
        Ok(find_entry(&self.form.resolve(self.algorithm_argument())?)?)
    }

    /// Whether `--views` asks for changing membership.
    pub(crate) fn wants_views(&self) -> bool {
        self.families.wants_views()
    }

    /// Returns the algorithm argument as given. It may also be the name of a demonstration or, in
    /// `quorate shrink`, the path of a journal. It is empty if `sweep --family` replaces it.
    pub(crate) fn algorithm_argument(&self) -> &str {
        self.algorithm.as_deref().unwrap_or_default()
    }

    /// Returns the path of the script, if one is given.
    pub(crate) fn script(&self) -> Option<&Path> {
        self.script.as_deref()
    }

    /// Returns the run that these arguments describe.
    pub(crate) fn spec<F: FamilyLab>(&self) -> anyhow::Result<Spec<F>> {
        self.spec_with_algorithm(&self.form.resolve(self.algorithm_argument())?)
    }

    /// Returns the run that these arguments describe, with this algorithm instead of the given one.
    pub(crate) fn spec_with_algorithm<F: FamilyLab>(&self, algorithm: &str) -> anyhow::Result<Spec<F>> {
        self.families.reject_other_families(F::FAMILY, algorithm)?;
        if self.last.chaos && F::FAMILY != Family::Replica {
            return Err(OptionsError::not_applicable("chaos", Family::Replica, algorithm, F::FAMILY).into());
        }
        let script_path = self.script.as_ref().map(|path| path.display().to_string());
        let spec = Spec {
            algorithm: Algorithm::named(algorithm)?,
            nodes: self.nodes,
            seed: self.seed,
            latency: self.latency,
            delay_bound: self.delay_bound,
            processing: self.processing,
            disk: self.disk.unwrap_or_else(F::default_disk_latency),
            loss: self.loss,
            duplicate: self.duplicate,
            fifo: self.fifo,
            links: self.links.into(),
            settings: F::settings(&self.families, CommonOptions { nodes: self.nodes, has_chaos: self.last.chaos })?,
            faults: self.faults.clone(),
            script: self.script.as_deref().map(|path| read_script(path, F::COMMANDS, self.nodes)).transpose()?,
            script_path,
            random_faults: self.random_faults.clone(),
            until: self.until,
        };
        spec.validate()?;
        if let Some(option) = self.families.first_workload_option(F::FAMILY).filter(|_| spec.is_scripted()) {
            return Err(no_effect(option, "with --script: the commands of the script replace the workload"));
        }
        Ok(spec)
    }

    /// Returns the name of the first given option that changes the settings of this family. Fails
    /// if an option belongs to another family.
    pub(crate) fn first_option_of(&self, family: Family) -> anyhow::Result<Option<&'static str>> {
        if let Some((option, other)) = self.families.first_foreign_option(family) {
            anyhow::bail!("--{option} has no effect on the {family} family; it is an option of the {other} family.");
        }
        Ok(self.families.first_own_option(family))
    }

    /// Returns the run with its settings changed by the given options of its family.
    pub(crate) fn with_family_options<F: FamilyLab>(&self, spec: &Spec<F>) -> anyhow::Result<Spec<F>> {
        // Only `sweep --family` calls this function, and clap rejects `--chaos` beside `--family`.
        let common = CommonOptions { nodes: spec.nodes, has_chaos: false };
        let changed =
            Spec { settings: F::with_options(spec.settings.clone(), &self.families, common)?, ..spec.clone() };
        changed.validate()?;
        Ok(changed)
    }
}

fn read_script(path: &Path, commands: &[&str], nodes: usize) -> anyhow::Result<Script> {
    let text =
        read_text(path).map_err(|error| anyhow::anyhow!("cannot read the script {}: {error}.", display_path(path)))?;
    Script::parse_for(&text, commands, nodes)
        .map_err(|error| anyhow::anyhow!("invalid script {}: {error}", display_path(path)))
}

/// Size in bytes from which a script is rejected: 16 MiB.
const SCRIPT_SIZE_LIMIT: u64 = 16 << 20;

fn read_text(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    let read = File::open(path)?.take(SCRIPT_SIZE_LIMIT).read_to_string(&mut text)?;
    if read as u64 == SCRIPT_SIZE_LIMIT {
        return Err(std::io::Error::new(ErrorKind::FileTooLarge, "it must be smaller than 16 MiB"));
    }
    Ok(text)
}
