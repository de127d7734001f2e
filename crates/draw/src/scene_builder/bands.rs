//! Faults that last for some time: partitions, link faults, full disks.

use crate::scene::{Band, TimePosition};
use quorate_journal::words;

/// Maximum number of bands in a scene or an overview; later ones are only counted.
const MAX_BANDS: usize = 1_000;

/// The bands so far: those of faults that still last, and those of faults that have ended.
#[derive(Default)]
pub(super) struct Bands {
    current: Vec<Band>,
    ended: Vec<Band>,
    omitted_count: u64,
}

impl Bands {
    /// Records a change, described as in `cut 1 | 2,3` (a partition), `end of cut 1 | 2,3` or
    /// `heal` (the end of all partitions). Returns whether the change begins a lasting fault,
    /// ends a recorded one or is `heal`, so that it needs no mark. A fault that ends before the
    /// window is dropped.
    pub(super) fn record(&mut self, text: &str, position: TimePosition, is_before_window: bool) -> bool {
        let text = words::escape_controls(text);
        if text == "heal" {
            let (partitions, others): (Vec<Band>, Vec<Band>) =
                self.current.drain(..).partition(|band| band.is_partition);
            self.current = others;
            for partition in partitions {
                self.end_band(partition, position, is_before_window);
            }
            return true;
        }
        if let Some(ended_text) = text.strip_prefix("end of ") {
            let found = self.current.iter().position(|band| band.text == ended_text);
            if let Some(index) = found {
                let band = self.current.remove(index);
                self.end_band(band, position, is_before_window);
            }
            return found.is_some();
        }
        let is_partition = text.starts_with("cut ");
        let is_lasting =
            is_partition || text.starts_with("link ") || (text.starts_with("disk ") && text.ends_with(" full"));
        let fits = self.count() < MAX_BANDS;
        self.omitted_count += u64::from(is_lasting && !fits);
        if is_lasting && fits {
            self.current.push(Band { text: text.into_owned(), is_partition, from: position, to: None });
        }
        is_lasting
    }

    fn end_band(&mut self, band: Band, position: TimePosition, is_before_window: bool) {
        if !is_before_window {
            self.ended.push(Band { to: Some(position), ..band });
        }
    }

    pub(super) fn count(&self) -> usize {
        self.current.len() + self.ended.len()
    }

    /// Number of bands beyond the limit.
    pub(super) fn omitted_count(&self) -> u64 {
        self.omitted_count
    }

    pub(super) fn finish(self) -> Vec<Band> {
        let mut bands = self.ended;
        bands.extend(self.current);
        bands.sort_by_key(|band| band.from);
        bands
    }
}
