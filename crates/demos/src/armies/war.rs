//! Checks every run of the two armies, in either timing model, and simulates one run.
//!
//! In the synchronous model, message delays have a minimum and a maximum. The check then tries both
//! for every message, in every order that they allow. The judged quantity is the difference of two
//! sums of delays and waits, which is extreme at these ends.
//!
//! In the asynchronous model, message delays are finite but unbounded. The leader is judged without
//! time: the check tries every order in which messages can arrive. The time of the attacks is
//! judged against a bound, and it is enough to let messages take no time or longer than that bound:
//! each such run is one of the asynchronous model, and a run that exceeds the bound refutes it.
//! Because this works for every bound, none holds.
//!
//! ```
//! use quorate_core::{Duration, Span};
//! use quorate_demos::armies::{Strength, War, check};
//!
//! let ms = Duration::from_millis;
//! let war = War { delay: Some(Span::between(ms(2), ms(5))), ..War::new([3, 5].map(Strength)) };
//! assert!(check(&war, Some(ms(3)))?.holds());
//! let unbounded = War { delay: None, ..war };
//! let outcome = check(&unbounded, Some(ms(3)))?;
//! assert!(outcome.violation().is_some_and(|violation| violation.timeline.gap() > Some(ms(3))));
//! # Ok::<(), quorate_demos::armies::ArmiesError>(())
//! ```

use super::commanders::Commanders;
use super::timeline::Timeline;
use super::{ARMIES, Army, Command, Strength};
use quorate_check::{CheckError, Checker, Effort, Findings, Search, Setup, Timing};
use quorate_core::{Duration, NodeId, Span, Time};
use quorate_journal::settings::{Chance, Latency};
use quorate_sim::{Setup as WorldSetup, Wire, World};
use std::sync::Arc;

/// The armies, and the delays of their messengers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct War {
    pub strengths: [Strength; 2],
    /// The minimum and maximum delay of a message; unbounded if `None`.
    pub delay: Option<Span>,
    /// Maximum drift of the clocks, in parts per million.
    pub drift_ppm: u32,
    /// Whether messengers never overtake each other.
    pub fifo: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArmiesError {
    #[error("delays and bounds must be at most ten years.")]
    TooLong,
    #[error("--drift must be at most 999999ppm; got {0}ppm, at which a clock stands still or runs backwards.")]
    NoClock(u32),
    #[error(transparent)]
    Check(#[from] CheckError),
    #[error("cannot replay the run that the check found: {0}.")]
    Replay(String),
}

/// Maximum delay and maximum bound.
const MAX_LENGTH: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);
/// Minimum excess of a run over a bound, so that it is visible.
const VISIBLE_EXCESS: Duration = Duration::from_millis(1);

const MILLION: u128 = 1_000_000;

impl War {
    pub const fn new(strengths: [Strength; 2]) -> Self {
        Self { strengths, delay: None, drift_ppm: 0, fifo: false }
    }

    /// How long the leader waits by its clock: the minimum delay of a message, if it is known.
    pub fn wait(&self) -> Duration {
        self.delay.map_or(Duration::ZERO, |span| span.earliest)
    }

    /// Maximum time between the two attacks; `None` if delays are unbounded. It is *max − min* if
    /// clocks are exact. A leader with a fast clock waits for less than *min*; if its clock is slow
    /// and the order is quick, the leader itself is second. Clocks show whole nanoseconds, which
    /// costs one nanosecond if they drift.
    pub fn guarantee(&self) -> Option<Duration> {
        let Span { earliest, latest } = self.delay?;
        let (min, max, drift) = (u128::from(earliest.nanos()), u128::from(latest.nanos()), u128::from(self.drift_ppm));
        let shortest_wait = min * MILLION / (MILLION + drift);
        let longest_wait = (min * MILLION).div_ceil(MILLION.saturating_sub(drift).max(1));
        let gap = (max - shortest_wait).max(longest_wait - min) + u128::from(drift > 0);
        Some(Duration::from_nanos(u64::try_from(gap).unwrap_or(u64::MAX)))
    }

    fn army(&self, me: NodeId) -> Army {
        let strength = self.strengths.get(me.index()).copied().unwrap_or(Strength(0));
        Army::new(me, strength, self.wait())
    }

    fn validate(&self, max_gap: Option<Duration>) -> Result<(), ArmiesError> {
        let lengths = [self.delay.map(|span| span.latest), max_gap];
        if lengths.into_iter().flatten().any(|length| length > MAX_LENGTH) {
            return Err(ArmiesError::TooLong);
        }
        if u128::from(self.drift_ppm) >= MILLION {
            return Err(ArmiesError::NoClock(self.drift_ppm));
        }
        Ok(())
    }
}

#[derive(Clone, Debug)]
pub struct Outcome {
    /// The verdict on each property.
    pub verdicts: Vec<Judged>,
    pub states: u64,
    pub complete: bool,
}

#[derive(Clone, Debug)]
pub struct Judged {
    pub name: &'static str,
    pub violation: Option<Violation>,
}

#[derive(Clone, Debug)]
pub struct Violation {
    pub timeline: Timeline,
    pub steps: usize,
}

impl Outcome {
    /// Whether the search is complete and no property is violated.
    pub fn holds(&self) -> bool {
        self.complete && self.violation().is_none()
    }

    pub fn violation(&self) -> Option<&Violation> {
        self.verdicts.iter().find_map(|judged| judged.violation.as_ref())
    }
}

/// Checks every run: judges the leader and, if `max_gap` is given, the time between the attacks.
pub fn check(war: &War, max_gap: Option<Duration>) -> Result<Outcome, ArmiesError> {
    war.validate(max_gap)?;
    let Some(delay) = war.delay else { return check_unbounded(war, max_gap) };
    check_bounded(war, delay, max_gap, None)
}

/// Unbounded delays: judges the leader by orders alone, and the time by messages that take no time
/// or longer than the bound.
fn check_unbounded(war: &War, max_gap: Option<Duration>) -> Result<Outcome, ArmiesError> {
    // Timers fire at any time here, also as soon as they are set.
    let setup = Setup { fifo: war.fifo, early_timers: 2, ..Setup::new(ARMIES.len()) };
    let mut outcome = run_checker(war, Commanders::default(), setup, None)?;
    if let Some(max_gap) = max_gap {
        let beyond_bound = max_gap.times(2).max(max_gap + VISIBLE_EXCESS);
        let when_outcome =
            check_bounded(war, Span::between(Duration::ZERO, beyond_bound), Some(max_gap), Some("when"))?;
        outcome.verdicts.extend(when_outcome.verdicts);
        outcome.states += when_outcome.states;
        outcome.complete &= when_outcome.complete;
    }
    Ok(outcome)
}

/// Delays within a span; judges all properties, or `only_property`. A run takes no longer than three
/// messages and a wait, so time needs no limit.
fn check_bounded(
    war: &War,
    delay: Span,
    max_gap: Option<Duration>,
    only_property: Option<&str>,
) -> Result<Outcome, ArmiesError> {
    let timing = Timing { drift_ppm: war.drift_ppm, until: Time::NEVER, delay: Some(delay) };
    let setup = Setup { fifo: war.fifo, timing: Some(timing), ..Setup::new(ARMIES.len()) };
    run_checker(war, Commanders { max_gap }, setup, only_property)
}

fn run_checker(
    war: &War,
    commanders: Commanders,
    setup: Setup,
    only_property: Option<&str>,
) -> Result<Outcome, ArmiesError> {
    let armies = *war;
    let mut checker = Checker::new(Arc::new(move |me| armies.army(me)), commanders, setup)?;
    let effort = Effort {
        search: Search::Breadth,
        threads: 1,
        memory: 1 << 30, // 1 GiB
        reduce: true,
        stop_at_first: false,
        properties: only_property.map(|name| vec![name.to_owned()]),
    };
    let findings = checker.run(&effort, &mut |_, _| true);
    let mut verdicts = Vec::new();
    for verdict in &findings.verdicts {
        let timeline_of = |example| checker.replay(example, Timeline::default()).map_err(ArmiesError::Replay);
        let violation = verdict
            .counterexample
            .as_ref()
            .map(|example| Ok::<_, ArmiesError>(Violation { timeline: timeline_of(example)?, steps: example.len() }));
        verdicts.push(Judged { name: verdict.name, violation: violation.transpose()? });
    }
    let Findings { states, .. } = findings;
    Ok(Outcome { verdicts, states: states.states, complete: findings.is_complete() })
}

/// Simulates one run: the seed draws the delay of each message, from the span or from an unbounded
/// distribution.
pub fn simulate(war: &War, seed: u64) -> Result<Timeline, ArmiesError> {
    war.validate(None)?;
    let latency = match war.delay {
        Some(Span { earliest, latest }) => Latency::Uniform { min: earliest, max: latest },
        None => Latency::LongTail { median: Duration::from_millis(2) },
    };
    let instant = Latency::Fixed(Duration::ZERO);
    let wire = Wire { latency, loss: Chance::NEVER, duplicate: Chance::NEVER, fifo: war.fifo };
    let setup = WorldSetup { nodes: ARMIES.len(), seed, wire, processing: instant, sync: instant };
    let armies = *war;
    let mut world = World::new(&setup, move |me| armies.army(me), Timeline::default());
    world.start();
    for army in ARMIES {
        world.command(Time::ZERO, army, Command::Attack);
    }
    while world.advance() {
        // No client reacts: the observer records all that matters.
        while world.next_client_event().is_some() {}
    }
    Ok(world.into_observer())
}
