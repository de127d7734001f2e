//! The scenario of the two armies. Checks all of its runs, in either timing model, or simulates
//! one.
//!
//! In the synchronous model, message delays have a minimum and a maximum. The check tries each of
//! the two for every message, in every order of events that such delays allow. The time between the
//! attacks is the difference of two sums of delays and waits, so it is greatest when each delay is
//! at one of its bounds.
//!
//! In the asynchronous model, message delays are finite but unbounded. The agreement on the leader
//! is judged without time: the check tries every order in which messages can arrive. The time
//! between the attacks is judged against a bound, and it is enough to let messages take no time or
//! longer than that bound: each such run is one of the asynchronous model, and a run that exceeds
//! the bound refutes it. Because this works for every bound, none holds.
//!
//! ```
//! use quorate_core::{Duration, Span};
//! use quorate_demos::armies::{Scenario, Strength, check};
//!
//! let ms = Duration::from_millis;
//! let bounded = Scenario { delay: Some(Span::between(ms(2), ms(5))), ..Scenario::new([3, 5].map(Strength)) };
//! assert!(check(&bounded, Some(ms(3)))?.holds());
//! let unbounded = Scenario { delay: None, ..bounded };
//! let outcome = check(&unbounded, Some(ms(3)))?;
//! assert!(outcome.violation().is_some_and(|violation| violation.timeline.attack_gap() > Some(ms(3))));
//! # Ok::<(), quorate_demos::armies::ArmiesError>(())
//! ```

use super::commanders::Commanders;
use super::timeline::Timeline;
use super::{ARMIES, Army, Command, Strength};
use quorate_check::{CheckError, Checker, Effort, Search, Setup, Timing};
use quorate_core::{Duration, NodeId, Span, Time};
use quorate_journal::settings::{Chance, Latency, Length};
use quorate_sim::{LinkDefaults, Setup as WorldSetup, World};
use std::sync::Arc;

/// The armies, and the delays of their messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scenario {
    pub strengths: [Strength; 2],
    /// The minimum and maximum delay of a message; unbounded if `None`.
    pub delay: Option<Span>,
    /// Maximum drift of the clocks, in parts per million.
    pub drift_ppm: u32,
    /// Whether messages arrive in the order in which they were sent.
    pub is_fifo: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArmiesError {
    #[error("--delay and --within must be at most ten years; got {0}.")]
    TooLong(Length),
    #[error("--drift must be at most 999999ppm; got {0}ppm, at which a clock stands still or runs backwards.")]
    InvalidDrift(u32),
    #[error(transparent)]
    Check(#[from] CheckError),
    #[error("cannot replay the run that the check found: {0}.")]
    Replay(String),
}

/// The largest message delay and the largest bound on the time between the attacks that `validate`
/// accepts.
const MAX_LENGTH: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);
/// Minimum time by which a run exceeds the bound that it refutes, so that printed times show it.
const MIN_EXCESS: Duration = Duration::from_millis(1);

/// Drifts are in parts per million.
const MILLION: u128 = 1_000_000;

impl Scenario {
    pub const fn new(strengths: [Strength; 2]) -> Self {
        Self { strengths, delay: None, drift_ppm: 0, is_fifo: false }
    }

    /// How long the leader waits by its clock: the minimum delay of a message, if it is known.
    pub fn leader_wait(&self) -> Duration {
        self.delay.map_or(Duration::ZERO, |span| span.earliest)
    }

    /// Maximum time between the two attacks; `None` if delays are unbounded. It is max − min if
    /// clocks are exact. A leader with a fast clock waits for less than min; a leader with a slow
    /// clock attacks second if the order is quick. Clocks show whole nanoseconds, which costs one
    /// nanosecond if they drift.
    pub fn guaranteed_gap(&self) -> Option<Duration> {
        let Span { earliest, latest } = self.delay?;
        let (min, max, drift) = (u128::from(earliest.nanos()), u128::from(latest.nanos()), u128::from(self.drift_ppm));
        let shortest_wait = min * MILLION / (MILLION + drift);
        let longest_wait = (min * MILLION).div_ceil(MILLION.saturating_sub(drift).max(1));
        let gap = (max - shortest_wait).max(longest_wait - min) + u128::from(drift > 0);
        Some(Duration::from_nanos(u64::try_from(gap).unwrap_or(u64::MAX)))
    }

    fn new_army(&self, me: NodeId) -> Army {
        let strength = self.strengths.get(me.index()).copied().unwrap_or(Strength(0));
        Army::new(me, strength, self.leader_wait())
    }

    fn validate(&self, max_gap: Option<Duration>) -> Result<(), ArmiesError> {
        let lengths = [self.delay.map(|span| span.latest), max_gap];
        if let Some(length) = lengths.into_iter().flatten().find(|length| *length > MAX_LENGTH) {
            return Err(ArmiesError::TooLong(Length(length)));
        }
        if u128::from(self.drift_ppm) >= MILLION {
            return Err(ArmiesError::InvalidDrift(self.drift_ppm));
        }
        Ok(())
    }
}

/// The result of a check.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub verdicts: Vec<PropertyVerdict>,
    /// Number of states that the check explored.
    pub states: u64,
    /// Whether the check explored every state.
    pub is_complete: bool,
}

#[derive(Clone, Debug)]
pub struct PropertyVerdict {
    pub name: &'static str,
    /// `None` if the check found none, even if it did not explore every state.
    pub violation: Option<Violation>,
}

#[derive(Clone, Debug)]
pub struct Violation {
    pub timeline: Timeline,
    /// Number of steps of the counterexample.
    pub steps: usize,
}

impl Outcome {
    /// Whether the check explored every state and found no violation.
    pub fn holds(&self) -> bool {
        self.is_complete && self.violation().is_none()
    }

    pub fn violation(&self) -> Option<&Violation> {
        self.verdicts.iter().find_map(|verdict| verdict.violation.as_ref())
    }
}

/// Checks every run: judges the leader and, if `max_gap` is given, the time between the attacks.
pub fn check(scenario: &Scenario, max_gap: Option<Duration>) -> Result<Outcome, ArmiesError> {
    scenario.validate(max_gap)?;
    let Some(delay) = scenario.delay else { return check_unbounded(scenario, max_gap) };
    check_bounded(scenario, delay, max_gap, None)
}

/// Checks unbounded delays: judges the leader by the order of messages alone, and the time between
/// the attacks by messages that take either no time or longer than the bound.
fn check_unbounded(scenario: &Scenario, max_gap: Option<Duration>) -> Result<Outcome, ArmiesError> {
    // Time is not modelled, so the leader's timer may fire while messages are in flight. A run sets
    // only this one timer, so a maximum of 2 early timers is no limit.
    let setup = Setup { has_fifo_links: scenario.is_fifo, early_timers: 2, ..Setup::new(ARMIES.len()) };
    let mut outcome = run_checker(scenario, Commanders::default(), setup, None)?;
    if let Some(max_gap) = max_gap {
        let delay_beyond_bound = max_gap.times(2).max(max_gap + MIN_EXCESS);
        let gap_outcome = check_bounded(
            scenario,
            Span::between(Duration::ZERO, delay_beyond_bound),
            Some(max_gap),
            Some("within-bound"),
        )?;
        outcome.verdicts.extend(gap_outcome.verdicts);
        outcome.states += gap_outcome.states;
        outcome.is_complete &= gap_outcome.is_complete;
    }
    Ok(outcome)
}

/// Checks delays within a span: judges all properties, or `only_property`. Every run ends after
/// three messages and one wait, so the search needs no time limit.
fn check_bounded(
    scenario: &Scenario,
    delay: Span,
    max_gap: Option<Duration>,
    only_property: Option<&str>,
) -> Result<Outcome, ArmiesError> {
    let timing = Timing { drift_ppm: scenario.drift_ppm, until: Time::NEVER, delay: Some(delay) };
    let setup = Setup { has_fifo_links: scenario.is_fifo, timing: Some(timing), ..Setup::new(ARMIES.len()) };
    run_checker(scenario, Commanders { max_gap }, setup, only_property)
}

fn run_checker(
    scenario: &Scenario,
    commanders: Commanders,
    setup: Setup,
    only_property: Option<&str>,
) -> Result<Outcome, ArmiesError> {
    let armies = *scenario;
    let mut checker = Checker::new(Arc::new(move |me| armies.new_army(me)), commanders, setup)?;
    let effort = Effort {
        search: Search::Breadth,
        threads: 1,
        memory_limit: 1 << 30, // 1 GiB
        reduce: true,
        stop_at_first: false,
        properties: only_property.map(|name| vec![name.to_owned()]),
    };
    // The closure receives the progress; the check continues as long as the closure returns true.
    let findings = checker.run(&effort, &mut |_, _| true);
    let mut verdicts = Vec::new();
    for verdict in &findings.verdicts {
        let timeline_of = |path| checker.replay(path, Timeline::default()).map_err(ArmiesError::Replay);
        let violation = verdict
            .counterexample
            .as_ref()
            .map(|path| Ok::<_, ArmiesError>(Violation { timeline: timeline_of(path)?, steps: path.len() }));
        verdicts.push(PropertyVerdict { name: verdict.name, violation: violation.transpose()? });
    }
    Ok(Outcome { verdicts, states: findings.main_pass.states, is_complete: findings.is_complete() })
}

/// Simulates one run. The seed determines the delay of each message, drawn from the scenario's span
/// or from an unbounded distribution. Clocks are exact: the scenario's drift has no effect.
pub fn simulate(scenario: &Scenario, seed: u64) -> Result<Timeline, ArmiesError> {
    scenario.validate(None)?;
    let latency = match scenario.delay {
        Some(Span { earliest, latest }) => Latency::Uniform { min: earliest, max: latest },
        None => Latency::LongTail { median: Duration::from_millis(2) },
    };
    let instant = Latency::Fixed(Duration::ZERO);
    let link_defaults =
        LinkDefaults { latency, loss: Chance::NEVER, duplicate: Chance::NEVER, is_fifo: scenario.is_fifo };
    let setup = WorldSetup { nodes: ARMIES.len(), seed, link_defaults, processing: instant, sync: instant };
    let armies = *scenario;
    let mut world = World::new(&setup, move |me| armies.new_army(me), Timeline::default());
    world.start();
    for army in ARMIES {
        world.schedule_command(Time::ZERO, army, Command::Attack);
    }
    while world.advance() {
        // No client reacts: the observer records all that matters.
        while world.next_client_event().is_some() {}
    }
    Ok(world.into_observer())
}
