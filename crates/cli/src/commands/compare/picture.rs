//! A comparison as a picture: what was measured over the size of the group, with the book's line behind it.

use super::{Comparison, Row, Side, table};
use crate::args::{PicturePlan, Plan};
use crate::output::{name, output};
use crate::paint;
use crate::report::count;
use quorate_draw::plot::{Axis, Figure, Key, Plot, Point, Series};
use quorate_lab::compare::{Book, Measured, simulation};
use quorate_live::write_whole;
use quorate_registry::MutexEntry;
use std::io::{self, Write};

/// Draws a comparison in which nothing is missing; of any other, nobody could see what is.
pub(super) fn draw(comparison: &Comparison<'_>, wanted: &PicturePlan, is_quiet: bool) -> anyhow::Result<()> {
    let (done, runs) = (comparison.done(), comparison.plan.runs());
    if done < runs {
        let kept = wanted.path.as_ref().map(|path| format!("; {} is as it was", name(path))).unwrap_or_default();
        let runs = count(runs as u64, "run");
        writeln!(io::stderr(), "No picture was drawn: only {done} of {runs} came to their end{kept}.")?;
        return Ok(());
    }
    let svg = figure(comparison).svg(wanted.theme)?;
    let Some(path) = &wanted.path else {
        let mut out = output();
        out.write_all(svg.as_bytes())?;
        return Ok(out.flush()?);
    };
    let failed = |error: io::Error| anyhow::anyhow!("The picture {} could not be written: {error}.", name(path));
    write_whole(path, failed, |out| out.write_all(svg.as_bytes()).map_err(failed))?;
    if !is_quiet {
        writeln!(output(), "\n  {}", paint::dim(&format!("picture: {}", name(path))))?;
    }
    Ok(())
}

/// What is drawn in one plot.
struct Quantity {
    title: &'static str,
    y: Axis,
    /// What was measured in the simulator, if that can be compared with the book.
    simulated: Option<Reading<f64>>,
    /// What was measured for real, with the longest.
    real: Option<Reading<(f64, f64)>>,
    book: Option<Law>,
}

/// A figure of a run, if there is one.
type Reading<T> = fn(&Measured) -> Option<T>;

/// What the book says.
struct Law {
    value: fn(&Book, u64) -> Option<f64>,
    /// As the book writes it.
    text: fn(&Book) -> String,
}

pub(super) fn figure(comparison: &Comparison<'_>) -> Figure {
    let key = Key {
        solid: "simulated".into(),
        ring: "real".into(),
        formula: "the book".into(),
        reach: "up to the longest".into(),
        ..Key::default()
    };
    let is_shown = |quantity: &Quantity| comparison.plan.reality.is_some() || quantity.simulated.is_some();
    let conditions = format!("{} · T: one message time", table::conditions(comparison));
    let figure = Figure::new("Mutual exclusion: what an entry costs").subtitle(conditions).key(key);
    quantities().into_iter().filter(is_shown).map(|quantity| plot(comparison, quantity)).fold(figure, Figure::with)
}

fn quantities() -> [Quantity; 6] {
    let (client, sync) = ("from asking to entering when nobody else wants in", "from a leave to the next entry");
    [
        Quantity {
            title: "Messages",
            y: Axis::log("messages an entry"),
            simulated: Some(|measured| measured.messages_per_entry),
            real: Some(|measured| measured.messages_per_entry.map(|messages| (messages, messages))),
            book: Some(Law {
                value: |book, entries| book.total(entries).exact().map(|total| total as f64 / entries as f64),
                text: |book| book.messages.to_owned(),
            }),
        },
        Quantity {
            title: "Client delay",
            y: Axis::linear(client).unit("T").showing(0.0),
            simulated: Some(|measured| measured.client_delay.map(|delay| delay.mean)),
            real: None,
            book: Some(Law {
                value: |book, _| book.client_delay.exact().map(|delay| delay as f64),
                text: |book| book.client.to_owned(),
            }),
        },
        Quantity {
            title: "Sync delay",
            y: Axis::linear(sync).unit("T").showing(0.0),
            simulated: Some(|measured| measured.sync_delay.map(|delay| delay.mean)),
            real: None,
            book: Some(Law {
                value: |book, _| book.sync_delay.exact().map(|delay| delay as f64),
                text: |book| book.sync.to_owned(),
            }),
        },
        Quantity {
            title: "Load",
            y: Axis::linear("the busiest node's share of messages").unit("%").showing(0.0).showing(100.0),
            simulated: Some(|measured| Some(100.0 * measured.busiest_share)),
            real: Some(|measured| Some((100.0 * measured.busiest_share, 100.0 * measured.busiest_share))),
            book: None,
        },
        Quantity {
            title: "Client delay, real",
            y: Axis::linear(client).unit("ms").showing(0.0),
            simulated: None,
            real: Some(|measured| measured.client_delay.map(|delay| (delay.mean, delay.max))),
            book: None,
        },
        Quantity {
            title: "Sync delay, real",
            y: Axis::linear(sync).unit("ms").showing(0.0),
            simulated: None,
            real: Some(|measured| measured.sync_delay.map(|delay| (delay.mean, delay.max))),
            book: None,
        },
    ]
}

fn plot(comparison: &Comparison<'_>, quantity: Quantity) -> Plot {
    let plan = comparison.plan;
    let sizes = line_sizes(&plan.sizes);
    // Every plot has the same axis, wherever nothing was measured.
    let nodes = plan.sizes.iter().fold(Axis::log("nodes").at_points(), |axis, size| axis.showing(*size as f64));
    let mut plot = Plot::new(quantity.title).x(nodes).y(quantity.y);
    for entry in &plan.contenders {
        let name = entry.facts.profile.name;
        let rows = || comparison.rows.iter().filter(|row| row.name() == name);
        let simulated = |row: &Row| {
            let value = quantity.simulated?(&row.simulated.measured)?;
            Some(Point::new(row.nodes as f64, value))
        };
        let real = |row: &Row| {
            let Side { measured, .. } = row.real.as_ref()?;
            let (value, longest) = quantity.real?(measured)?;
            let point = Point::new(row.nodes as f64, value).ring();
            Some(if longest > value { point.reach(value, longest) } else { point })
        };
        let series = Series::new(name).points(rows().filter_map(simulated)).points(rows().filter_map(real));
        // What is wrong on purpose is in no book.
        let law = quantity.book.as_ref().filter(|_| book(plan, entry, 2).binding);
        plot = plot.with(match law {
            Some(Law { value, text }) => series.formula(text(&book(plan, entry, 2)), line(plan, entry, &sizes, *value)),
            None => series,
        });
    }
    plot
}

fn book(plan: &Plan, entry: &MutexEntry, nodes: usize) -> Book {
    Book::of(entry, &simulation(entry, nodes, plan.seed, &plan.settings))
}

fn line(plan: &Plan, entry: &MutexEntry, sizes: &[usize], value: fn(&Book, u64) -> Option<f64>) -> Vec<(f64, f64)> {
    let point = |nodes: &usize| Some((*nodes as f64, value(&book(plan, entry, *nodes), plan.settings.entries)?));
    sizes.iter().filter(|nodes| (entry.facts.fits)(**nodes).is_ok()).filter_map(point).collect()
}

/// For which sizes the book is asked: from the smallest group to the largest, and around one that is alone. Sizes that
/// differ by less than one in 25 would not be told apart.
fn line_sizes(sizes: &[usize]) -> Vec<usize> {
    let least = sizes.iter().copied().min().unwrap_or(2);
    let most = sizes.iter().copied().max().unwrap_or(2);
    let (least, most) = if least == most { ((least / 2).max(2), 2 * most) } else { (least, most) };
    let line = std::iter::successors(Some(least), |size| Some(size + 1 + size / 25));
    line.take_while(|size| *size < most).chain([most]).collect()
}

#[cfg(test)]
mod tests {
    use super::line_sizes;

    #[test]
    fn lines_go_from_the_smallest_group_to_the_largest() {
        assert_eq!(line_sizes(&[8, 2, 5]), [2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(line_sizes(&[3]), [2, 3, 4, 5, 6]);
        let long = line_sizes(&[2, 1000]);
        assert!(long.len() <= 150 && long.first() == Some(&2) && long.last() == Some(&1000), "{long:?}");
    }
}
