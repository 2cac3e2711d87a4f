//! The many ways of saying that a request does not fit the context window.
//!
//! Services have no common code for it, and some have none at all. Owns the list of phrases, each as a service says it.
//! Invariant: a phrase is narrow enough that a limit on requests or on output does not match it.

/// Parts of messages, in lower case; all words of a row must occur.
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
    &["tokens", "must be <="],
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
    &["token limit exceeded"],
    &["request too large for model", "context"],
];

/// Whether a server's words say that the request does not fit.
pub fn is_overflow(message: &str) -> bool {
    let message = message.to_lowercase();
    PHRASES.iter().any(|words| words.iter().all(|word| message.contains(word)))
}
