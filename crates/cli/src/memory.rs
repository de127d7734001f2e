//! How much memory there is, how much may be taken, and how much was.

use anyhow::Context;
use std::fmt;
use std::fs;
use std::str::FromStr;

/// The bytes of a gigabyte.
const GIGABYTE: u64 = 1_000_000_000;

/// What may be taken where the system does not say what is free.
const UNKNOWN: Memory = Memory(4 * GIGABYTE);

/// An amount of memory, as people write it: `2` or `0.5`, in GB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Memory(u64);

impl Memory {
    pub(crate) fn from_bytes(bytes: u64) -> Self {
        Self(bytes)
    }

    pub(crate) fn bytes(self) -> u64 {
        self.0
    }

    /// As much of it as this process may address. Half of that is left for stacks and for what is mapped but not used.
    pub(crate) fn within_limits(self) -> Self {
        let limits = fs::read_to_string("/proc/self/limits").ok();
        match limits.and_then(|text| addressable(&text)) {
            Some(most) => Self(self.0.min(most / 2)),
            None => self,
        }
    }
}

/// How much this process may address, if there is a limit.
fn addressable(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok()
}

impl FromStr for Memory {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{}' is no amount of memory; write it in GB, such as 2 or 0.5.", text.escape_debug());
        let is_decimal = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let gigabytes: f64 = text.parse().ok().filter(|_| is_decimal).ok_or_else(wrong)?;
        // What is too large for any machine stays so.
        match (gigabytes * GIGABYTE as f64) as u64 {
            0 => Err(wrong()),
            bytes => Ok(Self(bytes)),
        }
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let thousandths = format!("{:.3}", self.0 as f64 / GIGABYTE as f64);
        write!(f, "{} GB", thousandths.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// What a command may take unless it is told: three quarters of what is free.
pub(crate) fn usual() -> Memory {
    let read = |path: &str| fs::read_to_string(path).ok();
    let system = read("/proc/meminfo").and_then(|text| available(&text));
    let limit = read("/sys/fs/cgroup/memory.max").zip(read("/sys/fs/cgroup/memory.current"));
    let container = limit.and_then(|(most, taken)| left(&most, &taken));
    let free = system.into_iter().chain(container).min();
    free.map_or(UNKNOWN, |free| Memory(free / 4 * 3))
}

/// What Linux says that a new process can have.
fn available(meminfo: &str) -> Option<u64> {
    kilobytes(meminfo, "MemAvailable:")
}

/// What a container may still take, if it has a limit.
fn left(most: &str, taken: &str) -> Option<u64> {
    let most: u64 = most.trim().parse().ok()?;
    Some(most.saturating_sub(taken.trim().parse().ok()?))
}

/// The most memory this process ever had, in bytes, as Linux counts it.
pub(crate) fn peak() -> anyhow::Result<u64> {
    let status = fs::read_to_string("/proc/self/status").context("Memory can be measured on Linux only")?;
    kilobytes(&status, "VmHWM:").context("Linux does not say VmHWM")
}

fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    kilobytes.checked_mul(1_024)
}

#[cfg(test)]
mod tests {
    use super::{Memory, addressable, available, left};

    #[test]
    fn memory_is_written_in_gigabytes() {
        let read = |text: &str| text.parse::<Memory>().map(Memory::bytes);
        assert_eq!(
            ["2", "0.5", ".001", "1.25"].map(read),
            [2_000, 500, 1, 1_250].map(|thousandths| Ok(thousandths * 1_000_000))
        );
        for text in ["0", "0.0", "-1", "1e3", "NaN", "inf", "", ".", "2GB", "0.0000000001"] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn memory_prints_as_it_is_written() {
        let printed =
            ["2", "0.5", "0.001", "17.4636", "100"].map(|text| text.parse::<Memory>().map(|memory| memory.to_string()));
        assert_eq!(printed, ["2 GB", "0.5 GB", "0.001 GB", "17.464 GB", "100 GB"].map(|text| Ok(text.into())));
    }

    #[test]
    fn what_may_be_addressed_is_read_from_linux() {
        let line =
            |soft: &str| format!("Limit  Soft Limit  Hard Limit\nMax address space   {soft}   unlimited   bytes\n");
        assert_eq!(["4096", "unlimited"].map(|soft| addressable(&line(soft))), [Some(4_096), None]);
    }

    #[test]
    fn what_is_free_is_read_from_linux() {
        assert_eq!(available("MemTotal:  9 kB\nMemAvailable:   24 kB\n"), Some(24_576));
        assert_eq!(available("MemTotal:  9 kB\n"), None);
        assert_eq!(
            [("max\n", "7\n"), ("10\n", "7\n"), ("7\n", "10\n")].map(|(most, taken)| left(most, taken)),
            [None, Some(3), Some(0)]
        );
    }
}
