//! Pictures in rows, by the protocols of kitty and iTerm2.
//!
//! A picture takes some rows of its own. The empty rows are written first, and the last of them has the sequence that goes
//! up, draws and returns, because some terminals erase a picture with the cells below it. Invariant: [`is_row`] accepts
//! what [`Pictures::rows`] makes and nothing that could do more than draw a picture.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The most columns of a picture.
const MAX_COLUMNS: usize = 60;
/// The most rows of a picture.
const MAX_ROWS: usize = 15;
/// Bytes of data in one sequence of the kitty protocol.
const CHUNK: usize = 4_096;
/// Pixels of a cell if the terminal does not report them.
const CELL: (u16, u16) = (10, 20);

/// How a terminal draws pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureProtocol {
    /// The graphics protocol of kitty, which Ghostty, Konsole and WezTerm also know. PNG only.
    Kitty,
    /// The inline images of iTerm2. PNG, JPEG and GIF.
    Iterm,
}

impl PictureProtocol {
    /// The protocol of a terminal, by `TERM` and `TERM_PROGRAM`. tmux and screen (`is_multiplexed`) pass neither on.
    pub fn of(term: &str, program: &str, is_multiplexed: bool) -> Option<Self> {
        if is_multiplexed {
            return None;
        }
        let is_kitty = ["xterm-kitty", "xterm-ghostty"].contains(&term);
        match program {
            "iTerm.app" => Some(Self::Iterm),
            "ghostty" | "WezTerm" => Some(Self::Kitty),
            _ if is_kitty => Some(Self::Kitty),
            _ => None,
        }
    }
}

/// The pictures that a terminal can draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pictures {
    protocol: PictureProtocol,
    /// The width and the height of a cell, in pixels.
    cell: (u16, u16),
}

impl Pictures {
    /// Uses a protocol. `cell` is the width and the height of a cell in pixels; `None` if the terminal does not report it.
    pub fn new(protocol: PictureProtocol, cell: Option<(u16, u16)>) -> Self {
        let cell = cell.filter(|(width, height)| *width > 0 && *height > 0).unwrap_or(CELL);
        Self { protocol, cell }
    }

    /// The rows of a picture in base64, for a terminal of this width. None if the format is unknown to the terminal.
    pub fn rows(&self, data: &str, width: usize) -> Vec<String> {
        let Some((columns, rows)) = self.cells(data, width) else { return Vec::new() };
        let body = match self.protocol {
            PictureProtocol::Kitty => kitty(data, columns, rows),
            PictureProtocol::Iterm => iterm(data, columns, rows),
        };
        let up = if rows > 1 { format!("\u{1b}[{}A", rows - 1) } else { String::new() };
        let mut lines = vec![String::new(); rows - 1];
        lines.push(format!("\u{1b}7\r{up}{body}\u{1b}8"));
        lines
    }

    /// The columns and rows of a picture: its own size, or smaller if that is too large.
    fn cells(&self, data: &str, width: usize) -> Option<(usize, usize)> {
        let bytes = STANDARD.decode(data).ok()?;
        let (wide, high) = match self.protocol {
            PictureProtocol::Kitty => png_size(&bytes)?,
            PictureProtocol::Iterm => {
                png_size(&bytes).or_else(|| gif_size(&bytes)).or_else(|| jpeg_size(&bytes))?
            }
        };
        if wide == 0 || high == 0 {
            return None;
        }
        let (cell_wide, cell_high) = (f64::from(self.cell.0), f64::from(self.cell.1));
        let (columns, rows) = (f64::from(wide) / cell_wide, f64::from(high) / cell_high);
        let most = (bounded(MAX_COLUMNS.min(width)), bounded(MAX_ROWS));
        let scale = (most.0 / columns).min(most.1 / rows).min(1.0);
        Some((rounded(columns * scale, most.0), rounded(rows * scale, most.1)))
    }
}

fn bounded(cells: usize) -> f64 {
    f64::from(u16::try_from(cells).unwrap_or(u16::MAX))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 1 and 60")]
fn rounded(cells: f64, most: f64) -> usize {
    cells.ceil().clamp(1.0, most.max(1.0)) as usize
}

/// Draws a PNG over cells without moving the cursor and without a reply of the terminal.
fn kitty(data: &str, columns: usize, rows: usize) -> String {
    let chunks: Vec<&str> =
        data.as_bytes().chunks(CHUNK).map(|chunk| std::str::from_utf8(chunk).unwrap_or_default()).collect();
    let last = chunks.len().saturating_sub(1);
    let mut body = String::with_capacity(data.len() + 64);
    for (at, chunk) in chunks.iter().enumerate() {
        let first = if at == 0 { format!("a=T,f=100,q=2,C=1,c={columns},r={rows},") } else { String::new() };
        body.push_str(&format!("\u{1b}_G{first}m={};{chunk}\u{1b}\\", u8::from(at < last)));
    }
    body
}

fn iterm(data: &str, columns: usize, rows: usize) -> String {
    format!("\u{1b}]1337;File=inline=1;doNotMoveCursor=1;width={columns};height={rows}:{data}\u{7}")
}

/// Whether a row draws a picture, and does nothing else.
pub fn is_row(row: &str) -> bool {
    let inner = row.strip_prefix("\u{1b}7\r").and_then(|row| row.strip_suffix("\u{1b}8"));
    let Some(inner) = inner else { return false };
    let body = match inner.strip_prefix("\u{1b}[") {
        Some(rest) => match rest.split_once('A') {
            Some((count, body)) if is_number(count) => body,
            _ => return false,
        },
        None => inner,
    };
    is_kitty(body) || is_iterm(body)
}

fn is_kitty(body: &str) -> bool {
    let mut rest = body;
    let mut is_first = true;
    while let Some(sequence) = rest.strip_prefix("\u{1b}_G") {
        let Some((sequence, after)) = sequence.split_once("\u{1b}\\") else { return false };
        let Some((controls, data)) = sequence.split_once(';') else { return false };
        let controls = if is_first {
            controls.strip_prefix("a=T,f=100,q=2,C=1,c=").and_then(|rest| {
                let (columns, rest) = rest.split_once(",r=")?;
                let (rows, rest) = rest.split_once(',')?;
                (is_number(columns) && is_number(rows)).then_some(rest)
            })
        } else {
            Some(controls)
        };
        if !matches!(controls, Some("m=0" | "m=1")) || !is_base64(data) {
            return false;
        }
        (rest, is_first) = (after, false);
    }
    rest.is_empty() && !is_first
}

fn is_iterm(body: &str) -> bool {
    let sequence = body
        .strip_prefix("\u{1b}]1337;File=inline=1;doNotMoveCursor=1;width=")
        .and_then(|rest| rest.strip_suffix('\u{7}'))
        .and_then(|rest| rest.split_once(':'));
    let Some((size, data)) = sequence else { return false };
    let cells = size.split_once(";height=");
    cells.is_some_and(|(columns, rows)| is_number(columns) && is_number(rows)) && is_base64(data)
}

fn is_number(text: &str) -> bool {
    (1..=3).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_base64(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte))
}

/// The width and height in pixels of the first 24 bytes of a PNG.
fn png_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let rest = bytes.strip_prefix(b"\x89PNG\r\n\x1a\n")?;
    let number = |at: usize| Some(u32::from_be_bytes(rest.get(at..at + 4)?.try_into().ok()?));
    Some((number(8)?, number(12)?))
}

fn gif_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let rest = bytes.strip_prefix(b"GIF87a").or_else(|| bytes.strip_prefix(b"GIF89a"))?;
    let number = |at: usize| Some(u32::from(u16::from_le_bytes(rest.get(at..at + 2)?.try_into().ok()?)));
    Some((number(0)?, number(2)?))
}

/// The size in the first frame header of a JPEG.
fn jpeg_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut rest = bytes.strip_prefix(b"\xff\xd8")?;
    let number = |rest: &[u8], at: usize| Some(u16::from_be_bytes(rest.get(at..at + 2)?.try_into().ok()?));
    while let [0xff, marker, segment @ ..] = rest {
        // C4, C8 and CC are tables, not frames.
        if (0xc0..=0xcf).contains(marker) && ![0xc4, 0xc8, 0xcc].contains(marker) {
            return Some((u32::from(number(segment, 5)?), u32::from(number(segment, 3)?)));
        }
        rest = match marker {
            0xff => rest.get(1..)?,
            _ => segment.get(usize::from(number(segment, 0)?)..)?,
        };
    }
    None
}

#[cfg(test)]
#[path = "picture_tests.rs"]
mod tests;
