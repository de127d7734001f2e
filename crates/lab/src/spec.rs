//! The description of one experiment, in the terms of the command line.

use crate::algorithm::{Algorithm, AlgorithmError};
use crate::chaos::FaultMix;
use crate::error::LabError;
use crate::family::{FamilyLab, FamilyTypes, RunFamily};
use crate::flag::FlagPosition;
use crate::mutex::Mutex;
use crate::registry::{Entry, Environment, find};
use quorate_core::wrap::{Reliable, RetransmissionTimeouts};
use quorate_core::{Bounds, Duration, Group, NodeId, Span, Time};
use quorate_erased::Erased;
use quorate_journal::settings::{Chance, Direction, Fault, Latency, Length, LinkChange, Script, TimedFault};
use quorate_journal::workload::Ending;
use quorate_sim::run::Limits;
use quorate_sim::{LinkDefaults, Setup};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One experiment. It holds everything that determines a run, so that a journal's header can
/// reproduce it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Spec<F: FamilyTypes = Mutex> {
    pub algorithm: Algorithm<F>,
    pub nodes: usize,
    pub seed: u64,
    pub latency: Latency,
    /// The bound on message delays that nodes assume, if it differs from the real one. Journals of
    /// earlier versions lack this field.
    #[serde(rename = "bound", default, skip_serializing_if = "Option::is_none")]
    pub delay_bound: Option<Length>,
    /// Processing time of each input.
    pub processing: Latency,
    /// Duration of a disk sync.
    pub disk: Latency,
    /// Probability that a message is lost.
    pub loss: Chance,
    /// Probability that a message is duplicated.
    pub duplicate: Chance,
    /// Whether links are FIFO.
    pub fifo: bool,
    pub links: LinkChoice,
    pub faults: Vec<TimedFault>,
    /// The script file's content: faults, directions, and commands that replace the workload.
    pub script: Option<Script>,
    /// The path of the script, for the command that repeats the run. A journal stores the script
    /// itself.
    #[serde(skip)]
    pub script_path: Option<String>,
    /// Faults that the seed chooses.
    pub random_faults: FaultMix,
    /// The simulated time at which the run stops at the latest.
    pub until: Option<Length>,
    /// The family's settings: which clients send requests, when and for what.
    #[serde(flatten)]
    pub settings: F::Settings,
}

/// Whether messages go over bare links, or over [`Reliable`](quorate_core::wrap::Reliable) ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LinkChoice {
    /// Reliable if messages can be lost or duplicated and the algorithm does not tolerate that,
    /// else bare.
    #[default]
    Auto,
    Bare,
    /// With the layer that retransmits, orders and acknowledges.
    Reliable,
}

/// The size of the largest simulated group. Node ids with their 32 bits allow more, but larger
/// groups need too much memory.
const MAX_NODES: usize = 10_000_000;
/// The number of inputs after which a run is stopped.
const MAX_INPUTS: u64 = 1_000_000_000;

impl<F: RunFamily> Spec<F> {
    /// Returns an experiment with three nodes of this algorithm and default settings.
    pub fn new(algorithm: impl Into<Algorithm<F>>) -> Self {
        let millis = |count| Duration::from_millis(count);
        Self {
            algorithm: algorithm.into(),
            nodes: 3,
            seed: 1,
            latency: Latency::Uniform { min: millis(1), max: millis(5) },
            delay_bound: None,
            processing: Latency::Fixed(Duration::ZERO),
            disk: F::default_disk_latency(),
            loss: Chance::default(),
            duplicate: Chance::default(),
            fifo: false,
            links: LinkChoice::Auto,
            faults: Vec::new(),
            script: None,
            script_path: None,
            random_faults: FaultMix::default(),
            until: None,
            settings: F::Settings::default(),
        }
    }

    /// Like [`new`](Self::new). Fails if no algorithm of this family has the name.
    pub fn named(algorithm: &str) -> Result<Self, LabError> {
        Algorithm::named(algorithm).map(Self::new)
    }

    /// The time scale of the run: the duration of one message if it is fixed, else the maximum of a
    /// uniform latency or the median of a long-tailed one.
    pub fn message_time(&self) -> Duration {
        self.latency.reference_delay()
    }

    /// The default limits at which the simulator stops a run that could continue. `max_silence`
    /// suits families in which a client that has waited for that long will wait forever.
    pub fn default_limits(&self) -> Limits {
        Limits {
            max_time: self.until.map(|Length(length)| Time::ZERO + length),
            max_inputs: MAX_INPUTS,
            max_settling: self.message_time().times(1_000),
            // Many times the longest retransmission timeout, so that even very lossy links deliver.
            max_silence: self.message_time().times(100_000),
        }
    }
}

impl<F: FamilyLab> Spec<F> {
    pub fn validate(&self) -> Result<(), LabError> {
        match self.nodes {
            0 => return Err(SpecError::ZeroNodes.into()),
            nodes if nodes > MAX_NODES => {
                return Err(SpecError::TooManyNodes { nodes, maximum: MAX_NODES }.into());
            }
            _ => {}
        }
        if self.message_time() == Duration::ZERO {
            return Err(SpecError::ZeroLatency.into());
        }
        F::validate(self)?;
        self.faults.iter().try_for_each(|fault| fault.validate(self.nodes))?;
        if self.explicit_faults().any(|timed| sets_zero_latency(&timed.fault)) {
            return Err(SpecError::ZeroLatency.into());
        }
        if let Some(script) = &self.script {
            // A script from a journal's header may contain commands of another family.
            Script::parse(&script.to_string(), F::COMMANDS)?.validate(self.nodes)?;
        }
        Ok(())
    }

    /// Reads an experiment from a journal's header. Rejects unknown fields, because they come from
    /// another version of the program and may change the run.
    pub(crate) fn from_header(run: &Value) -> Result<Self, LabError> {
        let header_error = |error: serde_json::Error| LabError::Header(error.to_string());
        let spec: Self = serde_json::from_value(run.clone()).map_err(header_error)?;
        let written = spec.to_header()?;
        let mut fields = run.as_object().into_iter().flat_map(|fields| fields.keys());
        match fields.find(|field| written.get(field).is_none()) {
            Some(field) => Err(LabError::Header(format!("unknown field `{}`", field.escape_debug()))),
            None => Ok(spec),
        }
    }

    pub(crate) fn to_header(&self) -> Result<Value, LabError> {
        serde_json::to_value(self).map_err(|error| LabError::Header(error.to_string()))
    }

    /// The unit of delays and its name: one message time if the latency is fixed, else
    /// milliseconds.
    pub fn delay_unit(&self) -> (Duration, &'static str) {
        match self.latency {
            Latency::Fixed(length) => (length, "T"),
            Latency::Uniform { .. } | Latency::LongTail { .. } => (Duration::from_millis(1), "ms"),
        }
    }

    /// Whether nodes use reliable links.
    pub fn is_reliable(&self) -> bool {
        match self.links {
            LinkChoice::Bare => false,
            LinkChoice::Reliable => true,
            LinkChoice::Auto => self.can_lose_messages() && !F::tolerates_loss(self),
        }
    }

    /// Whether links are FIFO, because the experiment asks for it or because the algorithm needs
    /// it.
    pub fn is_fifo(&self) -> bool {
        self.fifo || F::needs_fifo(&self.algorithm)
    }

    pub fn needs_bounds(&self) -> bool {
        F::needs_bounds(&self.algorithm)
    }

    pub fn environment(&self) -> Environment {
        let bounds = Bounds { message: self.assumed_delay_bound(), processing: assumed_bound(self.processing) };
        Environment { group: self.group(), seed: self.seed, bounds }
    }

    /// The message delay bound that nodes assume.
    pub(crate) fn assumed_delay_bound(&self) -> Duration {
        self.delay_bound.map_or_else(|| assumed_bound(self.latency), |Length(bound)| bound)
    }

    /// The longest duration of a request and its reply, if each node causes at most four inputs
    /// that are processed meanwhile; `None` if a latency has no bound.
    pub(crate) fn round_trip(&self) -> Option<Duration> {
        let bound_of = |latency| match latency {
            Latency::Fixed(_) | Latency::Uniform { .. } => Some(assumed_bound(latency)),
            Latency::LongTail { .. } => None,
        };
        let busy_time = bound_of(self.processing)?.times(4 * self.nodes as u64);
        Some(bound_of(self.latency)?.times(2) + busy_time)
    }

    /// Whether messages can be lost or duplicated.
    fn can_lose_messages(&self) -> bool {
        !self.loss.is_zero()
            || !self.duplicate.is_zero()
            || self.random_faults.can_lose_messages()
            || self.explicit_faults().any(|timed| loses_messages(&timed.fault))
            || self.directions().iter().any(Direction::is_unreliable)
    }

    /// Whether messages can be lost or duplicated, by the experiment or by these `faults`, and no
    /// reliable links repair it.
    pub(crate) fn loses_messages_unrepaired(&self, faults: &[TimedFault]) -> bool {
        !self.is_reliable() && (self.can_lose_messages() || faults.iter().any(|timed| loses_messages(&timed.fault)))
    }

    /// Returns the algorithm's assumptions that this experiment violates.
    pub fn broken_assumptions(&self) -> Vec<&'static str> {
        F::broken_assumptions(self)
    }

    /// Whether a fault may stop or isolate a node: a random crash or disk failure or, among the
    /// specified faults, a crash, any trouble of a disk, or a pause or partition without a
    /// duration. Faults that the family draws from the seed do not count.
    pub(crate) fn can_stop_nodes(&self) -> bool {
        let leaves_nodes_up = |timed: &TimedFault| match timed.fault {
            Fault::Crash { .. } | Fault::Disk { .. } => false,
            Fault::Pause { .. } | Fault::Cut(_) => timed.duration.is_some(),
            _ => true,
        };
        self.random_faults.can_stop_nodes() || !self.explicit_faults().all(leaves_nodes_up)
    }

    /// Whether there are no faults, except possibly those that the family draws from the seed.
    pub(crate) fn is_fault_free(&self) -> bool {
        !self.can_lose_messages() && self.random_faults.is_empty() && self.explicit_faults().next().is_none()
    }

    /// The faults that the user specified: those of the command line, then those of the script.
    pub(crate) fn explicit_faults(&self) -> impl Iterator<Item = &TimedFault> {
        self.faults.iter().chain(self.script.iter().flat_map(|script| &script.faults))
    }

    /// All faults that are known before the run: from the command line, the script, the seed and
    /// the family.
    pub(crate) fn every_fault(&self) -> Vec<TimedFault> {
        let random = self.random_faults.draw(self.seed, self.nodes, F::fault_window(self));
        self.explicit_faults().cloned().chain(random).chain(F::family_faults(self)).collect()
    }

    /// The script's directions, each of which fixes a choice that would otherwise be random.
    pub(crate) fn directions(&self) -> &[Direction] {
        self.script.as_ref().map_or(&[], |script| &script.directions)
    }

    pub fn group(&self) -> Group {
        Group::of_size(self.nodes)
    }

    /// Whether a script determines what the clients do.
    pub fn is_scripted(&self) -> bool {
        self.script.as_ref().is_some_and(|script| !script.commands.is_empty())
    }

    pub(crate) fn setup(&self) -> Setup {
        Setup {
            nodes: self.nodes,
            seed: self.seed,
            link_defaults: LinkDefaults {
                latency: self.latency,
                loss: self.loss,
                duplicate: self.duplicate,
                is_fifo: self.is_fifo(),
            },
            processing: self.processing,
            sync: self.disk,
        }
    }

    /// Wraps nodes in reliable links if the experiment uses them.
    pub(crate) fn with_links<C: 'static, E: 'static, M>(
        &self,
        make_node: M,
    ) -> impl Fn(NodeId) -> Erased<C, E> + Send + Sync + 'static + use<F, C, E, M>
    where
        M: Fn(NodeId) -> Erased<C, E> + Send + Sync + 'static,
    {
        let retransmission = self.is_reliable().then(|| self.retransmission_timeouts());
        move |me| match retransmission {
            Some(retransmission) => Erased::new(Reliable::new(me, make_node(me), retransmission)),
            None => make_node(me),
        }
    }

    /// Returns retransmission timeouts that exceed the round trip between two nodes that are not
    /// busy with other inputs, if the latency is bounded.
    pub(crate) fn retransmission_timeouts(&self) -> RetransmissionTimeouts {
        let wait = self.message_time() + self.processing.reference_delay();
        RetransmissionTimeouts { first: Span::between(wait.times(3), wait.times(4)), max: wait.times(64) }
    }

    /// The end of the last fault, including random faults and the latest possible end of those that
    /// the clients inject.
    pub fn faults_end(&self) -> Option<Time> {
        let end_of = |timed: &TimedFault| Time::ZERO + timed.at + timed.duration.unwrap_or(Duration::ZERO);
        self.every_fault().iter().map(end_of).chain(F::client_faults_end(self)).max()
    }

    /// The reason why a run with this ending cannot decide liveness properties; `None` if it can.
    ///
    /// The family's own time limit is no such reason: it is so long that everything that ever
    /// happens has happened by then.
    pub fn cut_short_reason(&self, ending: Ending, inputs: u64) -> Option<String> {
        match (ending, self.until) {
            (Ending::Done | Ending::Stuck, _) => None,
            (Ending::Stopped, _) if inputs >= MAX_INPUTS => Some(format!("the run was stopped after {inputs} events")),
            (Ending::Stopped, until) => until.map(|until| format!("the run was stopped at {until} (--until)")),
        }
    }

    /// Describes the limit at which a run was stopped.
    pub fn describe_limit(&self, inputs: u64) -> String {
        match (self.until, F::limits(self).max_time) {
            (Some(until), _) if inputs < MAX_INPUTS => format!("at {until}, its limit"),
            (None, Some(limit)) if inputs < MAX_INPUTS => format!("at {limit}, its limit"),
            (_, _) => format!("after {inputs} events, its limit"),
        }
    }

    /// The command that repeats this run. Most options with default values are omitted.
    pub fn command(&self, subcommand: &str) -> String {
        let defaults = Self::new(self.algorithm);
        let family_flags: Vec<_> = F::flags(self).into_iter().collect();
        let flags_at = |position: FlagPosition| {
            family_flags.iter().filter(move |flag| flag.position == position).map(ToString::to_string)
        };
        let unless = |is_default: bool, text: String| (!is_default).then_some(text);
        let mut words =
            vec![format!("quorate {subcommand} {} --nodes {} --seed {}", self.algorithm, self.nodes, self.seed)];
        words.extend(flags_at(FlagPosition::Front));
        words.extend(unless(self.latency == defaults.latency, format!("--latency {}", self.latency)));
        words.extend(self.delay_bound.map(|bound| format!("--delay-bound {bound}")));
        words.extend(unless(self.processing == defaults.processing, format!("--processing {}", self.processing)));
        words.extend(unless(self.disk == defaults.disk, format!("--disk {}", self.disk)));
        words.extend(flags_at(FlagPosition::Times));
        words.extend(unless(self.loss.is_zero(), format!("--loss {}", self.loss)));
        words.extend(unless(self.duplicate.is_zero(), format!("--duplicate {}", self.duplicate)));
        words.extend(unless(!self.fifo, "--fifo".into()));
        words.extend(unless(self.links == defaults.links, format!("--links {}", option_value(&self.links))));
        words.extend(flags_at(FlagPosition::Links));
        words.extend(self.faults.iter().map(|fault| format!("--fault \"{fault}\"")));
        words.extend(self.script_path.as_ref().map(|path| format!("--script {}", quote_for_shell(path))));
        let random = &self.random_faults;
        words.extend(unless(random.is_empty(), format!("--random-faults {random}")));
        words.extend(self.until.map(|until| format!("--until {until}")));
        words.join(" ")
    }
}

/// Returns the algorithm or fixture with this name.
pub fn find_entry(name: &str) -> Result<&'static Entry, LabError> {
    find(name).ok_or_else(|| LabError::Algorithm(AlgorithmError::UnknownAlgorithm { name: name.to_owned() }))
}

/// Whether a fault makes links lose or duplicate messages.
fn loses_messages(fault: &Fault) -> bool {
    let is_unreliable = |change: &LinkChange| matches!(change, LinkChange::Loss(_) | LinkChange::Duplicate(_));
    matches!(fault, Fault::Cut(_)) || matches!(fault, Fault::Link { change, .. } if is_unreliable(change))
}

/// Whether a fault sets the latency of a link to zero.
fn sets_zero_latency(fault: &Fault) -> bool {
    let is_zero = |latency: &Latency| latency.reference_delay() == Duration::ZERO;
    matches!(fault, Fault::Link { change: LinkChange::Latency(latency), .. } if is_zero(latency))
}

/// Quotes the text as one word of a shell.
pub(crate) fn quote_for_shell(text: &str) -> String {
    let is_plain = |character: char| character.is_alphanumeric() || "-_./,:=+@%".contains(character);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.into()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// Returns the value of an option as the command line spells it.
pub(crate) fn option_value(choice: &impl Serialize) -> String {
    serde_json::to_value(choice).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

/// Returns the upper bound of a latency. A long-tailed latency has none; for it the result is ten
/// times its median, which messages can exceed.
fn assumed_bound(latency: Latency) -> Duration {
    match latency {
        Latency::Fixed(length) => length,
        Latency::Uniform { max, .. } => max,
        Latency::LongTail { median } => median.times(10),
    }
}

/// An invalid field of an experiment, among those that all families share.
#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    #[error("--nodes must be at least 1; got 0. Use for example --nodes 3.")]
    ZeroNodes,
    #[error("--nodes must be at most {maximum}; got {nodes}.")]
    TooManyNodes { nodes: usize, maximum: usize },
    #[error("--latency must be greater than 0; got 0ms. Use for example --latency fixed:1ms.")]
    ZeroLatency,
}
