//! Properties of detectors that hold for any seed, and tests of the observer that measures their
//! quality.

use super::observer::QualityObserver;
use super::{Conditions, DetectorError, DetectorEvent, Quality, default_thresholds, default_timeouts, measure};
use quorate_core::wrap::{Detector, Threshold};
use quorate_core::{Bounds, Duration, Incarnation, NodeId, Time};
use quorate_journal::moment::{Moment, ObservedEffect, ObservedInput, Observer, WorldEvent};
use quorate_journal::settings::{Latency, Length};

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// One minute with four crashes.
fn short_run(nodes: usize, seed: u64) -> Conditions {
    Conditions { seed, crashes: 4, run_length: Duration::from_secs(60), ..Conditions::new(nodes) }
}

fn bounds(conditions: &Conditions) -> Bounds {
    let bound = |latency: Latency| latency.upper_bound().unwrap_or(Duration::ZERO);
    Bounds { message: bound(conditions.latency), processing: bound(conditions.processing) }
}

/// A perfect detector is complete and accurate: in the synchronous model it suspects every crashed
/// node in time, and never suspects a live one.
#[test]
fn a_fixed_bound_is_perfect_in_the_synchronous_model() {
    for seed in 0..40 {
        for processing in [Latency::Fixed(Duration::ZERO), Latency::Uniform { min: ms(0), max: ms(1) }] {
            let nodes = 2 + (seed % 5) as usize;
            let conditions = Conditions { processing, ..short_run(nodes, seed) };
            let period = conditions.heartbeat_period();
            let detector = Detector::perfect(period, &bounds(&conditions), nodes);
            let quality = measure(&conditions, detector).unwrap();
            let Quality { detections, missed, mistakes, max_detection_time, .. } = quality;
            assert_eq!((missed, mistakes), (0, 0), "seed {seed}, {nodes} nodes");
            assert_eq!(detections, 4 * (nodes as u64 - 1), "seed {seed}");
            let Detector::FixedBound { bound, .. } = detector else {
                unreachable!("a perfect detector has a fixed bound")
            };
            // A heartbeat that was sent just before the crash arrives up to a bound later. Then the
            // timeout starts: a period and a bound. A busy node may suspect later still.
            let processing_time = bounds(&conditions).processing.times(nodes as u64);
            assert!(
                max_detection_time <= period + bound + bound + processing_time,
                "seed {seed}: detected after {max_detection_time}"
            );
        }
    }
}

/// The bound of the model is tight: a shorter one makes the detector suspect live nodes.
#[test]
fn a_detector_with_a_bound_that_is_too_short_makes_mistakes() {
    let conditions = Conditions { latency: Latency::Uniform { min: ms(1), max: ms(5) }, ..short_run(3, 7) };
    let period = conditions.heartbeat_period();
    let mistakes = |bound| measure(&conditions, Detector::FixedBound { period, bound }).unwrap().mistakes;
    assert!(mistakes(ms(1)) > 100);
    assert_eq!(mistakes(ms(5)), 0);
}

#[test]
fn crashed_nodes_are_suspected_despite_message_loss() {
    for seed in 0..20 {
        let conditions = Conditions {
            loss: "20%".parse().unwrap(),
            latency: Latency::LongTail { median: ms(2) },
            ..short_run(4, seed)
        };
        let period = conditions.heartbeat_period();
        for detector in
            [Detector::FixedBound { period, bound: period.times(2) }, Detector::accrual(period, Threshold::DEFAULT)]
        {
            let quality = measure(&conditions, detector).unwrap();
            // Each of 4 crashes is detected by the 3 other nodes.
            assert_eq!((quality.missed, quality.detections), (0, 4 * 3), "seed {seed}, {detector:?}");
        }
    }
}

#[test]
fn a_longer_timeout_detects_later_and_makes_fewer_mistakes() {
    let conditions =
        Conditions { loss: "5%".parse().unwrap(), run_length: Duration::from_secs(300), ..short_run(4, 3) };
    let period = conditions.heartbeat_period();
    let fixed = default_timeouts(period)
        .into_iter()
        .map(|timeout| Detector::FixedBound { period, bound: Duration::from_nanos(timeout.nanos() - period.nanos()) });
    let accrual = default_thresholds().into_iter().map(|threshold| Detector::accrual(period, threshold));
    for detectors in [fixed.collect::<Vec<_>>(), accrual.collect()] {
        let qualities: Vec<_> = detectors.iter().map(|detector| measure(&conditions, *detector).unwrap()).collect();
        let (first, last) = (&qualities[0], &qualities[qualities.len() - 1]);
        assert!(first.detection_mean() < last.detection_mean(), "{first:?}, {last:?}");
        assert!(first.mistakes > 20 * (last.mistakes + 1), "{first:?}, {last:?}");
        // Random fluctuation may add a few mistakes from one detector to the next.
        let is_decreasing = qualities.windows(2).all(|pair| pair[0].mistakes + 5 >= pair[1].mistakes);
        assert!(is_decreasing, "{:?}", qualities.iter().map(|quality| quality.mistakes).collect::<Vec<_>>());
    }
}

#[test]
fn a_measurement_depends_only_on_conditions_and_seed() {
    let conditions = Conditions { loss: "10%".parse().unwrap(), ..short_run(3, 5) };
    let detector = Detector::accrual(conditions.heartbeat_period(), Threshold::DEFAULT);
    assert_eq!(measure(&conditions, detector), measure(&conditions, detector));
    let with_other_seed = Conditions { seed: 6, ..conditions.clone() };
    assert_ne!(measure(&conditions, detector), measure(&with_other_seed, detector));
}

#[test]
fn a_suspicion_of_a_paused_node_is_a_mistake() {
    let faults = vec!["pause 2 at 30s for 5s".parse().unwrap()];
    let conditions = Conditions { crashes: 0, faults, ..short_run(3, 1) };
    let detector = Detector::perfect(conditions.heartbeat_period(), &bounds(&conditions), 3);
    let quality = measure(&conditions, detector).unwrap();
    // Each of the two other nodes suspects node 2 from one timeout after the pause begins until the
    // first heartbeat after it ends: for about 5 seconds.
    assert_eq!((quality.mistakes, quality.detections, quality.missed), (2, 0, 0));
    let mistake_time = quality.mistake_mean().unwrap();
    assert!(mistake_time > ms(4_800) && mistake_time < ms(5_100), "{mistake_time}");
}

#[test]
fn invalid_conditions_are_refused_with_a_message() {
    let message = |conditions: Conditions| {
        measure(&conditions, Detector::accrual(ms(50), Threshold::DEFAULT)).unwrap_err().to_string()
    };
    assert_eq!(message(Conditions::new(1)), "--nodes must be at least 2; got 1.");
    assert!(message(Conditions::new(1_001)).contains("at most 1000"));
    // The message suggests a valid value.
    assert!(
        message(Conditions { heartbeat: Some(Length(Duration::ZERO)), ..Conditions::new(3) })
            .contains("--heartbeat 50ms")
    );
    assert!(message(Conditions { run_length: ms(10), ..Conditions::new(3) }).contains("with --crashes 20"));
    let faults = vec!["crash 9 at 1s".parse().unwrap()];
    assert!(matches!(
        measure(&Conditions { faults, ..Conditions::new(3) }, Detector::accrual(ms(50), Threshold::DEFAULT)),
        Err(DetectorError::Setting(_))
    ));
}

/// Passes the moments of a hand-written run to the observer: each with its time in milliseconds,
/// the node, and for opinions the peer.
struct ScriptedRun(QualityObserver);

impl ScriptedRun {
    fn new(nodes: u32) -> Self {
        (1..=nodes).fold(Self(QualityObserver::new(nodes as usize)), |run, node| run.starts(0, node))
    }

    fn starts(mut self, millis: i64, node: u32) -> Self {
        let input = ObservedInput::Start { incarnation: Incarnation(1), is_disk_blank: false };
        self.0.observe(&Moment::Input { time: at(millis), now: at(millis), node: id(node), input });
        self
    }

    fn crashes(mut self, millis: i64, node: u32) -> Self {
        let event = WorldEvent::Crashed { node: id(node), lost_writes: 0 };
        self.0.observe(&Moment::World { time: at(millis), event });
        self
    }

    fn emits(mut self, millis: i64, node: u32, event: DetectorEvent) -> Self {
        self.0.observe(&Moment::Effect { time: at(millis), node: id(node), effect: ObservedEffect::Emit(&event) });
        self
    }

    fn suspects(self, millis: i64, node: u32, peer: u32) -> Self {
        self.emits(millis, node, DetectorEvent::Suspect(id(peer)))
    }

    fn trusts(self, millis: i64, node: u32, peer: u32) -> Self {
        self.emits(millis, node, DetectorEvent::Trust(id(peer)))
    }

    fn ends(self, millis: i64) -> Measures {
        let quality = self.0.into_quality(at(millis));
        let Quality { detections, missed, mistakes, .. } = quality;
        let (detection_mean, mistake_mean) = (quality.detection_mean(), quality.mistake_mean());
        Measures { detections, detection_mean, missed, mistakes, mistake_mean }
    }
}

/// The measures of a run that the tests of the observer compare.
#[derive(Debug, Default, PartialEq)]
struct Measures {
    detections: u64,
    detection_mean: Option<Duration>,
    missed: u64,
    mistakes: u64,
    mistake_mean: Option<Duration>,
}

fn at(millis: i64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

fn id(number: u32) -> NodeId {
    NodeId::new(number).unwrap()
}

#[test]
fn a_crash_is_detected_at_the_start_of_the_final_suspicion() {
    let run =
        ScriptedRun::new(3).crashes(10, 3).suspects(25, 1, 3).trusts(27, 1, 3).suspects(50, 1, 3).suspects(30, 2, 3);
    assert_eq!(run.ends(100), Measures { detections: 2, detection_mean: Some(ms(30)), ..Measures::default() });
}

#[test]
fn a_crash_suspected_only_after_the_restart_is_missed() {
    // A detector that learns of an unnoticed restart suspects the node and trusts it again at once.
    let run = ScriptedRun::new(2).crashes(10, 2).starts(20, 2).suspects(22, 1, 2).trusts(22, 1, 2);
    assert_eq!(run.ends(100), Measures { missed: 1, ..Measures::default() });
}

#[test]
fn a_continued_suspicion_of_a_restarted_node_is_no_mistake() {
    let run = ScriptedRun::new(2).crashes(10, 2).suspects(15, 1, 2).starts(20, 2).trusts(24, 1, 2);
    assert_eq!(run.ends(100), Measures { detections: 1, detection_mean: Some(ms(5)), ..Measures::default() });
}

#[test]
fn a_mistake_lasts_until_it_is_corrected_or_becomes_true() {
    let mistake = |millis| Measures { mistakes: 1, mistake_mean: Some(ms(millis)), ..Measures::default() };
    let corrected = ScriptedRun::new(2).suspects(10, 1, 2).trusts(14, 1, 2);
    assert_eq!(corrected.ends(100), mistake(4));
    let became_true = ScriptedRun::new(2).suspects(10, 1, 2).crashes(16, 2).starts(50, 2).trusts(52, 1, 2);
    assert_eq!(became_true.ends(100), Measures { detections: 1, detection_mean: Some(ms(0)), ..mistake(6) });
    let suspecting_node_crashed = ScriptedRun::new(2).suspects(10, 1, 2).crashes(13, 1);
    assert_eq!(suspecting_node_crashed.ends(100), Measures { missed: 1, ..mistake(3) });
    let never_corrected = ScriptedRun::new(2).suspects(10, 1, 2);
    assert_eq!(never_corrected.ends(100), mistake(90));
}

#[test]
fn a_node_that_starts_after_a_crash_need_not_detect_it() {
    let run = ScriptedRun::new(3)
        .crashes(5, 1)
        .suspects(9, 2, 1)
        .crashes(10, 3)
        .starts(20, 1)
        .suspects(25, 2, 3)
        .suspects(40, 1, 3);
    let Measures { detections, missed, mistakes, .. } = run.ends(100);
    // Node 2 detected the crash of node 3, and the crash of node 1 before its restart.
    assert_eq!((detections, missed, mistakes), (2, 0, 0));
}

#[test]
fn rates_are_relative_to_the_uptime_of_nodes() {
    let quality = ScriptedRun::new(2).suspects(0, 1, 2).trusts(900, 1, 2).crashes(1_800, 2).0.into_quality(at(3_600));
    // Node 1 was up for 3.6 seconds and node 2 for 1.8.
    assert_eq!(quality.mistakes_per_node_hour(), Some(1.0 / (5.4 / 3_600.0)));
    // Only time in which both are up counts. Each node observed the other for 1.8 such seconds, 3.6
    // in total, and during 0.9 of them node 1 was wrong.
    assert_eq!(quality.accuracy(), Some(0.75));
}
