//! Counts how often a user would be asked to approve everyday commands, and how often needlessly.
//!
//! A question is needless if the user answered "always" to that command before and is asked again, or was not
//! offered "always" although the command is not dangerous.

use std::sync::Arc;

use lariat_core::permission::DangerLevel;
use lariat_core::tool::ToolEffects;
use lariat_guard::{
    Cause, Effect, Guard, GuardDecision, Layer, NoLinks, Origin, Query, SessionDirectories, Settings, Trust,
};
use serde_json::json;

/// Prints the figures. Returns whether few enough questions are needless.
pub(crate) fn print_figures(everyday: &[String], most_percent: f64) -> bool {
    let guard = |rules: &[String]| {
        let layer = Layer::new(Origin::flags());
        let layer = rules.iter().fold(layer, |layer, rule| layer.with_rule(Effect::Allow, rule));
        let settings = Settings::merge([layer], Trust::Trusted);
        Guard::new(settings, SessionDirectories::new("/work", "/people/me"), Arc::new(NoLinks))
    };
    let plain = guard(&[]);
    let (mut unasked, mut once, mut grave, mut needless) = (0, 0, 0, Vec::new());
    for command in everyday {
        let arguments = json!({ "command": command });
        let query = Query::new("bash", &arguments, ToolEffects::ALL);
        let judgement = plain.judge(&query);
        let is_grave = judgement.danger == DangerLevel::Critical
            || judgement.because.iter().any(|reason| matches!(reason.cause, Cause::Protected(_)));
        let rules = plain.suggest(&query);
        match judgement.verdict {
            GuardDecision::Allow => unasked += 1,
            _ if is_grave => grave += 1,
            _ if !rules.is_empty() && guard(&rules).judge(&query).verdict == GuardDecision::Allow => {
                once += 1
            }
            _ => needless.push(command),
        }
    }
    let percent = 100.0 * needless.len() as f64 / everyday.len().max(1) as f64;
    println!(
        "everyday: of {} commands {unasked} run without approval, {once} after one \"always\", {grave} are dangerous and need approval each time; \
         {} need approval each time for no reason: {percent:.1} % (at most {most_percent} %)",
        everyday.len(),
        needless.len(),
    );
    for command in needless.iter().take(8) {
        println!("  {command}");
    }
    percent <= most_percent
}
