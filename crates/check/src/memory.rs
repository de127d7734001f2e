//! Memory use of this process.

/// Returns the resident set size in bytes; `None` where the system does not report it.
pub(crate) fn resident() -> Option<u64> {
    let sizes = std::fs::read_to_string("/proc/self/statm").ok()?;
    // The second number is the resident size.
    let pages: u64 = sizes.split_whitespace().nth(1)?.parse().ok()?;
    pages.checked_mul(rustix::param::page_size() as u64)
}

#[cfg(test)]
mod tests {
    use super::resident;

    /// Linux also reports the size in kilobytes. With a wrong page size the two would differ by a
    /// factor of two or more.
    #[test]
    fn resident_memory_matches_the_kernels_status_file() {
        let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return };
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        let kilobytes: u64 = line.trim().trim_end_matches("kB").trim().parse().unwrap();
        let (expected, measured) = (kilobytes * 1_024, resident().unwrap());
        assert!(measured > expected / 2 && measured < expected * 2, "{measured} is not about {expected}");
    }
}
