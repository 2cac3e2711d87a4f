//! The mode, the model and the effort of a session, as the editor shows them.

use lariat_api::{Action, Problem, ProblemCode, SessionView};
use lariat_core::event::AgentEvent;
use serde_json::Value;

use super::OpenSession;
use crate::project::{Choice, Project};
use crate::wire::{ConfigOption, ConfigValue, ModeState, SessionMode, Update};

const MODE: &str = "mode";
const MODEL: &str = "model";
const EFFORT: &str = "effort";

/// What applies in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ChosenOptions {
    mode: String,
    model: String,
    /// The effort that a client chose; the settings choose without it.
    effort: Option<String>,
}

impl ChosenOptions {
    pub(super) fn of(view: &SessionView, project: &Project) -> Self {
        let mode = if view.mode.is_empty() { &project.mode } else { &view.mode };
        Self {
            mode: mode.clone(),
            model: model_name(&view.model.name, project),
            effort: view.model.effort.clone(),
        }
    }

    pub(super) fn modes(&self, project: &Project) -> ModeState {
        let mode = |choice: &Choice| SessionMode {
            id: choice.value.clone(),
            name: choice.name.clone(),
            description: choice.description.clone(),
        };
        ModeState {
            current_mode_id: self.mode.clone(),
            available_modes: with_current(&project.modes, &self.mode).iter().map(mode).collect(),
        }
    }

    pub(super) fn list(&self, project: &Project) -> Vec<ConfigOption> {
        let effort = self.effort.as_ref().unwrap_or(&project.effort);
        let all = [
            (MODE, "Permission mode", "mode", &self.mode, &project.modes),
            (MODEL, "Model", "model", &self.model, &project.models),
            (EFFORT, "Reasoning effort", "thought_level", effort, &project.efforts),
        ];
        let known = all.into_iter().filter(|(.., current, _)| !current.is_empty());
        known
            .map(|(id, name, category, current, choices)| option(id, name, category, current, choices))
            .collect()
    }
}

/// The model in the spelling of the project's list: journals have the name that the provider uses.
fn model_name(name: &str, project: &Project) -> String {
    let is_it = |known: &str| known == name || known.rsplit_once('/').is_some_and(|(_, id)| id == name);
    if name.is_empty() || is_it(&project.model) {
        return project.model.clone();
    }
    let known = project.models.iter().find(|model| is_it(&model.value));
    known.map_or(name, |model| model.value.as_str()).to_owned()
}

/// The choices, with the present one if it is not among them.
fn with_current(choices: &[Choice], current: &str) -> Vec<Choice> {
    let missing = (!choices.iter().any(|choice| choice.value == current)).then(|| Choice::new(current, ""));
    choices.iter().cloned().chain(missing).collect()
}

fn option(
    id: &'static str,
    name: &'static str,
    category: &'static str,
    current: &str,
    choices: &[Choice],
) -> ConfigOption {
    let value = |choice: Choice| ConfigValue {
        value: choice.value,
        name: choice.name,
        description: choice.description,
    };
    ConfigOption {
        id,
        name,
        category,
        kind: "select",
        current_value: current.to_owned(),
        options: with_current(choices, current).into_iter().map(value).collect(),
    }
}

impl OpenSession {
    /// The options with their present values.
    pub(crate) fn config_options(&self) -> Vec<ConfigOption> {
        self.state().options.list(self.project())
    }

    /// Changes the permission mode.
    ///
    /// # Errors
    /// If the mode is unknown or the settings forbid it.
    pub(crate) async fn set_mode(&self, mode: String) -> Result<(), Problem> {
        self.send(Action::SetMode { mode: mode.clone() }).await?;
        self.state().options.mode = mode;
        Ok(())
    }

    /// Changes an option.
    ///
    /// # Errors
    /// If the option or the value is unknown, or cannot be changed now.
    pub(crate) async fn set_option(&self, id: &str, value: &Value) -> Result<(), Problem> {
        let Some(value) = value.as_str().map(str::to_owned) else {
            return Err(Problem::new(ProblemCode::Invalid, "the value of an option is a string"));
        };
        let (model, effort) = {
            let state = self.state();
            (state.options.model.clone(), state.options.effort.clone())
        };
        let (model, effort) = match id {
            MODE => return self.set_mode(value).await,
            MODEL => (value, effort),
            EFFORT => (model, Some(value)),
            _ => return Err(Problem::new(ProblemCode::Invalid, format!("unknown option `{id}`"))),
        };
        self.send(Action::SetModel { model: model.clone(), effort: effort.clone() }).await?;
        let mut state = self.state();
        (state.options.model, state.options.effort) = (model, effort);
        Ok(())
    }

    /// Takes over a change of the options from the log. Returns what the editor has to know.
    pub(super) fn option_updates(&self, event: &AgentEvent) -> Vec<Update> {
        let mut updates = Vec::new();
        let mut state = self.state();
        match event {
            AgentEvent::ModeChanged { mode } => {
                state.options.mode.clone_from(mode);
                updates.push(Update::CurrentModeUpdate { current_mode_id: mode.clone() });
            }
            AgentEvent::ModelChanged { model, effort } => {
                state.options.model = model_name(model, self.project());
                state.options.effort.clone_from(effort);
            }
            _ => return updates,
        }
        updates.push(Update::ConfigOptionUpdate { config_options: state.options.list(self.project()) });
        updates
    }
}

#[cfg(test)]
mod tests {
    use super::{ChosenOptions, model_name};
    use crate::project::{Choice, Project};

    fn project() -> Project {
        let mut project = Project::default();
        (project.mode, project.model, project.effort) = ("default".into(), "a/one".into(), "off".into());
        project.modes = vec![Choice::new("default", "Ask"), Choice::new("plan", "Plan")];
        project.models = vec![Choice::new("a/one", ""), Choice::new("b/two", "")];
        project
    }

    #[test]
    fn a_model_has_the_name_of_the_list() {
        for (name, expected) in
            [("", "a/one"), ("one", "a/one"), ("two", "b/two"), ("b/two", "b/two"), ("x", "x")]
        {
            assert_eq!(model_name(name, &project()), expected, "{name}");
        }
    }

    #[test]
    fn the_present_value_is_always_among_the_choices() {
        let chosen = ChosenOptions { mode: "auto".into(), model: "x".into(), effort: Some("high".into()) };
        for option in chosen.list(&project()) {
            let is_offered = option.options.iter().any(|value| value.value == option.current_value);
            assert!(is_offered, "{}", option.id);
        }
        assert_eq!(chosen.modes(&project()).available_modes.len(), 3);
        let without_model = ChosenOptions { mode: "plan".into(), model: String::new(), effort: None };
        let ids: Vec<&str> = without_model.list(&project()).iter().map(|option| option.id).collect();
        assert_eq!(ids, ["mode", "effort"]);
    }
}
