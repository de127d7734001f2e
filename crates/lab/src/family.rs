//! What a family of algorithms brings to the lab, in one trait.
//!
//! Everything else in the lab is written once for all families: a [`Spec`], one run of it
//! ([`experiment`](crate::experiment)), a [`sweep`](crate::sweep), a [`replay`](crate::replay), a
//! [`trace`](crate::trace). A family is a type without values that implements [`FamilyLab`], which is several small traits;
//! [`Mutex`](crate::Mutex) and [`Election`](crate::Election) are the examples to follow. To add one:
//!
//! 1. A folder in `core`: its algorithms, and its commands and events, which have `Display` (a trace prints them) and serde
//!    (a journal holds them).
//! 2. A folder here, with a file for each concern:
//!    - `algorithms.rs`: what the registry knows of an algorithm, and one line for each of them.
//!    - What it adds to a [`Spec`] as [`Settings`](FamilyTypes::Settings). They stand in the same JSON object of a journal's
//!      header as the fields that all families share, so their names must differ from those. Every field must be written
//!      even if it is empty (no `skip_serializing_if`): a header with a field that nobody writes is refused.
//!    - `run/`: its users (a [`Workload`]), its measures (an [`Observer`]) and its properties (a [`Judge`]).
//!    - `options.rs`: its options of the command line, and how they become settings.
//!    - `present.rs`: its figures, its example, its progress.
//!    - `error.rs`: what can be wrong with its settings, with a variant in [`LabError`].
//! 3. One line in `registry.rs`, and the folder's `mod` and type in `lib.rs`.
//!
//! The command line needs no change. If its algorithms can be checked, the family also implements
//! [`CheckedFamily`](crate::check::CheckedFamily) in `check/` and says so by [`as_checked`](RunFamily::as_checked); options that
//! only its checks understand are a field of [`HabitArgs`](crate::check::HabitArgs). If they can be compared with the literature,
//! it implements [`ComparedFamily`](crate::compare::ComparedFamily) in `compare.rs`, and its options are a field of
//! [`CompareOptions`](crate::compare::CompareOptions). Seeds for the fuzzer's corpus are written for each family that has them.

use crate::algorithm::Algorithm;
use crate::check::CheckTask;
use crate::error::LabError;
use crate::figures::{Figures, NotJudged, Price, Row};
use crate::flag::Flags;
use crate::options::{Basics, Options};
use crate::registry::{Entry, Family, FamilyArgs};
use crate::spec::Spec;
use crate::views::ViewSettings;
use quorate_core::about::{About, Profile};
use quorate_core::mutex::Choice;
use quorate_core::{Duration, Medium, NodeId};
use quorate_erased::{AnyCodec, Erased};
use quorate_journal::metrics::Messages;
use quorate_journal::moment::{Moment, Observer};
use quorate_journal::property::Verdict;
use quorate_journal::role::Role;
use quorate_journal::settings::{Latency, TimedFault};
use quorate_journal::workload::Workload;
use quorate_sim::Views;
use quorate_sim::run::Limits;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::borrow::Cow;
use std::fmt;

/// A family of algorithms: its types, and how the registry knows it.
pub trait FamilyTypes: Copy + fmt::Debug + PartialEq + Send + Sync + 'static {
    const FAMILY: Family;
    const HAS_VIEWS: bool = false;

    /// What the registry knows of one of its algorithms.
    type Entry: Send + Sync + 'static;
    type Command: Clone + fmt::Display + Serialize + DeserializeOwned + Send + 'static;
    type Event: Clone + fmt::Display + Serialize + DeserializeOwned + Send + 'static;
    /// What it adds to a [`Spec`].
    type Settings: Clone + fmt::Debug + Default + PartialEq + Serialize + DeserializeOwned + Send + Sync;

    /// The algorithm, if it is of this family.
    fn entry(entry: &'static Entry) -> Option<&'static Self::Entry>;

    /// The algorithms, in the order in which lists show them.
    fn algorithms() -> Vec<Self::Entry>;

    /// Protocols that are wrong on purpose, and correct twins of some of them.
    fn fixtures() -> Vec<Self::Entry>;

    /// What the algorithm is called, and where it is explained.
    fn profile(entry: &Self::Entry) -> &'static Profile;

    /// How the messages and disks of the algorithm's nodes become bytes, with nothing around them.
    fn codec_of(entry: &Self::Entry) -> AnyCodec;

    /// The name of the algorithm that this is a form of.
    fn algorithm_of(entry: &Self::Entry) -> &'static str {
        Self::profile(entry).name
    }

    /// The choices that make it this form of its algorithm.
    fn form(_entry: &Self::Entry) -> &'static [Choice] {
        &[]
    }

    fn runs_in_views(_entry: &Self::Entry) -> bool {
        Self::HAS_VIEWS
    }
}

/// How a family runs: its nodes, its clients, and what may go wrong around them.
pub trait RunFamily: FamilyTypes {
    type Users: Workload<Self::Command, Self::Event>;

    /// How the messages and disks of the algorithm's nodes become bytes, as this experiment makes them.
    fn codec(spec: &Spec<Self>) -> AnyCodec;

    /// Whether the algorithm copes by itself with links that lose and repeat. Where it does not, reliable links are put
    /// under it unless the user wants none. The book's links lose nothing; a replica bears loss, and has reliable links around
    /// what is beside it.
    fn copes_with_loss(spec: &Spec<Self>) -> bool {
        Self::in_views(&spec.settings).is_some_and(|views| views.is_replicated())
    }

    /// Whether nodes want to know when a peer's process is gone.
    fn hears_of_deaths(spec: &Spec<Self>) -> bool {
        Self::in_views(&spec.settings).is_some_and(|views| views.is_replicated())
    }

    /// Whether the algorithm needs links that keep the order of messages. Then they do.
    fn needs_fifo(_entry: &Self::Entry) -> bool {
        false
    }

    /// Whether the algorithm is right only if nothing takes longer than its nodes are told.
    fn needs_bounds(_entry: &Self::Entry) -> bool {
        false
    }

    /// What carries the algorithm's messages to all.
    fn medium(_spec: &Spec<Self>) -> Medium {
        Medium::Unicast
    }

    /// Whether what the family adds to the experiment makes sense. The rest of it does.
    fn validate(spec: &Spec<Self>) -> Result<(), LabError>;

    /// Makes nodes, at boot and again at every restart.
    fn maker(spec: &Spec<Self>) -> impl Fn(NodeId) -> NodeOf<Self> + Send + Sync + 'static + use<Self>;

    /// The settings of the same run without the faults that the family draws from the seed.
    fn calm(settings: &Self::Settings) -> Self::Settings {
        settings.clone()
    }

    /// The users, who do what the script says if it says anything.
    fn users(spec: &Spec<Self>) -> Self::Users;

    /// In which time from the start the faults begin that the seed chooses.
    fn fault_window(spec: &Spec<Self>) -> Duration;

    /// Faults that the family draws from the seed by itself, if its settings ask for them.
    fn own_faults(_spec: &Spec<Self>) -> Vec<TimedFault> {
        Vec::new()
    }

    /// Whether no more is lost for good than the family's algorithms promise to bear. What fails beyond that is no flaw.
    fn is_bearable(_spec: &Spec<Self>) -> bool {
        true
    }

    /// How long a sync of the disk takes unless somebody says otherwise.
    fn usual_disk() -> Latency {
        Latency::Fixed(Duration::ZERO)
    }

    /// That the algorithm runs in views, and how, if it does.
    fn in_views(_settings: &Self::Settings) -> Option<ViewSettings> {
        None
    }

    /// How nodes are let into views, if the simulator does that.
    fn views(spec: &Spec<Self>) -> Option<Views> {
        Self::in_views(&spec.settings).and_then(|views| views.in_world())
    }

    /// Experiments that together try this algorithm as hard as it must bear: one of them unless the family knows more.
    fn weather(entry: &'static Self::Entry) -> Vec<Spec<Self>> {
        vec![Spec::new(entry)]
    }

    /// The same for this algorithm in views, if it can run in them.
    fn weather_in_views(_entry: &'static Self::Entry) -> Vec<Spec<Self>> {
        Vec::new()
    }

    /// Does something with the family as one whose algorithms can be checked, if they can.
    fn as_checked<T: CheckTask>(_task: T) -> Option<T::Output> {
        None
    }

    /// When a run is stopped although it could go on.
    fn limits(spec: &Spec<Self>) -> Limits {
        spec.usual_limits()
    }
}

/// How a family is described in words: scripts, typed commands, the options that bring its settings about, and smaller experiments.
pub trait ScriptFamily: FamilyTypes {
    /// What its users can be told to do in a script, in the words of the script; a command that may say something is told as `send TEXT`.
    const COMMANDS: &'static [&'static str];
    /// The word by which a script makes a node stand for the leadership, where nodes do so by themselves sooner or later.
    const STANDS: Option<&'static str> = None;

    /// What a person asks of a node who types these words, or a sentence that names what can be typed. See
    /// [`command`](Self::command).
    fn in_words(words: &[&str], node: NodeId, number: u64) -> Result<Self::Command, String>;

    /// What a person asks of a node who types this line: a few words, or the command as a journal has it in JSON. An error is
    /// a sentence that says what can be typed.
    ///
    /// `number` tells requests apart that look alike. A node must never be given the same one twice, nor a smaller one
    /// later, in all its lives: to a replicated log an old number is a request that was done already. The life in the upper
    /// bits and a count in the lower twenty will do.
    fn command(line: &str, node: NodeId, number: u64) -> Result<Self::Command, String> {
        let line = line.trim();
        if line.starts_with(['{', '"']) {
            return serde_json::from_str(line).map_err(|error| format!("This is no command in JSON: {error}."));
        }
        Self::in_words(&line.split_whitespace().collect::<Vec<_>>(), node, number)
    }

    /// What a script says to have this asked, or something as good as this: the command's name, and after a blank what it says.
    fn in_script(command: &Self::Command) -> Option<Cow<'static, str>>;

    /// The settings of a run in which only the script says what users do.
    fn scripted(settings: &Self::Settings) -> Self::Settings;

    /// Whether nobody asks for anything unless a script does.
    fn is_silent(_settings: &Self::Settings) -> bool {
        false
    }

    /// The settings with less of something that they ask for, the least first. Some may be these very settings.
    fn smaller(settings: &Self::Settings) -> Vec<Self::Settings>;

    /// The options of the command line that bring these settings about; those that are usual can be left out.
    fn flags(spec: &Spec<Self>) -> Flags;
}

/// What a family measures and judges.
pub trait JudgeFamily: FamilyTypes {
    type Measures: Observer<Self::Command, Self::Event>;
    type Properties: Judge<Self::Command, Self::Event>;
    /// The figures of a run, as `--json` prints them under the family's name.
    type Summary: Clone + fmt::Debug + PartialEq + Serialize;

    /// What the algorithm assumes and this experiment breaks, each as a sentence without its end. A property that fails then is no flaw.
    fn broken_assumptions(_spec: &Spec<Self>) -> Vec<&'static str> {
        Vec::new()
    }

    fn measures(spec: &Spec<Self>) -> Self::Measures;

    fn properties(spec: &Spec<Self>, care: Care) -> Self::Properties;

    fn summary(
        spec: &Spec<Self>,
        messages: &Messages,
        measures: &Self::Measures,
        properties: &Self::Properties,
    ) -> Self::Summary;
}

/// How the options of the command line become a family's settings.
pub trait OptionsFamily: FamilyTypes {
    /// Options of the command line that only this family understands.
    type Args: clap::Args + Options;

    /// These settings, changed as the family's options say.
    fn changed(usual: Self::Settings, args: &FamilyArgs, basics: Basics) -> Result<Self::Settings, LabError>;

    /// The settings that the family's options describe.
    fn settings(args: &FamilyArgs, basics: Basics) -> Result<Self::Settings, LabError> {
        Self::changed(Self::Settings::default(), args, basics)
    }

    /// Settings with which users are busy for about so long, if it is known how fast they are.
    fn lasting(_settings: &Self::Settings, _length: Duration) -> Option<Self::Settings> {
        None
    }

    /// Changes settings for nodes that people speak to by hand: nobody else asks anything.
    fn by_hand(_settings: &mut Self::Settings) {}

    /// Changes settings for real processes, which have nobody outside to rely on.
    fn for_real(_settings: &mut Self::Settings) {}
}

/// How a family is shown to people.
pub trait PresentFamily: JudgeFamily {
    /// What it means to stand in these ways; those that are missing do not occur.
    const ROLES: &'static [(Role, &'static str)];
    /// Whether others wait for as long as a node is chosen, so that nobody must be for ever.
    const CHOSEN_BLOCKS: bool;
    /// What the example of `quorate explain` shows.
    const EXAMPLE: &'static str;
    /// What control messages are.
    const CONTROL: &'static str;
    /// What to try if what should happen sometimes never does.
    const ADVICE: &'static str;
    /// What a progress bar counts.
    const PROGRESS: &'static str;

    /// How a node stands after this moment, if that may be another way than before. `before` says how each node stood;
    /// it is empty for groups that are too large to show.
    fn stands(moment: &Moment<'_, Self::Command, Self::Event>, before: &[Role]) -> Option<(NodeId, Role)>;

    /// What is around the algorithm and explained with it, because it is the same for several.
    fn around(_entry: &Self::Entry) -> Option<Around> {
        None
    }

    /// What the algorithm costs, as lists show it.
    fn price(_entry: &'static Self::Entry) -> Option<Price> {
        None
    }

    /// A small run that shows what the algorithm does.
    fn example(algorithm: Algorithm<Self>) -> Spec<Self>;

    /// The family's own figures, with the expected ones beside them.
    fn figures(figures: &Figures<'_, Self>) -> Vec<Row>;

    /// What could not be judged, and why.
    fn not_judged(_figures: &Figures<'_, Self>) -> Vec<NotJudged> {
        Vec::new()
    }

    /// How far a run came that did not come to its end, after a semicolon.
    fn progress(spec: &Spec<Self>, summary: &Self::Summary) -> String;

    /// How often a progress bar moves until all is done.
    fn goal(spec: &Spec<Self>) -> u64;

    fn is_progress(moment: &Moment<'_, Self::Command, Self::Event>) -> bool;
}

/// What is around several algorithms, with rules of its own.
pub struct Around {
    pub title: &'static str,
    pub about: About,
}

/// A family of algorithms, as the lab runs it: all its concerns together. There is nothing to implement.
pub trait FamilyLab: RunFamily + ScriptFamily + JudgeFamily + OptionsFamily + PresentFamily {}

impl<F: RunFamily + ScriptFamily + JudgeFamily + OptionsFamily + PresentFamily> FamilyLab for F {}

pub type NodeOf<F> = Erased<<F as FamilyTypes>::Command, <F as FamilyTypes>::Event>;

/// Watches a run for breaches.
pub trait Judge<C, E>: Observer<C, E> {
    fn verdicts(&self) -> Vec<Verdict>;
}

/// How closely a run is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Care {
    /// For its verdicts alone, as fast as it goes: one of many seeds.
    Verdicts,
    /// For its figures too, even where they take time and memory.
    Figures,
}
