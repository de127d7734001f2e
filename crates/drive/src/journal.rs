//! The live journal: what one life of a node did, in the simulator's format.

use crate::record::Record;
use quorate_journal::moment::{Happening, Moment, Observer};
use quorate_journal::record::{Header, Lines};
use serde::Serialize;
use std::fs::File;
use std::io;

/// A journal that is written while the node runs.
///
/// Steps are collected in memory and handed to the operating system at the end of each turn, before others see anything of
/// it. So a process that is killed leaves a journal that covers all that anybody else knows of.
pub struct LiveJournal {
    lines: Lines,
    file: File,
}

impl LiveJournal {
    /// Begins a journal with its header.
    pub fn new(file: File, header: &Header) -> Self {
        Self { lines: Lines::new(header), file }
    }
}

impl<C: Serialize, E: Serialize> Observer<C, E> for LiveJournal {
    fn reads_sizes(&self) -> bool {
        true
    }

    fn observe(&mut self, moment: &Moment<'_, C, E>) {
        self.lines.observe(moment);
        // A node that ends in good order does nothing more. One that is killed leaves no end mark.
        if let Moment::World { what: Happening::Ended { .. }, .. } = moment {
            self.lines.end(None);
        }
    }
}

impl<C: Serialize, E: Serialize> Record<C, E> for LiveJournal {
    fn flush(&mut self) -> io::Result<()> {
        self.lines.pour(&mut self.file)
    }
}
