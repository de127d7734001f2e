//! What is compared where elections are.

use super::{CompareArgs, once};
use crate::args::no_effect;
use crate::picture::FigurePlan;
use clap::ValueEnum;
use quorate_core::election::{Shape, Splits};
use quorate_lab::election::ElectionEntry;
use quorate_lab::election::survey::{Start, Survey};
use quorate_lab::registry::all;
use quorate_lab::{Algorithm, Election, FamilyTypes};

/// Who starts.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StartArg {
    One,
    Lowest,
    Highest,
    All,
}

impl From<StartArg> for Start {
    fn from(start: StartArg) -> Self {
        match start {
            StartArg::One => Self::One,
            StartArg::Lowest => Self::Lowest,
            StartArg::Highest => Self::Highest,
            StartArg::All => Self::All,
        }
    }
}

/// A comparison of elections that makes sense.
pub(crate) struct ElectionPlan {
    pub(crate) surveys: Vec<Survey>,
    pub(crate) sizes: Vec<usize>,
    pub(crate) starts: Vec<Start>,
    pub(crate) samples: u64,
    pub(crate) seed: u64,
    pub(crate) picture: Option<FigurePlan>,
}

/// How large groups are unless users say otherwise: those that are gone through order by order, and some that are sampled.
const USUAL_SIZES: [usize; 5] = [4, 8, 16, 32, 64];
const USUAL_STARTS: [Start; 2] = [Start::One, Start::All];
/// A dead leader's bullies are best and worst at the ends.
const BULLY_STARTS: [Start; 2] = [Start::Highest, Start::Lowest];
const USUAL_SAMPLES: u64 = 200;

impl CompareArgs {
    /// What these arguments ask for, where elections are compared.
    pub(crate) fn election_plan(&self) -> anyhow::Result<ElectionPlan> {
        let foreign = [
            ("failures", self.failures),
            ("real", self.real),
            ("forms", self.forms),
            ("entries", self.entries.is_some()),
            ("workload", !self.workload.is_empty()),
        ];
        if let Some((option, _)) = foreign.into_iter().find(|(_, is_given)| *is_given) {
            anyhow::bail!("--{option} means nothing where elections are compared; it is for 'quorate compare mutex'.");
        }
        if let Some(option) = self.multicast_option() {
            anyhow::bail!(
                "--{option} means nothing where elections are compared; it is for 'quorate compare multicast'."
            );
        }
        let sizes = self.nodes.as_ref().map_or(USUAL_SIZES.to_vec(), |sizes| sizes.0.clone());
        let samples = self.samples.unwrap_or(USUAL_SAMPLES);
        anyhow::ensure!(samples > 1, "A sample of one run says nothing of the others: use --samples 200.");
        let contenders = contenders(&self.algorithms)?;
        let given: Vec<Start> = self.starters.iter().copied().map(Start::from).collect();
        let mut surveys = Vec::new();
        for entry in contenders {
            let usual = if entry.facts.shape == Shape::Bully { BULLY_STARTS } else { USUAL_STARTS };
            let starts = if given.is_empty() { usual.to_vec() } else { given.clone() };
            for nodes in sizes.iter().copied() {
                let survey = |start| Survey { entry, nodes, start, samples, seed: self.seed };
                surveys.extend(starts.iter().copied().map(survey));
            }
        }
        if self.samples.is_some() && surveys.iter().all(Survey::is_exhaustive) {
            return Err(no_effect(
                "samples",
                "where all orders are tried: in rings of up to 8 nodes, and outside of rings",
            ));
        }
        let starts =
            Start::ALL.into_iter().filter(|start| surveys.iter().any(|survey| survey.start == *start)).collect();
        Ok(ElectionPlan { surveys, sizes, starts, samples, seed: self.seed, picture: self.picture()? })
    }
}

/// The elections of these names, or all that are meant to be right and elect one leader.
fn contenders(names: &[String]) -> anyhow::Result<Vec<&'static ElectionEntry>> {
    once("--algorithms", names)?;
    if names.is_empty() {
        return Ok(all()
            .iter()
            .filter_map(Election::entry)
            .filter(|entry| entry.facts.splits != Splits::ByDesign)
            .collect());
    }
    let named = |name: &String| Algorithm::<Election>::named(name).map(Algorithm::entry);
    Ok(names.iter().map(named).collect::<Result<_, _>>()?)
}
