//! Ids and names of the protocol: texts with a meaning of their own, so that one is not taken for another.

/// Declares a text with a meaning of its own.
macro_rules! text_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Wraps the text.
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            /// Returns the text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}
text_type! {
    /// The id of a command. The client chooses it, best a UUID.
    CommandId
}

text_type! {
    /// Who sent a command: a user of the machine or of the server.
    Principal
}

text_type! {
    /// The program that sent a command, such as `terminal` or `web`.
    ClientName
}

text_type! {
    /// The id of an ask, unique in its session.
    AskId
}

text_type! {
    /// A digest of everything that an ask shows. An answer with another digest answers something else.
    AskDigest
}
