//! A network namespace for every node, joined by one bridge, between which packets can be dropped.
//!
//! Every namespace has static neighbour entries for all other nodes. To cut one node off from
//! another, the entry gets a hardware address that does not exist: packets are sent and lost
//! silently, as in a broken network. The machine's own network is not affected, and everything is
//! removed with the namespaces.

use crate::error::LiveError;
use quorate_core::NodeId;
use quorate_journal::settings::Cut;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// The namespaces of one run. They are removed when this is dropped.
pub(crate) struct Namespaces {
    prefix: String,
    nodes: usize,
    cuts: Vec<Cut>,
    severed: BTreeSet<(NodeId, NodeId)>,
}

/// The device of a node in its namespace, and the bridge in the shared one.
const DEVICE: &str = "e0";
const BRIDGE: &str = "b0";
const PORT: u16 = 7_000;

/// A hardware address that no node has.
const UNUSED_ADDRESS: &str = "02:51:ff:ff:ff:ff";

impl Namespaces {
    /// Sets up namespaces for `nodes` nodes, unless the run is interrupted. Removes the leftovers
    /// of killed runs first.
    pub(crate) fn set_up(nodes: usize, interrupted: &dyn Fn() -> bool) -> Result<Self, LiveError> {
        remove_leftovers()?;
        let prefix = format!("{MARK}{}-", std::process::id());
        // From here on, dropping this removes everything, whatever happens.
        let namespaces = Self { prefix, nodes, cuts: Vec::new(), severed: BTreeSet::new() };
        namespaces.found_hub()?;
        for node in namespaces.all() {
            go_on_unless(interrupted)?;
            namespaces.join(node)?;
        }
        for node in namespaces.all() {
            go_on_unless(interrupted)?;
            namespaces.introduce_others(node)?;
        }
        Ok(namespaces)
    }

    fn all(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.nodes).map(NodeId::from_index)
    }

    fn name(&self, node: NodeId) -> String {
        format!("{}{node}", self.prefix)
    }

    fn hub(&self) -> String {
        format!("{}0", self.prefix)
    }

    fn found_hub(&self) -> Result<(), LiveError> {
        let hub = self.hub();
        let begin = format!("netns add {hub}\nlink add {BRIDGE} netns {hub} type bridge\n");
        batch(&[], &begin, "the bridge")?;
        batch(&["-n", &hub], &format!("link set {BRIDGE} up\n"), "the bridge")
    }

    fn join(&self, node: NodeId) -> Result<(), LiveError> {
        let (hub, name, part) = (self.hub(), self.name(node), format!("node {node}"));
        let mac = hardware(node);
        let begin = format!(
            "netns add {name}\nlink add {DEVICE} netns {name} address {mac} type veth peer name v{node} netns {hub}\n"
        );
        batch(&[], &begin, &part)?;
        batch(&["-n", &hub], &format!("link set v{node} master {BRIDGE} up\n"), &part)?;
        let inside = format!("addr add {}/16 dev {DEVICE}\nlink set lo up\nlink set {DEVICE} up\n", address(node));
        batch(&["-n", &name], &inside, &part)
    }

    fn introduce_others(&self, node: NodeId) -> Result<(), LiveError> {
        let others = self.all().filter(|other| *other != node);
        let lines: String = others.map(|other| neighbour(other, &hardware(other))).collect();
        batch(&["-n", &self.name(node)], &lines, &format!("node {node}"))
    }

    /// A command that runs its arguments in a node's namespace.
    pub(crate) fn enter(&self, node: NodeId) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name(node)]);
        command
    }

    pub(crate) fn listen(&self, node: NodeId) -> String {
        format!("{}:{PORT}", address(node))
    }

    pub(crate) fn sever(&mut self, cut: &Cut) -> Result<(), LiveError> {
        self.cuts.push(cut.clone());
        self.apply()
    }

    /// Ends one cut. Links that another cut severs stay severed.
    pub(crate) fn mend(&mut self, cut: &Cut) -> Result<(), LiveError> {
        if let Some(place) = self.cuts.iter().position(|other| other == cut) {
            self.cuts.remove(place);
        }
        self.apply()
    }

    /// Makes every node reach exactly the nodes that no cut separates from it.
    fn apply(&mut self) -> Result<(), LiveError> {
        for from in self.all() {
            let mut changes = String::new();
            for to in self.all().filter(|to| *to != from) {
                let is_severed = self.cuts.iter().any(|cut| cut.severs(from, to));
                if is_severed && self.severed.insert((from, to)) {
                    changes.push_str(&neighbour(to, UNUSED_ADDRESS));
                } else if !is_severed && self.severed.remove(&(from, to)) {
                    changes.push_str(&neighbour(to, &hardware(to)));
                }
            }
            if !changes.is_empty() {
                batch(&["-n", &self.name(from)], &changes, &format!("node {from}"))?;
            }
        }
        Ok(())
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        let names: String = std::iter::once(self.hub())
            .chain(self.all().map(|node| self.name(node)))
            .map(|name| format!("netns del {name}\n"))
            .collect();
        // Ignore errors: some may not exist yet, and the next run removes what is left.
        let _ = feed(&["-force"], &names);
    }
}

const MARK: &str = "quorate-";

fn address(node: NodeId) -> String {
    format!("10.77.{}.{}", node.index() / 250, 1 + node.index() % 250)
}

fn hardware(node: NodeId) -> String {
    let mut text = "02:51".to_owned();
    for byte in node.number().to_be_bytes() {
        // Writing into a string cannot fail.
        let _ = write!(text, ":{byte:02x}");
    }
    text
}

fn neighbour(of: NodeId, hardware: &str) -> String {
    format!("neigh replace {} lladdr {hardware} dev {DEVICE} nud permanent\n", address(of))
}

fn go_on_unless(interrupted: &dyn Fn() -> bool) -> Result<(), LiveError> {
    if interrupted() { Err(LiveError::Interrupted) } else { Ok(()) }
}

/// The program `ip` in a process group of its own; otherwise Ctrl-C in a terminal would interrupt
/// the clean-up.
fn ip() -> Command {
    let mut command = Command::new("ip");
    command.process_group(0);
    command
}

fn batch(options: &[&str], lines: &str, part: &str) -> Result<(), LiveError> {
    match feed(options, lines) {
        Ok(reason) if reason.is_empty() => Ok(()),
        Ok(reason) => Err(LiveError::Network { part: part.into(), reason }),
        Err(error) => Err(LiveError::Network { part: part.into(), reason: format!("ip did not run: {error}") }),
    }
}

fn feed(options: &[&str], lines: &str) -> std::io::Result<String> {
    let mut command = ip();
    command.args(options).args(["-batch", "-"]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // If it ended early, its standard error says why.
        let _ = stdin.write_all(lines.as_bytes());
    }
    let output = child.wait_with_output()?;
    if output.status.success() {
        return Ok(String::new());
    }
    Ok(String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or("ip failed").trim().to_owned())
}

fn remove_leftovers() -> Result<(), LiveError> {
    let failed = |reason: String| LiveError::Network { part: "all nodes".into(), reason };
    let listed = ip().args(["netns", "list"]).output();
    let listed = listed.map_err(|error| failed(format!("ip did not run: {error}")))?;
    let text = String::from_utf8_lossy(&listed.stdout);
    let is_gone = |pid: &u32| !Path::new(&format!("/proc/{pid}")).exists();
    let dead = text
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| owner(name).is_some_and(|pid| is_gone(&pid)));
    let lines: String = dead.map(|name| format!("netns del {name}\n")).collect();
    if !lines.is_empty() {
        // Another run may remove them at the same time.
        let _ = feed(&["-force"], &lines);
    }
    Ok(())
}

/// The process that created this namespace: 1234 for `quorate-1234-2`.
fn owner(name: &str) -> Option<u32> {
    let (pid, node) = name.strip_prefix(MARK)?.split_once('-')?;
    node.parse::<u32>().ok()?;
    pid.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{address, hardware, owner};
    use quorate_core::NodeId;
    use std::collections::BTreeSet;

    #[test]
    fn every_node_has_unique_addresses() {
        let nodes = || (0..1_000).map(NodeId::from_index);
        assert_eq!(nodes().map(address).collect::<BTreeSet<_>>().len(), 1_000);
        assert_eq!(nodes().map(hardware).collect::<BTreeSet<_>>().len(), 1_000);
        assert_eq!(
            (address(NodeId::from_index(0)), hardware(NodeId::from_index(15))),
            ("10.77.0.1".into(), "02:51:00:00:00:10".into())
        );
    }

    #[test]
    fn only_our_own_namespaces_are_recognised() {
        assert_eq!(owner("quorate-1234-2"), Some(1234));
        for other in ["quorate", "quorate-x-1", "quorate-12-", "quorate-12-a", "blue", "q-12-1", "quorate-service"] {
            assert_eq!(owner(other), None, "{other}");
        }
    }
}
