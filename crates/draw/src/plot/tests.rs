//! Tests of plots: contents, layout, and errors.

mod document;
mod random;

use super::text::{regular_size_of_bold, text_width};
use super::{Axis, Figure, Key, Plot, PlotError, Point, Series};
use crate::style::{INK, PAPER, Theme};
use document::{Element, read};
use expect_test::{expect, expect_file};

const NODE_COUNTS: [f64; 3] = [2.0, 4.0, 8.0];

fn ricart_agrawala() -> Series {
    let messages = |n: f64| 2.0 * (n - 1.0);
    Series::new("ricart-agrawala")
        .points(NODE_COUNTS.map(|n| Point::new(n, messages(n))))
        .formula("2(n−1)", (2..=8).map(f64::from).map(|n| (n, messages(n))))
}

fn central() -> Series {
    Series::new("central").points(NODE_COUNTS.map(|n| Point::new(n, 3.0))).formula("3", [(2.0, 3.0), (8.0, 3.0)])
}

fn messages() -> Plot {
    let plot = Plot::new("Messages per entry").x(Axis::log("nodes").at_points()).y(Axis::log("messages"));
    plot.with_series(central()).with_series(ricart_agrawala())
}

fn delays() -> Plot {
    let delay = |name: &str| {
        let points = NODE_COUNTS.map(|n| Point::new(n, 2.0).range(1.0, 3.0).interval(1.5, 2.5));
        Series::new(name).points(points).points(NODE_COUNTS.map(|n| Point::new(n, 2.0).ring()))
    };
    let plot = Plot::new("Delay").x(Axis::log("nodes").at_points()).y(Axis::linear("delay").unit("T").including(0.0));
    plot.with_series(delay("central")).with_series(delay("ricart-agrawala"))
}

/// Returns the marks, except those of the legend.
fn marks(root: &Element) -> Vec<&Element> {
    let is_mark =
        |element: &&Element| ["circle", "polygon"].contains(&element.name.as_str()) && element.tooltip().is_some();
    root.all().into_iter().filter(is_mark).collect()
}

/// Returns the horizontal position of a mark, in tenths of a pixel.
fn middle_x(mark: &Element) -> i64 {
    let Some(points) = mark.get("points") else { return (10.0 * mark.number("cx")) as i64 };
    let across: Vec<f64> =
        points.split_whitespace().map(|pair| pair.split(',').next().unwrap().parse().unwrap()).collect();
    let (low, high) = across.iter().fold((f64::MAX, 0.0_f64), |(low, high), x| (low.min(*x), high.max(*x)));
    (5.0 * (low + high)) as i64
}

fn texts(root: &Element) -> Vec<&Element> {
    root.all().into_iter().filter(|element| element.name == "text").collect()
}

/// Parses a picture and checks what every picture must satisfy: it is well-formed, its lines,
/// polygons and texts are within its bounds, and texts do not overlap.
fn parse_and_check(svg: &str) -> Element {
    let root = read(svg);
    let (page_width, page_height) = (root.number("width"), root.number("height"));
    assert_eq!(root.get("viewBox"), Some(format!("0 0 {page_width} {page_height}").as_str()));
    assert_eq!((root.get("role"), root.get("xmlns")), (Some("img"), Some("http://www.w3.org/2000/svg")));
    let kinds: Vec<_> = root.children.iter().take(2).map(|child| child.name.as_str()).collect();
    assert_eq!(kinds, ["title", "desc"]);
    let known = ["svg", "title", "desc", "style", "rect", "polyline", "circle", "polygon", "text", "tspan"];
    for element in root.all() {
        assert!(known.contains(&element.name.as_str()), "unexpected element {}", element.name);
        let points = element.get("points").unwrap_or_default().split_whitespace();
        for (x, y) in points.map(|pair| pair.split_once(',').unwrap()) {
            let (x, y): (f64, f64) = (x.parse().unwrap(), y.parse().unwrap());
            assert!(
                (0.0..=page_width).contains(&x) && (0.0..=page_height).contains(&y),
                "{x},{y} is outside: {element:?}"
            );
        }
    }
    let boxes: Vec<_> = texts(&root).into_iter().filter(|text| !text.text.is_empty()).map(text_area).collect();
    for (index, (one, left, top, right, bottom)) in boxes.iter().enumerate() {
        assert!(
            *left >= -1.0 && *right <= page_width + 1.0 && *top >= 0.0 && *bottom <= page_height,
            "'{one}' is cut off"
        );
        for (other, from, above, to, below) in boxes.iter().skip(index + 1) {
            let is_apart = right <= from || to <= left || bottom <= above || below <= top;
            assert!(is_apart, "'{one}' and '{other}' overlap");
        }
    }
    root
}

/// Returns a text with its left, upper, right and lower edges, estimated from its font size.
fn text_area(element: &Element) -> (&str, f64, f64, f64, f64) {
    let (x, y, size) = (element.number("x"), element.number("y"), element.number("font-size"));
    let visible_text = element.text.replace(['\u{2068}', '\u{2069}'], "");
    let font_size = if element.get("font-weight").is_some() { regular_size_of_bold(size as i32) } else { size as i32 };
    let width = f64::from(text_width(&visible_text, font_size));
    let left = match element.get("text-anchor") {
        Some("middle") => x - width / 2.0,
        Some("end") => x - width,
        _ => x,
    };
    (&element.text, left, y - 0.75 * size, left + width, y + 0.2 * size)
}

#[test]
fn a_plot_and_a_figure_match_their_golden_files() {
    expect_file!["../../tests/plots/messages.svg"].assert_eq(&messages().svg(Theme::Auto).unwrap());
    let key = Key { solid: "simulated".into(), ring: "real".into(), ..Key::default() };
    let figure = Figure::new("Costs").subtitle("seed 1").key(key).with_plot(messages()).with_plot(delays());
    expect_file!["../../tests/plots/figure.svg"].assert_eq(&figure.svg(Theme::Dark).unwrap());
}

#[test]
fn the_same_figure_gives_the_same_bytes() {
    let figure = || Figure::new("Costs").with_plot(messages()).with_plot(delays());
    assert_eq!(figure().svg(Theme::Auto), figure().svg(Theme::Auto));
}

#[test]
fn every_point_has_a_mark_with_a_tooltip() {
    let svg = Figure::new("Costs").with_plot(delays()).svg(Theme::Light).unwrap();
    let root = parse_and_check(&svg);
    let marks = marks(&root);
    // Two series, each with three solid marks and three rings. Rings are drawn first.
    assert_eq!(marks.len(), 12);
    let tooltips: Vec<_> = marks.iter().filter_map(|mark| mark.tooltip()).step_by(6).collect();
    expect![[r#"
        central · measured elsewhere · nodes 2 · delay 2 T
        central · measured · nodes 2 · delay 2 T · minimum to maximum: 1 to 3 · 95 % confidence interval: 1.5 to 2.5"#]]
    .assert_eq(&tooltips.join("\n"));
}

#[test]
fn lines_are_named_at_their_ends_and_in_a_legend_too_if_two_ends_coincide() {
    let count = |root: &Element, text: &str| texts(root).iter().filter(|element| element.text == text).count();
    let root = parse_and_check(&messages().svg(Theme::Light).unwrap());
    // Name and formula are one text at the line's end, which needs no legend.
    assert_eq!((count(&root, "ricart-agrawala 2(n−1)"), count(&root, "ricart-agrawala")), (1, 0));
    let twin = Series { name: "twin".into(), ..ricart_agrawala() };
    let root = parse_and_check(&messages().with_series(twin).svg(Theme::Light).unwrap());
    assert_eq!((count(&root, "ricart-agrawala 2(n−1)"), count(&root, "twin 2(n−1)")), (1, 0));
    assert_eq!((count(&root, "ricart-agrawala"), count(&root, "twin"), count(&root, "2(n−1)")), (1, 1, 2));
}

/// However close lines end, their labels do not overlap. If a label is left out, the legend has the
/// names of all lines.
#[test]
fn labels_of_lines_that_end_close_together_do_not_overlap() {
    for gap in [0.1, 1.0, 3.0, 10.0, 30.0] {
        let series = |index: u8| Series::new(format!("line {index}")).points([Point::new(1.0, f64::from(index) * gap)]);
        let plot = (0..12)
            .map(series)
            .fold(Plot::new("p").y(Axis::linear("").including(0.0).including(300.0)), Plot::with_series);
        let root = parse_and_check(&plot.svg(Theme::Light).unwrap());
        let name_count = |is_bold: bool| {
            let has_weight =
                |text: &&&Element| text.text.starts_with("line ") && text.get("font-weight").is_some() == is_bold;
            texts(&root).iter().filter(has_weight).count()
        };
        // Labels at line ends are bold; names in the legend are not.
        assert_eq!(name_count(false), if name_count(true) == 12 { 0 } else { 12 }, "{gap}");
        // With the largest gap there is room for every label.
        assert!(name_count(true) >= 1 && (gap < 30.0 || name_count(true) == 12), "{gap}");
    }
}

#[test]
fn a_series_looks_the_same_in_every_plot() {
    let mut other = delays();
    other.series.reverse();
    let root = parse_and_check(&Figure::new("Costs").with_plot(messages()).with_plot(other).svg(Theme::Light).unwrap());
    let mut styles: Vec<_> = marks(&root)
        .into_iter()
        .filter(|mark| mark.get("fill") != Some("none"))
        .map(|mark| {
            (mark.tooltip().unwrap().split(" · ").next().unwrap(), mark.name.as_str(), mark.get("fill").unwrap())
        })
        .collect();
    styles.sort_unstable();
    styles.dedup();
    assert_eq!(styles.len(), 2, "{styles:?}");
}

#[test]
fn only_the_auto_theme_needs_a_style_sheet() {
    let [auto, light, dark] = [Theme::Auto, Theme::Light, Theme::Dark].map(|theme| messages().svg(theme).unwrap());
    assert!(auto.contains("prefers-color-scheme:dark") && !light.contains("<style>") && !dark.contains("<style>"));
    assert!(light.contains(PAPER.light) && light.contains(INK.light) && !light.contains(PAPER.dark));
    assert!(dark.contains(PAPER.dark) && dark.contains(INK.dark) && !dark.contains(INK.light));
    let (head, sheet) = auto.split_once("<style>").unwrap();
    let (sheet, body) = sheet.split_once("</style>").unwrap();
    assert_eq!(format!("{head}{}", body.trim_start()), light, "a viewer without style sheets must see the light theme");
    // Every colour of the picture has a dark counterpart.
    for colour in body.split(['"']).filter(|part| part.starts_with('#')) {
        assert!(sheet.contains(&format!("[fill=\"{colour}\"]")), "{colour}");
    }
}

#[test]
fn degenerate_plots_are_drawn() {
    let points = |points: &[(f64, f64)]| Series::new("s").points(points.iter().map(|(x, y)| Point::new(*x, *y)));
    let log = || Plot::new("p").x(Axis::log("x").at_points()).y(Axis::log("y"));
    let shows_text = |plot: Plot, text: &str| {
        texts(&parse_and_check(&plot.svg(Theme::Auto).unwrap())).iter().any(|found| found.text == text)
    };
    assert!(shows_text(log(), "no data"));
    assert!(shows_text(log().with_series(Series::new("empty")), "no data"));
    assert!(!shows_text(log().with_series(points(&[(4.0, 6.0)])), "no data"));
    // Zero has a tick on a log axis.
    assert!(shows_text(log().with_series(points(&[(1.0, 0.0), (2.0, 40.0)])), "0"));
    assert!(shows_text(log().with_series(points(&[(1.0, 0.0), (2.0, 0.0)])), "0"));
    for values in
        [&[(1e-250, 1e250), (1e250, 1e-250)][..], &[(1.0, 1.0); 50], &[(0.0, 0.0)], &[(1e9, 1e9), (1e9 + 1.0, 1e9)]]
    {
        for plot in [log(), Plot::new("")] {
            parse_and_check(&plot.with_series(points(values)).svg(Theme::Auto).unwrap());
        }
    }
    parse_and_check(&Plot::new("").svg(Theme::Auto).unwrap());
    parse_and_check(
        &Plot::new("a formula alone")
            .with_series(Series::new("s").formula("f", [(1.0, 1.0)]))
            .svg(Theme::Auto)
            .unwrap(),
    );
    parse_and_check(
        &Plot::new("a formula without a line").with_series(Series::new("s").formula("f", [])).svg(Theme::Auto).unwrap(),
    );
}

#[test]
fn twelve_overlapping_series_are_all_visible() {
    let series = |index: usize| Series { name: format!("number {index}"), ..ricart_agrawala() };
    let plot =
        (0..12).map(series).fold(Plot::new("p").x(Axis::log("n").at_points()).y(Axis::log("m")), Plot::with_series);
    let root = parse_and_check(&plot.svg(Theme::Light).unwrap());
    let mut positions: Vec<_> = marks(&root).into_iter().map(middle_x).collect();
    positions.sort_unstable();
    // Twelve series of three points each.
    assert_eq!(positions.len(), 36);
    positions.dedup();
    assert_eq!(positions.len(), 36, "no two marks may be at the same horizontal position");
    let lines = root
        .all()
        .into_iter()
        .filter(|element| element.get("stroke-dasharray").is_some() && element.tooltip().is_some());
    let mut dash_offsets: Vec<_> = lines.map(|line| line.get("stroke-dashoffset").unwrap_or("0").to_owned()).collect();
    dash_offsets.sort();
    dash_offsets.dedup();
    assert_eq!(dash_offsets.len(), 12, "the dashes of overlapping lines must alternate");
}

#[test]
fn hostile_names_are_escaped() {
    let bad = "</text><script>alert(\"1\")</script>]]>&amp;'\u{0}\u{1b}[31m\u{202e}\u{ffff}\u{fffe}\nשלום {{}} <!-- ";
    let long = bad.repeat(50);
    let axis = |name: &str| Axis::log(name).unit(name);
    for name in [bad, &long, "", " ", "שלום (2)", "日本語", "é\u{301}\u{301}", "\u{2068}"] {
        let series =
            || Series::new(name).points(NODE_COUNTS.map(|n| Point::new(n, n))).formula(name, [(2.0, 2.0), (8.0, 8.0)]);
        let plot = Plot::new(name)
            .subtitle(name)
            .x(axis(name))
            .y(axis(name))
            .with_series(series())
            .with_series(ricart_agrawala());
        let key = Key { solid: name.into(), formula: name.into(), ..Key::default() };
        let figure =
            Figure::new(name).subtitle(name).key(key).with_plot(plot.clone()).with_plot(delays().with_series(series()));
        for svg in [plot.svg(Theme::Auto).unwrap(), figure.svg(Theme::Dark).unwrap()] {
            let root = parse_and_check(&svg);
            assert!(
                root.all().iter().all(|element| element.attributes.iter().all(|(name, _)| !name.starts_with("on")))
            );
        }
    }
    let svg = Plot::new("p").with_series(Series::new("שלום").points([Point::new(1.0, 1.0)])).svg(Theme::Light).unwrap();
    assert!(svg.contains(">&#x2068;שלום&#x2069;</text>"), "right-to-left text must be isolated");
}

#[test]
fn invalid_figures_are_refused() {
    let point =
        |x: f64, y: f64| Plot::new("p").y(Axis::log("m")).with_series(Series::new("s").points([Point::new(x, y)]));
    let many = (0..49).fold(Plot::new("p"), |plot, index| plot.with_series(Series::new(index.to_string())));
    let long = Plot::new("p").with_series(Series::new("s").points((0..20_001).map(|n| Point::new(f64::from(n), 1.0))));
    let range = Plot::new("p").with_series(Series::new("s").points([Point::new(1.0, 1.0).range(3.0, 2.0)]));
    let formula = Plot::new("p\u{1b}").with_series(Series::new("s\n").formula("f", [(1.0, f64::NAN)]));
    let refused = [
        Figure::new("f").svg(Theme::Auto),
        (0..13).fold(Figure::new("f"), |figure, _| figure.with_plot(Plot::new("p"))).svg(Theme::Auto),
        many.svg(Theme::Auto),
        long.svg(Theme::Auto),
        point(f64::NAN, 1.0).svg(Theme::Auto),
        point(1.0, f64::INFINITY).svg(Theme::Auto),
        point(1.0, -3.0).svg(Theme::Auto),
        point(1.0, 1e-300).svg(Theme::Auto),
        point(f64::MAX, 1.0).svg(Theme::Auto),
        range.svg(Theme::Auto),
        formula.svg(Theme::Auto),
        Plot::new("p").x(Axis::log("n").including(-1.0)).svg(Theme::Auto),
    ];
    let messages: Vec<_> = refused.into_iter().map(|svg| svg.expect_err("drew a picture").to_string()).collect();
    expect![[r#"
        a figure needs at least one plot.
        a figure can have at most 12 plots; got 13. Split it into several figures.
        a plot can have at most 48 series; 'p' has 49.
        a series can have at most 20000 points; 's' in 'p' has 20001. Aggregate them.
        values must be finite; a point's x of 's' in 'p' is NaN. Leave out missing measurements.
        values must be finite; a point's y of 's' in 'p' is inf. Leave out missing measurements.
        a logarithmic axis has no negative values; a point's y of 's' in 'p' is −3. Use a linear axis.
        absolute values must be between 1e-250 and 1e250; a point's y of 's' in 'p' is 10⁻³⁰⁰. Use another unit.
        absolute values must be between 1e-250 and 1e250; a point's x of 's' in 'p' is 1.7977·10³⁰⁸. Use another unit.
        the low end of a range must not exceed the high end; 's' in 'p' has 3 to 2.
        values must be finite; the formula's y of 's\u{a}' in 'p\u{1b}' is NaN. Leave out missing measurements.
        a logarithmic axis has no negative values; an included value of 'n' in 'p' is −1. Use a linear axis."#]]
    .assert_eq(&messages.join("\n"));
    assert_eq!(Figure::new("f").svg(Theme::Auto), Err(PlotError::NoPlots));
}
