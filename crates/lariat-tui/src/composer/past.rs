//! The messages sent before, and which of them the draft was recalled from.

/// How many messages are kept.
const MAX_SENT: usize = 1_000;

/// The messages sent before, oldest first.
#[derive(Debug)]
pub(super) struct MessageRecall {
    sent: Vec<String>,
    recalled: Option<RecalledMessage>,
}

/// The draft is an unchanged message of the past.
#[derive(Debug)]
struct RecalledMessage {
    at: usize,
    /// The draft before the first recall.
    draft: String,
}

impl MessageRecall {
    pub(super) const fn new(sent: Vec<String>) -> Self {
        Self { sent, recalled: None }
    }

    pub(super) const fn len(&self) -> usize {
        self.sent.len()
    }

    pub(super) fn get(&self, at: usize) -> Option<&str> {
        self.sent.get(at).map(String::as_str)
    }

    pub(super) fn push(&mut self, text: String) {
        self.recalled = None;
        if !text.trim().is_empty() && self.sent.last() != Some(&text) {
            self.sent.push(text);
        }
        let surplus = self.sent.len().saturating_sub(MAX_SENT);
        self.sent.drain(..surplus);
    }

    /// The message before the one that the draft is, or the newest.
    pub(super) fn earlier(&mut self, draft: &str) -> Option<String> {
        self.forget_changed(draft);
        let (mut at, kept) = match self.recalled.take() {
            Some(RecalledMessage { at, draft }) => (at, draft),
            None => (self.sent.len(), draft.to_owned()),
        };
        let from = at;
        // A draft that equals the newest message would not change.
        let mut found = None;
        while found.is_none() && at > 0 {
            at -= 1;
            found = self.sent.get(at).filter(|text| *text != draft).cloned();
        }
        let recalled_at = if found.is_some() { at } else { from };
        if recalled_at < self.sent.len() {
            self.recalled = Some(RecalledMessage { at: recalled_at, draft: kept });
        }
        found
    }

    /// The message after the one that the draft is; after the newest, the draft before the first recall.
    pub(super) fn later(&mut self, draft: &str) -> Option<String> {
        self.forget_changed(draft);
        let RecalledMessage { at, draft } = self.recalled.take()?;
        match self.sent.get(at + 1) {
            Some(text) => {
                self.recalled = Some(RecalledMessage { at: at + 1, draft });
                Some(text.clone())
            }
            None => Some(draft),
        }
    }

    /// A recalled message that was edited is a draft like any other.
    fn forget_changed(&mut self, draft: &str) {
        let is_same =
            |recalled: &RecalledMessage| self.sent.get(recalled.at).is_some_and(|text| text == draft);
        if !self.recalled.as_ref().is_some_and(is_same) {
            self.recalled = None;
        }
    }

    #[cfg(test)]
    pub(super) fn reachable(&self) -> String {
        self.sent.concat() + self.recalled.as_ref().map_or("", |recalled| &recalled.draft)
    }
}
