//! One child process. The run writes lines to its standard input and reads its standard output line
//! by line. Dropping its [`Child`] kills it.

use crate::error::LogTail;
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

/// Identifies one process among all that a run starts, so that late output of an earlier process of
/// the same node can be ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Serial(pub u64);

/// One output of a process.
pub struct Report {
    pub node: NodeId,
    pub serial: Serial,
    pub output: Output,
}

pub enum Output {
    Line(String),
    /// The process closed its standard output, normally because it ended.
    Closed,
}

/// A process that is killed when its `Child` is dropped.
pub struct Child {
    pub serial: Serial,
    process: std::process::Child,
    input_lines: Sender<String>,
    log: PathBuf,
}

impl Child {
    /// Starts the process. Its output lines go to `reports`, and its standard error to the log
    /// file.
    pub fn start(
        mut command: Command,
        (node, serial): (NodeId, Serial),
        log: PathBuf,
        reports: &Sender<Report>,
    ) -> io::Result<Self> {
        let errors = File::options().create(true).append(true).open(&log)?;
        // In a process group of its own; otherwise Ctrl-C in a terminal would end it before its
        // journal is complete.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors);
        let mut process = command.spawn()?;
        let (input_lines, queued_lines) = mpsc::channel();
        if let Some(stdin) = process.stdin.take() {
            thread::Builder::new().name(format!("to {node}")).spawn(move || write_lines(stdin, &queued_lines))?;
        }
        if let Some(stdout) = process.stdout.take() {
            let reports = reports.clone();
            let report = move |output| reports.send(Report { node, serial, output }).is_ok();
            thread::Builder::new().name(format!("from {node}")).spawn(move || read_lines(stdout, report))?;
        }
        Ok(Self { serial, process, input_lines, log })
    }

    /// Sends the process a line without waiting. The line is lost if the process has ended.
    pub fn send_line(&self, line: String) {
        let _ = self.input_lines.send(line);
    }

    /// Kills the process. Output that it wrote before is still reported.
    pub fn kill(&mut self) -> io::Result<()> {
        self.process.kill()
    }

    /// Waits until the process has ended, without a time limit. Call it only when the standard
    /// output is closed.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        self.process.wait()
    }

    /// Pauses the process with SIGSTOP, and returns when none of its threads runs any more. Fails
    /// if one still runs after 10 s.
    pub fn pause(&self) -> io::Result<()> {
        self.signal(Signal::STOP)?;
        let deadline = Instant::now() + Duration::from_secs(10);
        while !is_paused(self.process.id())? {
            if Instant::now() > deadline {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "the process still runs 10 s after SIGSTOP"));
            }
            thread::sleep(Duration::from_micros(200));
        }
        Ok(())
    }

    pub fn resume(&self) -> io::Result<()> {
        self.signal(Signal::CONT)
    }

    fn signal(&self, signal: Signal) -> io::Result<()> {
        let pid = i32::try_from(self.process.id()).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        Ok(kill_process(pid, signal)?)
    }

    pub fn log_tail(&self) -> LogTail {
        LogTail(read_tail(&self.log).unwrap_or_default())
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // Killing fails if the process has already ended, which is fine.
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

/// Reports each line, and finally that the output is closed. Stops early if `report` returns false,
/// because the run no longer listens.
fn read_lines(stdout: ChildStdout, report: impl Fn(Output) -> bool) {
    let mut stdout = BufReader::new(stdout);
    let mut line = Vec::new();
    while let Ok(1..) = stdout.read_until(b'\n', &mut line) {
        // The process ended in the middle of a line.
        let Some(complete) = line.strip_suffix(b"\n") else { break };
        if !report(Output::Line(String::from_utf8_lossy(complete).into_owned())) {
            return;
        }
        line.clear();
    }
    report(Output::Closed);
}

/// Whether no thread of the process runs: each is stopped or has ended. Fails if the process is
/// gone.
fn is_paused(pid: u32) -> io::Result<bool> {
    for task in fs::read_dir(format!("/proc/{pid}/task"))? {
        let stat = match fs::read_to_string(task?.path().join("stat")) {
            Ok(stat) => stat,
            // A thread may end between listing and reading.
            Err(_) => continue,
        };
        // T: stopped; t: stopped by a debugger; Z: zombie; X: dead.
        if !matches!(state_letter(&stat), Some('T' | 't' | 'Z' | 'X')) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The state in the `stat` file of a thread in `/proc`. It follows the name, which is in
/// parentheses and may contain parentheses.
fn state_letter(stat: &str) -> Option<char> {
    stat.rsplit_once(") ")?.1.chars().next()
}

/// Maximum length of the end of a log that an error includes.
const MAX_TAIL_BYTES: u64 = 2_000;

fn read_tail(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(MAX_TAIL_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(MAX_TAIL_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Child, Output, Report, Serial, is_paused, state_letter};
    use quorate_core::NodeId;
    use std::process::Command;
    use std::sync::mpsc::{self, Receiver};
    use std::time::Duration;

    fn start(script: &str) -> (Child, Receiver<Report>, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let (send, receive) = mpsc::channel();
        let mut command = Command::new("sh");
        command.arg("-c").arg(script);
        let identity = (NodeId::from_index(0), Serial(7));
        let child = Child::start(command, identity, folder.path().join("log"), &send).unwrap();
        (child, receive, folder)
    }

    /// The next line of output; `None` when the output is closed.
    fn next_line(reports: &Receiver<Report>) -> Option<String> {
        let report = reports.recv_timeout(Duration::from_secs(20)).expect("output of the process");
        assert_eq!((report.node.number(), report.serial), (1, Serial(7)));
        match report.output {
            Output::Line(line) => Some(line),
            Output::Closed => None,
        }
    }

    #[test]
    fn lines_are_sent_and_reported_and_an_incomplete_line_is_dropped() {
        let (mut child, reports, _folder) = start("read line; echo \"<$line>\"; echo oops >&2; printf half");
        child.send_line("hello".into());
        assert_eq!(next_line(&reports).as_deref(), Some("<hello>"));
        assert_eq!(next_line(&reports), None);
        assert!(child.wait().unwrap().success());
        assert_eq!(child.log_tail().to_string(), " It logged:\n  oops");
    }

    #[test]
    fn all_output_of_a_killed_process_is_reported() {
        let (mut child, reports, _folder) = start("printf 'one\\ntwo\\n'; exec cat");
        assert_eq!(next_line(&reports).as_deref(), Some("one"));
        child.kill().unwrap();
        assert_eq!(next_line(&reports).as_deref(), Some("two"));
        assert_eq!(next_line(&reports), None);
        assert!(!child.wait().unwrap().success());
    }

    #[test]
    fn a_paused_process_does_nothing_until_it_is_resumed() {
        let (child, reports, _folder) = start("echo ready; while read line; do echo \"$line\"; done");
        assert_eq!(next_line(&reports).as_deref(), Some("ready"));
        child.pause().unwrap();
        let pid = child.process.id();
        assert!(is_paused(pid).unwrap());
        // More than the 64 KiB that a pipe holds: sending must not block.
        let long_line = "x".repeat(1 << 17);
        child.send_line(long_line.clone());
        assert!(is_paused(pid).unwrap() && reports.try_recv().is_err());
        child.resume().unwrap();
        assert_eq!(next_line(&reports), Some(long_line));
    }

    #[test]
    fn a_dropped_process_is_killed() {
        let (child, reports, _folder) = start("echo ready; exec sleep 1000");
        assert_eq!(next_line(&reports).as_deref(), Some("ready"));
        child.pause().unwrap();
        let pid = child.process.id();
        drop(child);
        assert!(is_paused(pid).is_err(), "the process still exists");
    }

    #[test]
    fn a_process_name_cannot_fake_a_state() {
        assert_eq!(state_letter("12 (a) T (b) R 1 2 3"), Some('R'));
        assert_eq!(state_letter("12 (sh) T 1 2 3"), Some('T'));
        assert_eq!(state_letter(""), None);
    }
}
