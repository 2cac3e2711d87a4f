//! How a field of [`Settings`](super::Settings) is read from a written value and written back.
//!
//! The type of a field determines the [`Kind`] of its setting, so the two cannot disagree.

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use lariat_core::model::ThinkingLevel;
use lariat_core::usage::Cost;
use lariat_guard::Mode;
use serde_json::Value;

use super::kind::{self, Kind};
use super::settings::{
    AllowedHost, ColorChoice, InstructionFiles, KeyStorage, MemoryLimit, ProviderApi, StoreKind,
};

/// The type of a field.
pub(super) trait FieldType: Sized {
    /// The values that a settings file may contain.
    const KIND: Kind;

    /// Converts a value that [`Kind::read`] returned.
    fn from_value(value: &Value) -> Option<Self>;

    /// The value as a settings file would contain it; `None` if the field is not set.
    fn to_value(&self) -> Option<Value>;
}

/// Validates a written value and stores it in a field. The error text follows the key's name in a sentence.
pub(super) fn assign<T: FieldType>(field: &mut T, value: &Value) -> Result<(), String> {
    let value = T::KIND.read(value)?;
    *field = T::from_value(&value).ok_or_else(|| format!("cannot be {value}"))?;
    Ok(())
}

impl<T: FieldType> FieldType for Option<T> {
    const KIND: Kind = T::KIND;

    fn from_value(value: &Value) -> Option<Self> {
        T::from_value(value).map(Some)
    }

    fn to_value(&self) -> Option<Value> {
        self.as_ref()?.to_value()
    }
}

/// Implements [`FieldType`] for a type with a kind, a reader and a writer.
macro_rules! field_type {
    ($type:ty, $kind:expr, $read:expr, $write:expr) => {
        impl FieldType for $type {
            const KIND: Kind = $kind;

            fn from_value(value: &Value) -> Option<Self> {
                let read: fn(&Value) -> Option<Self> = $read;
                read(value)
            }

            fn to_value(&self) -> Option<Value> {
                let write: fn(&Self) -> Option<Value> = $write;
                write(self)
            }
        }
    };
}

/// Implements [`FieldType`] for an enum. Of several words for one variant, the first is the one that is written.
macro_rules! words {
    ($type:ty: $($word:literal => $variant:ident),+ $(,)?) => {
        field_type!(
            $type,
            Kind::Word(&[$($word),+]),
            |value| match value.as_str()? {
                $($word => Some(Self::$variant),)+
                _ => None,
            },
            |value| {
                let words = [$(($word, Self::$variant)),+];
                words.iter().find(|(_, variant)| variant == value).map(|(word, _)| Value::from(*word))
            }
        );
    };
}

field_type!(String, Kind::Text, |value| value.as_str().map(str::to_owned), |text| Some(text.as_str().into()));
field_type!(PathBuf, Kind::Text, |value| value.as_str().map(Self::from), |path| {
    Some(path.display().to_string().into())
});
field_type!(bool, Kind::Flag, Value::as_bool, |flag| Some((*flag).into()));
field_type!(u64, Kind::Count, Value::as_u64, |count| Some((*count).into()));
field_type!(NonZeroU64, Kind::Positive, |value| Self::new(value.as_u64()?), |count| Some(count.get().into()));
field_type!(u8, Kind::Percent, |value| Self::try_from(value.as_u64()?).ok(), |percent| {
    Some((*percent).into())
});
field_type!(
    Cost,
    Kind::Money,
    |value| Some(Self::from_nano_usd((value.as_f64()? * 1e9).round() as u64)),
    |cost| Some(cost.as_usd().into())
);
field_type!(Duration, Kind::Time, |value| kind::time(value.as_str()?), |time| {
    Some(kind::time_text(*time).into())
});
field_type!(
    Vec<String>,
    Kind::Texts,
    |value| value.as_array()?.iter().map(|item| item.as_str().map(str::to_owned)).collect(),
    |texts| (!texts.is_empty()).then(|| Value::from(texts.clone()))
);
field_type!(
    Vec<PathBuf>,
    Kind::Texts,
    |value| value.as_array()?.iter().map(|item| item.as_str().map(PathBuf::from)).collect(),
    |paths| {
        let texts = paths.iter().map(|path| path.display().to_string());
        (!paths.is_empty()).then(|| texts.collect())
    }
);
field_type!(
    Vec<AllowedHost>,
    Kind::Hosts,
    |value| value.as_array()?.iter().map(|item| AllowedHost::parse(item.as_str()?)).collect(),
    |hosts| (!hosts.is_empty()).then(|| hosts.iter().map(ToString::to_string).collect())
);
field_type!(
    MemoryLimit,
    Kind::Count,
    |value| Some(NonZeroU64::new(value.as_u64()?).map_or(Self::Automatic, Self::Mebibytes)),
    |limit| match limit {
        Self::Automatic => Some(0.into()),
        Self::Mebibytes(mebibytes) => Some(mebibytes.get().into()),
    }
);
field_type!(
    ProviderApi,
    Kind::Word(Self::NAMES),
    |value| {
        let name = value.as_str()?;
        Self::NAMES.iter().find(|known| **known == name).map(|known| Self(known))
    },
    |api| Some(api.as_str().into())
);

words!(ThinkingLevel:
    "off" => Off,
    "minimal" => Minimal,
    "low" => Low,
    "medium" => Medium,
    "high" => High,
    "max" => Max,
);
words!(Mode:
    "default" => Default,
    "accept-edits" => AcceptEdits,
    "plan" => Plan,
    "auto" => Auto,
    "dont-ask" => DontAsk,
    "bypass" => Bypass,
    "acceptEdits" => AcceptEdits,
    "dontAsk" => DontAsk,
    "bypassPermissions" => Bypass,
);
words!(InstructionFiles:
    "claude-md" => Claude,
    "claude-md-or-agents-md" => ClaudeOrAgents,
    "claude-md-and-agents-md" => ClaudeAndAgents,
    "none" => None,
);
words!(StoreKind: "sqlite" => Sqlite, "jsonl" => Jsonl, "postgres" => Postgres);
words!(KeyStorage: "auto" => Auto, "keyring" => Keyring, "file" => File);
words!(ColorChoice: "auto" => Auto, "always" => Always, "never" => Never);
