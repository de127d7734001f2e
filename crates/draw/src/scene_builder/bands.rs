//! Faults that last for some time: partitions, link faults, full disks.

use crate::scene::{Band, TimePosition};
use quorate_journal::words;

/// Maximum number of bands; later ones are only counted. A run with more is drawn as an overview.
const MAX_BANDS: usize = 1_000;

/// The open and the closed bands so far.
#[derive(Default)]
pub(super) struct Bands {
    open: Vec<Band>,
    closed: Vec<Band>,
    omitted_count: u64,
}

impl Bands {
    /// Records a change that is described in the fault language. Returns false if the change
    /// neither starts nor ends a lasting fault. Faults that ended before the window are dropped.
    pub(super) fn record(&mut self, text: &str, position: TimePosition, before_window: bool) -> bool {
        let text = words::escape_controls(text);
        if text == "heal" {
            let (cuts, others) = self.open.drain(..).partition(|band| band.is_partition);
            self.open = others;
            for cut in Vec::from_iter::<Vec<_>>(cuts) {
                self.close(cut, position, before_window);
            }
            return true;
        }
        if let Some(ended_text) = text.strip_prefix("end of ") {
            let found = self.open.iter().position(|band| band.text == ended_text);
            if let Some(index) = found {
                let band = self.open.remove(index);
                self.close(band, position, before_window);
            }
            return found.is_some();
        }
        let is_partition = text.starts_with("cut ");
        let is_lasting =
            is_partition || text.starts_with("link ") || (text.starts_with("disk ") && text.ends_with(" full"));
        let fits = self.count() < MAX_BANDS;
        self.omitted_count += u64::from(is_lasting && !fits);
        if is_lasting && fits {
            self.open.push(Band { text: text.into_owned(), is_partition, from: position, to: None });
        }
        is_lasting
    }

    fn close(&mut self, band: Band, position: TimePosition, before_window: bool) {
        if !before_window {
            self.closed.push(Band { to: Some(position), ..band });
        }
    }

    pub(super) fn count(&self) -> usize {
        self.open.len() + self.closed.len()
    }

    /// Number of bands beyond the limit.
    pub(super) fn omitted_count(&self) -> u64 {
        self.omitted_count
    }

    pub(super) fn finish(self) -> Vec<Band> {
        let mut bands = self.closed;
        bands.extend(self.open);
        bands.sort_by_key(|band| band.from);
        bands
    }
}
