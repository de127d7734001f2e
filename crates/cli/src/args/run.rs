//! What to run: what users type after `quorate sim` and `quorate sweep`.

use super::{FormArgs, LinksArg, no_effect, whole};
use crate::commands::{detector, local};
use crate::output::name;
use clap::Args;
use quorate_journal::settings::{Chance, Latency, Length, Script, TimedFault};
use quorate_lab::options::{Basics, OptionsError};
use quorate_lab::registry::FamilyArgs;
use quorate_lab::registry::{Entry, Family};
use quorate_lab::{Algorithm, FamilyLab, FaultMix, Spec, entry};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

/// What to run. Journals remember all of it.
#[derive(Args)]
pub(crate) struct RunArgs {
    /// The algorithm's name, as `quorate list` shows it.
    #[arg(required = true)]
    algorithm: Option<String>,
    /// How many nodes there are, numbered from 1.
    #[arg(long, default_value_t = 3, value_parser = whole::<usize>)]
    pub(crate) nodes: usize,
    /// What all chance follows from.
    #[arg(long, default_value_t = 1, value_parser = whole::<u64>)]
    seed: u64,
    /// How long a message takes: fixed:1ms, uniform:1ms..5ms or long-tail:2ms.
    #[arg(long, default_value = "uniform:1ms..5ms")]
    latency: Latency,
    /// How long nodes are told that a message takes at most, such as 5ms; as long as it does unless given. Algorithms
    /// that wait count in it.
    #[arg(long, value_name = "LENGTH")]
    bound: Option<Length>,
    /// How long a node is busy with each input.
    #[arg(long, default_value = "fixed:0ms")]
    processing: Latency,
    /// How long a sync of a node's disk takes; fixed:0ms unless given, but for replicas, whose disks take some time.
    #[arg(long)]
    disk: Option<Latency>,
    /// How likely a message is lost: 0.1 or 10%.
    #[arg(long, default_value = "0")]
    loss: Chance,
    /// How likely a message arrives twice.
    #[arg(long, default_value = "0")]
    duplicate: Chance,
    /// Links keep the order of messages.
    #[arg(long)]
    fifo: bool,
    /// Whether a layer that repeats and orders messages is put under the algorithm; auto: where messages can be lost
    /// and the algorithm does not cope with that by itself.
    #[arg(long, value_enum, default_value = "auto")]
    links: LinksArg,
    /// Something that goes wrong, such as "crash 2 at 10ms". May be repeated.
    #[arg(long = "fault", value_name = "FAULT")]
    faults: Vec<TimedFault>,
    /// A file of faults, commands and directions for single messages, timers and syncs, one a line.
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// Faults that the seed chooses, such as pause=2,cut=1 (also crash, deaf, skew, drift, full, disk).
    #[arg(long, default_value = "", value_name = "MIX", hide_default_value = true)]
    random_faults: FaultMix,
    /// When the run is stopped at the latest, in simulated time.
    #[arg(long, value_name = "LENGTH")]
    until: Option<Length>,
    #[command(flatten)]
    form: FormArgs,
    #[command(flatten)]
    families: FamilyArgs,
    #[command(flatten)]
    last: LastArgs,
}

/// The last of what to run. What a command adds to it stands under no family's heading in its help.
#[derive(Args)]
#[command(next_help_heading = None::<&str>)]
struct LastArgs {
    /// Let everything go wrong that a replicated log must bear, drawn by the seed: crashes, torn, full, failing and lost
    /// disks, cuts of every kind, bad links, pauses, drift, outages.
    #[arg(long, help_heading = "Options of replicated logs")]
    chaos: bool,
}

impl RunArgs {
    /// The algorithm that is to run.
    pub(crate) fn entry(&self) -> anyhow::Result<&'static Entry> {
        local::refuse(self.subject())?;
        detector::refuse(self.subject())?;
        Ok(entry(&self.form.resolve(self.subject())?)?)
    }

    /// Whether algorithms are to run in views.
    pub(crate) fn wants_views(&self) -> bool {
        self.families.wants_views()
    }

    /// What stands in the place of the algorithm.
    pub(crate) fn subject(&self) -> &str {
        self.algorithm.as_deref().unwrap_or_default()
    }

    /// The script that the run is read from, if there is one.
    pub(crate) fn script(&self) -> Option<&Path> {
        self.script.as_deref()
    }

    /// The experiment that these arguments describe.
    pub(crate) fn spec<F: FamilyLab>(&self) -> anyhow::Result<Spec<F>> {
        self.spec_of(&self.form.resolve(self.subject())?)
    }

    /// The experiment that these arguments describe, if this is the algorithm.
    pub(crate) fn spec_of<F: FamilyLab>(&self, algorithm: &str) -> anyhow::Result<Spec<F>> {
        self.families.refuse_others(F::FAMILY, algorithm)?;
        if self.last.chaos && F::FAMILY != Family::Replica {
            return Err(OptionsError::means_nothing("chaos", Family::Replica, algorithm, F::FAMILY).into());
        }
        let script_path = self.script.as_ref().map(|path| path.display().to_string());
        let spec = Spec {
            algorithm: Algorithm::named(algorithm)?,
            nodes: self.nodes,
            seed: self.seed,
            latency: self.latency,
            bound: self.bound,
            processing: self.processing,
            disk: self.disk.unwrap_or_else(F::usual_disk),
            loss: self.loss,
            duplicate: self.duplicate,
            fifo: self.fifo,
            links: self.links.into(),
            settings: F::settings(&self.families, Basics { nodes: self.nodes, chaos: self.last.chaos })?,
            faults: self.faults.clone(),
            script: self.script.as_deref().map(|path| read_script(path, F::COMMANDS, self.nodes)).transpose()?,
            script_path,
            random_faults: self.random_faults.clone(),
            until: self.until,
        };
        spec.validate()?;
        if let Some(option) = self.families.workload(F::FAMILY).filter(|_| spec.is_scripted()) {
            return Err(no_effect(option, "beside --script: its commands say what is asked, and when"));
        }
        Ok(spec)
    }

    /// The first option given that changes the settings of a family; a mistake if only other families know it.
    pub(crate) fn option_of(&self, family: Family) -> anyhow::Result<Option<&'static str>> {
        if let Some((option, other)) = self.families.foreign(family) {
            anyhow::bail!("--{option} means nothing to the {family} family; it is an option of the {other} family.");
        }
        Ok(self.families.own(family))
    }

    /// An experiment of which the options of its family change the settings.
    pub(crate) fn changed<F: FamilyLab>(&self, spec: &Spec<F>) -> anyhow::Result<Spec<F>> {
        let basics = Basics { nodes: spec.nodes, chaos: false };
        let changed = Spec { settings: F::changed(spec.settings.clone(), &self.families, basics)?, ..spec.clone() };
        changed.validate()?;
        Ok(changed)
    }
}

fn read_script(path: &Path, commands: &[&str], nodes: usize) -> anyhow::Result<Script> {
    let text =
        read_text(path).map_err(|error| anyhow::anyhow!("The script {} could not be read: {error}.", name(path)))?;
    Script::parse_for(&text, commands, nodes).map_err(|error| anyhow::anyhow!("In the script {}: {error}", name(path)))
}

/// No script is longer: what seems so is no script.
const MOST_SCRIPT: u64 = 16 << 20;

fn read_text(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    let read = File::open(path)?.take(MOST_SCRIPT).read_to_string(&mut text)?;
    if read as u64 == MOST_SCRIPT {
        return Err(std::io::Error::new(ErrorKind::FileTooLarge, "it is longer than 16 MiB"));
    }
    Ok(text)
}
