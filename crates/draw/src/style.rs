//! The style of SVG pictures: colours for light and dark themes, and font families.

/// Colour theme of a picture; `Auto` follows the viewer's setting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    #[default]
    Auto,
    Light,
    Dark,
}

/// Font families of labels.
pub const SANS: &str = "ui-sans-serif, system-ui, 'Segoe UI', 'Noto Sans', Helvetica, Arial, sans-serif";
/// Font families of texts that are aligned in columns.
pub const MONO: &str = "ui-monospace, 'SF Mono', 'Noto Sans Mono', 'DejaVu Sans Mono', Menlo, Consolas, monospace";

/// A colour, with one value for light and one for dark backgrounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colour {
    /// Name of its CSS variable, without the two dashes.
    pub name: &'static str,
    pub light: &'static str,
    pub dark: &'static str,
}

const fn colour(name: &'static str, light: &'static str, dark: &'static str) -> Colour {
    Colour { name, light, dark }
}

/// Background of the picture.
pub const PAPER: Colour = colour("paper", "#ffffff", "#14171c");
/// Background of a panel.
pub const PANEL: Colour = colour("panel", "#f5f7fa", "#1c2128");
/// Primary text and lines.
pub const INK: Colour = colour("ink", "#1b2330", "#e8ecf2");
/// Secondary text and lines.
pub const FAINT: Colour = colour("faint", "#667085", "#98a2b3");
/// Grid lines and other thin lines, which typography calls rules.
pub const RULE: Colour = colour("rule", "#d9dfe8", "#343b46");
/// Faults, losses and violations.
pub const ALARM: Colour = colour("alarm", "#c8322b", "#ff7b72");
/// A waiting node.
pub const WAIT: Colour = colour("wait", "#e8a417", "#d9a032");
/// A node that is in the critical section or leads.
pub const CHOSEN: Colour = colour("chosen", "#2a9d6a", "#3fb984");
/// A follower.
pub const FOLLOW: Colour = colour("follow", "#7aa7d9", "#5682b8");

/// Colours of message kinds and plot series.
pub const SERIES: [Colour; 8] = [
    colour("series-1", "#2563b8", "#6ea8fe"),
    colour("series-2", "#c2570c", "#f59e5b"),
    colour("series-3", "#11806a", "#4ecbb0"),
    colour("series-4", "#9333a8", "#d58bea"),
    colour("series-5", "#9a7b0a", "#dcc04a"),
    colour("series-6", "#b83280", "#f08cc0"),
    colour("series-7", "#4b5563", "#a8b3c2"),
    colour("series-8", "#0e7490", "#53c7e0"),
];

/// Returns every colour of the palette.
pub fn colours() -> impl Iterator<Item = Colour> {
    [PAPER, PANEL, INK, FAINT, RULE, ALARM, WAIT, CHOSEN, FOLLOW].into_iter().chain(SERIES)
}

/// Returns a style sheet that defines the colours as CSS variables: `var(--ink)` is the ink colour
/// of the picture's theme.
pub fn variables(theme: Theme) -> String {
    let declarations = |is_dark: bool| -> String {
        colours()
            .map(|colour| format!("--{}:{};", colour.name, if is_dark { colour.dark } else { colour.light }))
            .collect()
    };
    match theme {
        Theme::Light => format!("svg{{{}color-scheme:light}}", declarations(false)),
        Theme::Dark => format!("svg{{{}color-scheme:dark}}", declarations(true)),
        Theme::Auto => format!(
            "svg{{{}color-scheme:light dark}}@media (prefers-color-scheme:dark){{svg{{{}}}}}",
            declarations(false),
            declarations(true)
        ),
    }
}
