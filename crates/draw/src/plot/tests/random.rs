//! Random figures: each gives a valid picture or an error.

use super::parse_and_check;
use crate::plot::{Axis, Figure, Plot, Point, Scale, Series, Ticks};
use crate::style::Theme;
use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};
use proptest::{collection::vec, option};

/// Mostly realistic numbers, and a few extreme ones.
fn value() -> impl Strategy<Value = f64> {
    prop_oneof![
        120 => (0_i32..40).prop_map(f64::from),
        80 => 0.0..1e4_f64,
        40 => (-12.0..12.0_f64).prop_map(|power| 10_f64.powf(power)),
        20 => Just(0.0),
        4 => (-250.0..250.0_f64).prop_map(|power| 10_f64.powf(power)),
        1 => -1e3..1e3_f64,
        1 => any::<f64>(),
    ]
}

fn point() -> impl Strategy<Value = Point> {
    (value(), value(), any::<bool>(), option::of((value(), value()))).prop_map(|(x, y, is_ring, range)| {
        let point = if is_ring { Point::new(x, y).ring() } else { Point::new(x, y) };
        // Ranges have their ends in order.
        range.map_or(point, |(one, other)| point.range(one.min(other), other.max(one)))
    })
}

fn series() -> impl Strategy<Value = Series> {
    let formula = option::of(("\\PC{0,20}", vec((value(), value()), 0..5)));
    (".{0,30}", vec(point(), 0..6), any::<bool>(), formula).prop_map(|(name, points, is_joined, formula)| {
        let series = Series { is_joined, ..Series::new(name).points(points) };
        formula.into_iter().fold(series, |series, (text, points)| series.formula(text, points))
    })
}

fn axis() -> impl Strategy<Value = Axis> {
    let included_values = vec(value(), 0..2);
    (".{0,60}", ".{0,8}", any::<bool>(), any::<bool>(), included_values).prop_map(
        |(name, unit, is_log, is_at_points, included_values)| Axis {
            scale: if is_log { Scale::Log } else { Scale::Linear },
            ticks: if is_at_points { Ticks::AtPoints } else { Ticks::Round },
            included_values,
            ..Axis::linear(name).unit(unit)
        },
    )
}

fn plot() -> impl Strategy<Value = Plot> {
    (".{0,40}", axis(), axis(), vec(series(), 0..7))
        .prop_map(|(title, x, y, series)| series.into_iter().fold(Plot::new(title).x(x).y(y), Plot::with_series))
}

proptest! {
    #[test]
    fn any_figure_is_a_valid_picture_or_an_error(title in ".{0,90}", plots in vec(plot(), 0..5)) {
        let figure = plots.into_iter().fold(Figure::new(title), Figure::with_plot);
        if let Ok(svg) = figure.svg(Theme::Auto) {
            parse_and_check(&svg);
            assert_eq!(figure.svg(Theme::Auto).unwrap(), svg);
        }
    }

    /// With realistic numbers there is always a picture.
    #[test]
    fn realistic_measurements_can_be_drawn(
        values in vec((1_u32..100_000, 0_u32..1_000_000), 0..30),
        is_log in any::<bool>(),
        series_count in 1..15_usize,
    ) {
        let axis = |name| Axis { scale: if is_log { Scale::Log } else { Scale::Linear }, ..Axis::linear(name) };
        let mut plot = Plot::new("p").x(axis("n").at_points()).y(axis("m"));
        for number in 0..series_count {
            let points = values.iter().enumerate().filter(|(index, _)| index % series_count == number);
            let points = points.map(|(_, (x, y))| Point::new(f64::from(*x), f64::from(*y) / 8.0));
            plot = plot.with_series(Series::new(number.to_string()).points(points));
        }
        parse_and_check(&plot.svg(Theme::Auto).unwrap());
    }
}
