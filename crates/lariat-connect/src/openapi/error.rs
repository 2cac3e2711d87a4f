//! Why a document cannot be used.

/// An error of reading a document or of preparing its tools.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenApiError {
    /// The document is larger than the limit.
    #[error("the document has more than {} MiB", .0 >> 20)]
    TooLarge(usize),
    /// The text is not a document of OpenAPI 3.0 or 3.1.
    #[error("{0}")]
    Invalid(String),
    /// The document could not be read from its file.
    #[error("could not read the document: {0}")]
    Io(#[from] std::io::Error),
    /// The document could not be fetched.
    #[error("could not fetch the document: {0}")]
    Fetch(String),
    /// The base address, a header or a credential is not valid.
    #[error("{0}")]
    Config(String),
    /// The document names a server on a host that the caller did not name.
    #[error(
        "the document names the server `{0}`, which is not on the host that you named; set the base address"
    )]
    OtherServer(String),
}

impl OpenApiError {
    /// Whether the same call may succeed later.
    pub const fn is_retryable(&self) -> bool {
        matches!(self, Self::Fetch(_))
    }
}
