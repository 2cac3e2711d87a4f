//! Recognises error messages that say a request exceeds the context window.
//!
//! Providers share no error code for this, and some have none at all, so this module lists the phrases that
//! each of them uses. Invariant: a phrase is narrow enough not to match a rate limit or an output limit.

/// Parts of messages in lower case. All parts of a row must occur.
const PHRASES: &[&[&str]] = &[
    // Anthropic: "prompt is too long: 200082 tokens > 199999 maximum"
    &["prompt is too long"],
    // Anthropic: "input length and `max_tokens` exceed context limit: 199000 + 21333 > 200000"
    &["exceed context limit"],
    // OpenAI, vLLM, Mistral, DeepSeek: "This model's maximum context length is 128000 tokens. However, …"
    &["maximum context length"],
    // OpenAI's code
    &["context_length_exceeded"],
    // OpenAI Responses: "Your input exceeds the context window of this model."
    &["exceeds the context window"],
    // Gemini: "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
    &["input token count", "exceeds the maximum"],
    // Bedrock: "Input is too long for requested model."
    &["input is too long"],
    // Bedrock: "The model returned the following errors: input length and …"
    &["too many input tokens"],
    // Groq: "Please reduce the length of the messages or completion."
    &["reduce the length of the messages"],
    // xAI: "This model's maximum prompt length is 131072 but the request contains 537812 tokens."
    &["maximum prompt length is"],
    // OpenRouter: "This endpoint's maximum context length is …" is above; its own: "context window"
    &["context window", "exceed"],
    // llama.cpp: "the request exceeds the available context size, try increasing it"
    &["exceeds the available context size"],
    // LM Studio: "The number of tokens to keep from the initial prompt is greater than the context length"
    &["greater than the context length"],
    // Ollama: "input length exceeds the context length"
    &["exceeds the context length"],
    // Cerebras: "Current length is 8297 while limit is 8192"
    &["current length is", "while limit is"],
    // Together: "`inputs` tokens + `max_new_tokens` must be <= 4097"
    &["`inputs` tokens", "must be <="],
    // Together: "Input validation error: `inputs` must have less than 4096 tokens"
    &["`inputs` must have less than"],
    // vLLM: "You passed 9001 input tokens … However, the model's context length is only 8192 tokens"
    &["context length is only"],
    // vLLM: "The decoder prompt (length 9001) is longer than the maximum model length of 8192."
    &["longer than the maximum model length"],
    // LiteLLM puts its own class before the provider's message.
    &["contextwindowexceedederror"],
    // Moonshot: "Invalid request: Your request exceeded model token limit"
    &["exceeded model token limit"],
    // Z.ai: "Prompt exceeds max length"; Qwen: "Range of input length should be [1, 98304]"
    &["prompt exceeds max length"],
    &["range of input length should be"],
    // MiniMax: "invalid params, context window exceeds limit"
    &["context window exceeds limit"],
    // Fireworks: "The prompt is too long: 150000, model maximum context length: 131071" matches the first.
    // Generic proxies.
    &["context length exceeded"],
    &["input token limit exceeded"],
    &["prompt token limit exceeded"],
    &["request too large for model", "context"],
];

/// Whether an error message says that the request exceeds the context window.
pub fn is_overflow(message: &str) -> bool {
    let message = message.to_lowercase();
    PHRASES.iter().any(|words| words.iter().all(|word| message.contains(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognises_overflow_messages_of_every_provider() {
        for words in [
            "prompt is too long: 200082 tokens > 199999 maximum",
            "input length and `max_tokens` exceed context limit: 199000 + 21333 > 200000, decrease input length",
            "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
            "Your input exceeds the context window of this model. Please adjust your input and try again.",
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            "Input is too long for requested model.",
            "Please reduce the length of the messages or completion.",
            "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
            "the request exceeds the available context size. try increasing the context size",
            "request (4211 tokens) exceeds the available context size (4096 tokens), try increasing it",
            "The number of tokens to keep from the initial prompt is greater than the context length.",
            "the input length exceeds the context length",
            "Please reduce the length. Current length is 8297 while limit is 8192",
            "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097. Given: 4000 `inputs` tokens",
            "Invalid request: Your request exceeded model token limit: 131072",
            "Prompt exceeds max length",
            "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 98304]",
            "invalid params, context window exceeds limit (2013)",
            "The prompt is too long: 150000, model maximum context length: 131071",
            "Prompt contains 40960 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
            "You passed 9001 input tokens. However, the model's context length is only 8192 tokens.",
            "The decoder prompt (length 9001) is longer than the maximum model length of 8192.",
            "litellm.ContextWindowExceededError: litellm.BadRequestError: …",
        ] {
            assert!(is_overflow(words), "{words}");
        }
    }

    #[test]
    fn rate_and_output_limits_are_not_overflow() {
        for words in [
            "Rate limit reached for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Used 29000",
            "max_tokens is too large: 200000. This model supports at most 16384 completion tokens",
            "`max_tokens` must be <= 8192, tokens given: 9000",
            "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens",
            "You exceeded your current quota, please check your plan and billing details.",
            "Daily token limit exceeded for this key",
            "Invalid 'tools': array too long. Expected an array with maximum length 128",
            "Number of request tokens has exceeded your per-minute rate limit",
        ] {
            assert!(!is_overflow(words), "{words}");
        }
    }
}
