//! Settings: which exist, their values, and where each was set.
//!
//! - [`Settings`]: the effective settings as typed fields, with their defaults.
//! - [`KEYS`]: the table of their names, with description and who may set them. Validation, the JSON schema and the settings
//!   templates use it. Each row is made from a field, so a name without a field does not compile; a test finds a field without a
//!   row.
//! - [`SettingSources`]: merges the layers, remembers where each value was set, and builds [`Settings`].

mod field_type;
mod keys;
mod kind;
mod resolve;
mod schema;
mod settings;

pub use keys::KEYS;
pub use kind::{Key, Kind};
pub use lariat_guard::{BrokenRestriction, Level, Origin, SettingsError};
pub use resolve::{SettingSources, SettingValue, SettingsLayer, Warning, explain};
pub use schema::schema;
pub use settings::{
    AllowedHost, AuthSettings, BudgetSettings, ClaudeSettings, ColorChoice, ContextSettings,
    InstructionFiles, KeyStorage, LimitSettings, MemoryLimit, NetworkSettings, ProviderApi, ProviderSettings,
    RetrySettings, SandboxSettings, Settings, StoreKind, StoreSettings, TelemetrySettings, TraceSettings,
    UiSettings, UndoSettings,
};

#[cfg(test)]
mod tests;
