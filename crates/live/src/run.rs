//! One live run: from the first process to the verdicts.

use crate::agenda::Agenda;
use crate::error::LiveError;
use crate::folder::Folder;
use crate::judge::{JudgeError, Judgement, copy, judge};
use crate::launch::{Home, Launch};
use crate::namespaces::Namespaces;
use crate::options::Options;
use crate::schedule::{self, Act, Networks};
use crate::stage::{Counts, Stage, lead};
use crate::world::WorldJournal;
use quorate_core::{Duration, NodeId, Time};
use quorate_drive::Clock;
use quorate_journal::record::gather::Gathered;
use quorate_journal::workload::News;
use quorate_journal::workload::{Ending, Plan, Planned, What, Workload};
use quorate_lab::registry::Family;
use quorate_lab::replay::Replayed;
use quorate_lab::{FamilyLab, Spec};
use quorate_net::certificates::{self, Days};
use quorate_net::group::GroupName;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub struct Recorded<F: FamilyLab> {
    pub ending: Ending,
    pub is_interrupted: bool,
    /// How long users were at work, from the first wish to the last.
    pub time: Duration,
    /// How long everything took, from the first process to the last.
    pub wall: Duration,
    pub counts: Counts,
    /// How many of the planned faults were still to come when everything was done.
    pub spared: usize,
    pub troubles: Vec<String>,
    /// Where the run's journal is, if it was wanted or a property fails in it.
    pub journal: Option<PathBuf>,
    pub gathered: Gathered,
    /// The figures and verdicts of the whole journal, and whether links and disks kept their promises.
    pub read: Replayed<F>,
    pub events: u64,
    pub trace_hash: String,
}

impl<F: FamilyLab> Recorded<F> {
    /// Whether a property fails, of the algorithm or of what carried it. Of a run that was stopped nobody can say what would have come of it.
    pub fn fails(&self) -> bool {
        !self.read.holds()
    }
}

/// More would only wait for each other.
const MOST_NODES: usize = 250;

/// Runs an experiment with real processes: what `quorate run` does, and what a comparison of algorithms in reality is to
/// be built on.
///
/// The experiment is one that [`spec`](crate::spec) makes. Its faults are done to the processes: `crash` kills one,
/// `pause` stops one, `cut` (with namespaces of the network) keeps some from others; whatever lasts ends again. `watch`
/// hears every event as it is told. Everything that was started has ended when this returns, whatever it returns.
pub fn run<F: FamilyLab>(
    spec: &Spec<F>,
    options: &Options<'_>,
    watch: &mut dyn FnMut(Time, NodeId, &F::Event),
) -> Result<Recorded<F>, LiveError> {
    spec.validate()?;
    if spec.nodes > MOST_NODES {
        return Err(LiveError::TooMany { nodes: spec.nodes, most: MOST_NODES });
    }
    let networks = if options.namespaces { Networks::Own } else { Networks::Shared };
    let acts = schedule::acts(&spec.faults, spec.nodes, networks)?;
    let stopwatch = Clock::start();
    let lead = i64::try_from(lead(spec.nodes).nanos()).unwrap_or(0);
    let clock = Clock::with_origin(stopwatch.origin().saturating_add(lead));
    let folder = Folder::new(options.keep.as_deref())?;
    let mut stage = match get_ready::<F>(spec, options, folder.path(), clock) {
        // What goes wrong while everything is given up is no news to who gave it up.
        _ if (options.interrupted)() => return Err(LiveError::Interrupted),
        stage => stage?,
    };
    stage.meet()?;
    stage.raise_curtain(|zero, group| WorldJournal::begin(spec, (folder.path(), group), clock, zero))?;
    let mut play = Play::new(spec, options, acts, watch);
    let ending = play.perform(&mut stage)?;
    let (spared, is_interrupted) = (play.acts.len(), (options.interrupted)());
    let (time, troubles) = (stage.now().since(Time::ZERO), stage.troubles());
    let parts = stage.stop_all(ending)?;
    let counts = stage.counts;
    // Processes and networks are gone before anything is read.
    drop(stage);
    let wall = stopwatch.now().since(Time::ZERO);
    let (judgement, journal) = match conclude::<F>(&parts, folder.path(), options) {
        Ok(concluded) => concluded,
        Err(error) => return Err(LiveError::Kept { what: error.to_string(), folder: folder.keep() }),
    };
    let Judgement { gathered, read, trace_hash, events } = judgement;
    let recorded = Recorded {
        ending,
        is_interrupted,
        time,
        wall,
        counts,
        spared,
        troubles,
        journal,
        gathered,
        read,
        events,
        trace_hash,
    };
    Ok(recorded)
}

/// Gathers and judges the journals in the folder, and puts the result where it is wanted.
fn conclude<F: FamilyLab>(
    parts: &[PathBuf],
    folder: &Path,
    options: &Options<'_>,
) -> Result<(Judgement<F>, Option<PathBuf>), JudgeError> {
    let path = folder.join("run.journal");
    let judgement = judge::<F>(parts, &path)?;
    let journal = match &options.journal {
        Some(wanted) => {
            copy(&path, wanted)?;
            Some(wanted.clone())
        }
        None if options.keep.is_some() => Some(path),
        None => (!judgement.read.holds()).then(|| save(&path)).transpose()?,
    };
    Ok((judgement, journal))
}

/// A run in which something fails cannot be done again, so its journal outlives its folder.
fn save(journal: &Path) -> Result<PathBuf, JudgeError> {
    let failed = |reason| JudgeError::Write { path: std::env::temp_dir(), reason };
    let file = tempfile::Builder::new().prefix("quorate-run-").suffix(".journal").tempfile().map_err(failed)?;
    std::fs::copy(journal, file.path()).map_err(failed)?;
    file.keep().map(|(_, path)| path).map_err(|error| failed(error.error))
}

/// The processes, all of them ready unless somebody interrupts.
fn get_ready<F: FamilyLab>(
    spec: &Spec<F>,
    options: &Options<'_>,
    folder: &Path,
    clock: Clock,
) -> Result<Stage<F>, LiveError> {
    let mut stage = set_up::<F>(spec, options, folder, clock)?;
    stage.start_all(options.interrupted)?;
    Ok(stage)
}

fn set_up<F: FamilyLab>(
    spec: &Spec<F>,
    options: &Options<'_>,
    folder: &Path,
    clock: Clock,
) -> Result<Stage<F>, LiveError> {
    let group = format!("run-{}-{}", std::process::id(), spec.seed);
    let certificates = options.tls.then(|| make_certificates(folder, &group, spec.nodes)).transpose()?;
    let networks = options.namespaces.then(|| Namespaces::set_up(spec.nodes, options.interrupted)).transpose()?;
    let home = Home { program: &options.program, folder, group, certificates, networks };
    Ok(Stage::new(spec.nodes, Launch::new(spec, home, clock.origin())?, clock))
}

/// Certificates for this run alone; they are of no use to anybody when it is over.
fn make_certificates(folder: &Path, group: &str, nodes: usize) -> Result<PathBuf, LiveError> {
    let failed = |error: &dyn std::error::Error| LiveError::Certificates(error.to_string());
    let group: GroupName = group.parse().map_err(|error| failed(&error))?;
    let days = Days::new(1).unwrap_or_default();
    let nodes: Vec<_> = (0..nodes).map(NodeId::from_index).collect();
    let path = folder.join("certs");
    certificates::Folder::new(&path).make(&group, &nodes, days).map_err(|error| failed(&error))?;
    Ok(path)
}

/// The users at work, and what is done to the processes meanwhile.
pub(crate) struct Play<'a, F: FamilyLab> {
    users: F::Users,
    plan: Plan<F::Command>,
    plans: Agenda<Due<F::Command>>,
    acts: Agenda<Act>,
    until: Option<Time>,
    settle: Duration,
    patience: Duration,
    interrupted: &'a dyn Fn() -> bool,
    watch: &'a mut dyn FnMut(Time, NodeId, &F::Event),
}

enum Due<C> {
    Command {
        node: NodeId,
        /// The only life that takes it, if it was meant for one.
        life: Option<u64>,
        command: C,
    },
    Alarm(NodeId),
}

const GLANCE: Duration = Duration::from_millis(50);

/// How long a group is watched after everything was done. Nobody sees when a real network is quiet: textbook nodes have
/// only their last messages to deliver then, others may have something to catch up with.
fn settle<F: FamilyLab>(spec: &Spec<F>) -> Duration {
    match F::FAMILY {
        Family::Mutex | Family::Deadlock => Duration::from_millis(200),
        Family::Election | Family::Multicast | Family::Replica => {
            F::limits(spec).settle.clamp(Duration::from_millis(50), Duration::from_secs(2))
        }
    }
}

impl<'a, F: FamilyLab> Play<'a, F> {
    pub(crate) fn new(
        spec: &Spec<F>,
        options: &Options<'a>,
        acts: Vec<(Duration, Act)>,
        watch: &'a mut dyn FnMut(Time, NodeId, &F::Event),
    ) -> Self {
        let limits = F::limits(spec);
        let mut agenda = Agenda::new();
        for (at, act) in acts {
            agenda.put(Time::ZERO + at, act);
        }
        Self {
            users: F::users(spec),
            plan: Plan::new(),
            plans: Agenda::new(),
            acts: agenda,
            until: options.until.map(|length| Time::ZERO + length).or(limits.until),
            settle: settle(spec),
            patience: options.patience,
            interrupted: options.interrupted,
            watch,
        }
    }

    pub(crate) fn perform(&mut self, stage: &mut Stage<F>) -> Result<Ending, LiveError> {
        self.users.begin(&mut self.plan);
        self.take_down_plans(stage);
        let mut done_at = None;
        let mut stirred_at = stage.now();
        loop {
            while let Some(act) = self.acts.due(stage.now()) {
                stage.act(act)?;
            }
            while let Some((node, news)) = stage.next_news() {
                stirred_at = stage.now();
                self.hear(node, &news, stage);
            }
            while let Some(due) = self.plans.due(stage.now()) {
                self.carry_out(due, stage)?;
            }
            let now = stage.now();
            let is_done = self.users.is_done() && self.plans.is_empty() && stage.is_settled();
            done_at = is_done.then(|| done_at.unwrap_or(now));
            if done_at.is_some_and(|since| now.since(since) > self.settle) {
                return Ok(Ending::Done);
            }
            if (self.interrupted)() || self.until.is_some_and(|until| now > until) {
                return Ok(Ending::Stopped);
            }
            // As long as anything is to come, it may be what everybody waits for.
            if !self.plans.is_empty() || !self.acts.is_empty() || !stage.is_settled() {
                stirred_at = now;
            }
            if done_at.is_none() && now.since(stirred_at) > self.patience {
                return Ok(Ending::Stuck);
            }
            stage.listen(self.pause(now))?;
        }
    }

    /// Until when nothing is to be done unless something is heard.
    fn pause(&self, now: Time) -> std::time::Duration {
        let next = [self.plans.next(), self.acts.next()].into_iter().flatten().min();
        let pause = next.map_or(GLANCE, |at| at.since(now).min(GLANCE));
        std::time::Duration::from_nanos(pause.nanos())
    }

    fn hear(&mut self, node: NodeId, news: &News<F::Event>, stage: &Stage<F>) {
        let now = stage.now();
        if let News::Told(event) = news {
            (self.watch)(now, node, event);
        }
        self.users.hear(now, node, news, &mut self.plan);
        self.take_down_plans(stage);
    }

    /// A command is meant for the life that its node is in when it is planned.
    fn take_down_plans(&mut self, stage: &Stage<F>) {
        for Planned { at, node, what } in self.plan.drain() {
            let due = match what {
                What::CommandThisLife(command) => Due::Command { node, life: Some(stage.life(node)), command },
                What::CommandAnyLife(command) => Due::Command { node, life: None, command },
                What::Alarm => Due::Alarm(node),
                // Real nodes keep their membership themselves, and see to it.
                What::Depart => continue,
            };
            self.plans.put(at, due);
        }
    }

    fn carry_out(&mut self, due: Due<F::Command>, stage: &Stage<F>) -> Result<(), LiveError> {
        match due {
            Due::Command { node, life, command } => {
                if life.is_none_or(|life| life == stage.life(node)) {
                    stage.command(node, &command)?;
                }
            }
            Due::Alarm(node) => self.hear(node, &News::Alarm, stage),
        }
        Ok(())
    }
}
