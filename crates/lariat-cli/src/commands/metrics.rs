//! `lariat metrics`: shows what the loops of a directory achieved.

use lariat_service::actor_critic::{LoopMetrics, MeasuredLoop};
use lariat_terminal::human;
use lariat_terminal::theme::Theme;
use serde::Serialize;

use super::{CommandResult, print};
use crate::args::actor_critic::MetricsArgs;
use crate::exit::Exit;
use crate::process_env::ProcessEnv;

/// Maximum length of a bar, in characters.
const BAR: u64 = 30;
/// Width of the names before the values.
const NAME: usize = 22;

#[derive(Serialize)]
struct MetricsJson<'a> {
    #[serde(flatten)]
    metrics: &'a LoopMetrics,
    sessions: &'a [MeasuredLoop],
}

/// Runs `lariat metrics`.
pub(crate) async fn metrics(env: &ProcessEnv, args: &MetricsArgs) -> CommandResult {
    let place = env.load_project(&env.load_options(None))?;
    let service = env.service(&place).await?;
    let directory = (!args.all).then(|| place.path().display().to_string());
    let loops = MeasuredLoop::list(&service, directory).await?;
    let metrics = LoopMetrics::of(&loops);
    if args.json {
        return print::json(&MetricsJson { metrics: &metrics, sessions: &loops });
    }
    if loops.is_empty() {
        print::note("no loops yet; `lariat loop \"TASK\"` runs one");
        return Ok(Exit::Done);
    }
    print::out(&text(&metrics, &print::theme()));
    Ok(Exit::Done)
}

fn text(metrics: &LoopMetrics, theme: &Theme) -> String {
    let percent = |rate: Option<f64>| rate.map_or("-".to_owned(), |rate| format!("{:.0} %", rate * 100.0));
    let dollars = |usd: f64| human::money(lariat_core::usage::Cost::from_usd(usd));
    let seconds =
        |seconds: f64| human::duration(std::time::Duration::try_from_secs_f64(seconds).unwrap_or_default());
    let rows = [
        ("loops", format!("{} ({} ended)", metrics.loops, metrics.ended)),
        ("success rate", percent(metrics.success_rate)),
        ("first-try rate", percent(metrics.first_try_rate)),
        ("iterations", metrics.iterations.to_string()),
        (
            "iterations per loop",
            metrics.iterations_per_loop.map_or("-".to_owned(), |count| format!("{count:.1}")),
        ),
        ("wasted iterations", format!("{} ({})", metrics.wasted_iterations, percent(metrics.waste_rate))),
        ("approval rate", percent(metrics.approval_rate)),
        ("time per iteration", metrics.seconds_per_iteration.map_or("-".to_owned(), seconds)),
        ("cost per iteration", metrics.cost_usd_per_iteration.map_or("-".to_owned(), dollars)),
        ("cost", dollars(metrics.cost_usd)),
    ];
    let mut text: String = rows.iter().map(|(name, value)| format!("{name:<NAME$}{value}\n")).collect();
    let most = metrics.iterations_to_success.iter().copied().max().unwrap_or_default();
    if most > 0 {
        text.push_str("\niterations to success\n");
        for (at, count) in metrics.iterations_to_success.iter().enumerate() {
            let length = usize::try_from((count * BAR).div_ceil(most)).unwrap_or_default();
            let bar = theme.mark("█", "#").repeat(length);
            let gap = if bar.is_empty() { "" } else { " " };
            text.push_str(&format!("{:>4}  {bar}{gap}{count}\n", at + 1));
        }
    }
    text
}
