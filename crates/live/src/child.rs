//! One process: its standard input takes lines, its standard output is read line by line, and it never outlives its
//! parent.

use crate::error::Log;
use quorate_core::NodeId;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

/// Which process: no two that were ever started share one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Serial(pub(crate) u64);

pub(crate) struct Report {
    pub(crate) node: NodeId,
    pub(crate) serial: Serial,
    pub(crate) what: Heard,
}

pub(crate) enum Heard {
    Line(String),
    Closed,
}

/// A process that is killed when this is dropped.
pub(crate) struct Child {
    pub(crate) serial: Serial,
    process: std::process::Child,
    lines: Sender<String>,
    log: PathBuf,
}

impl Child {
    /// Starts it. What it says is told to `reports`, what it logs goes to a file.
    pub(crate) fn start(
        mut command: Command,
        (node, serial): (NodeId, Serial),
        log: PathBuf,
        reports: &Sender<Report>,
    ) -> io::Result<Self> {
        let errors = File::options().create(true).append(true).open(&log)?;
        // In a group of its own, or Ctrl-C in a terminal would end it before its journal is complete.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors);
        let mut process = command.spawn()?;
        let (lines, to_write) = mpsc::channel();
        if let Some(stdin) = process.stdin.take() {
            thread::Builder::new().name(format!("to {node}")).spawn(move || write_lines(stdin, &to_write))?;
        }
        if let Some(stdout) = process.stdout.take() {
            let reports = reports.clone();
            let tell = move |what| reports.send(Report { node, serial, what }).is_ok();
            thread::Builder::new().name(format!("from {node}")).spawn(move || read_lines(stdout, tell))?;
        }
        Ok(Self { serial, process, lines, log })
    }

    /// Gives it a line, as soon as it takes one; a process that is gone takes none.
    pub(crate) fn tell(&self, line: String) {
        let _ = self.lines.send(line);
    }

    /// Kills it. What it said before is still heard.
    pub(crate) fn kill(&mut self) -> io::Result<()> {
        self.process.kill()
    }

    /// Waits until it is gone; its standard output is closed already.
    pub(crate) fn wait(&mut self) -> io::Result<ExitStatus> {
        self.process.wait()
    }

    /// Stops it, and returns when none of its threads runs any more.
    pub(crate) fn stop(&self) -> io::Result<()> {
        self.signal(Signal::STOP)?;
        let deadline = Instant::now() + Duration::from_secs(10);
        while !is_stopped(self.process.id())? {
            if Instant::now() > deadline {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "it still runs 10 s after it was told to stop"));
            }
            thread::sleep(Duration::from_micros(200));
        }
        Ok(())
    }

    pub(crate) fn proceed(&self) -> io::Result<()> {
        self.signal(Signal::CONT)
    }

    fn signal(&self, signal: Signal) -> io::Result<()> {
        let pid = i32::try_from(self.process.id()).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        Ok(kill_process(pid, signal)?)
    }

    pub(crate) fn log(&self) -> Log {
        Log(tail(&self.log).unwrap_or_default())
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // One that has ended already cannot be killed, which is as well.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn write_lines(mut stdin: ChildStdin, lines: &Receiver<String>) {
    for mut line in lines {
        line.push('\n');
        if stdin.write_all(line.as_bytes()).and_then(|()| stdin.flush()).is_err() {
            return;
        }
    }
}

fn read_lines(stdout: ChildStdout, tell: impl Fn(Heard) -> bool) {
    let mut stdout = BufReader::new(stdout);
    let mut line = Vec::new();
    while let Ok(1..) = stdout.read_until(b'\n', &mut line) {
        // A line without its end was cut off by the end of the process.
        let Some(whole) = line.strip_suffix(b"\n") else { break };
        if !tell(Heard::Line(String::from_utf8_lossy(whole).into_owned())) {
            return;
        }
        line.clear();
    }
    tell(Heard::Closed);
}

fn is_stopped(pid: u32) -> io::Result<bool> {
    for task in fs::read_dir(format!("/proc/{pid}/task"))? {
        let stat = match fs::read_to_string(task?.path().join("stat")) {
            Ok(stat) => stat,
            // A thread may end between the two looks.
            Err(_) => continue,
        };
        if !matches!(state(&stat), Some('T' | 't' | 'Z' | 'X')) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The state in a line of `/proc`: what follows the name, which is in parentheses and may hold some itself.
fn state(stat: &str) -> Option<char> {
    stat.rsplit_once(") ")?.1.chars().next()
}

/// As much of a log as an error should hold.
const TAIL: u64 = 2_000;

fn tail(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
    let mut bytes = Vec::new();
    file.take(TAIL).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Child, Heard, Report, Serial, is_stopped, state};
    use quorate_core::NodeId;
    use std::process::Command;
    use std::sync::mpsc::{self, Receiver};
    use std::time::Duration;

    fn start(script: &str) -> (Child, Receiver<Report>, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let (send, receive) = mpsc::channel();
        let mut command = Command::new("sh");
        command.arg("-c").arg(script);
        let who = (NodeId::from_index(0), Serial(7));
        let child = Child::start(command, who, folder.path().join("log"), &send).unwrap();
        (child, receive, folder)
    }

    fn next(reports: &Receiver<Report>) -> Option<String> {
        let report = reports.recv_timeout(Duration::from_secs(20)).expect("the process says something");
        assert_eq!((report.node.number(), report.serial), (1, Serial(7)));
        match report.what {
            Heard::Line(line) => Some(line),
            Heard::Closed => None,
        }
    }

    #[test]
    fn lines_go_in_and_come_out_and_half_a_line_is_none() {
        let (mut child, reports, _folder) = start("read line; echo \"<$line>\"; echo oops >&2; printf half");
        child.tell("hello".into());
        assert_eq!(next(&reports).as_deref(), Some("<hello>"));
        assert_eq!(next(&reports), None);
        assert!(child.wait().unwrap().success());
        assert_eq!(child.log().to_string(), " It logged:\n  oops");
    }

    #[test]
    fn a_killed_process_is_heard_to_the_end() {
        let (mut child, reports, _folder) = start("printf 'one\\ntwo\\n'; exec cat");
        assert_eq!(next(&reports).as_deref(), Some("one"));
        child.kill().unwrap();
        assert_eq!(next(&reports).as_deref(), Some("two"));
        assert_eq!(next(&reports), None);
        assert!(!child.wait().unwrap().success());
    }

    #[test]
    fn a_stopped_process_does_nothing_until_it_goes_on() {
        let (child, reports, _folder) = start("echo ready; while read line; do echo \"$line\"; done");
        assert_eq!(next(&reports).as_deref(), Some("ready"));
        child.stop().unwrap();
        let pid = child.process.id();
        assert!(is_stopped(pid).unwrap());
        // More than a pipe holds: whoever tells it is not made to wait.
        let long = "x".repeat(1 << 17);
        child.tell(long.clone());
        assert!(is_stopped(pid).unwrap() && reports.try_recv().is_err());
        child.proceed().unwrap();
        assert_eq!(next(&reports), Some(long));
    }

    #[test]
    fn a_dropped_process_is_gone() {
        let (child, reports, _folder) = start("echo ready; exec sleep 1000");
        assert_eq!(next(&reports).as_deref(), Some("ready"));
        child.stop().unwrap();
        let pid = child.process.id();
        drop(child);
        assert!(is_stopped(pid).is_err(), "it is still there");
    }

    #[test]
    fn a_name_cannot_pretend_a_state() {
        assert_eq!(state("12 (a) T (b) R 1 2 3"), Some('R'));
        assert_eq!(state("12 (sh) T 1 2 3"), Some('T'));
        assert_eq!(state(""), None);
    }
}
