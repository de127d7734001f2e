//! The cost of one multicast without other traffic, compared with the expected cost.
//!
//! Every message takes one message time. One member sends a few messages, each when all members
//! have delivered the previous one. If there is a sequencer, it sends as well and is counted
//! separately.

use super::{Carrier, Cost, Multicast, Settings, plan, sequencer};
use crate::error::LabError;
use crate::experiment;
use crate::multicast::MulticastEntry;
use crate::multicast::run::Pattern;
use crate::spec::Spec;
use quorate_core::multicast::{Delivery, GroupId, Sequencing};
use quorate_core::{Duration, NodeId};
use quorate_journal::settings::Latency;
use quorate_journal::workload::Ending;

/// Number of messages per run: enough to show the cost of each.
const MESSAGES: u64 = 3;

/// One question: the cost of a multicast in a group with this setup.
#[derive(Clone, Copy)]
pub struct Survey {
    pub entry: &'static MulticastEntry,
    pub nodes: usize,
    /// How messages are sequenced, for algorithms with a sequencer.
    pub sequencing: Sequencing,
    pub relay: bool,
    /// When a message may be delivered.
    pub delivery: Delivery,
    pub medium: Carrier,
    pub seed: u64,
}

/// The result of a survey.
#[derive(Clone, Debug)]
pub struct SurveyResult {
    pub cost: Cost,
    /// The cost of multicasts of a member that is not the sequencer.
    pub others: Measured,
    /// The cost of the sequencer's own multicasts, if there is a sequencer.
    pub sequencer: Option<Measured>,
}

/// The measured cost of one sender's multicasts.
#[derive(Clone, Debug)]
pub struct Measured {
    pub messages: Option<f64>,
    /// Message times until the last member delivered, at most.
    pub slowest: Option<f64>,
    /// Whether all promises held, and the run was complete.
    pub holds: bool,
    /// The command that repeats the run.
    pub command: String,
}

impl Survey {
    /// The default survey of an algorithm in a group of this size.
    pub fn of(entry: &'static MulticastEntry, nodes: usize) -> Self {
        let Settings { sequencing, relay, delivery, medium, .. } = Settings::default();
        Self { entry, nodes, sequencing, relay, delivery, medium, seed: 1 }
    }

    pub fn run(&self) -> Result<SurveyResult, LabError> {
        let last_node = NodeId::from_index(self.nodes.saturating_sub(1));
        let spec = self.spec(last_node);
        spec.validate()?;
        let plan = plan(&spec, self.entry, GroupId::ONLY, spec.group());
        let cost = Cost::in_group(self.entry.facts, &plan, self.medium);
        let sequencer_node = sequencer(&spec).filter(|_| self.entry.facts.sequences);
        let sequencer = sequencer_node.map(|node| measure(&self.spec(node))).transpose()?;
        Ok(SurveyResult { cost, others: measure(&spec)?, sequencer })
    }

    /// The run in which this node sends.
    fn spec(&self, sender: NodeId) -> Spec<Multicast> {
        let settings = Settings {
            messages: MESSAGES,
            traffic: Pattern::Single,
            senders: vec![sender],
            sequencing: self.sequencing,
            relay: self.relay,
            delivery: self.delivery,
            medium: self.medium,
            ..Settings::default()
        };
        let latency = Latency::Fixed(Duration::from_millis(1));
        Spec { nodes: self.nodes, seed: self.seed, latency, settings, ..Spec::new(self.entry) }
    }
}

fn measure(spec: &Spec<Multicast>) -> Result<Measured, LabError> {
    let outcome = experiment::run(spec)?;
    let summary = &outcome.summary;
    Ok(Measured {
        messages: summary.messages_per_multicast,
        slowest: summary.delay.map(|delay| delay.max),
        holds: outcome.holds() && outcome.ending == Ending::Done && summary.sent == spec.settings.messages,
        command: spec.command("sim"),
    })
}

impl SurveyResult {
    /// Whether all figures are exactly as expected.
    pub fn is_exact(&self) -> bool {
        let equals = |measured: Option<f64>, expected: u64| measured == Some(expected as f64);
        let expected = self.cost.expected;
        let is_sequencer_exact = |sequencer: &Measured| {
            equals(sequencer.messages, expected.messages_of_sequencer)
                && equals(sequencer.slowest, expected.slowest_of_sequencer)
        };
        equals(self.others.messages, expected.messages)
            && equals(self.others.slowest, expected.slowest)
            && self.sequencer.as_ref().is_none_or(is_sequencer_exact)
    }

    pub fn holds(&self) -> bool {
        self.measured().all(|measured| measured.holds)
    }

    pub fn measured(&self) -> impl Iterator<Item = &Measured> {
        std::iter::once(&self.others).chain(&self.sequencer)
    }
}

#[cfg(test)]
mod tests {
    use super::{Survey, SurveyResult};
    use crate::FamilyTypes;
    use crate::multicast::{Carrier, Multicast};
    use crate::registry::all;
    use quorate_core::multicast::{Delivery, Sequencing};

    /// Every algorithm with each way of sequencing, relayed or not, prompt and uniform.
    fn surveys(nodes: usize) -> Vec<Survey> {
        let mut surveys = Vec::new();
        for entry in all().iter().filter_map(Multicast::entry) {
            let methods: &[_] = if entry.facts.sequences {
                &[Sequencing::ToAll, Sequencing::ThroughSequencer]
            } else {
                &[Sequencing::ToAll]
            };
            for sequencing in methods.iter().copied() {
                for relay in [false, true] {
                    for delivery in [Delivery::Prompt, Delivery::Uniform] {
                        surveys.push(Survey { sequencing, relay, delivery, ..Survey::of(entry, nodes) });
                    }
                }
            }
        }
        surveys
    }

    fn assert_expected(survey: &Survey) -> SurveyResult {
        let result = survey.run().unwrap();
        let commands = || result.measured().map(|measured| measured.command.clone()).collect::<Vec<_>>();
        assert!(result.holds(), "{result:?}: {:?}", commands());
        assert!(result.is_exact(), "{result:?}: {:?}", commands());
        result
    }

    /// The message counts and slowest deliveries of every group of these sizes; relays and uniform
    /// delivery in some of them.
    fn assert_expected_figures(sizes: impl Iterator<Item = usize>) {
        for nodes in sizes {
            let tries_all_variants = nodes <= 9 || nodes % 16 == 0;
            let is_plain = |survey: &&Survey| !survey.relay && survey.delivery == Delivery::Prompt;
            for survey in surveys(nodes).iter().filter(|survey| tries_all_variants || is_plain(survey)) {
                assert_expected(survey);
            }
        }
    }

    #[test]
    fn every_figure_is_as_expected() {
        assert_expected_figures((2..=9).chain([16]));
    }

    /// Every size: `quorate compare multicast --nodes 2-64`.
    #[test]
    #[ignore = "long: ./check long"]
    fn every_figure_is_as_expected_in_large_groups() {
        assert_expected_figures((2..=20).chain([32, 48, 64]));
    }

    #[test]
    fn every_figure_is_as_expected_on_broadcast_media() {
        for nodes in [2, 3, 4, 7, 16] {
            for medium in [Carrier::Multicast, Carrier::Broadcast] {
                for survey in surveys(nodes) {
                    assert_expected(&Survey { medium, ..survey });
                }
            }
        }
    }

    /// Each formula agrees with its figures.
    #[test]
    fn formulas_are_those_of_the_textbook() {
        let cost = |name: &str, sequencing, relay| {
            let entry =
                all().iter().filter_map(Multicast::entry).find(|entry| entry.facts.profile.name == name).unwrap();
            let result = assert_expected(&Survey { sequencing, relay, ..Survey::of(entry, 5) });
            (result.cost.formula, result.cost.expected.messages, result.cost.expected.slowest)
        };
        let (to_all, via) = (Sequencing::ToAll, Sequencing::ThroughSequencer);
        assert_eq!(cost("basic", to_all, false), ("n−1", 4, 1));
        assert_eq!(cost("reliable", to_all, false), ("n(n−1)", 20, 1));
        assert_eq!(cost("causal", to_all, false), ("n−1", 4, 1));
        assert_eq!(cost("sequencer", to_all, false), ("2(n−1)", 8, 2));
        assert_eq!(cost("sequencer", via, false), ("n", 5, 2));
        assert_eq!(cost("sequencer", to_all, true), ("(n+1)(n−1)", 24, 2));
        assert_eq!(cost("sequencer", via, true), ("(n−1)²+1", 17, 2));
        assert_eq!(cost("isis", to_all, false), ("3(n−1)", 12, 3));
        assert_eq!(cost("isis", to_all, true), ("(n+2)(n−1)", 28, 3));
    }

    #[test]
    fn unexpected_figures_are_not_exact() {
        let entry = all().iter().find_map(Multicast::entry).unwrap();
        let mut result = assert_expected(&Survey::of(entry, 4));
        result.others.messages = result.others.messages.map(|messages| messages + 0.5);
        assert!(!result.is_exact());
        let mut result = assert_expected(&Survey::of(entry, 4));
        result.others.slowest = None;
        assert!(!result.is_exact());
    }
}
