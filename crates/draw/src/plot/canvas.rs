//! The plotters backend: writes an SVG document with selectable text and colours that follow the
//! theme.
//!
//! Plotters uses whole coordinates. Ten of these units are one pixel here, so that curves are
//! smooth and marks are placed exactly.

use super::shape::Shape;
use super::text::{escape, isolate};
use crate::style::{Colour, SANS, Theme, colours};
use plotters::style::RGBColor;
use plotters_backend::{BackendColor, BackendCoord, BackendStyle, DrawingBackend, DrawingErrorKind};
use std::convert::Infallible;
use std::fmt::Write;

/// Plotters units per pixel.
pub(super) const UNIT: i32 = 10;

/// An SVG document that is being drawn.
pub(super) struct Canvas {
    /// Width and height, in units.
    size: (i32, i32),
    theme: Theme,
    body: String,
    /// The colours used so far, for the style sheet.
    used_colours: Vec<Colour>,
}

/// Style of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pen {
    pub(super) colour: Colour,
    /// In units.
    pub(super) width: i32,
    pub(super) dashes: Option<Dashes>,
    /// In hundredths.
    pub(super) opacity: u8,
}

/// A line with gaps, in units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dashes {
    pub(super) dash: i32,
    pub(super) gap: i32,
    /// Length before the first dash.
    pub(super) skip: i32,
}

impl Pen {
    pub(super) fn new(colour: Colour, width: i32) -> Self {
        Self { colour, width, dashes: None, opacity: 100 }
    }
}

/// Style of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MarkerStyle {
    pub(super) shape: Shape,
    pub(super) colour: Colour,
    /// In units.
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
    /// Text that follows in another colour, whatever the text direction.
    pub(super) suffix: Option<Suffix>,
    /// In pixels.
    pub(super) size: i32,
    pub(super) colour: Colour,
    pub(super) anchor: Anchor,
    pub(super) is_bold: bool,
    pub(super) hover: Option<String>,
}

/// Text that follows another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Suffix {
    pub(super) text: String,
    pub(super) colour: Colour,
    /// Distance in pixels in addition to a blank; with 0 there is no blank either.
    pub(super) gap: i32,
}

impl TextRun {
    pub(super) fn new(text: impl Into<String>, size: i32, colour: Colour) -> Self {
        let text = text.into();
        Self { text, suffix: None, size, colour, anchor: Anchor::Start, is_bold: false, hover: None }
    }
}

pub(super) fn rgb(colour: Colour) -> RGBColor {
    let part = |from: usize| colour.light.get(from..from + 2).and_then(|hex| u8::from_str_radix(hex, 16).ok());
    RGBColor(part(1).unwrap_or_default(), part(3).unwrap_or_default(), part(5).unwrap_or_default())
}

impl Canvas {
    /// Creates an empty document of this size in pixels.
    pub(super) fn new((width, height): (i32, i32), theme: Theme) -> Self {
        Self { size: (width * UNIT, height * UNIT), theme, body: String::new(), used_colours: Vec::new() }
    }

    pub(super) fn line(&mut self, points: &[(i32, i32)], pen: &Pen, hover: &str) {
        let colour = self.themed(pen.colour);
        let pairs: Vec<_> = straightened(points).into_iter().map(pair).collect();
        let mut tag = format!("<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\"", pairs.join(" "));
        let _ = write!(tag, " stroke-width=\"{}\" stroke-linejoin=\"round\"", pixels(pen.width));
        if let Some(Dashes { dash, gap, skip }) = pen.dashes {
            let _ = write!(tag, " stroke-dasharray=\"{} {}\"", pixels(dash), pixels(gap));
            if skip != 0 {
                let _ = write!(tag, " stroke-dashoffset=\"{}\"", pixels(-skip));
            }
        }
        if pen.opacity < 100 {
            let _ = write!(tag, " stroke-opacity=\"{}.{:02}\"", pen.opacity / 100, pen.opacity % 100);
        }
        self.element("polyline", &tag, hover);
    }

    pub(super) fn marker(&mut self, (x, y): (i32, i32), marker: &MarkerStyle, hover: &str) {
        let colour = self.themed(marker.colour);
        let paint = match marker.rim {
            Some(rim) => {
                let rim = self.themed(rim);
                let width = pixels(marker.radius * 22 / 100);
                format!("fill=\"{colour}\" stroke=\"{rim}\" stroke-width=\"{width}\"")
            }
            None => format!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.6\""),
        };
        if marker.shape == Shape::Circle {
            let (x, y, radius) = (pixels(x), pixels(y), pixels(marker.radius));
            return self.element("circle", &format!("<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" {paint}"), hover);
        }
        let corner =
            |(right, down): &(i32, i32)| pair((x + right * marker.radius / 100, y + down * marker.radius / 100));
        let points: Vec<_> = marker.shape.corners().iter().map(corner).collect();
        let tag = format!("<polygon points=\"{}\" {paint} stroke-linejoin=\"round\"", points.join(" "));
        self.element("polygon", &tag, hover);
    }

    pub(super) fn text_run(&mut self, (x, y): (i32, i32), text_run: &TextRun) {
        if text_run.text.is_empty() {
            return;
        }
        let colour = self.themed(text_run.colour);
        let mut tag = format!("<text x=\"{}\" y=\"{}\" font-size=\"{}\"", pixels(x), pixels(y), text_run.size);
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
            let colour = self.themed(*colour);
            // The blank matters when the text is copied.
            let blank = if *gap > 0 { " " } else { "" };
            format!("{blank}<tspan dx=\"{gap}\" fill=\"{colour}\" font-weight=\"400\">{}</tspan>", isolate(text))
        });
        let hover = text_run.hover.as_ref().map(|hover| title(hover)).unwrap_or_default();
        let (text, suffix) = (isolate(&text_run.text), suffix.unwrap_or_default());
        let _ = writeln!(self.body, "{tag}>{hover}{text}{suffix}</text>");
    }

    /// Returns the document, with a name and a description for screen readers.
    pub(super) fn finish(self, name: &str, description: &str) -> String {
        let (width, height) = (pixels(self.size.0), pixels(self.size.1));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"quorate-plot\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\" role=\"img\" font-family=\"{SANS}\">\n\
             <title>{}</title>\n<desc>{}</desc>\n{}{}</svg>\n",
            escape(name),
            escape(description),
            self.sheet(),
            self.body
        )
    }

    /// Returns a style sheet that replaces light colours by dark ones, for a document that follows
    /// the viewer's theme. A viewer that ignores style sheets shows it light.
    fn sheet(&self) -> String {
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

    fn themed(&mut self, colour: Colour) -> &'static str {
        if !self.used_colours.contains(&colour) {
            self.used_colours.push(colour);
        }
        match self.theme {
            Theme::Auto | Theme::Light => colour.light,
            Theme::Dark => colour.dark,
        }
    }

    fn element(&mut self, name: &str, tag: &str, hover: &str) {
        let _ = match hover {
            "" => writeln!(self.body, "{tag}/>"),
            hover => writeln!(self.body, "{tag}>{}</{name}>", title(hover)),
        };
    }

    /// Returns the themed colour for a colour from plotters. Colours outside the palette are the
    /// same in both themes.
    fn themed_backend(&mut self, BackendColor { rgb: (red, green, blue), .. }: BackendColor) -> String {
        let hex = format!("#{red:02x}{green:02x}{blue:02x}");
        match colours().find(|colour| colour.light == hex) {
            Some(colour) => self.themed(colour).to_owned(),
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
        let colour = self.themed_backend(style.color());
        let (fill, stroke) = if is_filled { (colour.as_str(), "none") } else { ("none", colour.as_str()) };
        let _ = writeln!(
            self.body,
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{fill}\" stroke=\"{stroke}\"/>",
            pixels(left),
            pixels(top),
            pixels(right - left),
            pixels(bottom - top)
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
        let points: Vec<_> = path.into_iter().map(pair).collect();
        let colour = self.themed_backend(style.color());
        let width = pixels(i32::try_from(style.stroke_width()).unwrap_or(UNIT));
        let _ = writeln!(
            self.body,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\"/>",
            points.join(" ")
        );
        Ok(())
    }
}

fn title(text: &str) -> String {
    format!("<title>{}</title>", escape(text))
}

/// Formats units as pixels with at most one decimal place.
fn pixels(units: i32) -> String {
    let sign = if units < 0 { "-" } else { "" };
    let (whole, tenth) = (units.unsigned_abs() / UNIT.unsigned_abs(), units.unsigned_abs() % UNIT.unsigned_abs());
    if tenth == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{tenth}") }
}

fn pair((x, y): (i32, i32)) -> String {
    format!("{},{}", pixels(x), pixels(y))
}

/// Returns the points of a line without those exactly between their neighbours.
fn straightened(points: &[(i32, i32)]) -> Vec<(i32, i32)> {
    let mut kept: Vec<(i32, i32)> = Vec::with_capacity(points.len());
    for point in points {
        if let [.., before, last] = kept[..]
            && lies_between(before, last, *point)
        {
            kept.pop();
        }
        if kept.last() != Some(point) {
            kept.push(*point);
        }
    }
    kept
}

fn lies_between(from: (i32, i32), point: (i32, i32), to: (i32, i32)) -> bool {
    let step = |from: (i32, i32), to: (i32, i32)| (i64::from(to.0 - from.0), i64::from(to.1 - from.1));
    let ((first_x, first_y), (second_x, second_y)) = (step(from, point), step(point, to));
    first_x * second_y == first_y * second_x && first_x * second_x >= 0 && first_y * second_y >= 0
}

#[cfg(test)]
mod tests {
    use super::{pixels, rgb, straightened};
    use crate::style::colours;

    #[test]
    fn units_are_tenths_of_pixels() {
        assert_eq!([0, 5, 10, -3, -25, 12_345].map(pixels), ["0", "0.5", "1", "-0.3", "-2.5", "1234.5"]);
    }

    #[test]
    fn a_line_keeps_only_its_corners() {
        assert_eq!(straightened(&[(0, 0), (1, 1), (2, 2), (3, 2), (9, 2), (9, 2)]), [(0, 0), (2, 2), (9, 2)]);
        // A line that turns back keeps its turning point.
        assert_eq!(straightened(&[(0, 0), (5, 0), (2, 0)]), [(0, 0), (5, 0), (2, 0)]);
        assert_eq!(straightened(&[(4, 4)]), [(4, 4)]);
    }

    /// The style sheet selects elements by their light colour.
    #[test]
    fn no_two_colours_of_the_palette_are_the_same() {
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
