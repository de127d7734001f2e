//! A comparison as a picture: what was measured over the size of the group and over the load, with the book's line behind it.

mod panels;

use super::{Comparison, Row, World, table};
use crate::args::Heat;
use crate::output::name;
use crate::picture::FigurePlan;
use crate::report::count;
use panels::{Over, Panel, Reading, loads, panels};
use quorate_draw::plot::{Axis, Figure, Key, Plot, Point, Series};
use quorate_lab::compare::{Book, Traffic};
use quorate_lab::mutex::MutexEntry;
use std::io::{self, Write};

/// Draws a comparison in which nothing is missing; of any other, nobody could see what is.
pub(super) fn draw(comparison: &Comparison<'_>, wanted: &FigurePlan, is_quiet: bool) -> anyhow::Result<()> {
    let (done, runs) = (comparison.done(), comparison.plan.runs());
    if done < runs {
        let kept = wanted.path.as_ref().map(|path| format!("; {} is as it was", name(path))).unwrap_or_default();
        let runs = count(runs as u64, "run");
        writeln!(io::stderr(), "No picture was drawn: only {done} of {runs} came to their end{kept}.")?;
        return Ok(());
    }
    wanted.write(&figure(comparison), is_quiet)
}

pub(super) fn figure(comparison: &Comparison<'_>) -> Figure {
    let key = Key {
        solid: "simulated".into(),
        ring: "real".into(),
        formula: "the book".into(),
        reach: "up to the longest".into(),
        ..Key::default()
    };
    let conditions = format!("{} · T: one message time", table::conditions(comparison));
    let figure = Figure::new("Mutual exclusion: what an entry costs").subtitle(conditions).key(key);
    panels(comparison).iter().map(|panel| plot(comparison, panel)).fold(figure, Figure::with)
}

fn plot(comparison: &Comparison<'_>, panel: &Panel) -> Plot {
    let mut plot = Plot::new(panel.title.clone()).x(across(comparison, panel.over)).y(panel.y.clone());
    for entry in &comparison.plan.contenders {
        let rows: Vec<_> = comparison.rows.iter().filter(|row| row.name() == entry.facts.profile.name).collect();
        let read = |world, reading: Option<Reading>| match reading {
            Some(reading) => places(comparison, panel.over, &rows, world, reading),
            None => Vec::new(),
        };
        let points = read(World::Recordable, panel.simulated).into_iter().map(|(x, (value, _))| Point::new(x, value));
        let rings = read(World::Real, panel.real).into_iter().map(|(x, (value, longest))| {
            let point = Point::new(x, value).ring();
            if longest > value { point.reach(value, longest) } else { point }
        });
        let law = law(comparison, panel, entry);
        let mut series = Series::new(entry.facts.profile.name).points(points);
        // What the book leaves open has no line there to be followed by.
        if panel.is_joined && law.as_ref().is_none_or(|(_, line)| line.is_empty()) {
            series = series.joined();
        }
        let series = series.points(rings);
        plot = plot.with(match law {
            Some((text, points)) => series.formula(text, points),
            None => series,
        });
    }
    plot
}

/// What was measured, each at its place. What several runs tell of one place is told as one.
fn places(
    comparison: &Comparison<'_>,
    over: Over,
    rows: &[&Row],
    world: World,
    reading: Reading,
) -> Vec<(f64, (f64, f64))> {
    let places: Vec<_> = match over {
        Over::Sizes(_) => comparison.plan.sizes.iter().map(|nodes| (*nodes as f64, *nodes, None)).collect(),
        Over::Loads(nodes) => {
            let traffics = loads(comparison.plan).into_iter().enumerate();
            traffics.map(|(place, traffic)| (place as f64, nodes, Some(traffic))).collect()
        }
    };
    let own = match over {
        Over::Sizes(traffic) => traffic,
        Over::Loads(_) => None,
    };
    let found = places.into_iter().filter_map(|(x, nodes, traffic)| {
        let is_here = |row: &&&Row| {
            let wanted = traffic.or(own);
            row.nodes == nodes && wanted.is_none_or(|wanted| row.traffic == wanted)
        };
        let sides: Vec<_> = rows.iter().filter(is_here).filter_map(|row| row.side(world)).collect();
        Some((x, reading(&sides)?))
    });
    found.collect()
}

/// Every plot has the same axis, wherever nothing was measured.
fn across(comparison: &Comparison<'_>, over: Over) -> Axis {
    match over {
        Over::Sizes(_) => {
            let sizes = comparison.plan.sizes.iter();
            sizes.fold(Axis::log("nodes").at_points(), |axis, size| axis.showing(*size as f64))
        }
        Over::Loads(_) => {
            let traffics = loads(comparison.plan).into_iter().enumerate();
            traffics.fold(Axis::linear(""), |axis, (place, traffic)| {
                axis.naming(place as f64, table::traffic_name(traffic))
            })
        }
    }
}

/// What the book says of an algorithm, with a line where it is exact all along. What is wrong on purpose is in no book.
fn law(
    comparison: &Comparison<'_>,
    panel: &Panel,
    entry: &'static MutexEntry,
) -> Option<(&'static str, Vec<(f64, f64)>)> {
    let plan = comparison.plan;
    let law = panel.book.as_ref()?;
    let book = |nodes: usize, traffic: Traffic| Book::of(entry, &plan.simulation(Heat { entry, nodes, traffic }));
    let value = |nodes: usize, traffic: Traffic| (law.value)(&book(nodes, traffic), plan.entries);
    let traffic = plan.traffics.first().copied()?;
    let sizes = || line_sizes(&plan.sizes).into_iter().filter(|nodes| (entry.facts.fits)(*nodes).is_ok());
    if !book(sizes().next()?, traffic).binding {
        return None;
    }
    let line: Option<Vec<_>> = match panel.over {
        Over::Sizes(own) => sizes().map(|nodes| Some((nodes as f64, value(nodes, own.unwrap_or(traffic))?))).collect(),
        Over::Loads(nodes) if (entry.facts.fits)(nodes).is_ok() => {
            let traffics = loads(plan).into_iter().enumerate();
            traffics.map(|(place, traffic)| Some((place as f64, value(nodes, traffic)?))).collect()
        }
        Over::Loads(_) => None,
    };
    Some(((law.text)(entry), line.unwrap_or_default()))
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
