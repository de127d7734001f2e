//! What users type after `quorate run`.

use super::{FormArgs, PictureArgs, whole};
use clap::Args;
use quorate_journal::settings::{Length, TimedFault};
use quorate_lab::options::Basics;
use quorate_lab::registry::Entry;
use quorate_lab::registry::FamilyArgs;
use quorate_lab::{Algorithm, FamilyLab, Spec, entry};
use quorate_live::Options;
use quorate_live::chaos::{self, Stage};
use quorate_live::schedule::{Kill, Severance, Stop};
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    quorate run ricart-agrawala --nodes 5 --entries 100\n  \
    quorate run central --nodes 4 --workload all --tls --trace run.journal --svg run.svg\n  \
    quorate run replica --nodes 3 --kill 2@1s..3s --stop 3@2s..4s\n  \
    quorate run replica --nodes 5 --chaos --for 2m --seed 7\n  \
    quorate run replica --nodes 3 --namespaces --cut \"1 | 2,3 @ 2s..4s\"\n\n\
    Every process is a 'quorate node' of its own, on this machine. Chance follows from the seed, but clocks, disks and \
    networks are real, so that no two runs are the same; the journal of a run (--trace) is, whenever it is read again.\n\n\
    Exit codes: 0 all is well, 1 a property fails, 2 the command or its input is wrong or a process failed, 3 the run \
    did not come to its end.")]
pub(crate) struct LiveArgs {
    /// The algorithm's name, as `quorate list` shows it.
    algorithm: String,
    /// How many processes there are, one a node, numbered from 1.
    #[arg(long, default_value_t = 3, value_parser = whole::<usize>)]
    nodes: usize,
    /// What all chance follows from that is not in the machine.
    #[arg(long, default_value_t = 1, value_parser = whole::<u64>)]
    seed: u64,
    /// Kill a node's process at that time, and perhaps start it again: 2@1s or 2@1s..3s. May be repeated.
    #[arg(long = "kill", value_name = "NODE@TIME")]
    kills: Vec<Kill>,
    /// Stop a node's process at that time, and let it go on: 3@2s..4s. May be repeated.
    #[arg(long = "stop", value_name = "NODE@TIME")]
    stops: Vec<Stop>,
    /// Cut nodes off from each other, both ways or one way: "1 | 2,3 @ 2s..4s", "1 > 2 @ 2s". May be repeated; needs
    /// --namespaces.
    #[arg(long = "cut", value_name = "CUT", requires = "namespaces")]
    cuts: Vec<Severance>,
    /// Kill and start again, stop and let go on, and with --namespaces cut off and join, all by the seed, while users are
    /// at work.
    #[arg(long)]
    pub(crate) chaos: bool,
    /// How long clients of a replicated log are at work, about, in place of --operations.
    #[arg(long = "for", value_name = "LENGTH", conflicts_with = "operations")]
    lasts: Option<Length>,
    /// Give each node a network of its own: needs root and the program ip.
    #[arg(long)]
    pub(crate) namespaces: bool,
    /// Let nodes show each other certificates, made for this run, and hide what they say.
    #[arg(long)]
    pub(crate) tls: bool,
    /// When the run is stopped at the latest; as late as suits the family unless given.
    #[arg(long, value_name = "LENGTH")]
    pub(crate) until: Option<Length>,
    /// Users who are told nothing for so long, with nothing to come, wait in vain, and the run is over.
    #[arg(long, value_name = "LENGTH", default_value_t = Length(Options::PATIENCE))]
    pub(crate) patience: Length,
    /// Write the run's journal, gathered from those of all processes, to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Keep everything that the processes wrote in this folder: journals, logs, disks, certificates.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) keep: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    form: FormArgs,
    #[command(flatten)]
    families: FamilyArgs,
    #[command(flatten)]
    pub(crate) picture: PictureArgs,
}

impl LiveArgs {
    /// The algorithm that is to run.
    pub(crate) fn entry(&self) -> anyhow::Result<&'static Entry> {
        Ok(entry(&self.name()?)?)
    }

    /// The name of the form that is meant.
    fn name(&self) -> anyhow::Result<String> {
        self.form.resolve(&self.algorithm)
    }

    /// The experiment that these arguments describe, with everything that is done to the processes.
    pub(crate) fn spec<F: FamilyLab>(&self) -> anyhow::Result<Spec<F>> {
        let algorithm = self.name()?;
        self.families.refuse_others(F::FAMILY, &algorithm)?;
        self.families.refuse_oracles()?;
        let mut settings = F::settings(&self.families, Basics { nodes: self.nodes, chaos: false })?;
        if let Some(Length(length)) = self.lasts {
            settings = F::lasting(&settings, length).ok_or_else(|| {
                anyhow::anyhow!(
                    "--for says how long clients of a replicated log are at work; '{}' is of the {} family, whose users \
                     are done when they are done.",
                    algorithm,
                    F::FAMILY
                )
            })?;
        }
        F::for_real(&mut settings);
        let mut spec = quorate_live::spec::<F>(Algorithm::named(&algorithm)?, self.nodes, self.seed, settings);
        spec.validate()?;
        spec.faults = self.asked().chain(self.drawn(&spec)).collect();
        Ok(spec)
    }

    fn asked(&self) -> impl Iterator<Item = TimedFault> + '_ {
        let kills = self.kills.iter().map(|Kill(fault)| fault);
        let stops = self.stops.iter().map(|Stop(fault)| fault);
        let cuts = self.cuts.iter().map(|Severance(fault)| fault);
        kills.chain(stops).chain(cuts).cloned()
    }

    fn drawn<F: FamilyLab>(&self, spec: &Spec<F>) -> Vec<TimedFault> {
        let stage = Stage { nodes: self.nodes, window: F::fault_window(spec), cuts: self.namespaces };
        if self.chaos { chaos::draw(self.seed, stage) } else { Vec::new() }
    }

    /// The command that does the same again, as far as the machine does.
    pub(crate) fn command<F: FamilyLab>(&self, spec: &Spec<F>) -> String {
        let mut words = vec![format!("quorate run {} --nodes {} --seed {}", spec.algorithm, spec.nodes, spec.seed)];
        words.extend(F::flags(spec).into_iter().map(|flag| flag.to_string()));
        words.extend(self.asked().filter_map(|fault| quorate_live::schedule::option(&fault)));
        let given = [("--chaos", self.chaos), ("--namespaces", self.namespaces), ("--tls", self.tls)];
        words.extend(given.into_iter().filter(|(_, given)| *given).map(|(name, _)| name.to_owned()));
        words.extend(self.until.map(|until| format!("--until {until}")));
        let is_usual = self.patience == Length(Options::PATIENCE);
        words.extend((!is_usual).then(|| format!("--patience {}", self.patience)));
        words.join(" ")
    }
}
