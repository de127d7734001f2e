//! One wait with its reason, as a sentence.

use super::name::Name;
use super::situation::Situation;
use quorate_core::deadlock::Need;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt;

/// Why a process waits for others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Reason {
    /// The process waits for them without a resource.
    Process,
    /// The process wants this resource.
    Resource(Name),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Wait {
    #[serde(rename = "who")]
    pub process: Name,
    #[serde(rename = "for")]
    pub need: Need<Name>,
    /// The resource that the process wants; `None` if it waits for others without a resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource: Option<Name>,
    /// The processes in `need` that hold the resource.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub held_by: Vec<Name>,
    /// The processes in `need` that are before this one in the resource's queue.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub behind: Vec<Name>,
    /// Whether the process wants one of several permits.
    #[serde(skip)]
    is_permit: bool,
}

impl Wait {
    pub(super) fn new(process: Name, need: Need<Name>, reason: Reason, situation: &Situation) -> Self {
        let Reason::Resource(name) = reason else {
            return Self { process, need, resource: None, held_by: Vec::new(), behind: Vec::new(), is_permit: false };
        };
        let resource = situation.resources.get(&name);
        let holders: BTreeSet<&Name> = resource.iter().flat_map(|resource| &resource.holders).collect();
        let is_holder = |other: &&Name| holders.contains(other);
        let (held_by, behind): (Vec<&Name>, Vec<&Name>) = need.awaited().iter().partition(is_holder);
        let (held_by, behind) = (held_by.into_iter().cloned().collect(), behind.into_iter().cloned().collect());
        let is_permit = resource.is_some_and(|resource| resource.permits.is_some_and(|permits| permits > 1));
        Self { process, need, resource: Some(name), held_by, behind, is_permit }
    }

    /// The reason without the waiting process: `waits for printer, which P1 holds`.
    pub fn describe(&self) -> String {
        let Some(resource) = &self.resource else {
            let conjunction = if self.need.has_alternatives() { "or" } else { "and" };
            return format!("waits for {}", format_list(self.need.awaited(), conjunction));
        };
        let permit = if self.is_permit { "a permit of " } else { "" };
        let verb = if self.held_by.len() == 1 { "holds" } else { "hold" };
        let holders = match &self.held_by[..] {
            [] => String::new(),
            [only] if *only == self.process => ", which it holds itself".to_owned(),
            several => format!(", which {} {verb}", format_list(several, "and")),
        };
        let behind = match (&self.behind[..], holders.is_empty()) {
            ([], _) => String::new(),
            (before, true) => format!(", behind {}", format_list(before, "and")),
            (before, false) => format!(" and {} wanted first", format_list(before, "and")),
        };
        format!("waits for {permit}{resource}{holders}{behind}")
    }
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.process, self.describe())
    }
}

/// Formats a list of names: `P1, P2 and P3`.
pub(super) fn format_list(names: &[Name], conjunction: &str) -> String {
    match names {
        [] => "no process".to_owned(),
        [only] => only.to_string(),
        [others @ .., last] => {
            let others: Vec<_> = others.iter().map(Name::as_str).collect();
            format!("{} {conjunction} {last}", others.join(", "))
        }
    }
}
