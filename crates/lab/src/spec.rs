//! What to run, in the words of the command line.

use crate::chaos::FaultMix;
use crate::error::LabError;
use quorate_core::mutex::COMMANDS;
use quorate_core::wrap::Retransmission;
use quorate_core::{Duration, Group, NodeId, Span, Time};
use quorate_registry::{Entry, find};
use quorate_sim::mutex::{Demand, Pattern};
use quorate_sim::run::Limits;
use quorate_sim::settings::{Chance, Fault, Latency, Length, LinkChange, Script, TimedFault};
use quorate_sim::{Setup, Wire};
use serde::{Deserialize, Serialize};

/// One experiment. Everything that a run depends on is here, so that a journal's header can repeat it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// The algorithm's name.
    pub algorithm: String,
    /// How many nodes there are.
    pub nodes: usize,
    /// What all chance follows from.
    pub seed: u64,
    /// How many requests there are in all.
    pub entries: u64,
    /// When nodes ask.
    pub workload: Pattern,
    /// Who asks; everyone if empty.
    pub requesters: Vec<NodeId>,
    /// How long a message takes.
    pub latency: Latency,
    /// How long a node is busy with each input.
    pub processing: Latency,
    /// How long a sync of the disk takes.
    pub disk: Latency,
    /// How long a node stays inside; one message time unless given.
    pub hold: Option<Latency>,
    /// How long a node is content outside; chosen to suit the workload unless given.
    pub think: Option<Latency>,
    /// How likely a message is lost.
    pub loss: Chance,
    /// How likely a message arrives twice.
    pub duplicate: Chance,
    /// Whether links keep the order of messages.
    pub fifo: bool,
    /// Whether a reliable-link layer is put under the algorithm.
    pub links: LinkChoice,
    /// How likely a request is a try.
    pub tries: Chance,
    /// How likely a request is given up after a while.
    pub cancels: Chance,
    /// What goes wrong.
    pub faults: Vec<TimedFault>,
    /// What a script file adds: faults, and commands in place of the workload.
    pub script: Option<Script>,
    /// Where the script was read from, for the command that repeats the run. A journal holds the script itself.
    #[serde(skip)]
    pub script_path: Option<String>,
    /// Faults that the seed chooses.
    pub random_faults: FaultMix,
    /// When the run is stopped at the latest, in simulated time.
    pub until: Option<Length>,
}

/// Whether messages go over bare links, or over [`Reliable`](quorate_core::wrap::Reliable) ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LinkChoice {
    /// Reliable where messages can be lost or repeated, bare elsewhere.
    #[default]
    Auto,
    /// The algorithm alone.
    Bare,
    /// With the layer that repeats, orders and acknowledges.
    Reliable,
}

/// The largest group that is simulated; a node's number has 32 bits, and a journal names them all.
const MOST_NODES: usize = 10_000_000;
const MOST_EVENTS: u64 = 1_000_000_000;

impl Spec {
    /// A run of three nodes of this algorithm with the usual settings.
    pub fn new(algorithm: &str) -> Self {
        let millis = |count| Duration::from_millis(count);
        Self {
            algorithm: algorithm.to_owned(),
            nodes: 3,
            seed: 1,
            entries: 10,
            workload: Pattern::Random,
            requesters: Vec::new(),
            latency: Latency::Uniform { least: millis(1), most: millis(5) },
            processing: Latency::Fixed(Duration::ZERO),
            disk: Latency::Fixed(Duration::ZERO),
            hold: None,
            think: None,
            loss: Chance::default(),
            duplicate: Chance::default(),
            fifo: false,
            links: LinkChoice::Auto,
            tries: Chance::default(),
            cancels: Chance::default(),
            faults: Vec::new(),
            script: None,
            script_path: None,
            random_faults: FaultMix::default(),
            until: None,
        }
    }

    /// The algorithm, if the whole experiment makes sense.
    pub fn validate(&self) -> Result<&'static Entry, LabError> {
        let entry = find(&self.algorithm).ok_or_else(|| LabError::UnknownAlgorithm { name: self.algorithm.clone() })?;
        match self.nodes {
            0 => return Err(LabError::NoNodes),
            nodes if nodes > MOST_NODES => return Err(LabError::TooManyNodes { nodes, most: MOST_NODES }),
            _ => {}
        }
        if self.typical() == Duration::ZERO {
            return Err(LabError::NoLatency);
        }
        if let Some(node) = self.requesters.iter().find(|node| node.index() >= self.nodes) {
            return Err(LabError::NoSuchRequester { node: *node, nodes: self.nodes });
        }
        self.faults.iter().try_for_each(|fault| fault.validate(self.nodes))?;
        if self.all_faults().any(|timed| is_instant_link(&timed.fault)) {
            return Err(LabError::NoLatency);
        }
        if let Some(script) = &self.script {
            let names = COMMANDS.map(|command| command.name());
            Script::parse(&script.to_string(), &names)?.validate(self.nodes)?;
        }
        Ok(entry)
    }

    /// One message time: exact if it is fixed, else a typical one.
    pub fn typical(&self) -> Duration {
        self.latency.typical()
    }

    /// In what delays are measured.
    pub fn delay_unit(&self) -> (Duration, &'static str) {
        match self.latency {
            Latency::Fixed(length) => (length, "T"),
            Latency::Uniform { .. } | Latency::LongTail { .. } => (Duration::from_millis(1), "ms"),
        }
    }

    /// Whether the reliable-link layer is in.
    pub fn is_reliable(&self) -> bool {
        match self.links {
            LinkChoice::Bare => false,
            LinkChoice::Reliable => true,
            LinkChoice::Auto => {
                !self.loss.is_zero()
                    || !self.duplicate.is_zero()
                    || self.random_faults.can_lose()
                    || self.all_faults().any(|timed| loses_messages(&timed.fault))
            }
        }
    }

    /// The faults of the command line, then those of the script.
    pub(crate) fn all_faults(&self) -> impl Iterator<Item = &TimedFault> {
        self.faults.iter().chain(self.script.iter().flat_map(|script| &script.faults))
    }

    pub(crate) fn group(&self) -> Group {
        Group::of_size(self.nodes)
    }

    pub(crate) fn setup(&self) -> Setup {
        Setup {
            nodes: self.nodes,
            seed: self.seed,
            wire: Wire { latency: self.latency, loss: self.loss, duplicate: self.duplicate, fifo: self.fifo },
            processing: self.processing,
            sync: self.disk,
        }
    }

    pub(crate) fn demand(&self) -> Demand {
        let typical = self.typical();
        let requesters: Vec<_> =
            if self.requesters.is_empty() { self.group().iter().collect() } else { self.requesters.clone() };
        let askers = self.entries.min(requesters.len() as u64);
        let think = match self.workload {
            // Long enough that the last release has arrived everywhere.
            Pattern::Single | Pattern::All => Latency::Fixed(typical.times(10)),
            // About as much as the group can serve, so that there is contention, but not always.
            Pattern::Random => Latency::Uniform { least: Duration::ZERO, most: typical.times(4 * askers) },
        };
        Demand {
            pattern: self.workload,
            entries: self.entries,
            requesters,
            hold: self.hold.unwrap_or(Latency::Fixed(typical)),
            think: self.think.unwrap_or(think),
            tries: self.tries,
            cancels: self.cancels,
            typical,
        }
    }

    /// Repetition begins when an answer is overdue by any latency with a bound.
    pub(crate) fn retransmission(&self) -> Retransmission {
        let wait = self.typical() + self.processing.typical();
        Retransmission { first: Span::between(wait.times(3), wait.times(4)), longest: wait.times(64) }
    }

    pub(crate) fn limits(&self) -> Limits {
        Limits {
            until: self.until.map(|Length(length)| Time::ZERO + length),
            events: MOST_EVENTS,
            settle: self.typical().times(1_000),
            // Hundreds of the longest waits of a reliable link, so that all but hopeless links get through.
            patience: self.typical().times(100_000),
        }
    }

    /// The command that repeats this run.
    pub fn command(&self, verb: &str) -> String {
        let usual = Self::new(&self.algorithm);
        let mut words = vec![format!("quorate {verb} {} --nodes {} --seed {}", self.algorithm, self.nodes, self.seed)];
        let mut flag = |differs: bool, text: String| {
            if differs {
                words.push(text);
            }
        };
        flag(true, format!("--entries {}", self.entries));
        flag(self.workload != usual.workload, format!("--workload {}", word(&self.workload)));
        flag(!self.requesters.is_empty(), format!("--requesters {}", Group::from_iter(self.requesters.clone())));
        flag(self.latency != usual.latency, format!("--latency {}", self.latency));
        flag(self.processing != usual.processing, format!("--processing {}", self.processing));
        flag(self.disk != usual.disk, format!("--disk {}", self.disk));
        flag(self.hold.is_some(), format!("--hold {}", self.hold.unwrap_or(self.disk)));
        flag(self.think.is_some(), format!("--think {}", self.think.unwrap_or(self.disk)));
        flag(!self.loss.is_zero(), format!("--loss {}", self.loss));
        flag(!self.duplicate.is_zero(), format!("--duplicate {}", self.duplicate));
        flag(self.fifo, "--fifo".into());
        flag(self.links != usual.links, format!("--links {}", word(&self.links)));
        flag(!self.tries.is_zero(), format!("--try {}", self.tries));
        flag(!self.cancels.is_zero(), format!("--cancel {}", self.cancels));
        for fault in &self.faults {
            flag(true, format!("--fault \"{fault}\""));
        }
        if let Some(path) = &self.script_path {
            flag(true, format!("--script {}", shell_word(path)));
        }
        flag(!self.random_faults.is_empty(), format!("--random-faults {}", self.random_faults));
        flag(self.until.is_some(), format!("--until {}", self.until.unwrap_or_default()));
        words.join(" ")
    }
}

fn loses_messages(fault: &Fault) -> bool {
    let odd = |change: &LinkChange| matches!(change, LinkChange::Loss(_) | LinkChange::Duplicate(_));
    matches!(fault, Fault::Cut(_)) || matches!(fault, Fault::Link { change, .. } if odd(change))
}

fn is_instant_link(fault: &Fault) -> bool {
    matches!(fault, Fault::Link { change: LinkChange::Latency(latency), .. } if latency.typical() == Duration::ZERO)
}

/// The text as a shell takes it for one word.
pub(crate) fn shell_word(text: &str) -> String {
    let plain = |character: char| character.is_alphanumeric() || "-_./,:=+@%".contains(character);
    if !text.is_empty() && text.chars().all(plain) { text.into() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

/// A choice as users type it.
pub(crate) fn word(choice: &impl Serialize) -> String {
    serde_json::to_value(choice).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}
