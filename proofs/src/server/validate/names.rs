//! Character sets and lengths of names and ids. All sets are ASCII, so lengths are in bytes.

/// `^[a-zA-Z0-9_-]{1,max}$`: tools nearly everywhere, call ids of Anthropic and Bedrock.
pub(super) fn is_word(text: &str, max: usize) -> bool {
    (1..=max).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// Google's function names: a letter or an underscore first, then also dots and colons; at most 64.
pub(super) fn is_google_function(text: &str) -> bool {
    let first = text.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    first
        && text.len() <= 64
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b':'))
}

/// OpenAI's reasoning models, which reject sampling parameters.
pub(super) fn is_open_ai_reasoner(model: &str) -> bool {
    let model = model.rsplit('/').next().unwrap_or(model);
    let o_series =
        model.strip_prefix('o').is_some_and(|rest| rest.starts_with(|next: char| next.is_ascii_digit()));
    o_series || ["gpt-5", "gpt-6", "codex"].iter().any(|family| model.starts_with(family))
}

/// OpenAI's own models, as opposed to those of compatible servers.
pub(super) fn is_open_ai(model: &str) -> bool {
    is_open_ai_reasoner(model) || model.starts_with("gpt-") || model.starts_with("chatgpt-")
}
