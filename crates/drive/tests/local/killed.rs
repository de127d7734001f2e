//! Three replicas on real disks in a process that is killed again and again: what was acknowledged is there.
use crate::common::{Node, Post, folder_of, owner, settings};
use quorate_core::NodeId;
use quorate_drive::local::{Address, Running};
use quorate_replica::registers::{Answer, Change, Read, Registers};
use quorate_replica::{Command, Durable, Event, Proposal, Ticket};
use quorate_store::{Files, found};
use std::io::{BufRead, BufReader, Lines};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Stdio};

const FOLDER: &str = "QUORATE_KILLED_FOLDER";

/// Not a test of its own: what the test below runs in a process that it kills.
#[test]
fn the_process_that_is_killed() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let nodes = replicas(Path::new(&folder));
    nodes[0].address().command(vec![Command::Campaign]);
    // The parent kills this process.
    loop {
        std::thread::park();
    }
}

fn replicas(folder: &Path) -> Vec<Running<Node>> {
    let mut post = Post::new(3);
    let addresses = post.addresses.clone();
    let start_one = |(me, address): (NodeId, Address<Node>)| {
        let folder = folder_of(folder, me);
        if !folder.exists() {
            found::<Durable>(&folder, owner(me)).unwrap();
        }
        post.start(me, Files, &folder, settings(3), user(address)).unwrap()
    };
    addresses.into_iter().map(start_one).collect()
}

/// Asks what was written last, then writes ever larger numbers, three at a time, and says which were acknowledged.
fn user(address: Address<Node>) -> impl FnMut(Vec<Event<Registers>>) + Send + 'static {
    let mut last = 0;
    move |events| {
        for event in events {
            match event {
                Event::Leads { .. } => {
                    address.command(vec![Command::Query { ticket: Ticket(u64::MAX), query: Read { key: 1 } }]);
                }
                Event::Answered { answer: Answer::Value(value), .. } => {
                    last = value.unwrap_or(0);
                    println!("\nfound {last}");
                    address.command(vec![write(&mut last)]);
                }
                Event::Answered { ticket, .. } => {
                    println!("\nacknowledged {}", ticket.0);
                    if ticket.0 == last {
                        address.command(vec![write(&mut last)]);
                    }
                }
                Event::Halted { reason } => println!("\nhalted: {reason}"),
                _ => {}
            }
        }
    }
}

fn write(last: &mut u64) -> Command<Registers> {
    let proposals = (1..=3).map(|step| {
        let value = *last + step;
        Proposal { ticket: Ticket(value), command: Change::Write { key: 1, value } }
    });
    let command = Command::Propose(proposals.collect());
    *last += 3;
    command
}

struct Victim {
    process: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Victim {
    fn start(folder: &Path) -> Self {
        let mut process = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "killed::the_process_that_is_killed", "--nocapture"])
            .env(FOLDER, folder)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        Self { process, lines }
    }

    fn next(&mut self, word: &str) -> Option<u64> {
        self.lines.by_ref().map_while(Result::ok).find_map(|line| {
            assert!(!line.starts_with("halted"), "{line}");
            line.strip_prefix(word)?.trim().parse().ok()
        })
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn survives_kills(rounds: u64) {
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().join("data");
    std::fs::create_dir(&path).unwrap();
    let mut acknowledged = 0;
    for round in 0..rounds {
        let mut victim = Victim::start(&path);
        let found = victim.next("found").unwrap_or_else(|| panic!("round {round}: nothing was found"));
        assert!(found >= acknowledged, "round {round}: {acknowledged} was acknowledged, and {found} is there");
        // Killed at any moment after so many acknowledgements; some rounds end before the first.
        for _ in 0..(round * 7_919) % 41 {
            acknowledged = victim.next("acknowledged").unwrap_or_else(|| panic!("round {round}: it ended by itself"));
        }
        drop(victim);
    }
    assert!(acknowledged > 0);
}

#[test]
fn what_was_acknowledged_survives_every_kill() {
    survives_kills(41);
}

#[test]
#[ignore = "long: ./check long"]
fn what_was_acknowledged_survives_two_hundred_kills() {
    survives_kills(200);
}
