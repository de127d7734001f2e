//! The owner of a data folder, in the human-readable file `identity`.

use crate::error::StoreError;
use quorate_core::NodeId;
use std::fmt;
use std::path::Path;

/// The version of the on-disk format. A folder with a newer format is refused.
pub const FORMAT: u32 = 1;

const TITLE: &str = "A data folder of Quorate. Do not copy it to another node, and do not edit it.";

/// The id of a cluster, chosen once when it is founded, so that clusters cannot be confused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClusterId(pub u128);

impl fmt::Display for ClusterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// The node that owns a folder, and its cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner {
    pub cluster: ClusterId,
    pub node: NodeId,
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node {} of cluster {}", self.node, self.cluster)
    }
}

/// How a folder was created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    Founded,
    Joined,
    /// Created again after the node had lost its log.
    Reseeded,
}

impl Origin {
    const ALL: [Self; 3] = [Self::Founded, Self::Joined, Self::Reseeded];
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Founded => "founded",
            Self::Joined => "joined",
            Self::Reseeded => "reseeded",
        })
    }
}

/// The content of the file `identity`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    pub owner: Owner,
    pub origin: Origin,
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { owner: Owner { cluster, node }, origin } = self;
        writeln!(f, "{TITLE}\nformat {FORMAT}\ncluster {cluster}\nnode {node}\norigin {origin}")
    }
}

impl Identity {
    /// Parses the file's content. Fails on anything that this version would not have written
    /// itself.
    pub(crate) fn parse(path: &Path, content: &[u8]) -> Result<Self, StoreError> {
        let damaged = || StoreError::BadIdentity { path: path.into() };
        let text = std::str::from_utf8(content).map_err(|_| damaged())?;
        let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        let format: u32 = field("format").and_then(|number| number.parse().ok()).ok_or_else(damaged)?;
        if format > FORMAT {
            return Err(StoreError::Newer { path: path.into(), found: format });
        }
        let cluster = field("cluster").and_then(|digits| u128::from_str_radix(digits, 16).ok()).map(ClusterId);
        let node = field("node").and_then(|number| number.parse().ok()).and_then(NodeId::new);
        let origin = field("origin").and_then(|word| Origin::ALL.into_iter().find(|origin| origin.to_string() == word));
        let (Some(cluster), Some(node), Some(origin)) = (cluster, node, origin) else { return Err(damaged()) };
        let identity = Self { owner: Owner { cluster, node }, origin };
        if identity.to_string() == text { Ok(identity) } else { Err(damaged()) }
    }
}
