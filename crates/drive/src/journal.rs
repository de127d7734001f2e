//! The live journal: the record of one incarnation of a node, in the simulator's format.

use crate::record::Recorder;
use quorate_journal::moment::{Moment, Observer, WorldEvent};
use quorate_journal::record::{Header, Lines};
use serde::Serialize;
use std::fs::File;
use std::io;

/// A journal that is written while the node runs.
///
/// It buffers the steps of a turn and writes them to the file at the end of the turn, before any
/// effect of the turn leaves the process. So the journal of a killed process covers everything that
/// other processes have seen.
pub struct LiveJournal {
    lines: Lines,
    file: File,
}

impl LiveJournal {
    /// Creates the journal, whose first line is this header.
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
        // Only the journal of a node that shuts down cleanly has an end mark. The mark records no
        // ending, because a single node does not know how the run of the group ends.
        if let Moment::World { event: WorldEvent::Ended { .. }, .. } = moment {
            self.lines.end(None);
        }
    }
}

impl<C: Serialize, E: Serialize> Recorder<C, E> for LiveJournal {
    fn flush(&mut self) -> io::Result<()> {
        self.lines.flush_to(&mut self.file)
    }
}
