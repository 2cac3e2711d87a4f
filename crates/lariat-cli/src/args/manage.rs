//! Arguments of every command except `run`, `sessions`, `replay` and `memory`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Args, Debug)]
pub(crate) struct PermissionsArgs {
    #[command(subcommand)]
    pub(crate) command: PermissionsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PermissionsCommand {
    /// List the rules in effect in this directory and remembered approvals.
    #[command(visible_alias = "ls")]
    List(JsonArgs),
    /// Test whether a tool call would run; exit 0 if it runs without asking, 8 if not.
    Test(CallArgs),
    /// Explain the decision for a tool call, with every reason.
    Explain(CallArgs),
    /// Remove an approval that was remembered for this directory.
    Revoke(RevokeArgs),
}

#[derive(Args, Debug)]
pub(crate) struct JsonArgs {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct CallArgs {
    /// Command or tool: `git status`, `bash`, `Read`, `mcp__server__tool`.
    pub(crate) tool: String,
    /// Argument of the tool call: a command, a path or a URL.
    #[arg(value_name = "ARG", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) arguments: Vec<String>,
    /// Permission mode to test [default: from settings].
    #[arg(long, value_name = "MODE", value_parser = ["default", "accept-edits", "plan", "auto", "dont-ask", "bypass"])]
    pub(crate) mode: Option<String>,
    /// Print JSON; must come before the tool.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct RevokeArgs {
    /// Rule, as shown by `lariat permissions list`.
    pub(crate) rule: String,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct TrustArgs {
    /// Project directory [default: the current directory].
    pub(crate) dir: Option<PathBuf>,
    /// List trusted projects.
    #[arg(long, conflicts_with_all = ["revoke", "yes"])]
    pub(crate) list: bool,
    /// Revoke trust in the project.
    #[arg(long, conflicts_with = "yes")]
    pub(crate) revoke: bool,
    /// Do not ask for confirmation.
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Print JSON; trusts the project only with --yes.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct ModelsArgs {
    /// Subcommand [default: list].
    #[command(subcommand)]
    pub(crate) command: Option<ModelsCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ModelsCommand {
    /// List models with context windows and prices.
    #[command(visible_alias = "ls")]
    List(ModelsListArgs),
    /// Show the details of a model.
    Show(ModelsShowArgs),
}

#[derive(Args, Debug, Default)]
pub(crate) struct ModelsListArgs {
    /// Show only models whose name contains all of these words.
    pub(crate) words: Vec<String>,
    /// Show only models of this provider.
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct ModelsShowArgs {
    /// Model, as `provider/model` or `model` [default: the model of a run in this directory].
    pub(crate) name: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct AuthArgs {
    #[command(subcommand)]
    pub(crate) command: AuthCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuthCommand {
    /// Show which providers have an API key and where it is stored; never print a key.
    Status(JsonArgs),
    /// Store an API key, read from standard input, in the system keyring or a private file.
    Login(ProviderArgs),
    /// Remove a stored API key.
    Logout(ProviderArgs),
}

#[derive(Args, Debug)]
pub(crate) struct ProviderArgs {
    /// Provider: `anthropic`, `openai`, … or one from your settings.
    pub(crate) provider: String,
}

#[derive(Args, Debug)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub(crate) command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show the effective settings of this directory.
    Show(ConfigShowArgs),
    /// Set a user or project setting, keeping comments in the file.
    Set(ConfigSetArgs),
    /// Edit your settings file with $VISUAL or $EDITOR.
    Edit,
    /// Print the JSON schema of the settings, for editors.
    Schema,
    /// Print the path of your settings file.
    Path,
}

#[derive(Args, Debug)]
pub(crate) struct ConfigShowArgs {
    /// Show where each value was set.
    #[arg(long)]
    pub(crate) origin: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct ConfigSetArgs {
    /// Setting, such as `model` or `limits.cost` (`lariat config show` lists them).
    pub(crate) key: String,
    /// Value; write a list as `["a", "b"]` or as several values.
    #[arg(required_unless_present = "unset", allow_hyphen_values = true)]
    pub(crate) value: Vec<String>,
    /// Remove the setting from the file.
    #[arg(long, conflicts_with = "value")]
    pub(crate) unset: bool,
    /// Write to `lariat.toml` in this directory, for everyone on the project.
    #[arg(long)]
    pub(crate) project: bool,
}

#[derive(Args, Debug)]
pub(crate) struct ContextArgs {
    #[command(subcommand)]
    pub(crate) command: ContextCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ContextCommand {
    /// Show the context window of a session [default: of a new session].
    Show(ContextShowArgs),
}

#[derive(Args, Debug)]
pub(crate) struct ContextShowArgs {
    /// Session id or unique prefix.
    pub(crate) id: Option<String>,
    /// Show the most recent session of this directory.
    #[arg(short = 'c', long = "continue", conflicts_with = "id")]
    pub(crate) continue_last: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct AgentsArgs {
    #[command(subcommand)]
    pub(crate) command: AgentsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AgentsCommand {
    /// List the sub-agents that a session in this directory can start.
    List(CommandsListArgs),
}

#[derive(Args, Debug)]
pub(crate) struct CommandsArgs {
    #[command(subcommand)]
    pub(crate) command: CommandsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CommandsCommand {
    /// List the commands and skills that you can invoke here with `/NAME`.
    List(CommandsListArgs),
}

#[derive(Args, Debug)]
pub(crate) struct CommandsListArgs {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct UndoArgs {
    /// Undo this tool call and all later ones [default: the last one].
    pub(crate) call: Option<String>,
    /// List tool calls that changed files.
    #[arg(long, conflicts_with_all = ["call", "last", "yes"])]
    pub(crate) list: bool,
    /// Undo the last N tool calls.
    #[arg(long, value_name = "N", conflicts_with = "call")]
    pub(crate) last: Option<usize>,
    /// Do not ask for confirmation.
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct DoctorArgs {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct InitArgs {
    /// Do not ask for confirmation.
    #[arg(short, long)]
    pub(crate) yes: bool,
}

#[derive(Args, Debug)]
pub(crate) struct CompletionsArgs {
    /// Shell to generate completions for.
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Args, Debug)]
pub(crate) struct CompleteArgs {
    /// What to list.
    #[arg(value_enum)]
    pub(crate) what: CompletionKind,
}

/// Values that shell completions look up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum CompletionKind {
    /// Session ids.
    Sessions,
    /// Model names.
    Models,
}

#[derive(Args, Debug)]
pub(crate) struct ManArgs {
    /// Write one page per command to this directory [default: print the main page].
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}
