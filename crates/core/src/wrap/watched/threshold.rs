//! The threshold of an accrual failure detector: a value of φ, and the number of standard
//! deviations at which the tail of the normal distribution is 10^−φ.

use core::fmt;

/// The level φ at which a peer is suspected, in thousandths. A threshold of 8,000 (φ = 8) allows a
/// silence that one in 10⁸ gaps between the heartbeats of a live peer exceeds, if the pace of the
/// heartbeats does not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct Threshold(u32);

/// The number of standard deviations, in thousandths, at which the normal tail is 10^−φ: for φ of
/// 0.5, 0.75, 1 and so on up to 20.
const DEVIATIONS: [u64; 79] = [
    478, 924, 1_282, 1_587, 1_857, 2_102, 2_326, 2_535, 2_730, 2_915, 3_090, 3_257, 3_417, 3_571, 3_719, 3_862, 4_000,
    4_135, 4_265, 4_392, 4_515, 4_636, 4_753, 4_868, 4_981, 5_091, 5_199, 5_305, 5_409, 5_512, 5_612, 5_711, 5_808,
    5_904, 5_998, 6_091, 6_182, 6_272, 6_361, 6_449, 6_536, 6_621, 6_706, 6_790, 6_872, 6_954, 7_034, 7_114, 7_193,
    7_271, 7_349, 7_425, 7_501, 7_576, 7_651, 7_724, 7_797, 7_870, 7_941, 8_012, 8_083, 8_153, 8_222, 8_291, 8_359,
    8_427, 8_494, 8_560, 8_627, 8_692, 8_757, 8_822, 8_886, 8_950, 9_013, 9_076, 9_139, 9_201, 9_262,
];
/// φ of the first table entry, in thousandths.
const FIRST_PHI: u32 = 500;
/// The difference in φ from one table entry to the next, in thousandths.
const PHI_STEP: u32 = 250;

impl Threshold {
    /// The lowest threshold, which suspects at a silence that three in ten gaps exceed.
    pub const MIN: Self = Self(FIRST_PHI);
    /// The highest threshold.
    pub const MAX: Self = Self(FIRST_PHI + PHI_STEP * (DEVIATIONS.len() as u32 - 1));
    /// The default threshold, for groups on one network.
    pub const DEFAULT: Self = Self(8_000);

    /// Returns the threshold with this φ in thousandths; `None` if it is out of range.
    pub const fn from_thousandths(thousandths: u32) -> Option<Self> {
        if thousandths < Self::MIN.0 || thousandths > Self::MAX.0 { None } else { Some(Self(thousandths)) }
    }

    /// Returns φ in thousandths.
    pub const fn thousandths(self) -> u32 {
        self.0
    }

    /// Returns by how many thousandths of a deviation a silence must exceed the mean to reach this
    /// threshold. Values between two entries of the table are interpolated linearly.
    pub(super) fn deviation_thousandths(self) -> u64 {
        let above_first = self.0.saturating_sub(FIRST_PHI);
        let (index, remainder) = ((above_first / PHI_STEP) as usize, u64::from(above_first % PHI_STEP));
        let last_entry = DEVIATIONS[DEVIATIONS.len() - 1];
        let entry = |index: usize| DEVIATIONS.get(index).copied().unwrap_or(last_entry);
        entry(index) + (entry(index + 1) - entry(index)) * remainder / u64::from(PHI_STEP)
    }

    /// Returns φ, in thousandths, of a silence that exceeds the mean by this many thousandths of a
    /// deviation: 0 below the lowest threshold, and the highest threshold beyond the table.
    pub(super) fn phi_after(deviation_thousandths: u64) -> u32 {
        let next_index = DEVIATIONS.partition_point(|known| *known <= deviation_thousandths);
        let (Some(&low), Some(&high)) =
            (next_index.checked_sub(1).and_then(|index| DEVIATIONS.get(index)), DEVIATIONS.get(next_index))
        else {
            return if next_index == 0 { 0 } else { Self::MAX.0 };
        };
        let above_low = (deviation_thousandths - low) * u64::from(PHI_STEP) / (high - low);
        // Both casts are safe: there are 79 entries, and `above_low` is less than a step.
        FIRST_PHI + PHI_STEP * (next_index as u32 - 1) + above_low as u32
    }
}

impl Default for Threshold {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = alloc::format!("{:03}", self.0 % 1_000);
        let digits = digits.trim_end_matches('0');
        let point = if digits.is_empty() { "" } else { "." };
        f.pad(&alloc::format!("{}{point}{digits}", self.0 / 1_000))
    }
}
