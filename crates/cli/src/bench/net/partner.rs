//! The other process: started for a turn, and gone after it.

use super::{Contender, bare, nodes};
use crate::args::BenchArgs;
use anyhow::Context;
use quorate_core::NodeId;
use quorate_net::GroupName;
use quorate_net::certificates::{Days, Folder};
use quorate_net::tls::{Identity, Security};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

pub(super) use places::{cores, settle};

/// Certificates for one benchmark, gone when it is over.
pub(super) struct Certificates(PathBuf);

/// What every turn needs.
pub(super) struct Ground {
    pub(super) certificates: Certificates,
    pub(super) core: Option<usize>,
}

impl Certificates {
    pub(super) fn make() -> anyhow::Result<Self> {
        let path = std::env::temp_dir().join(format!("quorate-bench-net-{}", std::process::id()));
        let made = Self(path);
        Folder::new(&made.0).make(&group()?, &[here(), there()], Days::default())?;
        Ok(made)
    }

    pub(super) fn security(&self, contender: Contender) -> anyhow::Result<Security> {
        security(contender, here(), &self.0)
    }
}

impl Drop for Certificates {
    fn drop(&mut self) {
        // What cannot be removed is left for its owner to see.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(super) fn security(contender: Contender, me: NodeId, folder: &Path) -> anyhow::Result<Security> {
    if contender.is_encrypted() {
        Ok(Security::Tls(Identity::load(folder, me, &group()?)?))
    } else {
        Ok(Security::Plain)
    }
}

pub(super) fn group() -> anyhow::Result<GroupName> {
    Ok("bench".parse()?)
}

pub(super) fn here() -> NodeId {
    NodeId::from_index(0)
}

pub(super) fn there() -> NodeId {
    NodeId::from_index(1)
}

/// The other process of a turn. It ends with this, at the latest when its input does.
pub(super) struct Partner {
    child: Child,
    pub(super) address: String,
}

impl Partner {
    /// Starts it and waits until it says where it listens. A node is told where the first one does.
    pub(super) fn start(contender: Contender, ground: &Ground, here: &str) -> anyhow::Result<Self> {
        let word = clap::ValueEnum::to_possible_value(&contender).context("Every contender has a name.")?;
        let mut child = Command::new(std::env::current_exe()?)
            .args(["bench", "net", "--partner", word.get_name(), "--partner-of", here, "--folder"])
            .arg(&ground.certificates.0)
            .args(ground.core.map(|core| format!("--partner-core={core}")))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("The second process could not be started")?;
        let mut address = String::new();
        let output = child.stdout.take().context("The second process has no output.")?;
        BufReader::new(output).read_line(&mut address)?;
        let address = address.trim().to_owned();
        let partner = Self { child, address };
        anyhow::ensure!(!partner.address.is_empty(), "The second process ended before it was ready.");
        Ok(partner)
    }
}

impl Drop for Partner {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        // It has nothing to lose.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Is the other process of a turn until its input ends.
pub(super) fn be(contender: Contender, args: &BenchArgs) -> anyhow::Result<()> {
    let folder = args.folder.as_deref().context("--partner needs --folder.")?;
    let first = args.partner_of.as_deref().context("--partner needs --partner-of.")?;
    let security = security(contender, there(), folder)?;
    if let Some(core) = args.partner_core {
        settle(core);
    }
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    if contender.is_bare() { bare::serve(security) } else { nodes::serve(security, first) }
}

/// The places of the two processes of every contender, where the system lets processes choose.
#[cfg(target_os = "linux")]
mod places {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    /// The first and the last of the cores that this process may use.
    pub(in super::super) fn cores() -> Option<(usize, usize)> {
        let allowed = sched_getaffinity(None).ok()?;
        let mut cores = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core));
        let first = cores.next()?;
        Some((first, cores.next_back().unwrap_or(first)))
    }

    /// Keeps this process on one core. Where the system does not let it, the scheduler decides.
    pub(in super::super) fn settle(core: usize) {
        let mut chosen = CpuSet::new();
        chosen.set(core);
        let _ = sched_setaffinity(None, &chosen);
    }
}

/// The scheduler decides.
#[cfg(not(target_os = "linux"))]
mod places {
    pub(in super::super) fn cores() -> Option<(usize, usize)> {
        None
    }

    pub(in super::super) fn settle(_core: usize) {}
}

/// Tells the process that started this one where it listens.
pub(super) fn announce(address: std::net::SocketAddr) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{address}")?;
    Ok(out.flush()?)
}
