//! `lariat models`: lists models with context windows and prices.

use std::num::NonZeroU64;

use lariat_core::model::ModelCost;
use lariat_service::config::{ProviderApi, Settings};
use lariat_service::models::{Catalogue, ModelInfo, Models, known_provider};
use lariat_service::{LoadedProject, ServiceError};
use serde::Serialize;

use super::CommandResult;
use super::print::{self, Column};
use crate::args::manage::{ModelsArgs, ModelsCommand, ModelsListArgs, ModelsShowArgs};
use crate::exit::Exit;
use crate::problem::Problem;
use crate::process_env::ProcessEnv;

/// The details of a model.
#[derive(Serialize)]
struct ModelDetails {
    model: String,
    name: String,
    context: Option<u64>,
    output: Option<u32>,
    /// Dollars per million tokens.
    cost: Option<ModelCost>,
    reasoning: bool,
    tools: bool,
    images: bool,
    released: Option<String>,
    api: String,
    base_url: String,
    key_variables: Vec<String>,
}

impl ModelDetails {
    fn of(info: &ModelInfo) -> Self {
        let variables = known_provider(&info.provider).map(|known| known.variables).unwrap_or_default();
        Self {
            model: format!("{}/{}", info.provider, info.id),
            name: info.name.clone(),
            context: info.context,
            output: info.output,
            cost: info.cost.clone(),
            reasoning: info.reasoning,
            tools: info.tool_call,
            images: info.sees_images(),
            released: info.release_date.clone(),
            api: info.api.as_str().to_owned(),
            base_url: info.base_url.clone(),
            key_variables: variables.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    /// A model that only the settings define.
    fn configured(settings: &Settings, provider: &str, id: &str) -> Self {
        let set = settings.providers.get(provider).cloned().unwrap_or_default();
        Self {
            model: format!("{provider}/{id}"),
            name: id.to_owned(),
            context: set.context.map(NonZeroU64::get),
            output: None,
            cost: None,
            reasoning: false,
            tools: true,
            images: false,
            released: None,
            api: set.api.map_or("openai-chat", ProviderApi::as_str).to_owned(),
            base_url: set.base_url.unwrap_or_default(),
            key_variables: set.key_env.into_iter().collect(),
        }
    }

    fn prices(&self) -> [String; 2] {
        let price = |of: fn(&ModelCost) -> String| self.cost.as_ref().map_or_else(|| "-".to_owned(), of);
        [price(|cost| cost.input.to_string()), price(|cost| cost.output.to_string())]
    }

    fn abilities(&self) -> String {
        let abilities = [(self.tools, "tools"), (self.reasoning, "thinking"), (self.images, "images")];
        let words: Vec<&str> = abilities.iter().filter(|(has, _)| *has).map(|(_, word)| *word).collect();
        words.join(" ")
    }
}

const COLUMNS: &[Column] = &[
    Column::whole("MODEL"),
    Column::number("CONTEXT"),
    Column::number("INPUT/M"),
    Column::number("OUTPUT/M"),
    Column::text("FEATURES"),
];

pub(crate) fn models(env: &ProcessEnv, args: ModelsArgs) -> CommandResult {
    let place = env.load_project(&env.load_options(None))?;
    match args.command {
        None => list(&place, &ModelsListArgs::default()),
        Some(ModelsCommand::List(args)) => list(&place, &args),
        Some(ModelsCommand::Show(args)) => show(env, &place, &args),
    }
}

/// The names of all models, those from the settings first.
pub(crate) fn names(settings: &Settings) -> Vec<String> {
    let catalogue = Catalogue::embedded().models().map(|info| format!("{}/{}", info.provider, info.id));
    configured_names(settings).into_iter().chain(catalogue).collect()
}

/// The names of the models that the settings define.
pub(crate) fn configured_names(settings: &Settings) -> Vec<String> {
    configured_models(settings).map(|details| details.model).collect()
}

fn configured_models(settings: &Settings) -> impl Iterator<Item = ModelDetails> + '_ {
    settings.providers.iter().flat_map(move |(name, provider)| {
        let mut ids = provider.models.clone();
        // Includes the configured model, even if its provider does not list it.
        let used = settings.model.as_ref().and_then(|model| {
            let (of, id) = model.split_once('/')?;
            (of == name && known_provider(of).is_none()).then(|| id.to_owned())
        });
        ids.extend(used.filter(|used| !ids.contains(used)));
        ids.into_iter().map(move |id| ModelDetails::configured(settings, name, &id))
    })
}

fn list(place: &LoadedProject, args: &ModelsListArgs) -> CommandResult {
    let (settings, catalogue) = (&place.settings, place.catalogue.catalogue());
    let words: Vec<String> = args.words.iter().map(|word| word.to_lowercase()).collect();
    let of_provider = |details: &ModelDetails| {
        let provider = details.model.split('/').next();
        args.provider.as_deref().is_none_or(|wanted| provider == Some(wanted))
    };
    let fits = |details: &ModelDetails| {
        let text = format!("{} {}", details.model, details.name).to_lowercase();
        of_provider(details) && words.iter().all(|word| text.contains(word.as_str()))
    };
    let known = catalogue.models().map(ModelDetails::of);
    let found: Vec<ModelDetails> = configured_models(settings).chain(known).filter(fits).collect();
    if found.is_empty() {
        return Err(no_match(settings, catalogue, args));
    }
    if args.json {
        return print::json(&found);
    }
    let rows: Vec<Vec<String>> = found
        .iter()
        .map(|details| {
            let window = details.context.map_or_else(|| "-".to_owned(), print::count);
            let [input, output] = details.prices();
            vec![details.model.clone(), window, input, output, details.abilities()]
        })
        .collect();
    print::out(&print::table(COLUMNS, &rows));
    Ok(Exit::Done)
}

fn no_match(settings: &Settings, catalogue: &Catalogue, args: &ModelsListArgs) -> Problem {
    let known = catalogue.providers().chain(settings.providers.keys().map(String::as_str));
    let near = args.provider.as_deref().and_then(|name| {
        let known: Vec<&str> = known.collect();
        if known.contains(&name) { None } else { lariat_core::nearest::nearest(name, known) }
    });
    let near = near.map(|near| format!("did you mean `--provider {near}`? ")).unwrap_or_default();
    Problem::new(Exit::Failed, "no model matches")
        .hint(format!("{near}`lariat models list` lists all models"))
}

/// Finds a model by name: in the settings, in the catalogue, or as a run would resolve it.
fn find_model(env: &ProcessEnv, place: &LoadedProject, name: &str) -> Result<ModelDetails, ServiceError> {
    let settings = &place.settings;
    if let Some(details) = configured_models(settings).find(|details| details.model == name) {
        return Ok(details);
    }
    if let Some(info) = place.catalogue.catalogue().find(name) {
        return Ok(ModelDetails::of(info));
    }
    // Showing a model needs no key.
    let keys = env.keys();
    let found = match Models::new(settings, &keys).with_catalogue(&place.catalogue).find(name) {
        Err(ServiceError::NoKey { .. }) => None,
        found => Some(found?),
    };
    let (provider, id) = name.split_once('/').unwrap_or(("", name));
    let mut details = ModelDetails::configured(settings, provider, id);
    if let Some(found) = found {
        details.model = format!("{}/{}", found.provider, found.id);
        details.context = details.context.or(Some(found.context_window));
        details.output = found.max_tokens;
        details.cost = found.cost;
        (details.api, details.base_url) = (found.api, found.base_url);
    }
    Ok(details)
}

fn show(env: &ProcessEnv, place: &LoadedProject, args: &ModelsShowArgs) -> CommandResult {
    let name = match &args.name {
        Some(name) => name.clone(),
        None => {
            let model = Models::new(&place.settings, &env.keys())
                .with_catalogue(&place.catalogue)
                .selected_model()?;
            format!("{}/{}", model.provider, model.id)
        }
    };
    let details = find_model(env, place, &name)?;
    if args.json {
        return print::json(&details);
    }
    let add = |name: &str, value: String| print::field(name, &value);
    add("model", details.model.clone());
    add("name", details.name.clone());
    add("context", details.context.map_or_else(|| "unknown".to_owned(), |tokens| format!("{tokens} tokens")));
    if let Some(output) = details.output {
        add("output", format!("up to {output} tokens"));
    }
    match &details.cost {
        None => add("price", "unknown".to_owned()),
        Some(cost) => add("price", price_text(cost)),
    }
    if let Some(tier) = details.cost.as_ref().and_then(|cost| cost.tier.as_ref()) {
        add("", format!("above {} tokens: {}", print::count(tier.above), price_text(&tier.cost)));
    }
    add("features", details.abilities());
    if let Some(released) = &details.released {
        add("released", released.clone());
    }
    add("protocol", details.api.clone());
    if !details.base_url.is_empty() {
        add("url", details.base_url.clone());
    }
    if !details.key_variables.is_empty() {
        add("key", details.key_variables.join(", "));
    }
    Ok(Exit::Done)
}

fn price_text(cost: &ModelCost) -> String {
    let cached = |name: &str, price: &Option<lariat_core::model::UsdPerMillion>| {
        price.map(|price| format!(", {price} {name}")).unwrap_or_default()
    };
    format!(
        "per million tokens: {} in, {} out{}{}",
        cost.input,
        cost.output,
        cached("read from the cache", &cost.cache_read),
        cached("written to the cache", &cost.cache_write)
    )
}
