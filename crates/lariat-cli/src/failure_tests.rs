use lariat_service::config::KEYS;
use lariat_terminal::outcome::limit_words;

use super::*;

fn failure_context(provider: &str, key: Option<&str>) -> FailureContext {
    FailureContext {
        provider: provider.to_owned(),
        model: "m-1".to_owned(),
        address: "https://api.example/v1".to_owned(),
        key: key.map(str::to_owned),
        sources: SettingSources::default(),
    }
}

fn explain(provider: &str, error: &str) -> String {
    let key = "ANTHROPIC_API_KEY, from the environment";
    let outcome = RunOutcome::Failed { error: error.to_owned() };
    let problem = Problem::new(Exit::Model, error);
    failure_context(provider, Some(key)).explain(problem, &outcome, Some("S-1")).to_string()
}

#[test]
fn failure_that_is_not_the_providers_is_shown_as_it_is() {
    for error in ["anything else", "configuration: unknown protocol `x`", "network of friends (HTTP 500)"] {
        let hint = "  hint: continue with `lariat run --resume S-1`";
        assert_eq!(explain("mine", error), format!("error: {error}\n{hint}"));
    }
}

#[test]
fn rejected_key_error_names_provider_address_key_and_fix() {
    assert_eq!(
        explain("anthropic", "authentication: Incorrect API key provided. (HTTP 401)"),
        "error: anthropic rejected the API key (HTTP 401)\n  \
           at:   https://api.example/v1\n  \
           said: Incorrect API key provided.\n  \
           key:  ANTHROPIC_API_KEY, from the environment\n  \
           hint: set ANTHROPIC_API_KEY to a valid key, or run `lariat auth login anthropic`; then continue with \
           `lariat run --resume S-1`"
    );
}

#[test]
fn server_error_names_attempts_and_retry_settings() {
    assert_eq!(
        explain("mine", "network: boom (HTTP 500); 11 attempts in 303 s"),
        "error: mine failed to respond (HTTP 500), tried 11 times in 5m 03s\n  \
           at:   https://api.example/v1\n  \
           said: boom\n  \
           hint: continue later with `lariat run --resume S-1`; to retry for longer, raise `retry.attempts` and \
           `retry.patience`"
    );
}

#[test]
fn hint_starts_local_server_that_is_not_running() {
    assert_eq!(
        explain("ollama", "network: no connection: connection refused; 4 attempts in 8 s"),
        "error: could not connect to ollama, tried 4 times in 8s\n  \
           at:   https://api.example/v1\n  \
           said: connection refused\n  \
           hint: start Ollama with `ollama serve`; then continue with `lariat run --resume S-1`"
    );
}

#[test]
fn limit_error_names_its_setting_and_flag() {
    let outcome = RunOutcome::LimitReached { limit: LimitKind::Turns, scope: BudgetScope::Run };
    let problem = Problem::new(Exit::Limit, limit_words(LimitKind::Turns, BudgetScope::Run));
    let text = failure_context("anthropic", None).explain(problem, &outcome, Some("S-1")).to_string();
    assert_eq!(
        text,
        "error: the run reached its turn limit\n  \
           set:  limits.turns = 500, default\n  \
           hint: raise it and continue: `lariat run --resume S-1 --max-turns N`"
    );
    assert_eq!(limit_words(LimitKind::Cost, BudgetScope::Day), "today's cost budget is used up");
}

#[test]
fn every_limit_names_a_setting_that_exists() {
    for scope in [BudgetScope::Run, BudgetScope::Session, BudgetScope::Day, BudgetScope::Pool] {
        for limit in LimitKind::ALL {
            if let Some((name, _)) = setting(limit, scope) {
                assert!(KEYS.iter().any(|key| key.name == name && key.caps), "{name}");
            }
        }
    }
}
