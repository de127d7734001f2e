//! The command-line options of comparisons, for all families.

use super::sizes::{Sizes, parse_sizes};
use super::{CompareError, CompareRequest, CompareTask, ComparedFamily};
use crate::options::{Options, parse_whole};
use crate::registry::{Family, find};
use crate::{Election, Multicast, Mutex};
use clap::Args;
use quorate_journal::settings::nearest;

/// The requested comparison. Help shows the options of all families in one list, in the order of
/// their `display_order`.
#[derive(Args)]
pub struct CompareOptions {
    /// Family whose algorithms to compare: mutex, election or multicast.
    family: String,
    /// Algorithms to compare, such as central,ricart-agrawala [default for mutex: one variant of
    /// each (all with --forms); for election: all but those with several leaders by design; for
    /// multicast: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', display_order = 1)]
    algorithms: Vec<String>,
    /// Number of nodes in each group, such as 4,9,16 or 2-16 [default for mutex: 4,9,16,25,49 (4,9
    /// with --real; 5 with --failures); for election: 4,8,16,32,64; for multicast: 2,4,8,16,32,64]
    #[arg(long, value_name = "SIZES", value_parser = parse_sizes, display_order = 3)]
    nodes: Option<Sizes>,
    /// Random seed of all choices that do not depend on the machine.
    #[arg(long, default_value_t = 1, value_parser = parse_whole::<u64>, display_order = 11)]
    seed: u64,
    #[command(flatten)]
    mutex: <Mutex as ComparedFamily>::CompareArgs,
    #[command(flatten)]
    election: <Election as ComparedFamily>::CompareArgs,
    #[command(flatten)]
    multicast: <Multicast as ComparedFamily>::CompareArgs,
}

impl CompareOptions {
    /// Passes the requested comparison to the task.
    pub fn compare<T: CompareTask>(&self, task: T) -> Result<T::Output, CompareError> {
        match self.family.as_str() {
            name if name == Family::Mutex.name() => self.compare_family::<Mutex, T>(&self.mutex, task),
            name if name == Family::Election.name() => self.compare_family::<Election, T>(&self.election, task),
            name if name == Family::Multicast.name() => self.compare_family::<Multicast, T>(&self.multicast, task),
            other => CompareError::invalid_option(no_comparison_error(other)),
        }
    }

    fn compare_family<F: ComparedFamily, T: CompareTask>(
        &self,
        family_args: &F::CompareArgs,
        task: T,
    ) -> Result<T::Output, CompareError> {
        let options_by_family: [(Family, &dyn Options); 3] =
            [(Family::Mutex, &self.mutex), (Family::Multicast, &self.multicast), (Family::Election, &self.election)];
        let mut others = options_by_family.into_iter().filter(|(family, _)| *family != F::FAMILY);
        if let Some((family, option)) = others.find_map(|(family, options)| Some((family, options.first_given()?))) {
            let not_applicable = F::NOT_APPLICABLE;
            return CompareError::invalid_option(format!(
                "--{option} does not apply {not_applicable}; it is an option of 'quorate compare {family}'."
            ));
        }
        reject_duplicates("--algorithms", &self.algorithms)?;
        let sizes = self.nodes.as_ref().map(|sizes| sizes.0.as_slice());
        F::compare(&CompareRequest { algorithms: &self.algorithms, sizes, seed: self.seed, family_args }, task)
    }
}

/// Returns the error text for a name that is not a family with comparisons. It says what can be
/// compared instead.
fn no_comparison_error(name: &str) -> String {
    let families = Family::ALL.map(Family::name);
    let quoted = name.escape_debug();
    let remedy = "Use 'quorate compare mutex', 'quorate compare election' or 'quorate compare multicast'";
    if families.contains(&name) {
        return format!("the {quoted} family has no comparison yet. {remedy}.");
    }
    if let Some(entry) = find(name) {
        let family = entry.family();
        return format!(
            "'{quoted}' is an algorithm; expected a family. Use 'quorate compare {family} --algorithms {quoted}'."
        );
    }
    match nearest(name, families) {
        Some(close) => format!("there is no family '{quoted}'. Did you mean '{close}'? {remedy}."),
        None => format!("there is no family '{quoted}'. {remedy}."),
    }
}

/// Rejects a list with duplicates.
pub(crate) fn reject_duplicates(option: &str, names: &[String]) -> Result<(), CompareError> {
    for (index, name) in names.iter().enumerate() {
        if names.iter().position(|other| other == name) != Some(index) {
            return CompareError::invalid_option(format!(
                "{option} must not contain duplicates; got '{}' twice.",
                name.escape_debug()
            ));
        }
    }
    Ok(())
}
