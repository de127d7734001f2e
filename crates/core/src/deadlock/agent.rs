//! Agents, which are processes and resources at sites, and the numbers of their waits.

use crate::node::NodeId;
use core::fmt;
use core::str::FromStr;

/// A process or resource at one of the sites, which can wait and be waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Agent {
    pub site: NodeId,
    pub kind: Kind,
    /// From 0, among the agents of this kind at the site.
    pub number: u16,
}

/// The kind of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Kind {
    Process,
    /// A resource. While it is held, it waits for its holder to release it.
    Resource,
}

impl Agent {
    /// The process with this number at a site.
    pub const fn process(site: NodeId, number: u16) -> Self {
        Self { site, kind: Kind::Process, number }
    }

    /// The resource with this number that a site coordinates.
    pub const fn resource(site: NodeId, number: u16) -> Self {
        Self { site, kind: Kind::Resource, number }
    }

    /// Returns whether the agent is a resource.
    pub const fn is_resource(self) -> bool {
        match self.kind {
            Kind::Process => false,
            Kind::Resource => true,
        }
    }
}

/// `P2` is the first process of node 2, `P2.1` the second one, `R2` its first resource.
impl fmt::Display for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = if self.is_resource() { 'R' } else { 'P' };
        match self.number {
            0 => write!(f, "{prefix}{}", self.site),
            number => write!(f, "{prefix}{}.{number}", self.site),
        }
    }
}

/// The number of one wait of an agent. Each agent numbers its own waits; a wait lasts until it is
/// met or cancelled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct WaitId(pub u64);

impl WaitId {
    /// Returns the number of the next wait.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for WaitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The error for a text that does not name an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseAgentError;

impl fmt::Display for ParseAgentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected a process like P2 or P2.1, or a resource like R1")
    }
}

impl FromStr for Agent {
    type Err = ParseAgentError;

    fn from_str(text: &str) -> Result<Self, ParseAgentError> {
        let kind = match text.get(..1) {
            Some("P" | "p") => Kind::Process,
            Some("R" | "r") => Kind::Resource,
            Some(_) | None => return Err(ParseAgentError),
        };
        let numbers = text.get(1..).unwrap_or_default();
        let (site, number) = numbers.split_once('.').unwrap_or((numbers, "0"));
        // `parse` would also accept a plus sign.
        let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(site) || !is_number(number) {
            return Err(ParseAgentError);
        }
        let site = site.parse().ok().and_then(NodeId::new).ok_or(ParseAgentError)?;
        Ok(Self { site, kind, number: number.parse().map_err(|_| ParseAgentError)? })
    }
}
