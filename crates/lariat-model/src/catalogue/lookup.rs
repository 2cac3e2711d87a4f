//! Finds models by the names that users write.
//!
//! Names match regardless of upper and lower case, `.` versus `-`, a date or `latest` at the end, and
//! Amazon's regions and versions. Invariant: an exact name always finds the model of that name, even if
//! others are similar.

use strsim::levenshtein;

use super::{Catalogue, ModelInfo};

/// Maximum number of suggestions.
const SUGGESTIONS: usize = 3;
/// Providers that are searched first for a bare id: those that make models, before those that resell them.
const MAKERS: [&str; 8] =
    ["anthropic", "openai", "google", "xai", "mistral", "deepseek", "moonshotai", "zai"];

impl Catalogue {
    /// Finds a model by `provider/id` or by an id alone, which is searched at the makers of models first. The
    /// id may differ from the catalogue's by a trailing date; if several dates match, the newest wins.
    pub fn find(&self, name: &str) -> Option<&ModelInfo> {
        let name = name.trim();
        let qualified = name.split_once('/').and_then(|(provider, id)| self.get(provider, id));
        qualified.or_else(|| self.find_by_id(name))
    }

    /// Finds a model of one provider, with the same tolerance as [`find`](Self::find).
    pub fn get(&self, provider: &str, id: &str) -> Option<&ModelInfo> {
        let provider = self.providers.get(provider)?;
        if let Some(exact) = provider.model(id) {
            return Some(exact);
        }
        let wanted = normalize(id);
        // Ids end in their date, so the greatest is the newest.
        provider.models().filter(|model| normalize(&model.id) == wanted).max_by(|a, b| a.id.cmp(&b.id))
    }

    fn find_by_id(&self, id: &str) -> Option<&ModelInfo> {
        let others = || self.providers().filter(|provider| !MAKERS.contains(provider));
        let order = || MAKERS.into_iter().chain(others());
        let exact = order().find_map(|provider| self.providers.get(provider)?.model(id));
        exact.or_else(|| order().find_map(|provider| self.get(provider, id)))
    }

    /// Returns names in the catalogue that are similar to `name`, most similar first.
    pub fn suggest(&self, name: &str) -> Vec<String> {
        let wanted = name.trim().to_lowercase();
        let bound = (wanted.chars().count() / 3).max(2);
        let mut near: Vec<(usize, String)> = Vec::new();
        for model in self.models() {
            let full = format!("{}/{}", model.provider, model.id);
            let edits = levenshtein(&wanted, &model.id.to_lowercase())
                .min(levenshtein(&wanted, &full.to_lowercase()));
            // A name that contains the text ranks before one that only resembles it.
            let contained = wanted.len() >= 3 && full.to_lowercase().contains(&wanted);
            if contained || edits <= bound {
                near.push((if contained { 0 } else { edits }, full));
            }
        }
        near.sort_by(|a, b| {
            a.0.cmp(&b.0).then_with(|| a.1.len().cmp(&b.1.len())).then_with(|| b.1.cmp(&a.1))
        });
        near.into_iter().take(SUGGESTIONS).map(|(_, name)| name).collect()
    }
}

/// Removes the parts of a name that users and providers write differently.
fn normalize(id: &str) -> String {
    let mut id = id.to_lowercase();
    for prefix in ["models/", "publishers/google/models/"] {
        id = id.strip_prefix(prefix).map(str::to_owned).unwrap_or(id);
    }
    // Amazon: `us.anthropic.claude-…-v1:0`.
    for region in ["global.", "us.", "eu.", "apac.", "au.", "jp.", "us-gov."] {
        id = id.strip_prefix(region).map(str::to_owned).unwrap_or(id);
    }
    let id = id.replace(['.', '@'], "-");
    let id = strip_version(&id);
    without_date(id.strip_suffix("-latest").unwrap_or(id)).to_owned()
}

/// Removes Amazon's version suffix, such as `-v1:0`.
fn strip_version(id: &str) -> &str {
    let Some((front, minor)) = id.rsplit_once(':') else { return id };
    let Some((name, major)) = front.rsplit_once("-v") else { return id };
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if number(minor) && number(major) { name } else { id }
}

/// Removes a trailing date: `-20250929` or `-2025-09-29`.
fn without_date(id: &str) -> &str {
    let digits =
        |text: &str, length: usize| text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit());
    let Some((front, last)) = id.rsplit_once('-') else { return id };
    if digits(last, 8) && last.starts_with("20") {
        return front;
    }
    let parts: Vec<&str> = id.rsplitn(4, '-').collect();
    match parts.as_slice() {
        [day, month, year, name]
            if digits(day, 2) && digits(month, 2) && digits(year, 4) && year.starts_with("20") =>
        {
            name
        }
        _ => id,
    }
}
