//! The journal of faults: `quorate run` records the faults that it applies to its processes, on the
//! clock that they share.

use crate::error::LiveError;
use quorate_core::{Incarnation, Time};
use quorate_drive::{Clock, boot_id};
use quorate_journal::moment::{Moment, Observer, WorldEvent};
use quorate_journal::record::{Header, Lines, LiveHeader};
use quorate_journal::workload::Ending;
use quorate_lab::experiment::header;
use quorate_lab::{FamilyLab, Spec};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

pub(crate) struct FaultJournal {
    path: PathBuf,
    file: File,
    lines: Lines,
    clock: Clock,
}

impl FaultJournal {
    /// Creates the journal in a folder, for a group of this name. Readers display
    /// `workload_start`, when the clients begin, as time 0.
    pub(crate) fn begin<F: FamilyLab>(
        spec: &Spec<F>,
        (folder, group_name): (&Path, &str),
        clock: Clock,
        workload_start: Time,
    ) -> Result<Self, LiveError> {
        let path = folder.join("world.journal");
        let live = LiveHeader {
            node: None,
            incarnation: Incarnation::FIRST,
            group: group_name.to_owned(),
            boot: boot_id(),
            nanos_since_boot: clock.origin_nanos(),
            wall_clock_offset: clock.wall_clock_offset_nanos(),
            // This journal belongs to no node, so no earlier writes were found on a disk.
            found_writes: 0,
        };
        let header = Header { live: Some(live), origin: workload_start.nanos(), ..header(spec)? };
        let file = File::create(&path).map_err(|reason| LiveError::File { path: path.clone(), reason })?;
        let mut journal = Self { path, file, lines: Lines::new(&header), clock };
        journal.write_lines()?;
        Ok(journal)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn record(&mut self, event: WorldEvent<'_>) -> Result<(), LiveError> {
        let moment = Moment::World { time: self.clock.now(), event };
        Observer::<(), ()>::observe(&mut self.lines, &moment);
        self.write_lines()
    }

    /// Completes the journal with the way in which the run ended.
    pub(crate) fn end(&mut self, ending: Ending) -> Result<(), LiveError> {
        self.lines.end(Some(ending));
        self.write_lines()
    }

    fn write_lines(&mut self) -> Result<(), LiveError> {
        let written: io::Result<()> = self.lines.flush_to(&mut self.file);
        written.map_err(|reason| LiveError::File { path: self.path.clone(), reason })
    }
}
