//! What a person sees: text rendered for a terminal. All untrusted text is neutralised here, by the guard's renderer.
