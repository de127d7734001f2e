//! The trait that a family of algorithms implements to use the lab.
//!
//! The rest of the lab is generic over the family: a [`Spec`], one run of it
//! ([`experiment`](crate::experiment)), a [`sweep`](crate::sweep), a [`replay`](crate::replay), a
//! [`trace`](crate::trace). A family is a type without values that implements [`FamilyLab`], which
//! combines several small traits; [`Mutex`](crate::Mutex) and [`Election`](crate::Election) are
//! good examples. To add a family:
//!
//! 1. A folder in `core` with its algorithms, commands and events. Commands and events implement
//!    `Display` (for traces) and serde (for journals).
//! 2. A folder here, with one file per concern:
//!    - `algorithms.rs`: the registry entries.
//!    - Its [`Settings`](FamilyTypes::Settings), which extend a [`Spec`]. In a journal's header
//!      they share one JSON object with the common fields of the [`Spec`], so no name may occur
//!      twice. Every field must be written even if it is empty (no `skip_serializing_if`), because
//!      reading rejects a header with a field that writing would not produce.
//!    - `run/`: its clients (a [`Workload`]), its measures (an [`Observer`]) and its properties (a
//!      [`Judge`]).
//!    - `options.rs`: its command-line options, and how they become settings.
//!    - `present.rs`: its roles, its figures, its example, its progress.
//!    - `error.rs`: errors in its settings, with a variant in [`LabError`].
//! 3. One line in `registry.rs`, and the folder's `mod` and type in `lib.rs`.
//!
//! The command line needs no change. If the checker supports its algorithms, the family also
//! implements [`CheckedFamily`](crate::check::CheckedFamily) in `check/` and overrides
//! [`perform_check_task`](RunFamily::perform_check_task); options that only its checks accept are a
//! field of [`BehaviorArgs`](crate::check::BehaviorArgs). If its algorithms can be compared with
//! the literature, the family implements [`ComparedFamily`](crate::compare::ComparedFamily) in
//! `compare.rs`, and its options are a field of [`CompareOptions`](crate::compare::CompareOptions).
//! The fuzzer generates examples of messages from each entry of the registry, so its
//! `message_examples` needs a case for the family.

use crate::algorithm::Algorithm;
use crate::check::CheckTask;
use crate::error::LabError;
use crate::figures::{FigureRow, ListedCost, NotJudged, RunResults};
use crate::flag::Flags;
use crate::options::{CommonOptions, Options};
use crate::registry::{Entry, Family, FamilyArgs};
use crate::spec::Spec;
use crate::views::ViewSettings;
use quorate_core::about::{About, Profile};
use quorate_core::mutex::Choice;
use quorate_core::{Duration, Medium, NodeId, Time};
use quorate_erased::{AnyCodec, Erased};
use quorate_journal::metrics::MessageCounts;
use quorate_journal::moment::{Moment, Observer};
use quorate_journal::property::Verdict;
use quorate_journal::role::Role;
use quorate_journal::settings::{Latency, TimedFault};
use quorate_journal::workload::Workload;
use quorate_sim::MembershipSettings;
use quorate_sim::run::Limits;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::borrow::Cow;
use std::fmt;

/// The types of a family of algorithms, and its entries in the registry.
pub trait FamilyTypes: Copy + fmt::Debug + PartialEq + Send + Sync + 'static {
    const FAMILY: Family;
    /// Whether algorithms of the family can run in views; `runs_in_views` may exclude some.
    const HAS_VIEWS: bool = false;

    /// The registry's data about one algorithm.
    type Entry: Send + Sync + 'static;
    type Command: Clone + fmt::Display + Serialize + DeserializeOwned + Send + 'static;
    type Event: Clone + fmt::Display + Serialize + DeserializeOwned + Send + 'static;
    /// The settings that the family adds to a [`Spec`].
    type Settings: Clone + fmt::Debug + Default + PartialEq + Serialize + DeserializeOwned + Send + Sync;

    /// Returns this family's part of a registry entry, or `None` if the entry belongs to another
    /// family.
    fn entry(entry: &'static Entry) -> Option<&'static Self::Entry>;

    /// Returns the algorithms in the order in which lists show them.
    fn algorithms() -> Vec<Self::Entry>;

    /// Returns the variants with seeded bugs, and correct variants to compare some of them with.
    fn fixtures() -> Vec<Self::Entry>;

    /// Returns the algorithm's name and documentation.
    fn profile(entry: &Self::Entry) -> &'static Profile;

    /// Returns the codec for the messages and durable state of the algorithm's nodes, without any
    /// wrapper.
    fn entry_codec(entry: &Self::Entry) -> AnyCodec;

    /// Returns the name of the algorithm of which this entry is a variant; by default its own name.
    fn algorithm_of(entry: &Self::Entry) -> &'static str {
        Self::profile(entry).name
    }

    /// Returns the option values that select this variant of its algorithm.
    fn variant_choices(_entry: &Self::Entry) -> &'static [Choice] {
        &[]
    }

    fn runs_in_views(_entry: &Self::Entry) -> bool {
        Self::HAS_VIEWS
    }
}

/// How a family runs: its nodes, its clients, and the faults it must tolerate.
pub trait RunFamily: FamilyTypes {
    type Clients: Workload<Self::Command, Self::Event>;

    /// Returns the codec for the messages and durable state of the nodes that this experiment
    /// creates.
    fn codec(spec: &Spec<Self>) -> AnyCodec;

    /// Whether the algorithm tolerates links that lose and duplicate messages. If it does not, and
    /// links may do so, the lab adds reliable links unless the experiment asks for bare ones.
    /// Textbook algorithms assume links without loss. A node that also runs a replica of the
    /// membership service tolerates loss: the replica does so itself, and the rest of the node gets
    /// reliable links from its wrappers.
    fn tolerates_loss(spec: &Spec<Self>) -> bool {
        Self::view_settings(&spec.settings).is_some_and(|views| views.is_replicated())
    }

    /// Whether the simulator acts as the nodes' failure detector: they suspect a peer when its
    /// process has ended, and trust it again after its restart.
    fn needs_crash_notices(spec: &Spec<Self>) -> bool {
        Self::view_settings(&spec.settings).is_some_and(|views| views.is_replicated())
    }

    /// The delay of these reports in the simulator.
    fn crash_notice_delay(spec: &Spec<Self>) -> Latency {
        spec.latency
    }

    /// Whether the algorithm needs FIFO links. If so, the simulator provides them.
    fn needs_fifo(_entry: &Self::Entry) -> bool {
        false
    }

    /// Whether the algorithm is correct only if no delay exceeds the bounds that its nodes know.
    fn needs_bounds(_entry: &Self::Entry) -> bool {
        false
    }

    /// The medium that carries the algorithm's messages.
    fn medium(_spec: &Spec<Self>) -> Medium {
        Medium::Unicast
    }

    /// Validates the settings that the family adds. The common fields are already valid.
    fn validate(spec: &Spec<Self>) -> Result<(), LabError>;

    /// Returns a factory for nodes, called at boot and again at every restart.
    fn node_factory(spec: &Spec<Self>) -> impl Fn(NodeId) -> NodeOf<Self> + Send + Sync + 'static + use<Self>;

    /// Returns the settings of the same run without the faults that the family draws from the seed.
    fn without_random_faults(settings: &Self::Settings) -> Self::Settings {
        settings.clone()
    }

    /// Returns the clients. They follow the script if it has commands.
    fn clients(spec: &Spec<Self>) -> Self::Clients;

    /// The period from the start of the run in which seed-chosen faults begin.
    fn fault_window(spec: &Spec<Self>) -> Duration;

    /// Faults that the family draws from the seed, if its settings ask for them.
    fn family_faults(_spec: &Spec<Self>) -> Vec<TimedFault> {
        Vec::new()
    }

    /// The latest time at which a fault that the clients inject during the run can end; `None` if
    /// they inject none.
    fn client_faults_end(_spec: &Spec<Self>) -> Option<Time> {
        None
    }

    /// Whether the family's algorithms promise to tolerate the permanent losses of the run, such as
    /// of disks. If not, a property that fails is not a bug.
    fn is_within_fault_tolerance(_spec: &Spec<Self>) -> bool {
        true
    }

    /// The default duration of a disk sync.
    fn default_disk_latency() -> Latency {
        Latency::Fixed(Duration::ZERO)
    }

    /// Returns the settings of views; `None` for a run without views.
    fn view_settings(_settings: &Self::Settings) -> Option<ViewSettings> {
        None
    }

    /// Returns how the simulator manages views, if it manages them.
    fn simulated_views(spec: &Spec<Self>) -> Option<MembershipSettings> {
        Self::view_settings(&spec.settings).and_then(|views| views.simulator_views())
    }

    /// Returns experiments that together cover the faults which this algorithm must tolerate. One
    /// experiment by default.
    fn stress_specs(entry: &'static Self::Entry) -> Vec<Spec<Self>> {
        vec![Spec::new(entry)]
    }

    /// Like [`stress_specs`](Self::stress_specs), for this algorithm in views. Empty if it cannot
    /// run in them.
    fn stress_specs_in_views(_entry: &'static Self::Entry) -> Vec<Spec<Self>> {
        Vec::new()
    }

    /// Performs a task that needs a checkable family. `None` if the checker does not support this
    /// one.
    fn perform_check_task<T: CheckTask>(_task: T) -> Option<T::Output> {
        None
    }

    /// The limits at which the simulator stops a run that could continue.
    fn limits(spec: &Spec<Self>) -> Limits {
        spec.default_limits()
    }
}

/// The text forms of a family: scripts, typed commands, command-line options for its settings, and
/// smaller experiments.
pub trait ScriptFamily: FamilyTypes {
    /// The commands that a script can give to clients. A command that takes text is written as
    /// `send TEXT`.
    const COMMANDS: &'static [&'static str];
    /// The script command that makes a node become a candidate, in families whose nodes can also
    /// become candidates without a command.
    const CANDIDACY_COMMAND: Option<&'static str> = None;

    /// The command by which a node hands its duties over before its process ends, if it has any.
    fn retire_command() -> Option<Self::Command> {
        None
    }

    /// Whether a node reports by this event that it has handed its duties over.
    fn has_retired(_event: &Self::Event) -> bool {
        false
    }

    /// Parses the words that a person typed at a node. An error is a sentence. See
    /// [`parse_command`](Self::parse_command).
    fn parse_words(words: &[&str], node: NodeId, number: u64) -> Result<Self::Command, String>;

    /// Parses the line that a person typed at a node: a few words, or the command in JSON as
    /// journals store it. An error is a sentence.
    ///
    /// `number` distinguishes requests with equal content. It must grow with every request to a
    /// node, across all incarnations of that node: a replicated log treats an old number as a
    /// duplicate. The incarnation in the upper bits and a counter in the lower twenty satisfy this.
    fn parse_command(line: &str, node: NodeId, number: u64) -> Result<Self::Command, String> {
        let line = line.trim();
        if line.starts_with(['{', '"']) {
            return serde_json::from_str(line).map_err(|error| format!("cannot parse the command as JSON: {error}."));
        }
        Self::parse_words(&line.split_whitespace().collect::<Vec<_>>(), node, number)
    }

    /// Returns script text that causes this command or an equivalent one: the command's name, then
    /// a space and its argument if it has one. `None` if scripts cannot cause it.
    fn script_command(command: &Self::Command) -> Option<Cow<'static, str>>;

    /// Returns the settings of a run whose clients act only as the script says.
    fn scripted_settings(settings: &Self::Settings) -> Self::Settings;

    /// Whether clients request nothing unless a script says otherwise.
    fn has_idle_clients(_settings: &Self::Settings) -> bool {
        false
    }

    /// Returns simpler variants of the settings, such as with fewer requests. Of several variants
    /// of one setting, the smallest comes first. Some variants may equal the given settings.
    fn smaller_settings(settings: &Self::Settings) -> Vec<Self::Settings>;

    /// Returns the command-line options that produce these settings. Options with default values
    /// can be omitted.
    fn flags(spec: &Spec<Self>) -> Flags;
}

/// The measures and properties of a family.
pub trait JudgeFamily: FamilyTypes {
    type Measures: Observer<Self::Command, Self::Event>;
    type Properties: Judge<Self::Command, Self::Event>;
    /// The figures of a run, as `--json` prints them under the family's name.
    type Summary: Clone + fmt::Debug + PartialEq + Serialize;

    /// Assumptions of the algorithm that this experiment breaks, each as a sentence without its
    /// full stop. A property that fails under a broken assumption is not a bug.
    fn broken_assumptions(_spec: &Spec<Self>) -> Vec<&'static str> {
        Vec::new()
    }

    fn measures(spec: &Spec<Self>) -> Self::Measures;

    fn properties(spec: &Spec<Self>, level: JudgingLevel) -> Self::Properties;

    fn summary(
        spec: &Spec<Self>,
        messages: &MessageCounts,
        measures: &Self::Measures,
        properties: &Self::Properties,
    ) -> Self::Summary;
}

/// Converts command-line options to a family's settings.
pub trait OptionsFamily: FamilyTypes {
    /// Command-line options that only this family accepts.
    type Args: clap::Args + Options;

    /// Returns `defaults` with the changes that the family's options request.
    fn with_options(
        defaults: Self::Settings,
        args: &FamilyArgs,
        common: CommonOptions,
    ) -> Result<Self::Settings, LabError>;

    /// Returns the settings that the family's options describe.
    fn settings(args: &FamilyArgs, common: CommonOptions) -> Result<Self::Settings, LabError> {
        Self::with_options(Self::Settings::default(), args, common)
    }

    /// Returns settings that keep clients busy for about `length`. `None` if the pace of the
    /// clients is unknown.
    fn with_duration(_settings: &Self::Settings, _length: Duration) -> Option<Self::Settings> {
        None
    }

    /// Changes settings for nodes that people control by hand: no workload sends requests.
    fn adapt_to_manual_use(_settings: &mut Self::Settings) {}

    /// Changes settings for real processes, where no simulator decides views or limits delays.
    fn adapt_to_real_processes(_settings: &mut Self::Settings) {}
}

/// How a family is shown to people.
pub trait PresentFamily: JudgeFamily {
    /// The meaning of each role in this family. Roles that are missing do not occur.
    const ROLES: &'static [(Role, &'static str)];
    /// Whether other nodes wait while a node has [`Role::Chosen`], so no node may keep that role
    /// forever.
    const CHOSEN_NODE_BLOCKS_OTHERS: bool;
    /// Caption of the example that `quorate explain` shows.
    const EXAMPLE_CAPTION: &'static str;
    /// Description of the family's control messages.
    const CONTROL_MESSAGES: &'static str;
    /// Advice for a `sometimes` property that never held.
    const ADVICE_IF_NEVER_HELD: &'static str;
    /// The unit that a progress bar counts, such as "entries".
    const PROGRESS_UNIT: &'static str;

    /// Returns the role of a node after this moment, if it may have changed. `before` holds the
    /// role of each node before the moment; it is empty for groups that are too large to show.
    fn role_after(moment: &Moment<'_, Self::Command, Self::Event>, before: &[Role]) -> Option<(NodeId, Role)>;

    /// Returns the wrapper around the algorithm, if `quorate explain` describes one that several
    /// algorithms share.
    fn wrapper(_entry: &Self::Entry) -> Option<AlgorithmWrapper> {
        None
    }

    /// Returns the algorithm's cost for lists.
    fn listed_cost(_entry: &'static Self::Entry) -> Option<ListedCost> {
        None
    }

    /// Returns a small run that demonstrates the algorithm.
    fn example(algorithm: Algorithm<Self>) -> Spec<Self>;

    /// Returns the family's figures with the expected ones.
    fn figure_rows(results: &RunResults<'_, Self>) -> Vec<FigureRow>;

    /// Returns the properties without a verdict in the report: those that could not be judged, and
    /// those that the algorithm does not promise.
    fn not_judged(_results: &RunResults<'_, Self>) -> Vec<NotJudged> {
        Vec::new()
    }

    /// Describes how far an unfinished run got. The text is appended to a sentence, so it begins
    /// with a semicolon, or is empty.
    fn describe_progress(spec: &Spec<Self>, summary: &Self::Summary) -> String;

    /// The number of progress steps of a complete run.
    fn progress_goal(spec: &Spec<Self>) -> u64;

    /// Whether a moment is a progress step.
    fn is_progress(moment: &Moment<'_, Self::Command, Self::Event>) -> bool;
}

/// A wrapper that several algorithms share, with rules of its own.
pub struct AlgorithmWrapper {
    pub title: &'static str,
    pub about: About,
}

/// All traits of a family combined. A blanket implementation covers every family.
pub trait FamilyLab: RunFamily + ScriptFamily + JudgeFamily + OptionsFamily + PresentFamily {}

impl<F: RunFamily + ScriptFamily + JudgeFamily + OptionsFamily + PresentFamily> FamilyLab for F {}

/// A node of any algorithm of the family.
pub type NodeOf<F> = Erased<<F as FamilyTypes>::Command, <F as FamilyTypes>::Event>;

/// An observer that judges properties of a run.
pub trait Judge<C, E>: Observer<C, E> {
    fn verdicts(&self) -> Vec<Verdict>;
}

/// How closely the judges observe a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JudgingLevel {
    /// Verdicts only, as fast as possible: for one of many seeds.
    Verdicts,
    /// Also figures that cost time and memory.
    Figures,
}
