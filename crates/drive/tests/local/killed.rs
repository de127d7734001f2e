//! Three replicas on real disks in a process that is killed repeatedly: all acknowledged writes
//! survive.

use crate::common::{Cluster, Node, node_folder, owner, settings};
use quorate_core::NodeId;
use quorate_drive::local::{Address, RunningNode};
use quorate_replica::registers::{Answer, Change, Read, Registers};
use quorate_replica::{Command, Durable, Event, Proposal, Ticket};
use quorate_store::{Files, create_founder};
use std::io::{BufRead, BufReader, Lines};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Stdio};

const FOLDER_VARIABLE: &str = "QUORATE_KILLED_FOLDER";

/// Not a test: the code that the tests below run in a child process and kill.
#[test]
fn child_process() {
    let Ok(folder) = std::env::var(FOLDER_VARIABLE) else { return };
    let nodes = start_replicas(Path::new(&folder));
    nodes[0].address().send_commands(vec![Command::Campaign]);
    // The parent kills this process.
    loop {
        std::thread::park();
    }
}

fn start_replicas(folder: &Path) -> Vec<RunningNode<Node>> {
    let mut cluster = Cluster::new(3);
    let addresses = cluster.addresses.clone();
    let start_one = |(me, address): (NodeId, Address<Node>)| {
        let folder = node_folder(folder, me);
        if !folder.exists() {
            create_founder::<Durable>(&folder, owner(me)).unwrap();
        }
        cluster.start(me, Files, &folder, settings(3), counting_client(address)).unwrap()
    };
    addresses.into_iter().map(start_one).collect()
}

/// Returns a client that reads the last value as soon as its replica leads, then writes increasing
/// numbers, three at a time, and prints which were acknowledged. Each output begins with a line
/// break, because the test harness may have printed an unfinished line.
fn counting_client(address: Address<Node>) -> impl FnMut(Vec<Event<Registers>>) + Send + 'static {
    let mut last_proposed = 0;
    move |events| {
        for event in events {
            match event {
                Event::Leads { .. } => {
                    address.send_commands(vec![Command::Query { ticket: Ticket(u64::MAX), query: Read { key: 1 } }]);
                }
                Event::Answered { answer: Answer::Value(value), .. } => {
                    last_proposed = value.unwrap_or(0);
                    println!("\nfound {last_proposed}");
                    address.send_commands(vec![write_next_three(&mut last_proposed)]);
                }
                Event::Answered { ticket, .. } => {
                    println!("\nacknowledged {}", ticket.0);
                    if ticket.0 == last_proposed {
                        address.send_commands(vec![write_next_three(&mut last_proposed)]);
                    }
                }
                Event::Halted { reason } => println!("\nhalted: {reason}"),
                _ => {}
            }
        }
    }
}

/// Returns the command that writes the three numbers after `last_proposed`, and advances it by
/// three.
fn write_next_three(last_proposed: &mut u64) -> Command<Registers> {
    let proposals = (1..=3).map(|step| {
        let value = *last_proposed + step;
        Proposal { ticket: Ticket(value), command: Change::Write { key: 1, value } }
    });
    let command = Command::Propose(proposals.collect());
    *last_proposed += 3;
    command
}

/// A child process with all three replicas. Dropping it kills the process.
struct ReplicaProcess {
    process: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl ReplicaProcess {
    fn start(folder: &Path) -> Self {
        let mut process = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "killed::child_process", "--nocapture"])
            .env(FOLDER_VARIABLE, folder)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        Self { process, lines }
    }

    /// Returns the number in the next line that begins with this word; `None` if the process has
    /// ended.
    fn next_number(&mut self, word: &str) -> Option<u64> {
        self.lines.by_ref().map_while(Result::ok).find_map(|line| {
            assert!(!line.starts_with("halted"), "{line}");
            line.strip_prefix(word)?.trim().parse().ok()
        })
    }
}

impl Drop for ReplicaProcess {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Starts the replicas, checks that all acknowledged writes survived, and kills the replicas, this
/// many times.
fn check_kills(rounds: u64) {
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().join("data");
    std::fs::create_dir(&path).unwrap();
    let mut acknowledged = 0;
    for round in 0..rounds {
        let mut process = ReplicaProcess::start(&path);
        let found = process.next_number("found").unwrap_or_else(|| panic!("round {round}: no value was found"));
        assert!(found >= acknowledged, "round {round}: {acknowledged} was acknowledged, but {found} was found");
        // The process is killed after 0 to 40 acknowledgements, a different number in each of 41
        // successive rounds.
        for _ in 0..(round * 7_919) % 41 {
            acknowledged =
                process.next_number("acknowledged").unwrap_or_else(|| panic!("round {round}: the process ended early"));
        }
        drop(process);
    }
    assert!(acknowledged > 0, "some write was acknowledged");
}

#[test]
fn each_acknowledged_write_survives_every_kill() {
    check_kills(41);
}

#[test]
#[ignore = "long: ./check long"]
fn each_acknowledged_write_survives_two_hundred_kills() {
    check_kills(200);
}
