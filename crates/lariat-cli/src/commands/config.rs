//! `lariat config`: shows and edits settings.

use std::path::Path;

use lariat_service::config::{SettingSources, SettingValue, schema};
use serde::Serialize;
use serde_json::Value;

use super::print::{self, Column};
use super::{CommandResult, config_secrets, config_set, template};
use crate::args::manage::{ConfigArgs, ConfigCommand, ConfigShowArgs};
use crate::exit::Exit;
use crate::files;
use crate::problem::Problem;
use crate::process_env::ProcessEnv;

#[derive(Serialize)]
struct Setting {
    key: String,
    value: Value,
    /// Where it was set; `None` for a default.
    origin: Option<String>,
}

pub(crate) fn config(env: &ProcessEnv, args: ConfigArgs) -> CommandResult {
    let own = env.folders.settings();
    match args.command {
        ConfigCommand::Path => print::line(&own.display().to_string()),
        ConfigCommand::Schema => return print::json(&schema()),
        ConfigCommand::Show(args) => {
            let place = env.load_project(&env.load_options(None))?;
            show(&place.sources, &args)?;
            place.opened.problems.iter().for_each(|problem| print::note(&format!("warning: {problem}")));
        }
        ConfigCommand::Set(args) => return config_set::set(env, &args),
        ConfigCommand::Edit => edit(env, &own)?,
    }
    Ok(Exit::Done)
}

fn show(sources: &SettingSources, args: &ConfigShowArgs) -> CommandResult {
    let setting = |(key, set): (String, SettingValue)| Setting {
        value: config_secrets::without_secrets(&key, set.value),
        key,
        origin: set.origin.map(|origin| origin.to_string()),
    };
    let settings: Vec<Setting> = sources.all().into_iter().map(setting).collect();
    if args.json {
        print::json(&settings)?;
    } else {
        let mut columns = vec![Column::whole("KEY"), Column::whole("VALUE")];
        if args.origin {
            columns.push(Column::text("ORIGIN"));
        }
        let rows: Vec<Vec<String>> = settings
            .into_iter()
            .map(|setting| {
                let origin = setting.origin.unwrap_or_else(|| "default".to_owned());
                vec![setting.key, setting.value.to_string(), origin]
            })
            .collect();
        print::out(&print::table(&columns, &rows));
    }
    warn(sources);
    Ok(Exit::Done)
}

fn warn(sources: &SettingSources) {
    sources.warnings.iter().for_each(|warning| print::note(&format!("warning: {warning}")));
}

fn edit(env: &ProcessEnv, path: &Path) -> Result<(), Problem> {
    let editor = ["VISUAL", "EDITOR"].into_iter().find_map(|name| env.variable(name)).ok_or_else(|| {
        Problem::new(Exit::Setup, "no editor is configured")
            .hint(format!("set VISUAL or EDITOR, or edit {} yourself", path.display()))
    })?;
    if files::text(path).is_none() && !path.exists() {
        if let Some(folder) = path.parent() {
            files::make_private(folder)?;
        }
        files::write_new(path, &template::user())?;
    }
    start(editor, path)?;
    // Loads the file at once, so that the user sees a mistake now and not in the next run.
    warn(&env.load_project(&env.load_options(None))?.sources);
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "the user's own editor, on the user's terminal")]
fn start(editor: &str, path: &Path) -> Result<(), Problem> {
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or(editor);
    let ended = std::process::Command::new(program).args(words).arg(path).status();
    let wrong = |what: String| {
        Problem::new(Exit::Failed, format!("the editor `{editor}` {what}"))
            .at(path.display().to_string())
            .hint("set VISUAL or EDITOR to a working editor")
    };
    match ended {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(wrong(format!("failed ({status})"))),
        Err(error) => Err(wrong(format!("could not start: {error}"))),
    }
}
