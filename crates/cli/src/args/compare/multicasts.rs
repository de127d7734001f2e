//! What is compared where multicasts are.

use super::{CompareArgs, once};
use crate::picture::FigurePlan;
use quorate_core::multicast::{Delivery, Sequencing};
use quorate_lab::multicast::Carrier;
use quorate_lab::multicast::MulticastEntry;
use quorate_lab::multicast::survey::Survey;
use quorate_lab::registry::all;
use quorate_lab::{Algorithm, FamilyTypes, Multicast};

/// A comparison of multicasts that makes sense.
pub(crate) struct MulticastPlan {
    pub(crate) surveys: Vec<Survey>,
    pub(crate) sizes: Vec<usize>,
    pub(crate) seed: u64,
    pub(crate) medium: Carrier,
    pub(crate) picture: Option<FigurePlan>,
}

/// How large groups are unless users say otherwise.
const USUAL_SIZES: [usize; 6] = [2, 4, 8, 16, 32, 64];

impl CompareArgs {
    /// What these arguments ask for, where multicasts are compared.
    pub(crate) fn multicast_plan(&self) -> anyhow::Result<MulticastPlan> {
        let foreign = [
            ("failures", self.failures, "mutex"),
            ("real", self.real, "mutex"),
            ("forms", self.forms, "mutex"),
            ("entries", self.entries.is_some(), "mutex"),
            ("workload", !self.workload.is_empty(), "mutex"),
            ("starters", !self.starters.is_empty(), "election"),
            ("samples", self.samples.is_some(), "election"),
        ];
        if let Some((option, _, family)) = foreign.into_iter().find(|(_, is_given, _)| *is_given) {
            anyhow::bail!(
                "--{option} means nothing where multicasts are compared; it is for 'quorate compare {family}'."
            );
        }
        let sizes = self.nodes.as_ref().map_or(USUAL_SIZES.to_vec(), |sizes| sizes.0.clone());
        let medium = self.medium.map_or(Carrier::Unicast, Carrier::from);
        let delivery = if self.uniform { Delivery::Uniform } else { Delivery::Prompt };
        let mut surveys = Vec::new();
        for entry in contenders(&self.algorithms)? {
            let ways: &[Sequencing] =
                if entry.facts.sequences { &[Sequencing::ToAll, Sequencing::Via] } else { &[Sequencing::ToAll] };
            for sequencing in ways.iter().copied() {
                let survey = |nodes| Survey {
                    sequencing,
                    relay: self.relay,
                    delivery,
                    medium,
                    seed: self.seed,
                    ..Survey::of(entry, nodes)
                };
                surveys.extend(sizes.iter().copied().map(survey));
            }
        }
        Ok(MulticastPlan { surveys, sizes, seed: self.seed, medium, picture: self.picture()? })
    }

    /// The first of those options that only multicasts understand.
    pub(super) fn multicast_option(&self) -> Option<&'static str> {
        let given = [("medium", self.medium.is_some()), ("uniform", self.uniform), ("relay", self.relay)];
        given.into_iter().find_map(|(option, is_given)| is_given.then_some(option))
    }
}

/// The multicasts of these names, or all that are meant to be right.
fn contenders(names: &[String]) -> anyhow::Result<Vec<&'static MulticastEntry>> {
    once("--algorithms", names)?;
    if names.is_empty() {
        return Ok(all().iter().filter_map(Multicast::entry).collect());
    }
    let named = |name: &String| Algorithm::<Multicast>::named(name).map(Algorithm::entry);
    Ok(names.iter().map(named).collect::<Result<_, _>>()?)
}
