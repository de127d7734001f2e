//! How much memory this process has.

/// What is resident, as the system counts it; nothing where it does not say.
pub(crate) fn resident() -> Option<u64> {
    let sizes = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = sizes.split_whitespace().nth(1)?.parse().ok()?;
    pages.checked_mul(rustix::param::page_size() as u64)
}

#[cfg(test)]
mod tests {
    use super::resident;

    /// Linux says the same in kilobytes elsewhere, so that a wrong size of a page shows as a factor.
    #[test]
    fn pages_are_as_large_as_the_system_says() {
        let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return };
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        let kilobytes: u64 = line.trim().trim_end_matches("kB").trim().parse().unwrap();
        let (expected, measured) = (kilobytes * 1_024, resident().unwrap());
        assert!(measured > expected / 2 && measured < expected * 2, "{measured} is not about {expected}");
    }
}
