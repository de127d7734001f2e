//! What an entry costs, simulated and between real processes, beside the book.

use super::field::LeftOut;
use super::{Book, Delays, Measured, Traffic, chart, complaints, json, simulate, simulation, table};
use crate::compare::{Chart, CompareError, Comparison, Host, Page, Parts};
use crate::family::ScriptFamily;
use crate::mutex::{Mutex, MutexEntry, Settings};
use crate::spec::Spec;
use quorate_journal::workload::Ending;
use serde::Serialize;

/// All that is compared, and what was found so far.
pub(super) struct Costs {
    pub(super) contenders: Vec<&'static MutexEntry>,
    pub(super) sizes: Vec<usize>,
    /// From idle to saturated, unless the user wants another order.
    pub(super) traffics: Vec<Traffic>,
    /// Algorithms that cannot run in groups of some of these sizes.
    pub(super) left_out: Vec<LeftOut>,
    pub(super) entries: u64,
    pub(super) seed: u64,
    /// How real processes speak to each other; without, everything is only simulated.
    pub(super) real: Option<Links>,
    pub(super) rows: Vec<Row>,
}

#[derive(Clone, Copy)]
pub(super) struct Links {
    pub(super) tls: bool,
}

impl Links {
    pub(super) fn name(self) -> &'static str {
        if self.tls { "tls" } else { "tcp" }
    }
}

/// One algorithm in a group of one size, asked in one way.
#[derive(Clone, Copy)]
pub(super) struct Heat {
    pub(super) entry: &'static MutexEntry,
    pub(super) nodes: usize,
    pub(super) traffic: Traffic,
}

pub(super) struct Row {
    pub(super) heat: Heat,
    pub(super) book: Book,
    pub(super) simulated: Side,
    /// There if it was wanted, and came to its end.
    pub(super) real: Option<Side>,
}

/// Where something was measured.
#[derive(Clone, Copy)]
pub(super) enum World {
    Simulated,
    Real,
}

impl World {
    /// What delays are measured in there.
    pub(super) fn delays(self) -> Delays {
        match self {
            Self::Simulated => Delays::InMessageTimes,
            Self::Real => Delays::InMilliseconds,
        }
    }
}

/// What was measured in one of the worlds.
pub(super) struct Side {
    pub(super) world: World,
    pub(super) measured: Measured,
    /// The command that does the same again.
    pub(super) again: String,
    /// Where the journal is, if a property fails in reality.
    pub(super) journal: Option<String>,
}

impl Row {
    pub(super) fn name(&self) -> &'static str {
        self.heat.entry.facts.profile.name
    }

    /// What was measured in one of the worlds, if it was.
    pub(super) fn side(&self, world: World) -> Option<&Side> {
        match world {
            World::Simulated => Some(&self.simulated),
            World::Real => self.real.as_ref(),
        }
    }

    /// What was measured, in each world that it was measured in.
    pub(super) fn sides(&self) -> impl Iterator<Item = &Side> {
        std::iter::once(&self.simulated).chain(&self.real)
    }

    pub(super) fn holds(&self) -> bool {
        self.sides().all(|side| side.measured.holds())
    }

    /// Whether all that was measured is the book's, if anybody can say.
    pub(super) fn is_exact(&self) -> Option<bool> {
        let mut judged = self.sides().filter_map(|side| side.measured.is_exact(&self.book)).peekable();
        judged.peek()?;
        Some(judged.all(|is_exact| is_exact))
    }
}

impl Costs {
    pub(super) fn holds(&self) -> bool {
        self.rows.iter().all(Row::holds)
    }

    /// Whether nothing that must be the book's is not.
    pub(super) fn is_exact(&self) -> bool {
        self.rows.iter().all(|row| row.is_exact() != Some(false))
    }

    /// What is run, in the order in which it is shown.
    pub(super) fn heats(&self) -> Vec<Heat> {
        let pairs = self.contenders.iter().flat_map(|entry| self.sizes.iter().map(|nodes| (*entry, *nodes)));
        let fitting = pairs.filter(|(entry, nodes)| (entry.facts.fits)(*nodes).is_ok());
        let heats = fitting.flat_map(|(entry, nodes)| {
            self.traffics.iter().map(move |traffic| Heat { entry, nodes, traffic: *traffic })
        });
        heats.collect()
    }

    pub(super) fn simulation(&self, Heat { entry, nodes, traffic }: Heat) -> Spec<Mutex> {
        let mut spec = simulation(entry, nodes, self.seed, &Settings::default());
        spec.settings = traffic.settings(self.entries, nodes, spec.typical());
        spec
    }

    pub(super) fn simulate(&self, heat: Heat) -> Result<Row, CompareError> {
        let spec = self.simulation(heat);
        let (book, measured) = simulate(&spec)?;
        let simulated = Side { world: World::Simulated, measured, again: spec.command("sim"), journal: None };
        Ok(Row { heat, book, simulated, real: None })
    }

    /// The same between real processes; nothing if somebody interrupts.
    pub(super) fn run_real(
        &self,
        row: &Row,
        links: Links,
        host: &mut dyn Host<Mutex>,
    ) -> Result<Option<Side>, CompareError> {
        let Heat { entry, nodes, traffic } = row.heat;
        let mut spec = host.real_spec(entry.into(), nodes, self.seed);
        spec.settings = traffic.settings(self.entries, nodes, spec.typical());
        let Some(run) = host.run_real(&spec, links.tls).map_err(CompareError::Real)? else { return Ok(None) };
        let read = &run.read;
        let delays = World::Real.delays();
        let measured = Measured::new(&row.book, delays, run.ending, &read.summary, &read.messages, &read.verdicts);
        Ok(Some(Side { world: World::Real, measured, again: again(&spec, links), journal: run.journal }))
    }
}

/// The command that runs one group alone, as far as the machine does the same again.
fn again(spec: &Spec<Mutex>, links: Links) -> String {
    let mut words = vec![format!("quorate run {} --nodes {} --seed {}", spec.algorithm, spec.nodes, spec.seed)];
    words.extend(Mutex::flags(spec).into_iter().map(|flag| flag.to_string()));
    words.extend(links.tls.then(|| "--tls".to_owned()));
    words.join(" ")
}

impl Comparison for Costs {
    type Family = Mutex;

    fn work(&self) -> (u64, &'static str) {
        (self.parts().all as u64, "runs")
    }

    fn measure(&mut self, host: &mut dyn Host<Mutex>) -> Result<(), CompareError> {
        for heat in self.heats() {
            if host.is_interrupted() {
                break;
            }
            host.begins(heat.entry.facts.profile.name, heat.nodes);
            let row = self.simulate(heat)?;
            host.advances();
            let real = self.real.map(|links| self.run_real(&row, links, host));
            real.iter().for_each(|_| host.advances());
            // The simulated side stays, even if the real one fails.
            let (real, end) = match real.transpose() {
                Ok(side) => (side.flatten(), Ok(())),
                Err(error) => (None, Err(error)),
            };
            self.rows.push(Row { real, ..row });
            end?;
        }
        Ok(())
    }

    fn parts(&self) -> Parts {
        let worlds = if self.real.is_some() { 2 } else { 1 };
        let done = self.rows.iter().flat_map(Row::sides).count();
        Parts { done, all: self.heats().len() * worlds, name: "run" }
    }

    fn is_complete(&self) -> bool {
        let Parts { done, all, .. } = self.parts();
        done == all && self.rows.iter().flat_map(Row::sides).all(|side| side.measured.ending == Ending::Done)
    }

    fn is_right(&self) -> bool {
        self.holds() && self.is_exact()
    }

    fn page(&self) -> Page {
        Page {
            conditions: table::conditions(self),
            tables: table::tables(self),
            notes: vec![table::notes(self)],
            complaints: complaints::complaints(self),
        }
    }

    fn chart(&self) -> Option<Chart> {
        Some(chart::chart(self))
    }

    fn report(&self) -> impl Serialize {
        json::report(self)
    }
}
