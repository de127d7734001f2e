//! Arguments of `quorate run`.

use super::{FormArgs, PictureArgs, parse_whole};
use anyhow::Context;
use clap::Args;
use quorate_journal::settings::{Length, TimedFault};
use quorate_lab::options::CommonOptions;
use quorate_lab::registry::Entry;
use quorate_lab::registry::FamilyArgs;
use quorate_lab::{Algorithm, FamilyLab, Spec, find_entry};
use quorate_live::Options;
use quorate_live::chaos::{self, ChaosSettings};
use quorate_live::schedule::{CutFault, KillFault, PauseFault, format_option};
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    quorate run ricart-agrawala --nodes 5 --entries 100\n  \
    quorate run central --nodes 4 --workload all --tls --trace run.journal --svg run.svg\n  \
    quorate run replica --nodes 3 --kill 2@1s..3s --stop 3@2s..4s\n  \
    quorate run replica --nodes 5 --chaos --for 2m --seed 7\n  \
    quorate run replica --nodes 3 --namespaces --cut \"1 | 2,3 @ 2s..4s\"\n\n\
    Each process is a 'quorate node' on this machine. The seed determines the workload, the random \
    choices of the algorithm and the faults of --chaos, but clocks, disks, networks and timers are real, so no two runs \
    are the same. The journal of a run (--trace) can be read and replayed any number of times.\n\n\
    Exit codes: 0 success, 1 a property fails, 2 the command or its input is invalid or a process failed, 3 the run \
    did not finish.")]
pub(crate) struct LiveArgs {
    /// Name of the algorithm, as 'quorate list' shows it.
    algorithm: String,
    /// Number of nodes, each in its own process; their ids start at 1.
    #[arg(long, default_value_t = 3, value_parser = parse_whole::<usize>)]
    nodes: usize,
    /// Random seed of the workload, of the algorithm and of --chaos.
    #[arg(long, default_value_t = 1, value_parser = parse_whole::<u64>)]
    seed: u64,
    /// Kill a node's process: 2@1s kills node 2 at 1 s, and 2@1s..3s also restarts it at 3 s.
    /// May be repeated.
    #[arg(long = "kill", value_name = "NODE@TIME")]
    kills: Vec<KillFault>,
    /// Pause a node's process and let it continue: 3@2s..4s pauses node 3 from 2 s to 4 s. May be
    /// repeated.
    #[arg(long = "stop", value_name = "NODE@TIME")]
    stops: Vec<PauseFault>,
    /// Partition nodes in both directions, such as "1 | 2,3 @ 2s..4s", or in one, such as "1 > 2 @
    /// 2s". May be repeated. Needs --namespaces.
    #[arg(long = "cut", value_name = "CUT", requires = "namespaces")]
    cuts: Vec<CutFault>,
    /// Kill and restart, pause and continue, and with --namespaces partition and heal nodes at
    /// times that the seed chooses, while clients run.
    #[arg(long)]
    pub(crate) chaos: bool,
    /// Approximate time for which clients of a replicated log send operations. Replaces
    /// --operations.
    #[arg(long = "for", value_name = "DURATION", conflicts_with = "operations")]
    duration: Option<Length>,
    /// Give each node its own network namespace. Needs root and the program ip.
    #[arg(long)]
    pub(crate) namespaces: bool,
    /// Encrypt and authenticate connections with TLS, with certificates made for this run.
    #[arg(long)]
    pub(crate) tls: bool,
    /// Time after which the run is stopped. The default depends on the family.
    #[arg(long, value_name = "DURATION")]
    pub(crate) until: Option<Length>,
    /// Time without any event after which waiting clients count as blocked and the run ends.
    #[arg(long, alias = "patience", value_name = "DURATION", default_value_t = Length(Options::PATIENCE))]
    pub(crate) idle_timeout: Length,
    /// Write the run's journal, merged from the journals of all processes, to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Keep all files of the processes in this folder: journals, logs, disks and certificates.
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
    /// Returns the algorithm to run.
    pub(crate) fn entry(&self) -> anyhow::Result<&'static Entry> {
        Ok(find_entry(&self.name()?)?)
    }

    /// Returns the name of the algorithm, in the form that options such as `--requests` choose.
    fn name(&self) -> anyhow::Result<String> {
        self.form.resolve(&self.algorithm)
    }

    /// Returns the run that these arguments describe, with all faults of the processes.
    pub(crate) fn spec<F: FamilyLab>(&self) -> anyhow::Result<Spec<F>> {
        let algorithm = self.name()?;
        self.families.reject_other_families(F::FAMILY, &algorithm)?;
        self.families.reject_simulated_membership()?;
        // `has_chaos` means simulated faults; `--chaos` of this command injects faults into real
        // processes.
        let mut settings = F::settings(&self.families, CommonOptions { nodes: self.nodes, has_chaos: false })?;
        if let Some(Length(length)) = self.duration {
            settings = F::with_duration(&settings, length).ok_or_else(|| {
                anyhow::anyhow!(
                    "--for applies to replicated logs; '{}' is of the {} family, whose clients stop when their \
                     workload is done.",
                    algorithm,
                    F::FAMILY
                )
            })?;
        }
        F::adapt_to_real_processes(&mut settings);
        let mut spec = quorate_live::spec::<F>(Algorithm::named(&algorithm)?, self.nodes, self.seed, settings);
        spec.validate()?;
        for (option, fault) in self.given_faults() {
            // An error quotes the fault as the user writes it, without the option's name.
            let option_text = format_option(fault).unwrap_or_default();
            let value = option_text.trim_start_matches(option).trim().trim_matches('"');
            fault.validate_as(&value, self.nodes).context(option)?;
            spec.faults.push(fault.clone());
        }
        spec.faults.extend(self.random_faults(&spec));
        Ok(spec)
    }

    /// Returns the faults that options describe, each with the name of its option.
    fn given_faults(&self) -> impl Iterator<Item = (&'static str, &TimedFault)> {
        let kills = self.kills.iter().map(|KillFault(fault)| ("--kill", fault));
        let stops = self.stops.iter().map(|PauseFault(fault)| ("--stop", fault));
        let cuts = self.cuts.iter().map(|CutFault(fault)| ("--cut", fault));
        kills.chain(stops).chain(cuts)
    }

    fn random_faults<F: FamilyLab>(&self, spec: &Spec<F>) -> Vec<TimedFault> {
        let settings = ChaosSettings { nodes: self.nodes, window: F::fault_window(spec), has_cuts: self.namespaces };
        if self.chaos { chaos::draw(self.seed, settings) } else { Vec::new() }
    }

    /// Returns the command that starts this run again. It leaves out the options of its output, and
    /// it cannot repeat what depends on the machine.
    pub(crate) fn command<F: FamilyLab>(&self, spec: &Spec<F>) -> String {
        let mut words = vec![format!("quorate run {} --nodes {} --seed {}", spec.algorithm, spec.nodes, spec.seed)];
        words.extend(F::flags(spec).into_iter().map(|flag| flag.to_string()));
        words.extend(self.given_faults().filter_map(|(_, fault)| format_option(fault)));
        let switches = [("--chaos", self.chaos), ("--namespaces", self.namespaces), ("--tls", self.tls)];
        words.extend(switches.into_iter().filter(|(_, is_given)| *is_given).map(|(name, _)| name.to_owned()));
        words.extend(self.until.map(|until| format!("--until {until}")));
        let is_default = self.idle_timeout == Length(Options::PATIENCE);
        words.extend((!is_default).then(|| format!("--idle-timeout {}", self.idle_timeout)));
        words.join(" ")
    }
}
