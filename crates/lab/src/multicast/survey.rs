//! The cost of one multicast without other traffic, compared with the expected cost.
//!
//! All messages take the same time: one message time. One member multicasts a few times, each time
//! when all members have delivered its previous multicast. If there is a sequencer, another run
//! measures the sequencer's own multicasts.

use super::{Cost, Multicast, MulticastMedium, Settings, plan, sequencer};
use crate::error::LabError;
use crate::experiment;
use crate::multicast::MulticastEntry;
use crate::multicast::run::Traffic;
use crate::spec::Spec;
use quorate_core::multicast::{Delivery, GroupId, Sequencing};
use quorate_core::{Duration, NodeId};
use quorate_journal::settings::Latency;
use quorate_journal::workload::Ending;

/// Number of multicasts per run. The expected cost of each is the same.
const MULTICASTS: u64 = 3;

/// The runs that measure the cost of a multicast in a group with this setup.
#[derive(Clone, Copy)]
pub struct Survey {
    pub entry: &'static MulticastEntry,
    pub nodes: usize,
    /// How messages are sequenced, for algorithms with a sequencer.
    pub sequencing: Sequencing,
    /// Whether receivers relay every message to all other members. Some algorithms always do.
    pub is_relayed: bool,
    /// When a message may be delivered.
    pub delivery: Delivery,
    pub medium: MulticastMedium,
    pub seed: u64,
}

/// The result of a survey.
#[derive(Clone, Debug)]
pub struct SurveyResult {
    pub expected_cost: Cost,
    /// The cost of multicasts of a member that is not the sequencer.
    pub other_sender: MeasuredCost,
    /// The cost of the sequencer's own multicasts, if there is a sequencer.
    pub sequencer: Option<MeasuredCost>,
}

/// The measured cost of one sender's multicasts.
#[derive(Clone, Debug)]
pub struct MeasuredCost {
    /// Mean number of messages per multicast, without control messages such as acknowledgements;
    /// `None` if nothing was sent.
    pub messages: Option<f64>,
    /// The maximum number of message times until the last member had delivered.
    pub slowest_delivery: Option<f64>,
    /// Whether all properties held, and the run was complete.
    pub holds: bool,
    /// The command that repeats the run.
    pub command: String,
}

impl Survey {
    /// The default survey of an algorithm in a group of this size.
    pub fn with_defaults(entry: &'static MulticastEntry, nodes: usize) -> Self {
        let Settings { sequencing, relay, delivery, medium, .. } = Settings::default();
        Self { entry, nodes, sequencing, is_relayed: relay, delivery, medium, seed: 1 }
    }

    pub fn run(&self) -> Result<SurveyResult, LabError> {
        // A sequencer is the first node, so that the last one is another sender.
        let last_node = NodeId::from_index(self.nodes.saturating_sub(1));
        let spec = self.run_spec(last_node);
        spec.validate()?;
        let plan = plan(&spec, self.entry, GroupId::ONLY, spec.group());
        let expected_cost = Cost::in_group(self.entry.facts, &plan, self.medium);
        let sequencer_node = sequencer(&spec).filter(|_| self.entry.facts.has_sequencer);
        let sequencer = sequencer_node.map(|node| measure(&self.run_spec(node))).transpose()?;
        Ok(SurveyResult { expected_cost, other_sender: measure(&spec)?, sequencer })
    }

    /// The experiment in which this node multicasts.
    fn run_spec(&self, sender: NodeId) -> Spec<Multicast> {
        let settings = Settings {
            messages: MULTICASTS,
            traffic: Traffic::Single,
            senders: vec![sender],
            sequencing: self.sequencing,
            relay: self.is_relayed,
            delivery: self.delivery,
            medium: self.medium,
            ..Settings::default()
        };
        let latency = Latency::Fixed(Duration::from_millis(1));
        Spec { nodes: self.nodes, seed: self.seed, latency, settings, ..Spec::new(self.entry) }
    }
}

fn measure(spec: &Spec<Multicast>) -> Result<MeasuredCost, LabError> {
    let outcome = experiment::run(spec)?;
    let summary = &outcome.summary;
    Ok(MeasuredCost {
        messages: summary.messages_per_multicast,
        slowest_delivery: summary.delay.map(|delay| delay.max),
        holds: outcome.holds() && outcome.ending == Ending::Done && summary.sent == spec.settings.messages,
        command: spec.command("sim"),
    })
}

impl SurveyResult {
    /// Whether all figures are exactly as expected.
    pub fn is_as_expected(&self) -> bool {
        let equals = |measured: Option<f64>, expected: u64| measured == Some(expected as f64);
        let expected = self.expected_cost.expected;
        let is_sequencer_as_expected = |sequencer: &MeasuredCost| {
            equals(sequencer.messages, expected.messages_of_sequencer)
                && equals(sequencer.slowest_delivery, expected.message_times_of_sequencer)
        };
        equals(self.other_sender.messages, expected.messages)
            && equals(self.other_sender.slowest_delivery, expected.message_times)
            && self.sequencer.as_ref().is_none_or(is_sequencer_as_expected)
    }

    pub fn holds(&self) -> bool {
        self.measured_costs().all(|measured| measured.holds)
    }

    pub fn measured_costs(&self) -> impl Iterator<Item = &MeasuredCost> {
        std::iter::once(&self.other_sender).chain(&self.sequencer)
    }
}

#[cfg(test)]
mod tests {
    use super::{Survey, SurveyResult};
    use crate::FamilyTypes;
    use crate::multicast::{Multicast, MulticastMedium};
    use crate::registry::all;
    use quorate_core::multicast::{Delivery, Sequencing};

    /// Every algorithm with each way of sequencing, relayed or not, prompt and uniform.
    fn surveys(nodes: usize) -> Vec<Survey> {
        let mut surveys = Vec::new();
        for entry in all().iter().filter_map(Multicast::entry) {
            let methods: &[_] = if entry.facts.has_sequencer {
                &[Sequencing::ToAll, Sequencing::ThroughSequencer]
            } else {
                &[Sequencing::ToAll]
            };
            for sequencing in methods.iter().copied() {
                for is_relayed in [false, true] {
                    for delivery in [Delivery::Prompt, Delivery::Uniform] {
                        surveys.push(Survey {
                            sequencing,
                            is_relayed,
                            delivery,
                            ..Survey::with_defaults(entry, nodes)
                        });
                    }
                }
            }
        }
        surveys
    }

    fn assert_expected(survey: &Survey) -> SurveyResult {
        let result = survey.run().unwrap();
        let commands = || result.measured_costs().map(|measured| measured.command.clone()).collect::<Vec<_>>();
        assert!(result.holds(), "{result:?}: {:?}", commands());
        assert!(result.is_as_expected(), "{result:?}: {:?}", commands());
        result
    }

    /// Checks message counts and slowest deliveries in a group of each of these sizes; relays and
    /// uniform delivery only at some of the sizes.
    fn assert_expected_figures(sizes: impl Iterator<Item = usize>) {
        for nodes in sizes {
            let tries_all_variants = nodes <= 9 || nodes % 16 == 0;
            let is_plain = |survey: &&Survey| !survey.is_relayed && survey.delivery == Delivery::Prompt;
            for survey in surveys(nodes).iter().filter(|survey| tries_all_variants || is_plain(survey)) {
                assert_expected(survey);
            }
        }
    }

    #[test]
    fn every_figure_is_as_expected() {
        assert_expected_figures((2..=9).chain([16]));
    }

    /// Some of the sizes up to 64: `quorate compare multicast --nodes 2-64` checks all of them.
    #[test]
    #[ignore = "long: ./check long"]
    fn every_figure_is_as_expected_in_large_groups() {
        assert_expected_figures((2..=20).chain([32, 48, 64]));
    }

    #[test]
    fn every_figure_is_as_expected_on_multicast_and_broadcast_media() {
        for nodes in [2, 3, 4, 7, 16] {
            for medium in [MulticastMedium::Multicast, MulticastMedium::Broadcast] {
                for survey in surveys(nodes) {
                    assert_expected(&Survey { medium, ..survey });
                }
            }
        }
    }

    #[test]
    fn formulas_agree_with_the_measured_figures() {
        let cost = |name: &str, sequencing, is_relayed| {
            let entry =
                all().iter().filter_map(Multicast::entry).find(|entry| entry.facts.profile.name == name).unwrap();
            let result = assert_expected(&Survey { sequencing, is_relayed, ..Survey::with_defaults(entry, 5) });
            (
                result.expected_cost.formula,
                result.expected_cost.expected.messages,
                result.expected_cost.expected.message_times,
            )
        };
        let (to_all, via) = (Sequencing::ToAll, Sequencing::ThroughSequencer);
        let (unrelayed, relayed) = (false, true);
        // Formula, messages with five members, and message times until the last member delivers.
        assert_eq!(cost("basic", to_all, unrelayed), ("n−1", 4, 1));
        assert_eq!(cost("reliable", to_all, unrelayed), ("n(n−1)", 20, 1));
        assert_eq!(cost("causal", to_all, unrelayed), ("n−1", 4, 1));
        assert_eq!(cost("sequencer", to_all, unrelayed), ("2(n−1)", 8, 2));
        assert_eq!(cost("sequencer", via, unrelayed), ("n", 5, 2));
        assert_eq!(cost("sequencer", to_all, relayed), ("(n+1)(n−1)", 24, 2));
        assert_eq!(cost("sequencer", via, relayed), ("(n−1)²+1", 17, 2));
        assert_eq!(cost("isis", to_all, unrelayed), ("3(n−1)", 12, 3));
        assert_eq!(cost("isis", to_all, relayed), ("(n+2)(n−1)", 28, 3));
    }

    #[test]
    fn unexpected_figures_are_noticed() {
        let entry = all().iter().find_map(Multicast::entry).unwrap();
        let mut result = assert_expected(&Survey::with_defaults(entry, 4));
        result.other_sender.messages = result.other_sender.messages.map(|messages| messages + 0.5);
        assert!(!result.is_as_expected());
        let mut result = assert_expected(&Survey::with_defaults(entry, 4));
        result.other_sender.slowest_delivery = None;
        assert!(!result.is_as_expected());
    }
}
