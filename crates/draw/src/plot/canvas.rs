//! The plotters backend: writes an SVG document with selectable text and colours that follow the
//! theme.
//!
//! Plotters uses whole coordinates. Ten of these units are one pixel here, so that curves are
//! smooth and marks are placed to a tenth of a pixel.

use super::shape::Shape;
use super::text::{escape, escape_and_isolate};
use crate::style::{Colour, SANS, Theme, colours};
use plotters::style::RGBColor;
use plotters_backend::{BackendColor, BackendCoord, BackendStyle, DrawingBackend, DrawingErrorKind};
use std::convert::Infallible;
use std::fmt::Write;

/// Plotters units per pixel.
pub(super) const UNITS_PER_PIXEL: i32 = 10;
/// Width of a mark's rim, in hundredths of its radius.
const RIM_PERCENT: i32 = 22;

/// An SVG document that is being drawn.
pub(super) struct Canvas {
    /// Width and height, in plotters units.
    size: (i32, i32),
    theme: Theme,
    /// The elements drawn so far. Writing to this text cannot fail, so results are ignored.
    body: String,
    /// The colours used so far, for the style sheet.
    used_colours: Vec<Colour>,
}

/// Style of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pen {
    pub(super) colour: Colour,
    /// In plotters units.
    pub(super) width: i32,
    pub(super) dashes: Option<Dashes>,
    pub(super) opacity_percent: u8,
}

/// The pattern of a dashed line, in plotters units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dashes {
    pub(super) dash: i32,
    pub(super) gap: i32,
    /// Gap before the first dash.
    pub(super) skip: i32,
}

impl Pen {
    pub(super) fn new(colour: Colour, width: i32) -> Self {
        Self { colour, width, dashes: None, opacity_percent: 100 }
    }
}

/// Style of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MarkerStyle {
    pub(super) shape: Shape,
    pub(super) colour: Colour,
    /// In plotters units.
    pub(super) radius: i32,
    /// Rim colour of a filled mark; `None` draws only the outline.
    pub(super) rim: Option<Colour>,
}

/// Horizontal alignment of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Anchor {
    #[default]
    Start,
    Middle,
    End,
}

/// A text with its style.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TextRun {
    pub(super) text: String,
    /// Text that follows in a colour of its own, on the right even if `text` reads from right to
    /// left.
    pub(super) suffix: Option<Suffix>,
    /// Font size in pixels.
    pub(super) size: i32,
    pub(super) colour: Colour,
    pub(super) anchor: Anchor,
    pub(super) is_bold: bool,
    pub(super) tooltip: Option<String>,
}

/// Text that follows another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Suffix {
    pub(super) text: String,
    pub(super) colour: Colour,
    /// Distance in pixels in addition to a space; with 0 there is no space either.
    pub(super) gap: i32,
}

impl TextRun {
    pub(super) fn new(text: impl Into<String>, size: i32, colour: Colour) -> Self {
        let text = text.into();
        Self { text, suffix: None, size, colour, anchor: Anchor::Start, is_bold: false, tooltip: None }
    }
}

/// Returns the light value of a colour for plotters.
pub(super) fn rgb(colour: Colour) -> RGBColor {
    let channel = |from: usize| colour.light.get(from..from + 2).and_then(|hex| u8::from_str_radix(hex, 16).ok());
    RGBColor(channel(1).unwrap_or_default(), channel(3).unwrap_or_default(), channel(5).unwrap_or_default())
}

impl Canvas {
    /// Creates an empty document of this size in pixels.
    pub(super) fn new((width, height): (i32, i32), theme: Theme) -> Self {
        Self {
            size: (width * UNITS_PER_PIXEL, height * UNITS_PER_PIXEL),
            theme,
            body: String::new(),
            used_colours: Vec::new(),
        }
    }

    pub(super) fn line(&mut self, points: &[(i32, i32)], pen: &Pen, tooltip: &str) {
        let colour = self.theme_colour(pen.colour);
        let pairs: Vec<_> = without_collinear_points(points).into_iter().map(format_point).collect();
        let mut tag = format!("<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\"", pairs.join(" "));
        let _ = write!(tag, " stroke-width=\"{}\" stroke-linejoin=\"round\"", format_pixels(pen.width));
        if let Some(Dashes { dash, gap, skip }) = pen.dashes {
            let _ = write!(tag, " stroke-dasharray=\"{} {}\"", format_pixels(dash), format_pixels(gap));
            if skip != 0 {
                let _ = write!(tag, " stroke-dashoffset=\"{}\"", format_pixels(-skip));
            }
        }
        if pen.opacity_percent < 100 {
            let _ = write!(tag, " stroke-opacity=\"{}.{:02}\"", pen.opacity_percent / 100, pen.opacity_percent % 100);
        }
        self.write_element("polyline", &tag, tooltip);
    }

    pub(super) fn marker(&mut self, (x, y): (i32, i32), marker: &MarkerStyle, tooltip: &str) {
        let colour = self.theme_colour(marker.colour);
        let paint = match marker.rim {
            Some(rim) => {
                let rim = self.theme_colour(rim);
                let width = format_pixels(marker.radius * RIM_PERCENT / 100);
                format!("fill=\"{colour}\" stroke=\"{rim}\" stroke-width=\"{width}\"")
            }
            None => format!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.6\""),
        };
        if marker.shape == Shape::Circle {
            let (x, y, radius) = (format_pixels(x), format_pixels(y), format_pixels(marker.radius));
            return self.write_element(
                "circle",
                &format!("<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" {paint}"),
                tooltip,
            );
        }
        // The shape gives its corners in hundredths of the radius.
        let corner = |(right, down): &(i32, i32)| {
            format_point((x + right * marker.radius / 100, y + down * marker.radius / 100))
        };
        let points: Vec<_> = marker.shape.corners().iter().map(corner).collect();
        let tag = format!("<polygon points=\"{}\" {paint} stroke-linejoin=\"round\"", points.join(" "));
        self.write_element("polygon", &tag, tooltip);
    }

    pub(super) fn text_run(&mut self, (x, y): (i32, i32), text_run: &TextRun) {
        if text_run.text.is_empty() {
            return;
        }
        let colour = self.theme_colour(text_run.colour);
        let mut tag =
            format!("<text x=\"{}\" y=\"{}\" font-size=\"{}\"", format_pixels(x), format_pixels(y), text_run.size);
        let _ = write!(tag, " fill=\"{colour}\"");
        if text_run.is_bold {
            tag.push_str(" font-weight=\"600\"");
        }
        match text_run.anchor {
            Anchor::Start => {}
            Anchor::Middle => tag.push_str(" text-anchor=\"middle\""),
            Anchor::End => tag.push_str(" text-anchor=\"end\""),
        }
        let suffix = text_run.suffix.as_ref().map(|Suffix { text, colour, gap }| {
            let colour = self.theme_colour(*colour);
            // The space matters when the text is copied.
            let space = if *gap > 0 { " " } else { "" };
            format!(
                "{space}<tspan dx=\"{gap}\" fill=\"{colour}\" font-weight=\"400\">{}</tspan>",
                escape_and_isolate(text)
            )
        });
        let tooltip = text_run.tooltip.as_ref().map(|text| tooltip_element(text)).unwrap_or_default();
        let (text, suffix) = (escape_and_isolate(&text_run.text), suffix.unwrap_or_default());
        let _ = writeln!(self.body, "{tag}>{tooltip}{text}{suffix}</text>");
    }

    /// Returns the document, with a name and a description for screen readers.
    pub(super) fn finish(self, name: &str, description: &str) -> String {
        let (width, height) = (format_pixels(self.size.0), format_pixels(self.size.1));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"quorate-plot\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\" role=\"img\" font-family=\"{SANS}\">\n\
             <title>{}</title>\n<desc>{}</desc>\n{}{}</svg>\n",
            escape(name),
            escape(description),
            self.style_sheet(),
            self.body
        )
    }

    /// Returns a style sheet that replaces light colours by dark ones, for a document that follows
    /// the viewer's theme. A viewer that ignores style sheets shows it light.
    fn style_sheet(&self) -> String {
        if self.theme != Theme::Auto {
            return String::new();
        }
        let used_colours = colours().filter(|colour| self.used_colours.contains(colour));
        let rule = |Colour { light, dark, .. }: Colour| {
            let rule_for = |attribute: &str| format!(".quorate-plot [{attribute}=\"{light}\"]{{{attribute}:{dark}}}");
            format!("{}{}\n", rule_for("fill"), rule_for("stroke"))
        };
        format!(
            "<style>\n@media (prefers-color-scheme:dark){{\n{}}}\n</style>\n",
            used_colours.map(rule).collect::<String>()
        )
    }

    /// Returns the value of a colour in the document's theme (light for `Auto`), and records that
    /// the colour is used.
    fn theme_colour(&mut self, colour: Colour) -> &'static str {
        if !self.used_colours.contains(&colour) {
            self.used_colours.push(colour);
        }
        match self.theme {
            Theme::Auto | Theme::Light => colour.light,
            Theme::Dark => colour.dark,
        }
    }

    /// Writes an element: `tag` is its opening tag without the closing bracket.
    fn write_element(&mut self, name: &str, tag: &str, tooltip: &str) {
        let _ = match tooltip {
            "" => writeln!(self.body, "{tag}/>"),
            text => writeln!(self.body, "{tag}>{}</{name}>", tooltip_element(text)),
        };
    }

    /// Returns the themed colour for a colour from plotters. Colours outside the palette are the
    /// same in both themes.
    fn theme_backend_colour(&mut self, BackendColor { rgb: (red, green, blue), .. }: BackendColor) -> String {
        let hex = format!("#{red:02x}{green:02x}{blue:02x}");
        match colours().find(|colour| colour.light == hex) {
            Some(colour) => self.theme_colour(colour).to_owned(),
            None => hex,
        }
    }
}

impl DrawingBackend for Canvas {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        (self.size.0.unsigned_abs(), self.size.1.unsigned_abs())
    }

    fn ensure_prepared(&mut self) -> Result<(), DrawingErrorKind<Infallible>> {
        Ok(())
    }

    fn present(&mut self) -> Result<(), DrawingErrorKind<Infallible>> {
        Ok(())
    }

    fn draw_pixel(&mut self, (x, y): BackendCoord, color: BackendColor) -> Result<(), DrawingErrorKind<Infallible>> {
        self.draw_rect((x, y), (x + 1, y + 1), &color, true)
    }

    fn draw_rect<S: BackendStyle>(
        &mut self,
        (left, top): BackendCoord,
        (right, bottom): BackendCoord,
        style: &S,
        is_filled: bool,
    ) -> Result<(), DrawingErrorKind<Infallible>> {
        let colour = self.theme_backend_colour(style.color());
        let (fill, stroke) = if is_filled { (colour.as_str(), "none") } else { ("none", colour.as_str()) };
        let _ = writeln!(
            self.body,
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{fill}\" stroke=\"{stroke}\"/>",
            format_pixels(left),
            format_pixels(top),
            format_pixels(right - left),
            format_pixels(bottom - top)
        );
        Ok(())
    }

    fn draw_line<S: BackendStyle>(
        &mut self,
        from: BackendCoord,
        to: BackendCoord,
        style: &S,
    ) -> Result<(), DrawingErrorKind<Infallible>> {
        self.draw_path([from, to], style)
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Result<(), DrawingErrorKind<Infallible>> {
        let points: Vec<_> = path.into_iter().map(format_point).collect();
        let colour = self.theme_backend_colour(style.color());
        let width = format_pixels(i32::try_from(style.stroke_width()).unwrap_or(UNITS_PER_PIXEL));
        let _ = writeln!(
            self.body,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\"/>",
            points.join(" ")
        );
        Ok(())
    }
}

fn tooltip_element(text: &str) -> String {
    format!("<title>{}</title>", escape(text))
}

/// Formats units as pixels with at most one decimal place.
fn format_pixels(units: i32) -> String {
    let sign = if units < 0 { "-" } else { "" };
    let (whole, tenth) =
        (units.unsigned_abs() / UNITS_PER_PIXEL.unsigned_abs(), units.unsigned_abs() % UNITS_PER_PIXEL.unsigned_abs());
    if tenth == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{tenth}") }
}

fn format_point((x, y): (i32, i32)) -> String {
    format!("{},{}", format_pixels(x), format_pixels(y))
}

/// Returns the points of a line without repeated ones and those exactly between their neighbours.
fn without_collinear_points(points: &[(i32, i32)]) -> Vec<(i32, i32)> {
    let mut corners: Vec<(i32, i32)> = Vec::with_capacity(points.len());
    for point in points {
        if let [.., before, last] = corners[..]
            && lies_between(before, last, *point)
        {
            corners.pop();
        }
        if corners.last() != Some(point) {
            corners.push(*point);
        }
    }
    corners
}

fn lies_between(from: (i32, i32), point: (i32, i32), to: (i32, i32)) -> bool {
    let difference = |from: (i32, i32), to: (i32, i32)| (i64::from(to.0 - from.0), i64::from(to.1 - from.1));
    let ((first_x, first_y), (second_x, second_y)) = (difference(from, point), difference(point, to));
    first_x * second_y == first_y * second_x && first_x * second_x >= 0 && first_y * second_y >= 0
}

#[cfg(test)]
mod tests {
    use super::{format_pixels, rgb, without_collinear_points};
    use crate::style::colours;

    #[test]
    fn units_are_tenths_of_pixels() {
        assert_eq!([0, 5, 10, -3, -25, 12_345].map(format_pixels), ["0", "0.5", "1", "-0.3", "-2.5", "1234.5"]);
    }

    #[test]
    fn a_line_keeps_only_its_corners() {
        assert_eq!(
            without_collinear_points(&[(0, 0), (1, 1), (2, 2), (3, 2), (9, 2), (9, 2)]),
            [(0, 0), (2, 2), (9, 2)]
        );
        // A line that turns back keeps its turning point.
        assert_eq!(without_collinear_points(&[(0, 0), (5, 0), (2, 0)]), [(0, 0), (5, 0), (2, 0)]);
        assert_eq!(without_collinear_points(&[(4, 4)]), [(4, 4)]);
    }

    /// The style sheet selects elements by the light value of their colour.
    #[test]
    fn light_values_of_the_palette_are_distinct_and_convert_to_rgb() {
        let mut lights: Vec<_> = colours().map(|colour| colour.light).collect();
        let count = lights.len();
        lights.sort_unstable();
        lights.dedup();
        assert_eq!(lights.len(), count);
        for colour in colours() {
            let plotters::style::RGBColor(red, green, blue) = rgb(colour);
            assert_eq!(format!("#{red:02x}{green:02x}{blue:02x}"), colour.light);
        }
    }
}
