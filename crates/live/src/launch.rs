//! The command line of one process.

use crate::child::{Child, Report, Serial};
use crate::error::LiveError;
use crate::namespaces::Namespaces;
use quorate_core::NodeId;
use quorate_lab::{FamilyLab, Spec};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::Sender;

pub(crate) struct Launch {
    program: PathBuf,
    words: Vec<String>,
    folder: PathBuf,
    group: String,
    origin: i64,
    /// Whether the algorithm keeps anything on its disk. One that does has a folder, which counts its lives.
    saves: bool,
    certificates: Option<PathBuf>,
    networks: Option<Namespaces>,
}

pub(crate) struct Home<'a> {
    pub(crate) program: &'a Path,
    pub(crate) folder: &'a Path,
    pub(crate) group: String,
    /// What they show each other, if they do.
    pub(crate) certificates: Option<PathBuf>,
    /// The networks that they are in, if each has its own.
    pub(crate) networks: Option<Namespaces>,
}

impl Launch {
    /// Processes of this experiment whose clocks show zero at `origin`.
    pub(crate) fn new<F: FamilyLab>(spec: &Spec<F>, home: Home<'_>, origin: i64) -> Result<Self, LiveError> {
        spec.validate()?;
        let saves = F::codec(spec).saves();
        let mut words = vec!["node".to_owned(), spec.algorithm.to_string()];
        words.extend([format!("--nodes={}", spec.nodes), format!("--seed={}", spec.seed)]);
        words.extend(F::flags(spec).into_iter().map(|flag| flag.argument()));
        let Home { program, folder, group, certificates, networks } = home;
        Ok(Self {
            program: program.to_owned(),
            words,
            folder: folder.to_owned(),
            group,
            origin,
            saves,
            certificates,
            networks,
        })
    }

    /// Between which nodes nothing passes is this network's affair.
    pub(crate) fn networks(&mut self) -> Option<&mut Namespaces> {
        self.networks.as_mut()
    }

    pub(crate) fn group(&self) -> &str {
        &self.group
    }

    pub(crate) fn journal(&self, node: NodeId, life: u64) -> PathBuf {
        self.folder.join(format!("node-{node}-life-{life}.journal"))
    }

    /// Starts the process of a node's next life; it listens where its earlier lives did.
    pub(crate) fn start(
        &self,
        node: NodeId,
        (life, serial): (u64, Serial),
        address: Option<&str>,
        reports: &Sender<Report>,
    ) -> Result<Child, LiveError> {
        let log = self.folder.join(format!("node-{node}-life-{life}.log"));
        let command = self.command(node, life, address);
        Child::start(command, (node, serial), log, reports).map_err(|reason| LiveError::Start { node, reason })
    }

    fn command(&self, node: NodeId, life: u64, address: Option<&str>) -> Command {
        let mut command = match &self.networks {
            None => Command::new(&self.program),
            Some(networks) => {
                let mut inside = networks.enter(node);
                inside.arg(&self.program);
                inside
            }
        };
        let listen = address.map_or_else(|| self.listen(node), str::to_owned);
        command.args(&self.words).args(["--json", "--peers=-"]);
        command.args([format!("--id={node}"), format!("--listen={listen}"), format!("--group={}", self.group)]);
        // A number that may be negative stands behind a sign of equality, or it would look like an option.
        command.arg(format!("--origin={}", self.origin));
        command.arg("--trace").arg(self.journal(node, life));
        if self.saves {
            let data = self.folder.join(format!("node-{node}"));
            // A disk that was lost must not pass for a new one, so a node is told when its folder is to be begun.
            let is_new = !data.join("identity").exists();
            command.arg("--data").arg(data).args(is_new.then_some("--new"));
        } else {
            command.arg(format!("--life={life}"));
        }
        match &self.certificates {
            Some(folder) => command.arg("--certs").arg(folder),
            None if self.networks.is_some() => command.arg("--insecure-plain-tcp"),
            None => &mut command,
        };
        command
    }

    fn listen(&self, node: NodeId) -> String {
        match &self.networks {
            Some(networks) => networks.listen(node),
            None => loopback(node),
        }
    }
}

/// A port that a node listens on may be one that another process gets for a connection it makes, and then a restarted
/// node would not get it back. So each node has an address of its own, where the machine's loopback has more than one.
fn loopback(node: NodeId) -> String {
    if cfg!(target_os = "linux") {
        format!("127.0.{}.{}:0", 1 + node.index() / 250, 1 + node.index() % 250)
    } else {
        "127.0.0.1:0".into()
    }
}

#[cfg(test)]
mod tests {
    use super::{Home, Launch};
    use quorate_core::NodeId;
    use quorate_lab::registry::Family;
    use quorate_lab::{Algorithm, Election, Mutex, Replica, election, mutex, replica};
    use std::path::Path;

    fn home() -> Home<'static> {
        let (program, folder) = (Path::new("quorate"), Path::new("folder"));
        Home { program, folder, group: "run-1".into(), certificates: None, networks: None }
    }

    fn words(launch: &Launch, life: u64, address: Option<&str>) -> String {
        let command = launch.command(NodeId::from_index(1), life, address);
        command.get_args().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_node_is_told_all_that_it_is() {
        let settings = mutex::Settings { entries: 7, ..Default::default() };
        let spec = crate::spec::<Mutex>(Algorithm::named("central").unwrap(), 3, 9, settings);
        let expected = "node central --nodes=3 --seed=9 --entries=7 --json --peers=- --id=2 --listen=127.0.1.2:0 \
                        --group=run-1 --origin=-5 --trace folder/node-2-life-4.journal --life=4";
        assert_eq!(words(&Launch::new(&spec, home(), -5).unwrap(), 4, None), expected);
    }

    #[test]
    fn a_node_that_saves_keeps_its_folder_and_its_address() {
        let spec = crate::spec::<Replica>(Algorithm::named("replica").unwrap(), 3, 1, replica::Settings::default());
        let launch = Launch::new(&spec, Home { certificates: Some("certs".into()), ..home() }, 0).unwrap();
        let words = words(&launch, 1, Some("127.0.1.2:4711"));
        assert!(words.contains("--listen=127.0.1.2:4711 ") && !words.contains("--life="), "{words}");
        assert!(words.ends_with("--data folder/node-2 --new --certs certs"), "{words}");
    }

    /// Whichever life it is: a process that died early may not have got so far as to begin it.
    #[test]
    fn a_folder_is_begun_once() {
        let folder = tempfile::tempdir().unwrap();
        let spec = crate::spec::<Replica>(Algorithm::named("replica").unwrap(), 3, 1, replica::Settings::default());
        let launch = Launch::new(&spec, Home { folder: folder.path(), ..home() }, 0).unwrap();
        let is_new = |life| words(&launch, life, None).contains("--new");
        std::fs::create_dir(folder.path().join("node-2")).unwrap();
        assert!(is_new(0) && is_new(1));
        std::fs::write(folder.path().join("node-2/identity"), "x").unwrap();
        assert!(!is_new(0) && !is_new(1));
    }

    /// What is on its disk decides, whichever family it is of: `quorate node` goes by the same.
    #[test]
    fn only_who_saves_has_a_folder() {
        let is_kept = |launch: Launch| {
            let words = words(&launch, 1, None);
            assert_ne!(words.contains("--data "), words.contains("--life="), "{words}");
            words.contains("--data ")
        };
        let elections = crate::spec::<Election>(Algorithm::named("raft").unwrap(), 3, 1, election::Settings::default());
        assert!(is_kept(Launch::new(&elections, home(), 0).unwrap()));
        for entry in quorate_lab::registry::all().iter().chain(quorate_lab::registry::fixtures()) {
            if entry.family() == Family::Mutex {
                let spec =
                    crate::spec::<Mutex>(Algorithm::named(entry.name()).unwrap(), 3, 1, mutex::Settings::default());
                assert_eq!(is_kept(Launch::new(&spec, home(), 0).unwrap()), entry.codec().saves(), "{}", entry.name());
            }
        }
    }
}
