//! One wait with its reason, as a sentence.

use super::name::Name;
use super::situation::Situation;
use quorate_core::deadlock::Need;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Reason {
    Process,
    Resource(Name),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Wait {
    pub who: Name,
    #[serde(rename = "for")]
    pub need: Need<Name>,
    /// The resource that it waits for, if it is not a process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource: Option<Name>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub held_by: Vec<Name>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub behind: Vec<Name>,
    #[serde(skip)]
    is_permit: bool,
}

impl Wait {
    pub(super) fn new(who: Name, need: Need<Name>, reason: Reason, situation: &Situation) -> Self {
        let Reason::Resource(name) = reason else {
            return Self { who, need, resource: None, held_by: Vec::new(), behind: Vec::new(), is_permit: false };
        };
        let resource = situation.resources.get(&name);
        let holders: BTreeSet<&Name> = resource.iter().flat_map(|resource| &resource.holders).collect();
        let is_holder = |other: &&Name| holders.contains(other);
        let (held_by, behind): (Vec<&Name>, Vec<&Name>) = need.on().iter().partition(is_holder);
        let (held_by, behind) = (held_by.into_iter().cloned().collect(), behind.into_iter().cloned().collect());
        let is_permit = resource.is_some_and(|resource| resource.permits.is_some_and(|permits| permits > 1));
        Self { who, need, resource: Some(name), held_by, behind, is_permit }
    }

    /// The reason without the waiting process: `waits for printer, which P1 holds`.
    pub fn what(&self) -> String {
        let Some(resource) = &self.resource else {
            let joint = if self.need.is_any() { "or" } else { "and" };
            return format!("waits for {}", list(self.need.on(), joint));
        };
        let permit = if self.is_permit { "a permit of " } else { "" };
        let verb = if self.held_by.len() == 1 { "holds" } else { "hold" };
        let holders = match &self.held_by[..] {
            [] => String::new(),
            [only] if *only == self.who => ", which it holds itself".to_owned(),
            several => format!(", which {} {verb}", list(several, "and")),
        };
        let behind = match (&self.behind[..], holders.is_empty()) {
            ([], _) => String::new(),
            (before, true) => format!(", behind {}", list(before, "and")),
            (before, false) => format!(" and {} wanted first", list(before, "and")),
        };
        format!("waits for {permit}{resource}{holders}{behind}")
    }
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.who, self.what())
    }
}

/// Formats a list of names: `P1, P2 and P3`.
pub(super) fn list(names: &[Name], joint: &str) -> String {
    match names {
        [] => "no process".to_owned(),
        [only] => only.to_string(),
        [others @ .., last] => {
            let others: Vec<_> = others.iter().map(Name::as_str).collect();
            format!("{} {joint} {last}", others.join(", "))
        }
    }
}
