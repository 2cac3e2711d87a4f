//! Arguments of `lariat openapi`.

use clap::{Args, Subcommand};

use super::mcp::Scope;

#[derive(Args, Debug)]
pub(crate) struct OpenApiArgs {
    #[command(subcommand)]
    pub(crate) command: OpenApiCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum OpenApiCommand {
    /// Add an API: the address or the file of its OpenAPI document.
    Add(OpenApiAddArgs),
    /// List the APIs that apply here, without contacting them.
    List(OpenApiListArgs),
    /// Show the accepted operations of an API.
    Show(OpenApiNameArgs),
    /// Send one request and print the response.
    Test(OpenApiTestArgs),
    /// Read the document again, review what changed, and accept it.
    Trust(OpenApiTrustArgs),
    /// Remove an API from your settings, or from the project's.
    Remove(OpenApiRemoveArgs),
}

#[derive(Args, Debug)]
pub(crate) struct OpenApiAddArgs {
    /// Name of the API: letters, digits, `-` and `_`.
    pub(crate) name: String,
    /// Address or file of the document.
    pub(crate) document: String,
    /// Address for requests [default: the document's server, if it is on the same host].
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Operations to offer: an operation id, a path, `METHOD PATH` or `tag:NAME`; `*` stands for any text.
    #[arg(long, value_name = "PATTERN")]
    pub(crate) include: Vec<String>,
    /// Operations to leave out.
    #[arg(long, value_name = "PATTERN")]
    pub(crate) exclude: Vec<String>,
    /// Credential, as `bearer REF`, `basic USER REF`, `header NAME REF`, `query NAME REF` or `cookie NAME REF`; REF is
    /// `env:NAME` or `keyring:NAME`.
    #[arg(long, value_name = "AUTH")]
    pub(crate) auth: Option<String>,
    /// Let the host have addresses of an internal network.
    #[arg(long)]
    pub(crate) internal: bool,
    /// Where to write it: your settings, or `lariat.toml` of this directory.
    #[arg(short = 's', long, value_enum, default_value_t = Scope::User)]
    pub(crate) scope: Scope,
    /// Accept the server that the document names without asking.
    #[arg(short = 'y', long)]
    pub(crate) yes: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct OpenApiListArgs {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct OpenApiNameArgs {
    /// Name of the API.
    pub(crate) name: String,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct OpenApiTestArgs {
    /// Name of the API.
    pub(crate) name: String,
    /// Operation id or name of the tool.
    pub(crate) operation: String,
    /// Arguments, as a JSON object [default: {}].
    pub(crate) arguments: Option<String>,
    /// Send a request that changes something without asking.
    #[arg(short = 'y', long)]
    pub(crate) yes: bool,
}

#[derive(Args, Debug)]
pub(crate) struct OpenApiTrustArgs {
    /// Name of the API.
    pub(crate) name: String,
    /// Accept without asking.
    #[arg(short = 'y', long)]
    pub(crate) yes: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct OpenApiRemoveArgs {
    /// Name of the API.
    pub(crate) name: String,
    /// Where to remove it.
    #[arg(short = 's', long, value_enum, default_value_t = Scope::User)]
    pub(crate) scope: Scope,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
