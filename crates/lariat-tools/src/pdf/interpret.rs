//! Interprets the operators of a PDF page that place text (PDF 32000-1, chapters 8.10 and 9).
//!
//! Colours, paths and images are skipped without unpacking them. Every operator counts towards a limit, including
//! those of nested forms, so that every page ends.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hayro_font::hayro_cmap::{BfString, load_embedded};
use hayro_font::hayro_syntax::content::TypedIter;
use hayro_font::hayro_syntax::content::ops::TypedInstruction as Op;
use hayro_font::hayro_syntax::object::dict::keys;
use hayro_font::hayro_syntax::object::{Array, Name, Number, Object, Stream};
use hayro_font::hayro_syntax::page::{Page, Resources};
use hayro_font::kurbo::Affine;
use hayro_font::{CMapResolverFn, Font, FontCache, FontGlyph, FontQuery, FontResolverFn, UNITS_PER_EM};

use super::lines::Lines;

/// Maximum number of operators of one page, including its forms.
const MAX_OPERATORS: u64 = 5_000_000;
/// Maximum size of a page's text in bytes.
const MAX_TEXT: usize = 1_000_000;
/// Maximum size of a page's own operators in bytes.
const MAX_CONTENT: usize = 64_000_000;
/// Maximum number of streams of a page's own operators.
const MAX_STREAMS: usize = 10_000;
/// Maximum depth of nested forms.
const MAX_LEVELS: usize = 24;
/// Cost of a form in operators, in addition to its own.
const FORM: u64 = 1_000;
/// Maximum number of saved states.
const MAX_STATES: usize = 512;

/// Reads the pages of one document.
pub(super) struct Reader<'a, 's> {
    stop: &'s AtomicBool,
    fonts: FontCache<'a>,
    programs: FontResolverFn,
    maps: CMapResolverFn,
}

/// The graphics state that `q` saves and `Q` restores.
#[derive(Clone)]
struct GraphicsState<'a> {
    place: Affine,
    font: Option<Rc<Font<'a>>>,
    size: f64,
    between_signs: f64,
    between_words: f64,
    stretch: f64,
    leading: f64,
    rise: f64,
}

/// The page that is being interpreted.
struct PageInterpreter<'r, 'a, 's> {
    reader: &'r Reader<'a, 's>,
    lines: Lines,
    left: Cell<u64>,
    state: GraphicsState<'a>,
    kept: Vec<GraphicsState<'a>>,
    text: Affine,
    line: Affine,
}

impl<'a, 's> Reader<'a, 's> {
    pub(super) fn new(stop: &'s AtomicBool) -> Self {
        let programs: FontResolverFn = Arc::new(|query| match query {
            FontQuery::Standard(font) => Some(font.get_font_data()),
            FontQuery::Fallback(font) => Some(font.pick_standard_font().get_font_data()),
        });
        Self { stop, fonts: FontCache::new(), programs, maps: Arc::new(load_embedded) }
    }

    /// Returns the text of a page.
    pub(super) fn page(&self, page: &Page<'a>) -> String {
        let mut run = PageInterpreter {
            reader: self,
            lines: Lines::default(),
            left: Cell::new(MAX_OPERATORS),
            state: GraphicsState::new(),
            kept: Vec::new(),
            text: Affine::IDENTITY,
            line: Affine::IDENTITY,
        };
        run.operators(&content(page, self.stop), page.resources(), 0);
        let mut text = run.lines.finish();
        if run.left.get() == 0 {
            text.push_str("[The rest of this page was left out: it has too many text operators.]\n");
        }
        text
    }
}

/// Returns the operators of all streams of a page. The same stream can be listed many times, so the first one that
/// exceeds the limit ends the list.
fn content(page: &Page<'_>, stop: &AtomicBool) -> Vec<u8> {
    if let Some(stream) = page.raw().get::<Stream<'_>>(keys::CONTENTS) {
        return stream.decoded_data().map(|bytes| bytes.into_owned()).unwrap_or_default();
    }
    let mut content = Vec::new();
    let streams = page.raw().get::<Array<'_>>(keys::CONTENTS);
    for stream in streams.iter().flat_map(|streams| streams.iter::<Stream<'_>>()).take(MAX_STREAMS) {
        let Ok(bytes) = stream.decoded_data() else { continue };
        if content.len() + bytes.len() > MAX_CONTENT || stop.load(Ordering::Relaxed) {
            break;
        }
        content.extend_from_slice(&bytes);
        content.push(b'\n');
    }
    content
}

impl GraphicsState<'_> {
    const fn new() -> Self {
        Self {
            place: Affine::IDENTITY,
            font: None,
            size: 1.0,
            between_signs: 0.0,
            between_words: 0.0,
            stretch: 1.0,
            leading: 0.0,
            rise: 0.0,
        }
    }
}

impl<'a> PageInterpreter<'_, 'a, '_> {
    /// Counts one operator; false if the limit is reached or the reading was stopped.
    fn count_operator(&self) -> bool {
        let left = self.left.get();
        self.left.set(left.saturating_sub(1));
        left > 0 && self.lines.len() < MAX_TEXT && !self.reader.stop.load(Ordering::Relaxed)
    }

    fn operators(&mut self, content: &[u8], resources: &Resources<'a>, level: usize) {
        let mut operators = TypedIter::new(content);
        while let Some(operator) = operators.next() {
            if !self.count_operator() {
                return;
            }
            self.operator(operator, resources, level);
        }
    }

    fn operator(&mut self, operator: Op<'_, '_>, resources: &Resources<'a>, level: usize) {
        let state = &mut self.state;
        match operator {
            Op::SaveState(_) if self.kept.len() < MAX_STATES => self.kept.push(self.state.clone()),
            Op::RestoreState(_) => self.state = self.kept.pop().unwrap_or_else(|| self.state.clone()),
            Op::Transform(by) => state.place *= matrix([by.0, by.1, by.2, by.3, by.4, by.5]),
            Op::XObject(form) => self.form(form.0, resources, level),
            Op::BeginText(_) => (self.text, self.line) = (Affine::IDENTITY, Affine::IDENTITY),
            Op::CharacterSpacing(by) => state.between_signs = by.0.as_f64(),
            Op::WordSpacing(by) => state.between_words = by.0.as_f64(),
            Op::HorizontalScaling(by) => state.stretch = by.0.as_f64() / 100.0,
            Op::TextLeading(by) => state.leading = by.0.as_f64(),
            Op::TextRise(by) => state.rise = by.0.as_f64(),
            Op::TextFont(font) => {
                state.size = font.1.as_f64();
                let reader = self.reader;
                let dictionary = resources.get_font(font.0);
                let found =
                    dictionary.and_then(|found| reader.fonts.font(&found, &reader.programs, &reader.maps));
                state.font = found.map(Rc::new);
            }
            Op::NextLine(by) => self.next_line(by.0.as_f64(), by.1.as_f64()),
            Op::NextLineAndSetLeading(by) => {
                state.leading = -by.1.as_f64();
                self.next_line(by.0.as_f64(), by.1.as_f64());
            }
            Op::SetTextMatrix(to) => {
                self.line = matrix([to.0, to.1, to.2, to.3, to.4, to.5]);
                self.text = self.line;
            }
            Op::NextLineUsingLeading(_) => self.next_line(0.0, -self.state.leading),
            Op::ShowText(text) => self.show(text.0.as_bytes()),
            Op::NextLineAndShowText(text) => {
                self.next_line(0.0, -self.state.leading);
                self.show(text.0.as_bytes());
            }
            Op::ShowTextWithParameters(text) => {
                (state.between_words, state.between_signs) = (text.0.as_f64(), text.1.as_f64());
                self.next_line(0.0, -self.state.leading);
                self.show(text.2.as_bytes());
            }
            Op::ShowTexts(parts) => {
                for part in parts.0.iter::<Object<'_>>() {
                    match part {
                        Object::String(text) => self.show(text.as_bytes()),
                        Object::Number(back) => self.shift(-back.as_f64() / 1_000.0 * self.state.size),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }

    /// A form has its own operators, its own position and possibly its own fonts.
    fn form(&mut self, name: &Name<'_>, resources: &Resources<'a>, level: usize) {
        let Some(form) = resources.get_x_object(name).filter(|_| level < MAX_LEVELS) else { return };
        let dictionary = form.dict();
        if dictionary.get::<Name<'_>>(keys::SUBTYPE).is_none_or(|kind| &*kind != keys::FORM) {
            return;
        }
        let Ok(content) = form.decoded_data() else { return };
        // Finding and unpacking it costs as much as many operators.
        self.left.set(self.left.get().saturating_sub(FORM + content.len() as u64 / 16));
        let (kept, states) = (self.state.clone(), std::mem::take(&mut self.kept));
        if let Some(place) = dictionary.get::<[f64; 6]>(keys::MATRIX) {
            self.state.place *= Affine::new(place);
        }
        match dictionary.get(keys::RESOURCES) {
            Some(own) => self.operators(&content, &Resources::new(own), level + 1),
            None => self.operators(&content, resources, level + 1),
        }
        (self.state, self.kept) = (kept, states);
    }

    fn next_line(&mut self, right: f64, up: f64) {
        self.line *= Affine::translate((right, up));
        self.text = self.line;
    }

    /// Moves along the line.
    fn shift(&mut self, by: f64) {
        let across = self.state.font.as_ref().is_none_or(|font| font.is_horizontal());
        let step = if across { (by * self.state.stretch, 0.0) } else { (0.0, by) };
        self.text *= Affine::translate(step);
    }

    fn show(&mut self, bytes: &[u8]) {
        let Some(font) = self.state.font.clone() else { return };
        let mut at = 0;
        while at < bytes.len() && self.count_operator() {
            let (code, length) = font.read_code(bytes, at);
            at += length.max(1);
            let state = &self.state;
            let size = Affine::new([state.size * state.stretch, 0.0, 0.0, state.size, 0.0, state.rise]);
            let advance = font.code_advance(code);
            let width = (if font.is_horizontal() { advance.x } else { advance.y }) / f64::from(UNITS_PER_EM);
            let says = match font.glyph(font.map_code(code), code) {
                FontGlyph::Outline(glyph) => glyph.as_unicode(),
                FontGlyph::Type3(glyph) => glyph.as_unicode(),
            };
            let place = state.place * self.text * size;
            match says {
                Some(BfString::Char(sign)) => self.lines.put(sign.encode_utf8(&mut [0; 4]), place, width),
                Some(BfString::String(text)) => self.lines.put(&text, place, width),
                None => self.lines.put("\u{FFFD}", place, width),
            }
            let word = if code == 32 && length == 1 { self.state.between_words } else { 0.0 };
            self.shift(width * self.state.size + self.state.between_signs + word);
        }
    }
}

fn matrix(numbers: [Number; 6]) -> Affine {
    Affine::new(numbers.map(|number| number.as_f64()))
}
