//! Memory use of this process.

/// Returns the resident set size in bytes; `None` where the system does not report it.
pub(crate) fn resident() -> Option<u64> {
    let sizes = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = sizes.split_whitespace().nth(1)?.parse().ok()?;
    pages.checked_mul(rustix::param::page_size() as u64)
}

#[cfg(test)]
mod tests {
    use super::resident;

    /// Linux reports the same size in kilobytes elsewhere, so a wrong page size shows as a factor.
    #[test]
    fn resident_memory_matches_the_kernels_status_file() {
        let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return };
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        let kilobytes: u64 = line.trim().trim_end_matches("kB").trim().parse().unwrap();
        let (expected, measured) = (kilobytes * 1_024, resident().unwrap());
        assert!(measured > expected / 2 && measured < expected * 2, "{measured} is not about {expected}");
    }
}
