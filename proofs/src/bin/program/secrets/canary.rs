//! The canaries: secrets that occur nowhere else, where each is put, and the only places where it belongs.
//!
//! Invariant: a canary is unknown to every pattern, unless its form makes it recognisable: then only the form can remove it.

use std::fmt::Write as _;

/// Number of canaries.
pub(super) const COUNT: usize = 50;

/// A secret.
#[derive(Clone, Debug)]
pub(super) struct Canary {
    /// Where it is planted.
    pub(super) name: String,
    /// The part that must not be seen.
    pub(super) core: String,
    /// What is planted, with the core in it.
    pub(super) value: String,
    /// Beginnings of the names of places where it belongs.
    pub(super) belongs: Vec<&'static str>,
}

/// Variables of the program's environment: name, form (`@` is the canary) and where the value belongs.
const VARIABLES: &[(&str, &str, &[&str])] = &[
    ("TEST_KEY", "@", &["model: header x-api-key", "model: header api-key"]),
    ("OPENAI_API_KEY", "@", &[]),
    ("ANTHROPIC_API_KEY", "@", &[]),
    ("GEMINI_API_KEY", "@", &[]),
    ("GITHUB_TOKEN", "@", &[]),
    ("NPM_TOKEN", "@", &[]),
    ("AWS_SECRET_ACCESS_KEY", "@", &[]),
    ("AWS_SESSION_TOKEN", "@", &[]),
    ("DATABASE_URL", "postgres://me:@@db/x", &[]),
    ("SLACK_BOT_TOKEN", "@", &[]),
    ("SERVICE_PASSWORD", "@", &[]),
    ("HTTPS_PROXY", "http://me:@@127.0.0.1:9", &[]),
    ("HTTP_PROXY", "http://me:@@127.0.0.1:9", &[]),
    ("VAULT_TOKEN", "@", &[]),
    ("ISSUES_TOKEN", "@", &["service: header authorization"]),
    ("OTEL_EXPORTER_OTLP_HEADERS", "x-collector=@", &["collector: header x-collector"]),
];

/// Parts of the user's files.
const FILES: &[(&str, &[&str])] = &[
    ("password in the address of the model", &["file config/lariat/config.toml"]),
    ("code in the address of another model", &["file config/lariat/config.toml", "model: path"]),
    ("password of a model that cannot be reached", &["file config/lariat/config.toml"]),
    ("code of a model that cannot be reached", &["file config/lariat/config.toml"]),
    ("variable of an MCP server", &["file config/lariat/config.toml", "file mcp-environment"]),
    ("header of an MCP service", &["file config/lariat/config.toml", "service: header x-service"]),
    ("header of the collector", &["file config/lariat/config.toml", "collector: header x-team"]),
    ("stored key openai", &["file state/lariat/keys.json"]),
    ("stored key anthropic", &["file state/lariat/keys.json"]),
    ("stored key google", &["file state/lariat/keys.json"]),
    ("stored access token", &["file state/lariat/keys.json", "tracker: header authorization"]),
    ("stored refresh token", &["file state/lariat/keys.json"]),
];

/// Where recognisable secrets are planted, with the number of each. They belong to the file in which they are planted, and
/// to the copies with which `lariat undo` restores it.
const RECOGNISABLE: &[(&str, usize, &[&str])] = &[
    ("file .env", 8, &["file work/.env", "file state/lariat/undo/"]),
    ("prompt", 4, &[]),
    ("error of the model", 4, &[]),
    ("output of a command", 6, &["file work/loud.sh", "file state/lariat/undo/"]),
];

/// Forms by which a secret is recognised.
const FORMS: &[&str] = &[
    "sk-ant-api03-@@",
    "sk-proj-@@",
    "ghp_@@",
    "github_pat_@@",
    "glpat-@",
    "xoxb-@",
    "Authorization: Bearer @",
    "postgres://me:@@db/x",
    "eyJhbGciOiJIUzI1NiIsInR5.eyJzdWIiOiIxMjM0NTY3ODkw.@",
];

/// All canaries.
pub(super) fn all() -> Vec<Canary> {
    let mut all: Vec<Canary> = Vec::new();
    let mut put = |name: String, form: &str, belongs: &[&'static str]| {
        let number = all.len();
        let core = core(number);
        // `@@db` is a value before an at sign, and `@@` alone the value twice.
        let value = form.replace("@@db", "@\x00db").replace("@@127", "@\x00127").replace('@', &core);
        let value = value.replace('\0', "@");
        all.push(Canary { name, core, value, belongs: belongs.to_vec() });
    };
    for (name, form, belongs) in VARIABLES {
        put((*name).to_owned(), form, belongs);
    }
    for (name, belongs) in FILES {
        put((*name).to_owned(), "@", belongs);
    }
    let mut forms = FORMS.iter().cycle();
    for (name, count, belongs) in RECOGNISABLE {
        for form in forms.by_ref().take(*count) {
            put((*name).to_owned(), form, belongs);
        }
    }
    all
}

/// A value that occurs nowhere else.
fn core(number: usize) -> String {
    let mut core = format!("Canary{number:02}q");
    let _ = write!(core, "{:016x}", (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    core
}

/// The variables with their values.
pub(super) fn variables(all: &[Canary]) -> impl Iterator<Item = (&str, &str)> {
    let is_variable = |canary: &&Canary| VARIABLES.iter().any(|(name, ..)| *name == canary.name);
    all.iter().filter(is_variable).map(|canary| (canary.name.as_str(), canary.value.as_str()))
}

/// The values that are planted under a name.
pub(super) fn values<'a>(all: &'a [Canary], name: &'a str) -> impl Iterator<Item = &'a str> {
    all.iter().filter(move |canary| canary.name == name).map(|canary| canary.value.as_str())
}

/// The value that is planted under a name, or nothing.
pub(super) fn value<'a>(all: &'a [Canary], name: &'a str) -> &'a str {
    values(all, name).next().unwrap_or_default()
}
