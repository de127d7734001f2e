//! Code that the command-line options of all families share.
//!
//! The options of one family are in its folder (`options.rs`). An option that does not apply to the
//! selected algorithm is rejected with the name of the family that has it.

use crate::registry::{Family, FamilyArgs};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use std::convert::Infallible;
use std::num::{IntErrorKind, ParseIntError};
use std::str::FromStr;

/// An option that does not apply or has no effect.
#[derive(Debug, thiserror::Error)]
pub enum OptionsError {
    #[error(
        "--{option} does not apply to '{algorithm}' of the {family} family; it is an option of the {option_family} family."
    )]
    NotApplicable { option: String, option_family: Family, algorithm: String, family: Family },
    #[error(
        "--views does not apply to '{algorithm}' of the {family} family; it is an option of the {} families.",
        families_with_views()
    )]
    ViewsNotApplicable { algorithm: String, family: Family },
    #[error("--{option} has no effect {condition}; omit --{name}.", name = option.split(' ').next().unwrap_or_default())]
    NoEffect { option: String, condition: String },
}

impl OptionsError {
    pub fn not_applicable(option: &str, option_family: Family, algorithm: &str, family: Family) -> Self {
        Self::NotApplicable { option: option.to_owned(), option_family, algorithm: algorithm.to_owned(), family }
    }

    /// Returns the error for an option that has no effect under a condition, such as "without
    /// --views". `option` has no dashes and may include a value: "membership oracle".
    pub fn no_effect(option: &str, condition: &str) -> Self {
        Self::NoEffect { option: option.to_owned(), condition: condition.to_owned() }
    }
}

/// Common options on which a family's settings depend.
#[derive(Clone, Copy)]
pub struct CommonOptions {
    pub nodes: usize,
    /// Whether the seed draws faults that the family must tolerate (`--chaos` of a simulated run).
    pub has_chaos: bool,
}

impl FamilyArgs {
    pub fn wants_views(&self) -> bool {
        self.views.settings().is_some()
    }

    /// Rejects options that do not apply to this algorithm of the family `own_family`.
    pub fn reject_other_families(&self, own_family: Family, algorithm: &str) -> Result<(), OptionsError> {
        for (family, options) in self.options_by_family().into_iter().filter(|(family, _)| *family != own_family) {
            if let Some(option) = options.first_given() {
                return Err(OptionsError::not_applicable(option, family, algorithm, own_family));
            }
        }
        reject_views(self.wants_views(), own_family, algorithm)
    }

    /// The first given option that belongs to another family, with that family.
    pub fn first_foreign_option(&self, family: Family) -> Option<(&'static str, Family)> {
        let mut others = self.options_by_family().into_iter().filter(|(other, _)| *other != family);
        others.find_map(|(family, options)| Some((options.first_given()?, family)))
    }

    /// The first given option that changes the settings of this family or of its views.
    pub fn first_own_option(&self, family: Family) -> Option<&'static str> {
        let own_options = self.options_by_family().into_iter().find(|(other, _)| *other == family);
        own_options.and_then(|(_, options)| options.first_given()).or_else(|| self.views.first_given())
    }

    /// The first given option that describes what clients of this family do.
    pub fn first_workload_option(&self, family: Family) -> Option<&'static str> {
        let own_options = self.options_by_family().into_iter().find(|(other, _)| *other == family);
        own_options.and_then(|(_, options)| options.first_workload_option())
    }

    /// Rejects a simulated membership, because real processes keep their membership in a replicated
    /// log.
    pub fn reject_simulated_membership(&self) -> Result<(), OptionsError> {
        self.views.reject_simulated_membership()
    }
}

/// Rejects `--views` for a family without views.
pub(crate) fn reject_views(wants_views: bool, family: Family, algorithm: &str) -> Result<(), OptionsError> {
    if wants_views && !family.has_views() {
        return Err(OptionsError::ViewsNotApplicable { algorithm: algorithm.to_owned(), family });
    }
    Ok(())
}

fn families_with_views() -> String {
    let families: Vec<_> = Family::ALL.into_iter().filter(|family| family.has_views()).map(Family::name).collect();
    families.join(" and ")
}

/// Command-line options that only one family accepts.
pub trait Options {
    /// The first given option, without its dashes.
    fn first_given(&self) -> Option<&'static str>;

    /// The first given option that describes what clients do. A script can replace such options.
    fn first_workload_option(&self) -> Option<&'static str> {
        None
    }
}

/// Whether an option was given.
pub(crate) trait IsGiven {
    fn is_given(&self) -> bool;
}

impl<T> IsGiven for Option<T> {
    fn is_given(&self) -> bool {
        self.is_some()
    }
}

impl<T> IsGiven for Vec<T> {
    fn is_given(&self) -> bool {
        !self.is_empty()
    }
}

impl IsGiven for bool {
    fn is_given(&self) -> bool {
        *self
    }
}

/// The name of the first given option. An option has the name of its field unless a literal follows
/// the field.
macro_rules! first_given {
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $name:literal) => { $name };
    ($args:expr; $($field:ident $(= $name:literal)?),*) => {{
        use crate::options::IsGiven;
        let all = [$(($args.$field.is_given(), first_given!(@name $field $($name)?))),*];
        all.into_iter().find_map(|(given, name)| given.then_some(name))
    }};
}

pub(crate) use first_given;

/// Parses one of these choices by its name.
pub(crate) fn parse_one_of<T, const N: usize>(choices: [(&'static str, T); N]) -> impl TypedValueParser<Value = T>
where
    T: Copy + Send + Sync + 'static,
{
    PossibleValuesParser::new(choices.map(|(word, _)| word)).try_map(move |word| {
        let found = choices.iter().find(|(known, _)| *known == word);
        found.map(|(_, choice)| *choice).ok_or("unknown choice")
    })
}

/// Parses the name of a property, which may be the name that it had in an earlier release.
pub fn parse_property(name: &str) -> Result<String, Infallible> {
    let name = match name {
        "one-leader-an-epoch" => "one-leader-per-epoch",
        "one-master" => "one-leader-at-a-time",
        name => name,
    };
    Ok(name.to_owned())
}

/// Parses a whole number that is not negative. The error says what to write instead.
pub fn parse_whole<N: FromStr<Err = ParseIntError>>(text: &str) -> Result<N, String> {
    let maximum = u64::MAX >> (u64::BITS as usize - 8 * size_of::<N>());
    text.parse().map_err(|error: ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow => format!("the number must be at most {maximum}; got '{}'.", text.escape_debug()),
        _ if is_negative(text) => format!("the number must not be negative; got '{}'.", text.escape_debug()),
        _ => format!("'{}' is not a whole number; write for example 7.", text.escape_debug()),
    })
}

/// Whether the text is a whole number below zero.
fn is_negative(text: &str) -> bool {
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    text.strip_prefix('-').is_some_and(is_number)
}
