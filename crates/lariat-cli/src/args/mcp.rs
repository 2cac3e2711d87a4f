//! Arguments of `lariat mcp`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

#[derive(Args, Debug)]
pub(crate) struct McpArgs {
    #[command(subcommand)]
    pub(crate) command: McpCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// List the servers that apply here, without starting them.
    List(McpListArgs),
    /// Show a server and its tools, without starting it.
    Get(McpNameArgs),
    /// Add a server: a command, or an address with `--transport http`.
    Add(McpAddArgs),
    /// Remove a server from your settings, or from the project's.
    Remove(McpRemoveArgs),
    /// Start a server and list its tools.
    Test(McpNameArgs),
    /// Review the tools that a server changed, and accept them.
    Trust(McpTrustArgs),
    /// Log in to a service in your browser.
    Login(McpLoginArgs),
    /// Remove your login at a service.
    Logout(McpNameArgs),
    /// Show what a server wrote to standard error when it ran last.
    Logs(McpNameArgs),
    /// Serve Lariat's tools and sessions to another agent.
    Serve(McpServeArgs),
}

/// How to add the server to other agents.
const SERVE_HELP: &str = "\
The agent that starts this command gets the tools of the directory in which it runs. Calls pass the same permission check, \
sandbox and undo as in a session. A call that requires approval is denied, unless a rule or the mode allows it, or the agent \
can ask its user (elicitation).

Add it to another agent:
  claude mcp add lariat -- lariat mcp serve
  codex mcp add lariat -- lariat mcp serve
  lariat mcp add lariat --no-sandbox -- lariat mcp serve

Or in a file such as .mcp.json:
  {\"mcpServers\": {\"lariat\": {\"command\": \"lariat\", \"args\": [\"mcp\", \"serve\"]}}}";

#[derive(Args, Debug)]
#[command(after_help = SERVE_HELP)]
pub(crate) struct McpServeArgs {
    /// Serve HTTP on this loopback address, such as 127.0.0.1:8765, instead of standard input and output.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) http: Option<SocketAddr>,
    /// Read the token that HTTP clients must send from this file, instead of printing a new one.
    #[arg(long, value_name = "FILE", requires = "http", conflicts_with = "no_token")]
    pub(crate) token_file: Option<PathBuf>,
    /// Let every program of this machine use the HTTP server without a token.
    #[arg(long, requires = "http")]
    pub(crate) no_token: bool,
    /// Tools to serve, separated by commas; `lariat` for sessions [default: all].
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) tools: Option<Vec<String>>,
    /// Permission mode: which actions run without asking.
    #[arg(long)]
    pub(crate) mode: Option<String>,
    /// Allow what a rule matches (repeatable).
    #[arg(long, value_name = "RULE")]
    pub(crate) allow: Vec<String>,
    /// Deny what a rule matches (repeatable).
    #[arg(long, value_name = "RULE")]
    pub(crate) deny: Vec<String>,
    /// Directory to work in [default: the current directory].
    #[arg(short = 'C', long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct McpListArgs {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct McpNameArgs {
    /// Name of the server.
    pub(crate) name: String,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct McpLoginArgs {
    /// Name of the server.
    pub(crate) name: String,
    /// Rights to ask for, separated by spaces [default: those that the server names].
    #[arg(long, value_name = "SCOPES")]
    pub(crate) scope: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct McpTrustArgs {
    /// Name of the server.
    pub(crate) name: String,
    /// Accept without asking.
    #[arg(short = 'y', long)]
    pub(crate) yes: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct McpRemoveArgs {
    /// Name of the server.
    pub(crate) name: String,
    /// Where to remove it.
    #[arg(short = 's', long, value_enum, default_value_t = Scope::User)]
    pub(crate) scope: Scope,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct McpAddArgs {
    /// Name of the server: letters, digits, `-` and `_`.
    pub(crate) name: String,
    /// The command with its arguments, after `--`; or the address.
    #[arg(required = true, trailing_var_arg = true)]
    pub(crate) target: Vec<String>,
    /// Where to write it: your settings, or `.mcp.json` of this directory.
    #[arg(short = 's', long, value_enum, default_value_t = Scope::User)]
    pub(crate) scope: Scope,
    /// How to reach it.
    #[arg(short = 't', long, value_enum, default_value_t = McpTransportArg::Stdio)]
    pub(crate) transport: McpTransportArg,
    /// Variable of the server, as NAME=VALUE; `${NAME}` in a value is your variable.
    #[arg(short = 'e', long = "env", value_name = "NAME=VALUE")]
    pub(crate) variables: Vec<String>,
    /// Header of each request, as `NAME: VALUE`.
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE")]
    pub(crate) headers: Vec<String>,
    /// Working directory of the server.
    #[arg(long)]
    pub(crate) cwd: Option<PathBuf>,
    /// Let the server use the network.
    #[arg(long)]
    pub(crate) network: bool,
    /// Let the server write to this directory.
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) writable: Vec<PathBuf>,
    /// Run the server without a sandbox.
    #[arg(long)]
    pub(crate) no_sandbox: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scope {
    /// Your settings; applies in every directory.
    User,
    /// `.mcp.json` of this directory; applies to everyone who trusts the project.
    Project,
}

impl Scope {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum McpTransportArg {
    /// A program.
    Stdio,
    /// Streamable HTTP.
    Http,
    /// The older HTTP with server-sent events.
    Sse,
}
