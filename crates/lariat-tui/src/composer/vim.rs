//! vim keys: normal and insert mode. Off unless the user turns them on.
//!
//! Keys: `h j k l w b e 0 ^ $ gg G`, `i a I A o O`, `x D C`, `d c y` with a motion or twice, `p P u`, Ctrl+R, Esc. What
//! these keys cut goes to the kill ring. Other keys do what they do without vim keys.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::buffer::{Cause, Unit, units};
use super::kill_ring::Joins;
use super::{Composer, LastKey, Outcome, VimMode, motion, typed};

/// The state of vim keys.
#[derive(Debug)]
pub(super) struct Vim {
    mode: VimMode,
    /// A command that waits for its second key.
    pending: Option<char>,
}

impl Default for Vim {
    fn default() -> Self {
        Self { mode: VimMode::Insert, pending: None }
    }
}

impl Vim {
    pub(super) const fn mode(&self) -> VimMode {
        self.mode
    }

    pub(super) fn insert(&mut self) {
        *self = Self::default();
    }
}

impl Composer {
    /// Handles a key if vim keys are on and the key is for them.
    pub(super) fn vim_key(&mut self, key: KeyEvent) -> Option<Outcome> {
        let vim = self.vim.as_mut()?;
        let pending = vim.pending.take();
        if vim.mode == VimMode::Insert {
            if key.code != KeyCode::Esc {
                return None;
            }
            vim.mode = VimMode::Normal;
            self.completion.close();
            let caret = self.buffer.caret();
            if caret > motion::line_start(&self.buffer, caret) {
                self.buffer.move_to(caret - 1);
            }
            return Some(Outcome::Changed);
        }
        let is_control = key.modifiers == KeyModifiers::CONTROL;
        match (key.code, typed(&key)) {
            (KeyCode::Esc, _) if pending.is_some() => {}
            (KeyCode::Char('r'), _) if is_control => {
                self.buffer.redo();
            }
            (KeyCode::Backspace, _) => self.vim_motion('h'),
            (_, Some(letter)) => {
                let outcome = match pending {
                    Some(first) => self.vim_second(first, letter),
                    None => self.vim_first(letter),
                };
                if self.vim_mode() == Some(VimMode::Normal) {
                    self.keep_on_unit();
                }
                return Some(outcome);
            }
            _ => return None,
        }
        self.keep_on_unit();
        Some(Outcome::Changed)
    }

    /// In normal mode, the caret is on a unit, not behind the last one of a line.
    fn keep_on_unit(&mut self) {
        let caret = self.buffer.caret();
        let start = motion::line_start(&self.buffer, caret);
        if caret > start && caret == motion::line_end(&self.buffer, caret) {
            self.buffer.move_to(caret - 1);
        }
    }

    fn vim_insert(&mut self) {
        if let Some(vim) = &mut self.vim {
            vim.insert();
        }
    }

    fn vim_first(&mut self, letter: char) -> Outcome {
        let caret = self.buffer.caret();
        let line_start = motion::line_start(&self.buffer, caret);
        let line_end = motion::line_end(&self.buffer, caret);
        match letter {
            'j' => return self.down(LastKey::Other),
            'k' => return self.up(LastKey::Other),
            'h' | 'l' | 'w' | 'b' | 'e' | '0' | '^' | '$' | 'G' => self.vim_motion(letter),
            'd' | 'c' | 'y' | 'g' => {
                if let Some(vim) = &mut self.vim {
                    vim.pending = Some(letter);
                }
            }
            'i' => self.vim_insert(),
            'a' => {
                self.vim_insert();
                self.buffer.move_to((caret + 1).min(line_end));
            }
            'I' => {
                self.vim_insert();
                self.buffer.move_to(line_start);
            }
            'A' => {
                self.vim_insert();
                self.buffer.move_to(line_end);
            }
            'o' => {
                self.vim_insert();
                self.buffer.move_to(line_end);
                self.buffer.insert(units("\n"), Cause::Other);
            }
            'O' => {
                self.vim_insert();
                self.buffer.move_to(line_start);
                self.buffer.insert(units("\n"), Cause::Other);
                self.buffer.move_to(line_start);
            }
            'x' => self.cut(caret, (caret + 1).min(line_end), Joins::Nothing),
            'D' => self.cut(caret, line_end, Joins::Nothing),
            'C' => {
                self.cut(caret, line_end, Joins::Nothing);
                self.vim_insert();
            }
            'p' | 'P' => self.put(letter == 'p'),
            'u' => {
                self.buffer.undo();
            }
            // The application may use it, as `?` for help.
            _ if self.is_empty() => return Outcome::Unused,
            _ => {}
        }
        Outcome::Changed
    }

    fn vim_motion(&mut self, letter: char) {
        if let Some(to) = self.target(letter) {
            self.buffer.move_to(to);
        }
    }

    /// Where a motion ends.
    fn target(&self, letter: char) -> Option<usize> {
        let caret = self.buffer.caret();
        let line_start = motion::line_start(&self.buffer, caret);
        let line_end = motion::line_end(&self.buffer, caret);
        Some(match letter {
            'h' => caret.saturating_sub(1).max(line_start),
            'l' => (caret + 1).min(line_end),
            'w' => motion::next_word(&self.buffer, caret),
            'b' => motion::previous_word(&self.buffer, caret),
            'e' => motion::word_end(&self.buffer, caret),
            '0' => line_start,
            '^' => {
                let line = self.buffer.part(line_start..line_end);
                line_start + line.iter().take_while(|unit| unit.is_space()).count()
            }
            '$' => line_end,
            'G' => self.buffer.len(),
            _ => return None,
        })
    }

    /// The second key of `d`, `c`, `y` or `g`.
    fn vim_second(&mut self, first: char, second: char) -> Outcome {
        let caret = self.buffer.caret();
        if first == 'g' {
            if second == 'g' {
                self.buffer.move_to(0);
            }
            return Outcome::Changed;
        }
        if first == second {
            self.whole_line(first);
            return Outcome::Changed;
        }
        // `cw` on a word changes it up to its end, as in vim.
        let is_on_word = self.buffer.get(caret).is_some_and(|unit| !unit.is_space());
        let second = if first == 'c' && second == 'w' && is_on_word { 'e' } else { second };
        let Some(target) = self.target(second) else { return Outcome::Changed };
        let target = if second == 'e' { (target + 1).min(self.buffer.len()) } else { target };
        let (start, end) = (caret.min(target), caret.max(target));
        if first == 'y' {
            self.kills.push(self.buffer.part(start..end).to_vec(), Joins::Nothing);
            self.buffer.move_to(start);
        } else {
            self.cut(start, end, Joins::Nothing);
        }
        if first == 'c' {
            self.vim_insert();
        }
        Outcome::Changed
    }

    /// `dd`, `cc` and `yy`.
    fn whole_line(&mut self, operator: char) {
        let caret = self.buffer.caret();
        let start = motion::line_start(&self.buffer, caret);
        let end = motion::line_end(&self.buffer, caret);
        if operator == 'c' {
            self.cut(start, end, Joins::Nothing);
            self.vim_insert();
            return;
        }
        // A line in the kill ring ends with a line break, so that it is put back as a line.
        let line = [self.buffer.part(start..end), &units("\n")].concat();
        self.kills.push(line, Joins::Nothing);
        if operator == 'd' {
            // The last line goes with the line break before it.
            let (from, to) =
                if end < self.buffer.len() { (start, end + 1) } else { (start.saturating_sub(1), end) };
            self.buffer.replace(from..to, Vec::new(), Cause::Other);
            self.buffer.move_to(motion::line_start(&self.buffer, self.buffer.caret()));
        }
    }

    /// Puts what was cut behind the caret, or before it.
    fn put(&mut self, is_behind: bool) {
        let Some(cut) = self.kills.get(0).map(<[Unit]>::to_vec) else { return };
        let caret = self.buffer.caret();
        let line_end = motion::line_end(&self.buffer, caret);
        let Some(line) = cut.strip_suffix(units("\n").as_slice()) else {
            self.buffer.move_to(if is_behind { (caret + 1).min(line_end) } else { caret });
            self.buffer.insert(cut, Cause::Other);
            self.buffer.move_to(self.buffer.caret().saturating_sub(1));
            return;
        };
        let at = if is_behind { line_end } else { motion::line_start(&self.buffer, caret) };
        let new = if is_behind { [units("\n").as_slice(), line].concat() } else { cut.clone() };
        self.buffer.move_to(at);
        self.buffer.insert(new, Cause::Other);
        self.buffer.move_to(if is_behind { at + 1 } else { at });
    }
}

#[cfg(test)]
#[path = "vim_tests.rs"]
mod tests;
