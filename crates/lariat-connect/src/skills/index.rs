//! Formats the index of skills for a system prompt: name, description and location of each.

use super::Skill;

/// Maximum characters of a description in the index.
const MAX_LISTED_CHARS: usize = 1_536;

pub(super) fn format<'a>(skills: impl Iterator<Item = &'a Skill>) -> String {
    let entries: String = skills.filter(|skill| skill.is_listed).map(entry).collect();
    if entries.is_empty() {
        return entries;
    }
    format!(
        "# Skills\n\
         Instructions for special tasks. When a task matches a skill, read its file before you begin, and follow it. Paths \
         in the file are relative to its directory.\n\
         <available_skills>\n{entries}</available_skills>"
    )
}

fn entry(skill: &Skill) -> String {
    let words = skill.description.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut description: String = words.chars().take(MAX_LISTED_CHARS).collect();
    if description.len() < words.len() {
        description.push('…');
    }
    let (name, location) = (escaped(&skill.name), escaped(&skill.file_path.display().to_string()));
    let description = escaped(&description);
    format!(
        "<skill>\n<name>{name}</name>\n<description>{description}</description>\n<location>{location}</location>\n</skill>\n"
    )
}

/// Escapes `text` so that a skill cannot close its own entry.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
