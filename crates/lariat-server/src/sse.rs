//! Reads server-sent events from bytes, as the HTML standard defines them.
//!
//! Invariant: an event is complete only when its empty line arrived, so a cut connection never yields half of one.

/// The longest event, in bytes. A longer one means that the other end is not a host.
const LONGEST: usize = 256 << 20;

/// An event, or a comment, by which a host shows that it is alive.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SseFrame {
    /// An event.
    Event {
        /// Its name.
        name: String,
        /// Its data.
        data: String,
    },
    /// A comment.
    Comment,
}

/// The event is longer than the limit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

/// Collects bytes until they make an event.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    buffer: Vec<u8>,
    /// Where the next line starts, and where the search for its end continues.
    start: usize,
    searched: usize,
    name: String,
    data: Option<String>,
}

impl Decoder {
    /// Adds bytes as they arrived.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        self.buffer.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        self.buffer.extend_from_slice(bytes);
        let held = self.buffer.len() + self.data.as_ref().map_or(0, String::len);
        if held > LONGEST { Err(TooLong) } else { Ok(()) }
    }

    /// Returns the next event of the bytes that arrived.
    pub(crate) fn next(&mut self) -> Option<SseFrame> {
        while let Some(line) = self.line() {
            if line.is_empty() {
                let name = std::mem::take(&mut self.name);
                // A name without data is not an event.
                if let Some(data) = self.data.take() {
                    return Some(SseFrame::Event { name, data });
                }
                continue;
            }
            let (field, value) = line.split_once(':').unwrap_or((&line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "" => return Some(SseFrame::Comment),
                "event" => value.clone_into(&mut self.name),
                "data" => match &mut self.data {
                    Some(data) => {
                        data.push('\n');
                        data.push_str(value);
                    }
                    none => *none = Some(value.to_owned()),
                },
                _ => {}
            }
        }
        None
    }

    /// Returns the next complete line without its end.
    fn line(&mut self) -> Option<String> {
        let rest = self.buffer.get(self.searched..)?;
        let Some(length) = rest.iter().position(|&byte| byte == b'\n') else {
            self.searched = self.buffer.len();
            return None;
        };
        let end = self.searched + length;
        let line = self.buffer.get(self.start..end)?;
        let line = String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line)).into_owned();
        (self.start, self.searched) = (end + 1, end + 1);
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(name: &str, data: &str) -> SseFrame {
        SseFrame::Event { name: name.to_owned(), data: data.to_owned() }
    }

    #[test]
    fn reads_the_same_events_however_the_bytes_are_cut() {
        let text = "event: a\nid: g-1\ndata: {\"x\": \"ü\"}\n\n:\n\nevent:b\r\ndata:1\r\ndata: 2\r\n\r\nevent: lost\n\nretry: 5\ndata\n\n";
        let expected = [event("a", "{\"x\": \"ü\"}"), SseFrame::Comment, event("b", "1\n2"), event("", "")];
        for size in 1..=text.len() {
            let mut decoder = Decoder::default();
            let mut frames = Vec::new();
            for bytes in text.as_bytes().chunks(size) {
                decoder.push(bytes).unwrap();
                frames.extend(std::iter::from_fn(|| decoder.next()));
            }
            assert_eq!(frames, expected, "pieces of {size} bytes");
        }
    }

    #[test]
    fn yields_nothing_of_an_event_that_is_cut() {
        let text = "event: a\ndata: 1\n\n";
        for end in 0..text.len() {
            let mut decoder = Decoder::default();
            decoder.push(&text.as_bytes()[..end]).unwrap();
            assert_eq!(decoder.next(), None, "{end}");
        }
    }
}
