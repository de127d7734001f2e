//! The second process of the benchmark, which the first one starts for each run.

use super::{NetContender, bare, nodes};
use crate::args::BenchArgs;
use anyhow::Context;
use quorate_core::NodeId;
use quorate_net::GroupName;
use quorate_net::certificates::{Days, Folder};
use quorate_net::tls::{Identity, Security};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

pub(super) use affinity::{cores, pin};

/// A temporary folder of certificates, removed on drop.
pub(super) struct Certificates(PathBuf);

/// Inputs of every run: the certificates, and the core for the second process.
pub(super) struct Environment {
    pub(super) certificates: Certificates,
    pub(super) second_core: Option<usize>,
}

impl Certificates {
    pub(super) fn make() -> anyhow::Result<Self> {
        let path = std::env::temp_dir().join(format!("quorate-bench-net-{}", std::process::id()));
        let certificates = Self(path);
        Folder::new(&certificates.0).make(&group()?, &[first_node(), second_node()], Days::default())?;
        Ok(certificates)
    }

    pub(super) fn security(&self, contender: NetContender) -> anyhow::Result<Security> {
        security(contender, first_node(), &self.0)
    }
}

impl Drop for Certificates {
    fn drop(&mut self) {
        // Nothing else can be done about a folder that cannot be removed.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(super) fn security(contender: NetContender, me: NodeId, folder: &Path) -> anyhow::Result<Security> {
    if contender.is_encrypted() {
        Ok(Security::Tls(Identity::load(folder, me, &group()?)?))
    } else {
        Ok(Security::Plain)
    }
}

pub(super) fn group() -> anyhow::Result<GroupName> {
    Ok("bench".parse()?)
}

pub(super) fn first_node() -> NodeId {
    NodeId::from_index(0)
}

pub(super) fn second_node() -> NodeId {
    NodeId::from_index(1)
}

/// The second process of a run. Dropping it ends the process.
pub(super) struct Partner {
    child: Child,
    pub(super) address: String,
}

impl Partner {
    /// Starts the process and waits until it prints its address. `first_address` is the address of
    /// the first process, to which a node connects; the bare loop ignores it.
    pub(super) fn start(
        contender: NetContender,
        environment: &Environment,
        first_address: &str,
    ) -> anyhow::Result<Self> {
        let name = clap::ValueEnum::to_possible_value(&contender).context("the contender has no name.")?;
        let mut child = Command::new(std::env::current_exe()?)
            .args(["bench", "net", "--partner", name.get_name(), "--partner-of", first_address, "--folder"])
            .arg(&environment.certificates.0)
            .args(environment.second_core.map(|core| format!("--partner-core={core}")))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the second process")?;
        let mut address = String::new();
        let output = child.stdout.take().context("the second process has no output.")?;
        BufReader::new(output).read_line(&mut address)?;
        let address = address.trim().to_owned();
        let partner = Self { child, address };
        anyhow::ensure!(!partner.address.is_empty(), "the second process stopped before it was ready.");
        Ok(partner)
    }
}

impl Drop for Partner {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        // The process has no state to save.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs as the second process, at the latest until standard input ends.
pub(super) fn serve(contender: NetContender, args: &BenchArgs) -> anyhow::Result<()> {
    let folder = args.folder.as_deref().context("--partner needs --folder.")?;
    let first_address = args.partner_of.as_deref().context("--partner needs --partner-of.")?;
    let security = security(contender, second_node(), folder)?;
    if let Some(core) = args.partner_core {
        pin(core);
    }
    // The input ends when the first process ends, so this process never outlives it.
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    if contender.is_bare() { bare::serve(security) } else { nodes::serve(security, first_address) }
}

/// CPU affinity of the two processes.
#[cfg(target_os = "linux")]
mod affinity {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    /// Returns the first and the last core that this process may use.
    pub(in super::super) fn cores() -> Option<(usize, usize)> {
        let allowed = sched_getaffinity(None).ok()?;
        let mut cores = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core));
        let first = cores.next()?;
        Some((first, cores.next_back().unwrap_or(first)))
    }

    /// Keeps this process on one core. If the system refuses, the scheduler chooses.
    pub(in super::super) fn pin(core: usize) {
        let mut chosen = CpuSet::new();
        chosen.set(core);
        let _ = sched_setaffinity(None, &chosen);
    }
}

/// Systems without CPU affinity: the scheduler chooses.
#[cfg(not(target_os = "linux"))]
mod affinity {
    pub(in super::super) fn cores() -> Option<(usize, usize)> {
        None
    }

    pub(in super::super) fn pin(_core: usize) {}
}

/// Prints the address of this process for the process that started it.
pub(super) fn announce(address: std::net::SocketAddr) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{address}")?;
    Ok(out.flush()?)
}
