//! The commands about everything but sessions.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Permissions.
#[derive(Args, Debug)]
pub(crate) struct PermissionsArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: PermissionsCommand,
}

/// What can be done with permissions.
#[derive(Debug, Subcommand)]
pub(crate) enum PermissionsCommand {
    /// List the rules that count in this directory, and the approvals that were remembered.
    #[command(visible_alias = "ls")]
    List(JsonArgs),
    /// Say whether a call would run. Ends with 0 when it runs without a question, with 8 when it is asked or denied.
    Test(CallArgs),
    /// The same, with every reason.
    Explain(CallArgs),
    /// Forget an approval that was remembered for this directory.
    Revoke(RevokeArgs),
}

/// A listing.
#[derive(Args, Debug)]
pub(crate) struct JsonArgs {
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A call that is judged.
#[derive(Args, Debug)]
pub(crate) struct CallArgs {
    /// A command, or the tool: `git status`, `bash`, `Read`, `mcp__server__tool`.
    pub(crate) tool: String,
    /// What the tool is called with: a command, a path, an address.
    #[arg(value_name = "ARG", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) arguments: Vec<String>,
    /// In this mode, not in that of the settings.
    #[arg(long, value_name = "MODE", value_parser = ["default", "accept-edits", "plan", "auto", "dont-ask", "bypass"])]
    pub(crate) mode: Option<String>,
    /// As JSON. Comes before the tool.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Revoke.
#[derive(Args, Debug)]
pub(crate) struct RevokeArgs {
    /// The rule, as `lariat permissions list` shows it.
    pub(crate) rule: String,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Trust.
#[derive(Args, Debug)]
pub(crate) struct TrustArgs {
    /// The workspace; this directory without.
    pub(crate) dir: Option<PathBuf>,
    /// List what is trusted.
    #[arg(long, conflicts_with_all = ["revoke", "yes"])]
    pub(crate) list: bool,
    /// Trust it no more.
    #[arg(long, conflicts_with = "yes")]
    pub(crate) revoke: bool,
    /// Do not ask.
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// As JSON. Trusts it only with --yes.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Models.
#[derive(Args, Debug)]
pub(crate) struct ModelsArgs {
    /// What to do; lists all models without.
    #[command(subcommand)]
    pub(crate) command: Option<ModelsCommand>,
}

/// What can be done with models.
#[derive(Debug, Subcommand)]
pub(crate) enum ModelsCommand {
    /// List models with their windows and prices.
    #[command(visible_alias = "ls")]
    List(ModelsListArgs),
    /// Everything that is known of a model.
    Show(ModelsShowArgs),
}

/// List models.
#[derive(Args, Debug, Default)]
pub(crate) struct ModelsListArgs {
    /// Words that must all occur in the name.
    pub(crate) words: Vec<String>,
    /// Models of this service only.
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Option<String>,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Show a model.
#[derive(Args, Debug)]
pub(crate) struct ModelsShowArgs {
    /// `provider/model`, or the model alone; without, the model that a run in this directory uses.
    pub(crate) name: Option<String>,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Auth.
#[derive(Args, Debug)]
pub(crate) struct AuthArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: AuthCommand,
}

/// What can be done with keys.
#[derive(Debug, Subcommand)]
pub(crate) enum AuthCommand {
    /// Which services have a key, and where it is. No key is shown.
    Status(JsonArgs),
    /// Store a key in the system's keyring, or in a file where there is none. It is read from standard input, unseen on a terminal.
    Login(ProviderArgs),
    /// Forget a stored key.
    Logout(ProviderArgs),
}

/// A service.
#[derive(Args, Debug)]
pub(crate) struct ProviderArgs {
    /// The service: `anthropic`, `openai`, … or one of the settings.
    pub(crate) provider: String,
}

/// Config.
#[derive(Args, Debug)]
pub(crate) struct ConfigArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: ConfigCommand,
}

/// What can be done with settings.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// What counts in this directory.
    Show(ConfigShowArgs),
    /// Set one of your own settings, or a project's. Comments in the file are kept.
    Set(ConfigSetArgs),
    /// Edit your own settings with $VISUAL or $EDITOR.
    Edit,
    /// The JSON schema of the settings, for editors.
    Schema,
    /// Where your own settings are.
    Path,
}

/// Show settings.
#[derive(Args, Debug)]
pub(crate) struct ConfigShowArgs {
    /// With who set each.
    #[arg(long)]
    pub(crate) origin: bool,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Set a setting.
#[derive(Args, Debug)]
pub(crate) struct ConfigSetArgs {
    /// The setting: `model`, `limits.cost`, … (`lariat config show` lists them).
    pub(crate) key: String,
    /// Its value. Lists are written as `["a", "b"]`, or as several values.
    #[arg(required_unless_present = "unset", allow_hyphen_values = true)]
    pub(crate) value: Vec<String>,
    /// Remove the setting from the file.
    #[arg(long, conflicts_with = "value")]
    pub(crate) unset: bool,
    /// In `lariat.toml` of this directory, for everyone who works on the project.
    #[arg(long)]
    pub(crate) project: bool,
}

/// Context.
#[derive(Args, Debug)]
pub(crate) struct ContextArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: ContextCommand,
}

/// What can be done with the window.
#[derive(Debug, Subcommand)]
pub(crate) enum ContextCommand {
    /// What is in the window of a session; without one, what a new session begins with.
    Show(ContextShowArgs),
}

/// Show the window.
#[derive(Args, Debug)]
pub(crate) struct ContextShowArgs {
    /// The session, by its id or the beginning of it.
    pub(crate) id: Option<String>,
    /// The session of this directory that was active last.
    #[arg(short = 'c', long = "continue", conflicts_with = "id")]
    pub(crate) continue_last: bool,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Undo.
#[derive(Args, Debug)]
pub(crate) struct UndoArgs {
    /// Go back to before this call; before the last one without.
    pub(crate) call: Option<String>,
    /// List the calls that changed files.
    #[arg(long, conflicts_with_all = ["call", "last", "yes"])]
    pub(crate) list: bool,
    /// Go back to before the last N calls.
    #[arg(long, value_name = "N", conflicts_with = "call")]
    pub(crate) last: Option<usize>,
    /// Do not ask.
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Doctor.
#[derive(Args, Debug)]
pub(crate) struct DoctorArgs {
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Init.
#[derive(Args, Debug)]
pub(crate) struct InitArgs {
    /// Do not ask.
    #[arg(short, long)]
    pub(crate) yes: bool,
}

/// Completions.
#[derive(Args, Debug)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

/// Complete.
#[derive(Args, Debug)]
pub(crate) struct CompleteArgs {
    /// What.
    #[arg(value_enum)]
    pub(crate) what: Completed,
}

/// What the completions of a shell ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Completed {
    /// Ids of sessions.
    Sessions,
    /// Names of models.
    Models,
}

/// Man.
#[derive(Args, Debug)]
pub(crate) struct ManArgs {
    /// One page per command, into this directory; without, the first page to standard output.
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}
