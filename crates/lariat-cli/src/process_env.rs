//! Reads the process environment: variables, directories, arguments, terminal. The only module that does.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use lariat_service::config::{ColorChoice, KeyStorage, Settings};
use lariat_service::mcp::LOGIN_PREFIX;
use lariat_service::models::Keys;
use lariat_service::process::{Environment, LaunchHelper};
use lariat_service::{ClientConfig, LoadOptions, LoadedProject, LocalService, ServiceError, UserDirectories};
use lariat_terminal::picture::{PictureProtocol, Pictures};
use lariat_terminal::theme::{TerminalFacts, Theme};
use rustix::termios::{Winsize, tcgetwinsize};
use serde_json::{Map, Value};

use crate::exit::Exit;
use crate::keys::{KeyFile, KeyStore, Keyring, StoredKey, UnlockPrompts};
use crate::problem::Problem;

/// The environment that this process was started in.
#[derive(Clone)]
pub(crate) struct ProcessEnv {
    variables: Arc<Vec<(OsString, OsString)>>,
    /// The user's home, settings and state directories.
    pub(crate) folders: UserDirectories,
    /// The working directory.
    pub(crate) directory: PathBuf,
    /// Whether settings and sessions have a usable directory.
    has_home: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    /// Standard output, for answers and results.
    Output,
    /// Standard error, for everything else.
    Error,
}

/// Prefix of variables that set a setting: `LARIAT_MODEL` is `model`, `LARIAT_SANDBOX__NETWORK` is `sandbox.network`.
const PREFIX: &str = "LARIAT_";

/// The home directory of a process without one. It does not exist.
const NO_HOME: &str = "/nonexistent";

/// Hosts that are never reached through a proxy.
const LOOPBACK: &str = "localhost,127.0.0.0/8,::1";

impl ProcessEnv {
    /// Reads the variables and the working directory.
    #[expect(clippy::disallowed_methods, reason = "this is the binary")]
    pub(crate) fn read() -> Self {
        let variables: Vec<(OsString, OsString)> = std::env::vars_os().collect();
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, value)| known == name && !value.is_empty());
            found.map(|(_, value)| PathBuf::from(value))
        };
        // Never use `/`: the user's files do not belong there, and others could read them.
        let own = |name: &str| variable(name).filter(|path| path.is_absolute() && path.parent().is_some());
        let (home, config, state) = (own("HOME"), own("XDG_CONFIG_HOME"), own("XDG_STATE_HOME"));
        let has_home = home.is_some() || (config.is_some() && state.is_some());
        let home = home.unwrap_or_else(|| PathBuf::from(NO_HOME));
        let config = config.unwrap_or_else(|| home.join(".config")).join("lariat");
        let state = state.unwrap_or_else(|| home.join(".local/state")).join("lariat");
        let directory = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
        let folders = UserDirectories { home, config, state };
        Self { folders, variables: Arc::new(variables), directory, has_home }
    }

    /// Fails if settings and sessions have no usable directory.
    pub(crate) fn require_home(&self) -> Result<(), Problem> {
        if self.has_home {
            return Ok(());
        }
        let home =
            self.variable("HOME").map_or_else(|| "is not set".to_owned(), |home| format!("is `{home}`"));
        Err(Problem::new(
            Exit::Setup,
            format!("HOME {home}, so there is no directory for settings and sessions"),
        )
        .hint("set HOME to your home directory, or set both XDG_CONFIG_HOME and XDG_STATE_HOME"))
    }

    /// Returns a variable, unless it is empty or not UTF-8.
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        let found = self.variables.iter().find(|(known, _)| known == name)?;
        found.1.to_str().filter(|value| !value.is_empty())
    }

    /// The environment that tools inherit. Programs in the working directory are not trusted.
    pub(crate) fn environment(&self) -> Environment {
        Environment::from_inherited(self.variables.iter().cloned())
            .with_untrusted_directories([&self.directory])
    }

    /// The settings in `LARIAT_*` variables.
    pub(crate) fn settings(&self) -> Map<String, Value> {
        let mut settings = Map::new();
        for (name, value) in self.variables.iter() {
            let Some(key) = name.to_str().and_then(|name| name.strip_prefix(PREFIX)) else { continue };
            // A value that is not UTF-8 becomes null, which no setting accepts, so validation reports it.
            let value = value.to_str().map_or(Value::Null, |text| {
                let parsed = serde_json::from_str(text).ok().filter(|value: &Value| !value.is_object());
                parsed.unwrap_or_else(|| Value::from(text))
            });
            insert(&mut settings, &key.to_lowercase(), value);
        }
        settings
    }

    /// Prepares to load the settings of a directory, together with those in variables.
    pub(crate) fn load_options(&self, cwd: Option<&PathBuf>) -> LoadOptions {
        let mut visit = LoadOptions::new(cwd.cloned().unwrap_or_else(|| self.directory.clone()));
        visit.environment = self.settings();
        visit
    }

    /// Loads the effective settings of a directory.
    pub(crate) fn load_project(&self, visit: &LoadOptions) -> Result<LoadedProject, Problem> {
        Ok(LoadedProject::load(visit, &self.folders)?)
    }

    /// Opens the service with the session store.
    pub(crate) async fn service(&self, place: &LoadedProject) -> Result<LocalService, ServiceError> {
        let keys = Arc::new(self.keys_in(place.settings.auth.store));
        let store = &place.settings.store;
        let service = LocalService::open(self.folders.clone(), store, self.environment(), keys).await?;
        Ok(service
            .with_client(self.client(&place.settings)?)
            .with_launch_helper(LaunchHelper::current_executable()))
    }

    /// Opens a service whose sessions end with the process.
    pub(crate) async fn ephemeral(&self, place: &LoadedProject) -> Result<LocalService, ServiceError> {
        let keys = Arc::new(self.keys_in(place.settings.auth.store));
        let service = LocalService::ephemeral(self.folders.clone(), self.environment(), keys).await?;
        Ok(service
            .with_client(self.client(&place.settings)?)
            .with_launch_helper(LaunchHelper::current_executable()))
    }

    /// HTTP settings: the proxy from the usual variables, and extra certificates from the settings. Loopback never uses a proxy.
    fn client(&self, settings: &Settings) -> Result<ClientConfig, ServiceError> {
        let variable = |names: &[&str]| names.iter().find_map(|name| self.variable(name)).map(str::to_owned);
        let mut client = ClientConfig::default();
        client.proxy = variable(&["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]);
        client.http_proxy = variable(&["HTTP_PROXY", "http_proxy"]);
        let without = variable(&["NO_PROXY", "no_proxy"]);
        client.no_proxy = Some([without.as_deref().unwrap_or_default(), LOOPBACK].join(","));
        let usual = self.variable("NODE_EXTRA_CA_CERTS").map(Path::new);
        for path in settings.network.certificates.iter().map(PathBuf::as_path).chain(usual) {
            client.extra_certificates.push(certificates(path)?.into());
        }
        Ok(client)
    }

    /// The API keys from variables, the key file and the keyring.
    pub(crate) fn keys(&self) -> EnvKeys {
        self.keys_in(KeyStorage::default())
    }

    /// The same keys; secrets that are saved go to this storage.
    fn keys_in(&self, storage: KeyStorage) -> EnvKeys {
        EnvKeys { env: self.clone(), storage, stored: OnceLock::new(), in_keyring: OnceLock::new() }
    }

    /// The keyring and the key file.
    pub(crate) fn key_store(&self, wanted: KeyStorage) -> KeyStore {
        KeyStore { file: KeyFile::new(self.folders.keys()), keyring: self.keyring(), wanted }
    }

    /// The system keyring. It may ask the user to unlock it only if standard error is a terminal.
    pub(crate) fn keyring(&self) -> Keyring {
        let prompts =
            if std::io::stderr().is_terminal() { UnlockPrompts::Allowed } else { UnlockPrompts::Refused };
        Keyring { bus: self.variable("DBUS_SESSION_BUS_ADDRESS").map(str::to_owned), prompts }
    }

    /// The arguments, with the program name first.
    pub(crate) fn arguments(&self) -> Vec<OsString> {
        std::env::args_os().collect()
    }

    /// The arguments without the program name, converted to UTF-8.
    pub(crate) fn words(&self) -> Vec<String> {
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect()
    }

    /// Detects what a stream can display.
    pub(crate) fn terminal(&self, settings: &Settings, stream: Stream) -> Theme {
        let (is_terminal, size) = match stream {
            Stream::Output => (std::io::stdout().is_terminal(), tcgetwinsize(std::io::stdout())),
            Stream::Error => (std::io::stderr().is_terminal(), tcgetwinsize(std::io::stderr())),
        };
        Theme::of(&TerminalFacts {
            is_terminal,
            columns: size.ok().map(|size| size.ws_col.into()),
            no_color: self.variable("NO_COLOR"),
            force_color: self.variable("FORCE_COLOR").or_else(|| self.variable("CLICOLOR_FORCE")),
            term: self.variable("TERM"),
            colour: match settings.ui.color {
                ColorChoice::Auto => None,
                ColorChoice::Always => Some(true),
                ColorChoice::Never => Some(false),
            },
            links: settings.ui.links,
            motion: settings.ui.motion,
            pictures: size.ok().filter(|_| settings.ui.images).and_then(|size| self.pictures(size)),
            locale: ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| self.variable(name)),
        })
    }

    /// How the terminal draws pictures.
    fn pictures(&self, size: Winsize) -> Option<Pictures> {
        let name = |name: &str| self.variable(name).unwrap_or_default();
        let is_multiplexed = ["TMUX", "STY"].iter().any(|name| self.variable(name).is_some());
        let protocol = PictureProtocol::of(name("TERM"), name("TERM_PROGRAM"), is_multiplexed)?;
        let cell = size.ws_xpixel.checked_div(size.ws_col).zip(size.ws_ypixel.checked_div(size.ws_row));
        Some(Pictures::new(protocol, cell))
    }

    /// Whether a user can answer questions: input and standard error are a terminal.
    pub(crate) fn is_interactive(&self) -> bool {
        std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the binary")]
fn certificates(path: &Path) -> Result<Vec<u8>, ServiceError> {
    std::fs::read(path).map_err(|error| ServiceError::folder(path, error))
}

/// Inserts a value at `a__b`, as key `b` of table `a`. If one variable sets the table itself and another a key in it, both are
/// kept: the first becomes a key with an empty name, which validation reports because no setting has that name.
fn insert(settings: &mut Map<String, Value>, path: &str, value: Value) {
    let (name, rest) = path.split_once("__").unwrap_or((path, ""));
    let entry = settings.entry(name.to_owned());
    match (entry, rest.is_empty()) {
        (serde_json::map::Entry::Vacant(vacant), true) => drop(vacant.insert(value)),
        (entry, _) => {
            let table = entry.or_insert_with(|| Value::Object(Map::new()));
            if !table.is_object() {
                *table = Value::Object(Map::from_iter([(String::new(), table.take())]));
            }
            if let Some(table) = table.as_object_mut() {
                insert(table, rest, value);
            }
        }
    }
}

/// API keys from variables, the key file and the keyring.
pub(crate) struct EnvKeys {
    env: ProcessEnv,
    /// Where secrets are saved.
    storage: KeyStorage,
    /// The key file, read on first use.
    stored: OnceLock<BTreeMap<String, StoredKey>>,
    /// The keyring's keys for the providers that the file lists, read on first use.
    in_keyring: OnceLock<BTreeMap<String, String>>,
}

impl EnvKeys {
    fn in_keyring(&self, stored: &BTreeMap<String, StoredKey>) -> BTreeMap<String, String> {
        let there = stored
            .iter()
            .filter(|(name, stored)| **stored == StoredKey::IN_KEYRING && !name.starts_with(LOGIN_PREFIX));
        let providers: Vec<String> = there.map(|(provider, _)| provider.clone()).collect();
        match self.env.keyring().read(providers.clone()) {
            Ok(keys) => {
                for provider in providers.iter().filter(|provider| !keys.contains_key(*provider)) {
                    let cause = format!("the keyring no longer has a key for {provider}");
                    let next = format!("store it again with `lariat auth login {provider}`");
                    warn(&Problem::new(Exit::Setup, cause).hint(next));
                }
                keys
            }
            Err(keyring_error) => {
                let step = keyring_error.step;
                let problem = keyring_error.problem("could not read keys from the keyring");
                warn(&problem.hint(format!("{step}, or set the provider's variable")));
                BTreeMap::new()
            }
        }
    }
}

/// Warns why a key is missing. A run without the key fails later with its own error.
fn warn(problem: &Problem) {
    let _ = writeln!(std::io::stderr(), "{}", problem.to_string().replacen("error:", "warning:", 1));
}

impl Keys for EnvKeys {
    fn variable(&self, name: &str) -> Option<String> {
        self.env.variable(name).map(str::to_owned)
    }

    fn stored_key(&self, provider: &str) -> Option<String> {
        let stored = self.stored.get_or_init(|| {
            let keys = KeyFile::new(self.env.folders.keys()).load();
            keys.unwrap_or_else(|problem| {
                warn(&problem);
                BTreeMap::new()
            })
        });
        match stored.get(provider)? {
            StoredKey::Key(key) => Some(key.clone()),
            StoredKey::Elsewhere { .. } => {
                self.in_keyring.get_or_init(|| self.in_keyring(stored)).get(provider).cloned()
            }
        }
    }

    fn load_secret(&self, name: &str) -> Option<String> {
        self.env.key_store(self.storage).load(name).unwrap_or_else(|problem| {
            warn(&problem);
            None
        })
    }

    fn store_secret(&self, name: &str, value: Option<&str>) -> Result<(), String> {
        let store = self.env.key_store(self.storage);
        let done = match value {
            Some(value) => store.store(name, value.to_owned()).map(drop),
            None => store.remove(name).map(drop),
        };
        done.map_err(|problem| problem.cause)
    }
}
