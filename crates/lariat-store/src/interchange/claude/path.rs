//! Builds the path where Claude Code expects a session file.

use lariat_core::id::SessionId;
use uuid::Uuid;

use crate::interchange::derive_id;

/// Length at which a directory name is cut and gets a hash.
const MAX_DIR_NAME: usize = 200;

/// Returns the path of a session's file below `projects/`: a directory for the working directory, a file for the session.
///
/// ```
/// use lariat_store::interchange::claude::file_name;
///
/// let session = "0190b5e6-7b2a-7c3d-8e4f-123456789abc".into();
/// assert_eq!(
///     file_name("/srv/me/my.app", &session),
///     "-srv-me-my-app/0190b5e6-7b2a-7c3d-8e4f-123456789abc.jsonl"
/// );
/// ```
pub fn file_name(cwd: &str, session_id: &SessionId) -> String {
    format!("{}/{}.jsonl", project_dir_name(cwd), session_uuid(session_id))
}

/// Returns the directory name for a working directory. A long name ends in a hash that differs between Claude Code's
/// programs: to find a directory, compare only the first 200 characters.
pub fn project_dir_name(cwd: &str) -> String {
    // Claude Code counts UTF-16 units: a character outside the basic plane becomes two dashes.
    let units: Vec<u16> = cwd.encode_utf16().collect();
    let letter = |unit: &u16| char::from_u32(u32::from(*unit)).filter(char::is_ascii_alphanumeric);
    let name: String = units.iter().map(|unit| letter(unit).unwrap_or('-')).collect();
    match name.get(..MAX_DIR_NAME) {
        Some(beginning) if name.len() > MAX_DIR_NAME => format!("{beginning}-{}", hash(&units)),
        _ => name,
    }
}

/// Computes Claude Code's 32-bit string hash, in base 36.
fn hash(units: &[u16]) -> String {
    let sum = units.iter().fold(0i32, |sum, unit| sum.wrapping_mul(31).wrapping_add(i32::from(*unit)));
    let mut rest = sum.unsigned_abs();
    let mut digits = Vec::new();
    while rest > 0 || digits.is_empty() {
        digits.extend(char::from_digit(rest % 36, 36));
        rest /= 36;
    }
    digits.iter().rev().collect()
}

/// Returns the id of a session for Claude Code, which accepts only UUIDs. Derives one from any other id, always the same.
pub fn session_uuid(session_id: &SessionId) -> Uuid {
    Uuid::try_parse(session_id.as_str()).unwrap_or_else(|_| derive_id("session", &[session_id.as_str()]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directory_name_replaces_everything_but_letters_and_digits() {
        assert_eq!(project_dir_name("/srv/me/my_app.v2"), "-srv-me-my-app-v2");
        assert_eq!(project_dir_name("/é🦀"), "----");
    }

    #[test]
    fn cuts_long_directory_names_and_appends_a_hash() {
        let dir = project_dir_name(&"/abcdefghi".repeat(30));
        assert_eq!(dir.len(), 200 + 1 + dir.rsplit('-').next().unwrap().len());
        assert_ne!(dir, project_dir_name(&"/abcdefghi".repeat(31)));
        // As JavaScript computes it: h = h * 31 + c, 32 bits, absolute, base 36.
        assert_eq!(hash(&"hello".encode_utf16().collect::<Vec<_>>()), "1n1e4y");
        assert_eq!(hash(&[]), "0");
    }

    #[test]
    fn maps_any_session_id_to_a_stable_uuid() {
        let strange = SessionId::from("../../etc/passwd\0");
        assert_eq!(session_uuid(&strange), session_uuid(&strange));
        assert!(!file_name("/", &strange).contains(".."));
    }
}
