//! Command-line options as data: a name and a value. Only the printed form quotes values.

use crate::spec::quote_for_shell;
use std::fmt::{self, Display};

/// An option with its value, such as `--entries 10`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flag {
    pub position: FlagPosition,
    /// The name without dashes.
    pub name: &'static str,
    /// The value; `None` for a switch.
    pub value: Option<String>,
}

/// The position of a family's option among the common options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlagPosition {
    /// After the nodes and the seed.
    Front,
    /// After the durations.
    Times,
    /// After the properties of links.
    Links,
}

impl Flag {
    /// Returns the option as one argument of a process.
    pub fn to_argument(&self) -> String {
        match &self.value {
            Some(value) => format!("--{}={value}", self.name),
            None => format!("--{}", self.name),
        }
    }
}

impl Display for Flag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--{}", self.name)?;
        self.value.iter().try_for_each(|value| write!(f, " {}", quote_for_shell(value)))
    }
}

/// The command-line options that reproduce an experiment's settings, in print order within each
/// position.
#[derive(Debug, Default)]
pub struct Flags(Vec<Flag>);

impl Flags {
    pub fn add_value(&mut self, position: FlagPosition, name: &'static str, value: impl Display) {
        self.0.push(Flag { position, name, value: Some(value.to_string()) });
    }

    /// Adds an option unless its value is the default.
    pub fn add_unless_default(
        &mut self,
        is_default: bool,
        position: FlagPosition,
        name: &'static str,
        value: impl Display,
    ) {
        if !is_default {
            self.add_value(position, name, value);
        }
    }

    /// Adds an option if it has a value.
    pub fn add_if_given(&mut self, position: FlagPosition, name: &'static str, value: Option<impl Display>) {
        value.into_iter().for_each(|value| self.add_value(position, name, value));
    }

    /// Adds a switch if it is on.
    pub fn add_switch(&mut self, is_on: bool, position: FlagPosition, name: &'static str) {
        if is_on {
            self.0.push(Flag { position, name, value: None });
        }
    }
}

impl IntoIterator for Flags {
    type Item = Flag;
    type IntoIter = std::vec::IntoIter<Flag>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::{FlagPosition, Flags};

    #[test]
    fn a_value_with_blanks_is_one_argument_and_quoted_in_print() {
        let mut flags = Flags::default();
        flags.add_value(FlagPosition::Front, "groups", "1-3 2-4");
        flags.add_switch(true, FlagPosition::Front, "uniform");
        let flags: Vec<_> = flags.into_iter().collect();
        assert_eq!(flags[0].to_argument(), "--groups=1-3 2-4");
        assert_eq!(flags[0].to_string(), "--groups '1-3 2-4'");
        assert_eq!(flags[1].to_argument(), flags[1].to_string());
    }
}
