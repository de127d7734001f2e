//! After the run: the journals of all processes become one, which is measured and judged.

use crate::error::LiveError;
use quorate_lab::FamilyLab;
use quorate_lab::replay::{Replayed, summarise_with};
use quorate_sim::journal::gather::{Gathered, gather};
use quorate_sim::journal::{Fingerprint, Journal};
use quorate_sim::moment::{Moment, Observer};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

/// What the journals of all processes came to.
pub(crate) struct Judgement<F: FamilyLab> {
    pub(crate) gathered: Gathered,
    pub(crate) read: Replayed<F>,
    pub(crate) trace_hash: String,
    pub(crate) events: u64,
}

/// Gathers the parts into `journal`, and reads it.
pub(crate) fn judge<F: FamilyLab>(parts: &[PathBuf], journal: &Path) -> Result<Judgement<F>, LiveError> {
    let failed = |reason| LiveError::File { path: journal.to_owned(), reason };
    let file = File::create(journal).map_err(failed)?;
    let mut hashed = Hashed { out: BufWriter::new(file), fingerprint: Fingerprint::default() };
    let gathered = gather(parts, &mut hashed).map_err(|error| LiveError::Gather(error.to_string()))?;
    hashed.flush().map_err(failed)?;
    let trace_hash = hashed.fingerprint.to_string();
    drop(hashed);
    let input = BufReader::new(File::open(journal).map_err(failed)?);
    let mut journal = Journal::open(input).map_err(|error| LiveError::Lab(error.into()))?;
    let (read, Inputs(events)) = summarise_with::<F, _, _>(&mut journal, Inputs(0))?;
    Ok(Judgement { gathered, read, trace_hash, events })
}

/// Counts what nodes took.
struct Inputs(u64);

impl<C, E> Observer<C, E> for Inputs {
    fn observe(&mut self, moment: &Moment<'_, C, E>) {
        self.0 += u64::from(matches!(moment, Moment::Input { .. }));
    }
}

/// Takes the fingerprint of all that passes.
struct Hashed<W> {
    out: W,
    fingerprint: Fingerprint,
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.fingerprint.add(bytes.get(..written).unwrap_or_default());
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
