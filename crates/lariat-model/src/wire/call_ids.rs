//! Converts tool call ids to the form that a provider accepts.
//!
//! A conversation can contain ids of any provider, and each provider accepts only its own form (Mistral: nine
//! letters or digits). Invariant: within a conversation an id always has the same wire form, and no two ids
//! share one.

use std::collections::{HashMap, HashSet};

use lariat_core::id::ToolCallId;

/// Which ids a provider accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdRule {
    /// Minimum length.
    pub min: usize,
    /// Maximum length.
    pub max: usize,
    /// Characters allowed besides letters and digits.
    pub marks: &'static str,
}

impl IdRule {
    /// Letters, digits, `_` and `-`, at most 64: Anthropic, Bedrock and OpenAI Responses.
    pub const COMMON: Self = Self { min: 1, max: 64, marks: "_-" };
    /// Like `COMMON`, but at most 40: OpenAI Chat Completions ("string too long. Expected a string with
    /// maximum length 40").
    pub const FORTY: Self = Self { max: 40, ..Self::COMMON };
    /// Exactly nine letters or digits: Mistral.
    pub const NINE: Self = Self { min: 9, max: 9, marks: "" };
    /// Also allows `.` and `:`, because Moonshot's models rely on ids such as `functions.read:0`.
    pub const VISIBLE: Self = Self { min: 1, max: 255, marks: "_-.:" };

    pub(crate) fn accepts(self, id: &str) -> bool {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || self.marks.as_bytes().contains(&byte);
        (self.min..=self.max).contains(&id.len()) && id.bytes().all(allowed)
    }
}

/// Maps the ids of one conversation to their wire forms.
#[derive(Clone, Debug)]
pub struct CallIds {
    rule: IdRule,
    wire: HashMap<ToolCallId, String>,
    used: HashSet<String>,
}

impl CallIds {
    /// Creates an empty map.
    pub fn new(rule: IdRule) -> Self {
        Self { rule, wire: HashMap::new(), used: HashSet::new() }
    }

    /// Returns the wire form of `id`, and creates it at the first use.
    pub fn wire(&mut self, id: &ToolCallId) -> String {
        if let Some(known) = self.wire.get(id) {
            return known.clone();
        }
        let mut form = id.as_str().to_owned();
        let mut salt = 0u64;
        while !self.rule.accepts(&form) || self.used.contains(&form) {
            form = self.derived_id(id, salt);
            salt += 1;
        }
        self.used.insert(form.clone());
        self.wire.insert(id.clone(), form.clone());
        form
    }

    /// Derives an id from a hash, so that the same conversation always produces the same request, byte for
    /// byte.
    fn derived_id(&self, id: &ToolCallId, salt: u64) -> String {
        const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
        // FNV-1a, because the standard library's hash may change between releases and requests must not.
        let bytes = id.as_str().bytes().chain(salt.to_le_bytes());
        let mut rest = bytes.fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
        });
        let mut next = || {
            let digit = DIGITS.get((rest % 36) as usize).copied().unwrap_or(b'0');
            rest /= 36;
            char::from(digit)
        };
        let length = self.rule.max.min(12);
        (0..length).map(|_| next()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_id_stays_unchanged() {
        let mut ids = CallIds::new(IdRule::COMMON);
        assert_eq!(ids.wire(&"toolu_01-a".into()), "toolu_01-a");
        assert_eq!(ids.wire(&"toolu_01-a".into()), "toolu_01-a");
    }

    #[test]
    fn invalid_id_gets_a_valid_and_stable_form() {
        for rule in [IdRule::COMMON, IdRule::FORTY, IdRule::NINE, IdRule::VISIBLE] {
            let mut ids = CallIds::new(rule);
            for id in ["", "a b", "ü", &"x".repeat(256), "call|fc_1", "1.2/3"] {
                let form = ids.wire(&id.into());
                assert!(rule.accepts(&form), "{id} {form}");
                assert_eq!(ids.wire(&id.into()), form);
            }
        }
    }

    #[test]
    fn id_with_dots_and_colons_is_kept_where_the_rule_allows_it() {
        assert_eq!(CallIds::new(IdRule::VISIBLE).wire(&"functions.read:0".into()), "functions.read:0");
        assert_ne!(CallIds::new(IdRule::FORTY).wire(&"functions.read:0".into()), "functions.read:0");
        assert_ne!(CallIds::new(IdRule::FORTY).wire(&"x".repeat(41).into()), "x".repeat(41));
    }

    #[test]
    fn two_ids_never_share_a_wire_form() {
        let mut ids = CallIds::new(IdRule::NINE);
        let derived_id = ids.wire(&"x".into());
        let other = ids.wire(&derived_id.as_str().into());
        assert_ne!(derived_id, other);
        let forms: HashSet<String> = (0..10_000).map(|n| ids.wire(&format!("call_{n}").into())).collect();
        assert_eq!(forms.len(), 10_000);
    }
}
