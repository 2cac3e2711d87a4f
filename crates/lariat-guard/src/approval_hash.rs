//! Hashes what the user saw, so that nothing else runs under their approval.

use std::fmt;

/// A hash of several texts in order.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ApprovalHash([u8; 32]);

impl ApprovalHash {
    /// Hashes these texts. The boundaries between texts are part of the hash.
    pub fn of<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut hasher = blake3::Hasher::new();
        for text in texts {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        }
        Self(*hasher.finalize().as_bytes())
    }
}

impl fmt::Display for ApprovalHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ApprovalHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Seal({self})")
    }
}
