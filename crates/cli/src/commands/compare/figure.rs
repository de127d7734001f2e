//! Converts the chart of a comparison to a figure.

use quorate_draw::plot::{Axis, Figure, Formula, Key, Plot, Point, Series};
use quorate_lab::compare::{self, Chart, Dot, ExpectedCurve, HorizontalAxis};

pub(super) fn from_chart(chart: Chart) -> Figure {
    let key = Key {
        solid: chart.legend.measured.into(),
        // A ring is a value measured with real processes; a solid dot is one from the simulator.
        ring: "real".into(),
        formula: chart.legend.expected.into(),
        range: chart.legend.sample_range.into(),
        ..Key::default()
    };
    let plots = chart.plots.into_iter().map(convert_plot).collect();
    Figure { title: chart.title.into(), subtitle: chart.subtitle, key, plots }
}

fn convert_plot(plot: compare::Plot) -> Plot {
    let compare::VerticalAxis { name, unit, is_logarithmic, included_values } = plot.vertical_axis;
    let y_axis =
        Axis { included_values, ..if is_logarithmic { Axis::log(name) } else { Axis::linear(name) }.unit(unit) };
    let series = plot.series.into_iter().map(convert_series);
    series.fold(Plot::new(plot.title).x(convert_x_axis(plot.horizontal_axis)).y(y_axis), Plot::with_series)
}

fn convert_x_axis(axis: HorizontalAxis) -> Axis {
    match axis {
        HorizontalAxis::Sizes(sizes) => {
            let included_values = sizes.into_iter().map(|size| size as f64).collect();
            Axis { included_values, ..Axis::log("nodes").at_points() }
        }
        HorizontalAxis::Names(names) => {
            let names = names.into_iter().enumerate();
            names.fold(Axis::linear(""), |axis, (index, name)| axis.naming(index as f64, name))
        }
    }
}

fn convert_series(series: compare::Series) -> Series {
    let compare::Series { name, dots, is_joined, expected } = series;
    let formula = expected.map(|ExpectedCurve { text, points }| Formula { text, points });
    Series { name, points: dots.into_iter().map(convert_point).collect(), is_joined, formula }
}

fn convert_point(Dot { x, y, is_real, sample_range }: Dot) -> Point {
    let point = if is_real { Point::new(x, y).ring() } else { Point::new(x, y) };
    sample_range.map_or(point, |(low, high)| point.range(low, high))
}
