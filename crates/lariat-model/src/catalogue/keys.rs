//! Knows which environment variables hold the keys of providers.
//!
//! This crate does not read them: the caller does, where the program permits it.

/// Provider, and the variables that may hold its key, the usual one first.
const TABLE: &[(&str, &[&str])] = &[
    ("alibaba", &["DASHSCOPE_API_KEY"]),
    ("amazon-bedrock", &["AWS_BEARER_TOKEN_BEDROCK"]),
    ("anthropic", &["ANTHROPIC_API_KEY"]),
    ("azure", &["AZURE_OPENAI_API_KEY", "AZURE_API_KEY"]),
    ("cerebras", &["CEREBRAS_API_KEY"]),
    ("deepseek", &["DEEPSEEK_API_KEY"]),
    ("fireworks-ai", &["FIREWORKS_API_KEY"]),
    ("google", &["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"]),
    ("google-vertex", &["GOOGLE_VERTEX_ACCESS_TOKEN"]),
    ("groq", &["GROQ_API_KEY"]),
    ("minimax", &["MINIMAX_API_KEY"]),
    ("mistral", &["MISTRAL_API_KEY"]),
    ("moonshotai", &["MOONSHOT_API_KEY"]),
    ("openai", &["OPENAI_API_KEY"]),
    ("openrouter", &["OPENROUTER_API_KEY"]),
    ("togetherai", &["TOGETHER_API_KEY"]),
    ("xai", &["XAI_API_KEY"]),
    ("zai", &["ZAI_API_KEY", "ZHIPU_API_KEY"]),
];

/// Returns the environment variables that may hold the key of a provider, the usual one first; none for a
/// provider that is not in the catalogue.
pub fn key_variables(provider: &str) -> &'static [&'static str] {
    TABLE.iter().find(|(name, _)| *name == provider).map_or(&[], |(_, variables)| variables)
}

/// Whether this build finds the credentials of a provider without a key, as the provider's own tools do.
pub fn has_credential_chain(provider: &str) -> bool {
    provider == "amazon-bedrock" && cfg!(feature = "aws")
        || provider == "google-vertex" && cfg!(feature = "google")
}
