//! A network namespace for every node. One bridge joins them, and packets between them can be
//! dropped.
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
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The namespaces of one run. Dropping the value removes them.
pub struct Namespaces {
    /// The common start of the namespaces' names.
    prefix: String,
    nodes: usize,
    cuts: Vec<Cut>,
    /// The directed links, from one node to another, that are severed now.
    severed: BTreeSet<(NodeId, NodeId)>,
}

/// The network device of a node in its namespace.
const DEVICE: &str = "e0";
/// The bridge, in a namespace of its own.
const BRIDGE: &str = "b0";
/// The port at which every node listens.
const PORT: u16 = 7_000;

/// A hardware address that no node has: its last four bytes are above all node numbers of a run.
const UNUSED_ADDRESS: &str = "02:51:ff:ff:ff:ff";

impl Namespaces {
    /// Sets up namespaces for `nodes` nodes, unless the run is interrupted. Removes the leftovers
    /// of killed runs first.
    pub fn set_up(nodes: usize, is_interrupted: &dyn Fn() -> bool) -> Result<Self, LiveError> {
        remove_leftovers()?;
        let prefix = format!("{NAME_PREFIX}{}-", std::process::id());
        // From here on, any return before the end drops `namespaces`, which removes them again.
        let namespaces = Self { prefix, nodes, cuts: Vec::new(), severed: BTreeSet::new() };
        namespaces.create_bridge()?;
        for node in namespaces.node_ids() {
            fail_if_interrupted(is_interrupted)?;
            namespaces.create_node(node)?;
        }
        for node in namespaces.node_ids() {
            fail_if_interrupted(is_interrupted)?;
            namespaces.add_neighbours(node)?;
        }
        Ok(namespaces)
    }

    fn node_ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.nodes).map(NodeId::from_index)
    }

    fn namespace(&self, node: NodeId) -> String {
        format!("{}{node}", self.prefix)
    }

    fn bridge_namespace(&self) -> String {
        format!("{}0", self.prefix)
    }

    fn create_bridge(&self) -> Result<(), LiveError> {
        let namespace = self.bridge_namespace();
        let creation = format!("netns add {namespace}\nlink add {BRIDGE} netns {namespace} type bridge\n");
        run_ip(&[], &creation, "the bridge")?;
        run_ip(&["-n", &namespace], &format!("link set {BRIDGE} up\n"), "the bridge")
    }

    fn create_node(&self, node: NodeId) -> Result<(), LiveError> {
        let (bridge_namespace, namespace) = (self.bridge_namespace(), self.namespace(node));
        let part = format!("node {node}");
        let mac = hardware_address(node);
        let creation = format!(
            "netns add {namespace}\nlink add {DEVICE} netns {namespace} address {mac} type veth peer name v{node} \
             netns {bridge_namespace}\n"
        );
        run_ip(&[], &creation, &part)?;
        run_ip(&["-n", &bridge_namespace], &format!("link set v{node} master {BRIDGE} up\n"), &part)?;
        let inside = format!("addr add {}/16 dev {DEVICE}\nlink set lo up\nlink set {DEVICE} up\n", ip_address(node));
        run_ip(&["-n", &namespace], &inside, &part)
    }

    fn add_neighbours(&self, node: NodeId) -> Result<(), LiveError> {
        let others = self.node_ids().filter(|other| *other != node);
        let lines: String = others.map(|other| neighbour_line(other, &hardware_address(other))).collect();
        run_ip(&["-n", &self.namespace(node)], &lines, &format!("node {node}"))
    }

    /// A command that runs its arguments in a node's namespace.
    pub fn command_in(&self, node: NodeId) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.namespace(node)]);
        command
    }

    /// The file that stands for a node's namespace, by which a thread can enter it.
    pub fn path(&self, node: NodeId) -> PathBuf {
        Path::new("/run/netns").join(self.namespace(node))
    }

    pub fn listen_address(&self, node: NodeId) -> String {
        format!("{}:{PORT}", ip_address(node))
    }

    /// Begins a cut.
    pub fn sever(&mut self, cut: &Cut) -> Result<(), LiveError> {
        self.cuts.push(cut.clone());
        self.apply_cuts()
    }

    /// Ends one cut. Links that another cut severs stay severed.
    pub fn mend(&mut self, cut: &Cut) -> Result<(), LiveError> {
        if let Some(index) = self.cuts.iter().position(|other| other == cut) {
            self.cuts.remove(index);
        }
        self.apply_cuts()
    }

    /// Makes every node reach exactly the nodes to which no cut severs its link.
    fn apply_cuts(&mut self) -> Result<(), LiveError> {
        for from in self.node_ids() {
            let mut changes = String::new();
            for to in self.node_ids().filter(|to| *to != from) {
                let is_severed = self.cuts.iter().any(|cut| cut.severs(from, to));
                if is_severed && self.severed.insert((from, to)) {
                    changes.push_str(&neighbour_line(to, UNUSED_ADDRESS));
                } else if !is_severed && self.severed.remove(&(from, to)) {
                    changes.push_str(&neighbour_line(to, &hardware_address(to)));
                }
            }
            if !changes.is_empty() {
                run_ip(&["-n", &self.namespace(from)], &changes, &format!("node {from}"))?;
            }
        }
        Ok(())
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        let lines: String = std::iter::once(self.bridge_namespace())
            .chain(self.node_ids().map(|node| self.namespace(node)))
            .map(|name| format!("netns del {name}\n"))
            .collect();
        // Ignore errors: some namespaces may not exist yet, and the next run removes the leftovers.
        let _ = run_ip_batch(&["-force"], &lines);
    }
}

/// Marks the namespaces of this program among all of the machine.
const NAME_PREFIX: &str = "quorate-";

fn ip_address(node: NodeId) -> String {
    format!("10.77.{}.{}", node.index() / 250, 1 + node.index() % 250)
}

/// An address in the locally administered range (`02`); the node's number makes it unique.
fn hardware_address(node: NodeId) -> String {
    let mut text = "02:51".to_owned();
    for byte in node.number().to_be_bytes() {
        // Writing into a string cannot fail.
        let _ = write!(text, ":{byte:02x}");
    }
    text
}

/// The line for `ip -batch` that makes packets to a node go to a hardware address.
fn neighbour_line(node: NodeId, hardware_address: &str) -> String {
    format!("neigh replace {} lladdr {hardware_address} dev {DEVICE} nud permanent\n", ip_address(node))
}

fn fail_if_interrupted(is_interrupted: &dyn Fn() -> bool) -> Result<(), LiveError> {
    if is_interrupted() { Err(LiveError::Interrupted) } else { Ok(()) }
}

/// The program `ip` in a process group of its own; otherwise Ctrl-C in a terminal would interrupt
/// the clean-up.
fn ip_command() -> Command {
    let mut command = Command::new("ip");
    command.process_group(0);
    command
}

/// Runs `ip` on these lines. `part` says in an error which part of the network fails.
fn run_ip(options: &[&str], lines: &str, part: &str) -> Result<(), LiveError> {
    match run_ip_batch(options, lines) {
        Ok(problem) if problem.is_empty() => Ok(()),
        Ok(problem) => Err(LiveError::Network { part: part.into(), reason: problem }),
        Err(error) => Err(LiveError::Network { part: part.into(), reason: format!("ip did not run: {error}") }),
    }
}

/// Runs `ip -batch` on these lines. Returns its first error message, or an empty text if it
/// succeeds.
fn run_ip_batch(options: &[&str], lines: &str) -> std::io::Result<String> {
    let mut command = ip_command();
    command.args(options).args(["-batch", "-"]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // If `ip` ended early, its standard error says why.
        let _ = stdin.write_all(lines.as_bytes());
    }
    let output = child.wait_with_output()?;
    if output.status.success() {
        return Ok(String::new());
    }
    Ok(String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or("ip failed").trim().to_owned())
}

/// Removes the namespaces of runs whose process has ended.
fn remove_leftovers() -> Result<(), LiveError> {
    let network_error = |reason: String| LiveError::Network { part: "all nodes".into(), reason };
    let listed = ip_command().args(["netns", "list"]).output();
    let listed = listed.map_err(|error| network_error(format!("ip did not run: {error}")))?;
    let text = String::from_utf8_lossy(&listed.stdout);
    let is_gone = |pid: &u32| !Path::new(&format!("/proc/{pid}")).exists();
    let leftovers = text
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| owner_pid(name).is_some_and(|pid| is_gone(&pid)));
    let lines: String = leftovers.map(|name| format!("netns del {name}\n")).collect();
    if !lines.is_empty() {
        // Ignore errors: another run may remove the same leftovers at the same time.
        let _ = run_ip_batch(&["-force"], &lines);
    }
    Ok(())
}

/// The process that created this namespace: 1234 for `quorate-1234-2`.
fn owner_pid(name: &str) -> Option<u32> {
    let (pid, node) = name.strip_prefix(NAME_PREFIX)?.split_once('-')?;
    node.parse::<u32>().ok()?;
    pid.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{hardware_address, ip_address, owner_pid};
    use quorate_core::NodeId;
    use std::collections::BTreeSet;

    #[test]
    fn every_node_has_unique_addresses() {
        let nodes = || (0..1_000).map(NodeId::from_index);
        assert_eq!(nodes().map(ip_address).collect::<BTreeSet<_>>().len(), 1_000);
        assert_eq!(nodes().map(hardware_address).collect::<BTreeSet<_>>().len(), 1_000);
        assert_eq!(
            (ip_address(NodeId::from_index(0)), hardware_address(NodeId::from_index(15))),
            ("10.77.0.1".into(), "02:51:00:00:00:10".into())
        );
    }

    #[test]
    fn only_our_own_namespaces_are_recognised() {
        assert_eq!(owner_pid("quorate-1234-2"), Some(1234));
        for other in ["quorate", "quorate-x-1", "quorate-12-", "quorate-12-a", "blue", "q-12-1", "quorate-service"] {
            assert_eq!(owner_pid(other), None, "{other}");
        }
    }
}
