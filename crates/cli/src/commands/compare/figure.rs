//! Converts the chart of a comparison to a figure.

use quorate_draw::plot::{Axis, Figure, Formula, Key, Plot, Point, Series};
use quorate_lab::compare::{self, Across, Chart, Dot, ExpectedCurve};

pub(super) fn from_chart(chart: Chart) -> Figure {
    let key = Key {
        solid: chart.legend.measured.into(),
        ring: "real".into(),
        formula: chart.legend.expected.into(),
        range: chart.legend.reach.into(),
        ..Key::default()
    };
    let plots = chart.plots.into_iter().map(plot).collect();
    Figure { title: chart.title.into(), subtitle: chart.subtitle, key, plots }
}

fn plot(plot: compare::Plot) -> Plot {
    let compare::Axis { name, unit, is_log, shown } = plot.upwards;
    let y_axis = Axis { shown, ..if is_log { Axis::log(name) } else { Axis::linear(name) }.unit(unit) };
    let series = plot.series.into_iter().map(series);
    series.fold(Plot::new(plot.title).x(x_axis(plot.across)).y(y_axis), Plot::with)
}

fn x_axis(across: Across) -> Axis {
    match across {
        Across::Sizes(sizes) => {
            let shown = sizes.into_iter().map(|size| size as f64).collect();
            Axis { shown, ..Axis::log("nodes").at_points() }
        }
        Across::Names(names) => {
            let names = names.into_iter().enumerate();
            names.fold(Axis::linear(""), |axis, (index, name)| axis.naming(index as f64, name))
        }
    }
}

fn series(series: compare::Series) -> Series {
    let compare::Series { name, dots, is_joined, expected } = series;
    let formula = expected.map(|ExpectedCurve { text, points }| Formula { text, points });
    Series { name, points: dots.into_iter().map(point).collect(), is_joined, formula }
}

fn point(Dot { x, y, is_real, reach }: Dot) -> Point {
    let point = if is_real { Point::new(x, y).ring() } else { Point::new(x, y) };
    reach.map_or(point, |(low, high)| point.range(low, high))
}
