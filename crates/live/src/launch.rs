//! Starts the processes of nodes, each with the command line of its node.

use crate::child::{Child, Report, Serial};
use crate::error::LiveError;
use crate::namespaces::Namespaces;
use quorate_core::NodeId;
use quorate_lab::{FamilyLab, Spec};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::Sender;

pub(crate) struct Launcher {
    program: PathBuf,
    arguments: Vec<String>,
    /// The folder of all files of the run.
    folder: PathBuf,
    group_name: String,
    /// When the clocks of the processes show zero, in nanoseconds since the boot of the machine.
    origin_nanos: i64,
    /// Whether the algorithm saves to disk. If so, each node has a data folder, in which it counts
    /// its incarnations; otherwise the command line tells the process its incarnation.
    has_durable_state: bool,
    certificates: Option<PathBuf>,
    namespaces: Option<Namespaces>,
}

/// The environment of the processes of a run.
pub(crate) struct Environment<'a> {
    pub(crate) program: &'a Path,
    pub(crate) folder: &'a Path,
    pub(crate) group_name: String,
    /// The folder of the certificates; `None` if the processes do not use TLS.
    pub(crate) certificates: Option<PathBuf>,
    /// The network namespaces of the nodes; `None` if all processes use the loopback network.
    pub(crate) namespaces: Option<Namespaces>,
}

impl Launcher {
    /// Prepares the processes of this experiment. Their clocks show zero at `origin_nanos`
    /// nanoseconds since the boot of the machine.
    pub(crate) fn new<F: FamilyLab>(
        spec: &Spec<F>,
        environment: Environment<'_>,
        origin_nanos: i64,
    ) -> Result<Self, LiveError> {
        spec.validate()?;
        let has_durable_state = F::codec(spec).has_durable_state();
        let mut arguments = vec!["node".to_owned(), spec.algorithm.to_string()];
        arguments.extend([format!("--nodes={}", spec.nodes), format!("--seed={}", spec.seed)]);
        arguments.extend(F::flags(spec).into_iter().map(|flag| flag.to_argument()));
        let Environment { program, folder, group_name, certificates, namespaces } = environment;
        Ok(Self {
            program: program.to_owned(),
            arguments,
            folder: folder.to_owned(),
            group_name,
            origin_nanos,
            has_durable_state,
            certificates,
            namespaces,
        })
    }

    /// The network namespaces, which implement cuts.
    pub(crate) fn namespaces(&mut self) -> Option<&mut Namespaces> {
        self.namespaces.as_mut()
    }

    pub(crate) fn group_name(&self) -> &str {
        &self.group_name
    }

    pub(crate) fn journal_path(&self, node: NodeId, incarnation: u64) -> PathBuf {
        self.folder.join(format!("node-{node}-life-{incarnation}.journal"))
    }

    /// Starts a process for an incarnation of a node. It listens at `address`, where the node's
    /// earlier incarnations listened; with `None`, at the address in its namespace or at a free
    /// loopback port.
    pub(crate) fn start(
        &self,
        node: NodeId,
        (incarnation, serial): (u64, Serial),
        address: Option<&str>,
        reports: &Sender<Report>,
    ) -> Result<Child, LiveError> {
        let log = self.folder.join(format!("node-{node}-life-{incarnation}.log"));
        let command = self.command(node, incarnation, address);
        Child::start(command, (node, serial), log, reports).map_err(|reason| LiveError::Start { node, reason })
    }

    fn command(&self, node: NodeId, incarnation: u64, address: Option<&str>) -> Command {
        let mut command = match &self.namespaces {
            None => Command::new(&self.program),
            Some(namespaces) => {
                let mut command = namespaces.command_in(node);
                command.arg(&self.program);
                command
            }
        };
        let listen_address = address.map_or_else(|| self.listen_address(node), str::to_owned);
        // The process reads the addresses of its peers from its standard input.
        command.args(&self.arguments).args(["--json", "--peers=-"]);
        command.args([
            format!("--id={node}"),
            format!("--listen={listen_address}"),
            format!("--group={}", self.group_name),
        ]);
        // A number that may be negative needs the form with an equals sign; otherwise it would look
        // like an option.
        command.arg(format!("--origin={}", self.origin_nanos));
        command.arg("--trace").arg(self.journal_path(node, incarnation));
        if self.has_durable_state {
            let data = self.folder.join(format!("node-{node}"));
            // A lost disk must not look like a new one, so the node creates its data folder only if
            // asked to.
            let is_new = !data.join("identity").exists();
            command.arg("--data").arg(data).args(is_new.then_some("--new"));
        } else {
            command.arg(format!("--life={incarnation}"));
        }
        match &self.certificates {
            Some(folder) => command.arg("--certs").arg(folder),
            // The addresses in namespaces are not loopback addresses, so plain TCP must be allowed.
            None if self.namespaces.is_some() => command.arg("--insecure-plain-tcp"),
            None => &mut command,
        };
        command
    }

    fn listen_address(&self, node: NodeId) -> String {
        match &self.namespaces {
            Some(namespaces) => namespaces.listen_address(node),
            None => loopback_address(node),
        }
    }
}

/// A loopback address with port 0 (any free port): on Linux a separate address for each node, 250
/// in each subnet. With a shared address, an outgoing connection of another process could take the
/// port of a node that is down, and the restarted node would not get it back.
fn loopback_address(node: NodeId) -> String {
    if cfg!(target_os = "linux") {
        format!("127.0.{}.{}:0", 1 + node.index() / 250, 1 + node.index() % 250)
    } else {
        "127.0.0.1:0".into()
    }
}

#[cfg(test)]
mod tests {
    use super::{Environment, Launcher};
    use quorate_core::NodeId;
    use quorate_lab::registry::Family;
    use quorate_lab::{Algorithm, Election, Mutex, Replica, election, mutex, replica};
    use std::path::Path;

    fn environment() -> Environment<'static> {
        let (program, folder) = (Path::new("quorate"), Path::new("folder"));
        Environment { program, folder, group_name: "run-1".into(), certificates: None, namespaces: None }
    }

    fn arguments(launcher: &Launcher, incarnation: u64, address: Option<&str>) -> String {
        let command = launcher.command(NodeId::from_index(1), incarnation, address);
        command.get_args().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_command_line_contains_the_experiment_and_the_node() {
        let settings = mutex::Settings { entries: 7, ..Default::default() };
        let spec = crate::spec::<Mutex>(Algorithm::named("central").unwrap(), 3, 9, settings);
        let expected = "node central --nodes=3 --seed=9 --entries=7 --json --peers=- --id=2 --listen=127.0.1.2:0 \
                        --group=run-1 --origin=-5 --trace folder/node-2-life-4.journal --life=4";
        assert_eq!(arguments(&Launcher::new(&spec, environment(), -5).unwrap(), 4, None), expected);
    }

    #[test]
    fn a_node_that_saves_gets_a_data_folder_and_its_earlier_address() {
        let spec = crate::spec::<Replica>(Algorithm::named("replica").unwrap(), 3, 1, replica::Settings::default());
        let launcher =
            Launcher::new(&spec, Environment { certificates: Some("certs".into()), ..environment() }, 0).unwrap();
        let arguments = arguments(&launcher, 1, Some("127.0.1.2:4711"));
        assert!(arguments.contains("--listen=127.0.1.2:4711 ") && !arguments.contains("--life="), "{arguments}");
        assert!(arguments.ends_with("--data folder/node-2 --new --certs certs"), "{arguments}");
    }

    /// Every incarnation gets `--new` until the folder contains an identity, because an earlier
    /// process may have ended before it wrote one.
    #[test]
    fn a_data_folder_is_created_once() {
        let folder = tempfile::tempdir().unwrap();
        let spec = crate::spec::<Replica>(Algorithm::named("replica").unwrap(), 3, 1, replica::Settings::default());
        let launcher = Launcher::new(&spec, Environment { folder: folder.path(), ..environment() }, 0).unwrap();
        let is_new = |incarnation| arguments(&launcher, incarnation, None).contains("--new");
        std::fs::create_dir(folder.path().join("node-2")).unwrap();
        assert!(is_new(0) && is_new(1));
        std::fs::write(folder.path().join("node-2/identity"), "x").unwrap();
        assert!(!is_new(0) && !is_new(1));
    }

    /// The algorithm decides, not its family; `quorate node` uses the same rule.
    #[test]
    fn only_algorithms_that_save_have_a_data_folder() {
        let has_data_folder = |launcher: Launcher| {
            let arguments = arguments(&launcher, 1, None);
            assert_ne!(arguments.contains("--data "), arguments.contains("--life="), "{arguments}");
            arguments.contains("--data ")
        };
        let election = crate::spec::<Election>(Algorithm::named("raft").unwrap(), 3, 1, election::Settings::default());
        assert!(has_data_folder(Launcher::new(&election, environment(), 0).unwrap()));
        for algorithm in quorate_lab::registry::all().iter().chain(quorate_lab::registry::fixtures()) {
            if algorithm.family() == Family::Mutex {
                let spec =
                    crate::spec::<Mutex>(Algorithm::named(algorithm.name()).unwrap(), 3, 1, mutex::Settings::default());
                assert_eq!(
                    has_data_folder(Launcher::new(&spec, environment(), 0).unwrap()),
                    algorithm.codec().has_durable_state(),
                    "{}",
                    algorithm.name()
                );
            }
        }
    }
}
