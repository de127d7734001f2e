//! Draws a whole figure.

use super::canvas::{Canvas, TextRun, rgb};
use super::layout::{Layout, PAGE_MARGIN, SUBTITLE_SIZE, TITLE_SIZE};
use super::legend::Legend;
use super::panel::{Page, Panel, draw_text, drawing_error};
use super::series_style::SeriesStyles;
use super::text::{fit, regular_size_of_bold};
use super::ticks::format_number;
use super::{Figure, Plot, PlotError, Series, validate};
use crate::style::{FAINT, INK, PAPER, Theme};
use std::cell::RefCell;
use std::rc::Rc;

/// Distance between the plots and the legend, in pixels.
const LEGEND_GAP: i32 = 20;
/// Space below the last line of text, in pixels, which counts as part of the margin.
const SPACE_BELOW_TEXT: i32 = 6;

pub(super) fn draw(figure: &Figure, theme: Theme) -> Result<String, PlotError> {
    validate::validate(figure)?;
    let styles = SeriesStyles::new(figure);
    let layout = Layout::new(figure, &styles);
    let cells = figure.plots.iter().zip(&layout.cells);
    let panels: Vec<_> = cells.map(|(plot, cell)| Panel::new(plot, &figure.key, cell, &styles)).collect();
    let has_offsets = panels.iter().any(Panel::has_offsets);
    let legend =
        Legend::new(figure, &styles, layout.width - 2 * PAGE_MARGIN, layout.are_all_series_labelled, has_offsets);
    let height_below = if legend.height > 0 { LEGEND_GAP + legend.height } else { 0 };
    let size = (layout.width, layout.bottom + height_below + PAGE_MARGIN - SPACE_BELOW_TEXT);

    let canvas = Rc::new(RefCell::new(Canvas::new(size, theme)));
    let page = Page::from(&canvas);
    page.fill(&rgb(PAPER)).map_err(drawing_error)?;
    draw_head(figure, &layout, &page)?;
    panels.iter().try_for_each(|panel| panel.draw(&page))?;
    legend.draw(&page, (PAGE_MARGIN, layout.bottom + LEGEND_GAP))?;
    drop(page);
    let canvas = Rc::into_inner(canvas).ok_or_else(|| drawing_error("the canvas is still in use"))?.into_inner();
    Ok(canvas.finish(&title(figure), &description(figure)))
}

fn draw_head(figure: &Figure, layout: &Layout, page: &Page) -> Result<(), PlotError> {
    let lines = [
        (layout.title_baseline, &figure.title, TextRun { is_bold: true, ..TextRun::new("", TITLE_SIZE, INK) }),
        (layout.subtitle_baseline, &figure.subtitle, TextRun::new("", SUBTITLE_SIZE, FAINT)),
    ];
    for (baseline, full_text, text_run) in lines {
        let Some(baseline) = baseline else { continue };
        let size = if text_run.is_bold { regular_size_of_bold(text_run.size) } else { text_run.size };
        let (text, is_whole) = fit(full_text, size, layout.width - 2 * PAGE_MARGIN);
        let tooltip = (!is_whole).then(|| full_text.clone());
        draw_text(page, (PAGE_MARGIN, baseline), TextRun { text, tooltip, ..text_run })?;
    }
    Ok(())
}

fn title(figure: &Figure) -> String {
    let titles = figure.plots.iter().map(|plot| plot.title.as_str());
    let found = std::iter::once(figure.title.as_str()).chain(titles).find(|title| !title.is_empty());
    found.unwrap_or("A plot").to_owned()
}

fn description(figure: &Figure) -> String {
    let mut parts: Vec<_> = std::iter::once(figure.subtitle.clone()).filter(|text| !text.is_empty()).collect();
    parts.extend(figure.plots.iter().map(describe_plot));
    parts.join(" ")
}

fn describe_plot(plot: &Plot) -> String {
    let title = if plot.title.is_empty() { String::new() } else { format!("{}: ", plot.title) };
    let axes = [&plot.y, &plot.x].map(|axis| match (axis.name.as_str(), axis.unit.as_str()) {
        ("", "") => "measured value".to_owned(),
        (name, "") | ("", name) => name.to_owned(),
        (name, unit) => format!("{name}, in {unit},"),
    });
    let series: Vec<_> = plot.series.iter().map(describe_series).collect();
    let [vertical, horizontal] = axes;
    format!("{title}{vertical} over {}. {}", horizontal.trim_end_matches(','), series.join(" "))
}

fn describe_series(series: &Series) -> String {
    let describe_point = |point: &super::Point| format!("{} at {}", format_number(point.y), format_number(point.x));
    let formula = series.formula.as_ref().filter(|formula| !formula.text.is_empty());
    let formula = formula.map(|formula| format!(", formula {}", formula.text)).unwrap_or_default();
    match (&series.points[..], &series.name) {
        ([], name) => format!("{name}: no data{formula}."),
        ([only], name) => format!("{name}: {}{formula}.", describe_point(only)),
        ([first, .., last], name) => {
            format!("{name}: from {} to {}{formula}.", describe_point(first), describe_point(last))
        }
    }
}
