//! Renders terminal output as SVG: reads bytes from standard input and writes the image to standard output.
//!
//! ```text
//! script -qec 'lariat run "…"' /dev/null | cargo run --example picture -- 100 30 > run.svg
//! ```
//!
//! `cargo xtask pictures` draws the pictures of the documents with it.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::num::NonZeroU16;

use vt100::{Cell, Color, Parser};

const WIDTH: f64 = 8.4;
const HEIGHT: f64 = 18.0;
const MARGIN: f64 = 14.0;
const PALETTE: [&str; 16] = [
    "#1d2021", "#ea6962", "#a9b665", "#d8a657", "#7daea3", "#d3869b", "#89b482", "#d4be98", "#7c6f64",
    "#ea6962", "#a9b665", "#d8a657", "#7daea3", "#d3869b", "#89b482", "#f2e5bc",
];
const PAPER: &str = "#1d2021";
const INK: &str = "#d4be98";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut sizes = std::env::args().skip(1).map(|word| word.parse::<NonZeroU16>());
    let columns = sizes.next().ok_or("missing argument: number of columns")??;
    let rows = sizes.next().ok_or("missing argument: number of rows")??;
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes)?;
    let mut parser = Parser::new(rows, columns, 0);
    parser.process(&bytes);
    std::io::stdout().write_all(draw(parser.screen(), columns.get(), rows.get()).as_bytes())?;
    Ok(())
}

fn draw(screen: &vt100::Screen, columns: u16, rows: u16) -> String {
    let last = (0..rows)
        .rev()
        .find(|row| cells(screen, *row, columns).any(|(_, cell)| !cell.contents().trim().is_empty()));
    let shown = last.map_or(1, |last| last + 1);
    let (width, height) =
        (f64::from(columns) * WIDTH + 2.0 * MARGIN, f64::from(shown) * HEIGHT + 2.0 * MARGIN);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"ui-monospace, Menlo, Consolas, monospace\" font-size=\"14\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{PAPER}\"/>\n"
    );
    let caret = (!screen.hide_cursor()).then(|| screen.cursor_position());
    for row in 0..shown {
        for (column, cell) in cells(screen, row, columns) {
            let (_, paper) = colours(cell);
            let paper = if caret == Some((row, column)) { Some(INK.to_owned()) } else { paper };
            if let Some(paper) = paper {
                let (x, y) = (MARGIN + f64::from(column) * WIDTH, MARGIN + f64::from(row) * HEIGHT);
                let wide = if cell.is_wide() { 2.0 * WIDTH } else { WIDTH };
                let _ = write!(
                    svg,
                    "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{wide:.1}\" height=\"{HEIGHT:.1}\" fill=\"{paper}\"/>"
                );
            }
        }
        let y = MARGIN + (f64::from(row) + 0.75) * HEIGHT;
        let _ = write!(svg, "<text xml:space=\"preserve\" y=\"{y:.1}\">");
        let mut run = (String::new(), String::new(), 0);
        for (column, cell) in cells(screen, row, columns) {
            let look = look(cell, caret == Some((row, column)));
            if look != run.1 {
                span(&mut svg, &run);
                run = (String::new(), look, column);
            }
            run.0.push_str(if cell.contents().is_empty() { " " } else { cell.contents() });
        }
        span(&mut svg, &run);
        svg.push_str("</text>\n");
    }
    svg.push_str("</svg>\n");
    svg
}

fn cells(screen: &vt100::Screen, row: u16, columns: u16) -> impl Iterator<Item = (u16, &Cell)> {
    (0..columns)
        .filter_map(move |column| Some((column, screen.cell(row, column)?)))
        .filter(|(_, cell)| !cell.is_wide_continuation())
}

fn span(svg: &mut String, (text, look, column): &(String, String, u16)) {
    let text = text.trim_end();
    if text.is_empty() {
        return;
    }
    let x = MARGIN + f64::from(*column) * WIDTH;
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    let _ = write!(svg, "<tspan x=\"{x:.1}\"{look}>{text}</tspan>");
}

/// The color of the text of a cell, and the color behind it if it is not the paper.
fn colours(cell: &Cell) -> (String, Option<String>) {
    let behind = (cell.bgcolor() != Color::Default).then(|| colour(cell.bgcolor()));
    if cell.inverse() {
        return (behind.unwrap_or_else(|| PAPER.to_owned()), Some(colour(cell.fgcolor())));
    }
    (colour(cell.fgcolor()), behind)
}

/// The attributes of a cell.
fn look(cell: &Cell, has_caret: bool) -> String {
    let ink = if has_caret { PAPER.to_owned() } else { colours(cell).0 };
    let mut look = format!(" fill=\"{ink}\"");
    for (is, attribute) in [
        (cell.bold(), " font-weight=\"bold\""),
        (cell.italic(), " font-style=\"italic\""),
        (cell.underline(), " text-decoration=\"underline\""),
        (cell.dim(), " opacity=\"0.65\""),
    ] {
        if is {
            look.push_str(attribute);
        }
    }
    look
}

fn colour(colour: Color) -> String {
    match colour {
        Color::Default => INK.to_owned(),
        Color::Idx(index) => {
            PALETTE.get(usize::from(index)).copied().map_or_else(|| cube(index), str::to_owned)
        }
        Color::Rgb(red, green, blue) => format!("#{red:02x}{green:02x}{blue:02x}"),
    }
}

/// The colors above the first sixteen: a cube, then grays.
fn cube(index: u8) -> String {
    if index >= 232 {
        let grey = 8 + (index - 232) * 10;
        return format!("#{grey:02x}{grey:02x}{grey:02x}");
    }
    let level = |part: u8| if part == 0 { 0 } else { 55 + part * 40 };
    let index = index - 16;
    format!("#{:02x}{:02x}{:02x}", level(index / 36), level(index / 6 % 6), level(index % 6))
}
