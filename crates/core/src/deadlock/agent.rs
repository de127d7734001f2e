//! Who waits: processes and resources, each at a site, and how often each has waited.

use crate::node::NodeId;
use core::fmt;
use core::str::FromStr;

/// Somebody who can wait and be waited for, at one of the sites.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Agent {
    pub site: NodeId,
    pub kind: Kind,
    pub number: u16,
}

/// What somebody is who waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Kind {
    Process,
    /// A resource. While somebody holds it, it waits for that one to let go.
    Resource,
}

impl Agent {
    /// A process at a site.
    pub const fn process(site: NodeId, number: u16) -> Self {
        Self { site, kind: Kind::Process, number }
    }

    /// A resource that a site coordinates.
    pub const fn resource(site: NodeId, number: u16) -> Self {
        Self { site, kind: Kind::Resource, number }
    }

    /// Whether it is a resource.
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
        let letter = if self.is_resource() { 'R' } else { 'P' };
        match self.number {
            0 => write!(f, "{letter}{}", self.site),
            number => write!(f, "{letter}{}.{number}", self.site),
        }
    }
}

/// Which of its times of waiting it is, for one who waits: from asking to getting, or giving up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct Spell(pub u64);

impl Spell {
    /// The one after it.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for Spell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What is no name of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoAgent;

impl fmt::Display for NoAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a process is named like P2 or P2.1, a resource like R1")
    }
}

impl FromStr for Agent {
    type Err = NoAgent;

    fn from_str(text: &str) -> Result<Self, NoAgent> {
        let kind = match text.get(..1) {
            Some("P" | "p") => Kind::Process,
            Some("R" | "r") => Kind::Resource,
            Some(_) | None => return Err(NoAgent),
        };
        let numbers = text.get(1..).unwrap_or_default();
        let (site, number) = numbers.split_once('.').unwrap_or((numbers, "0"));
        let is_plain = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        if !is_plain(site) || !is_plain(number) {
            return Err(NoAgent);
        }
        let site = site.parse().ok().and_then(NodeId::new).ok_or(NoAgent)?;
        Ok(Self { site, kind, number: number.parse().map_err(|_| NoAgent)? })
    }
}
