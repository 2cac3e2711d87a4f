//! `lariat permissions`: lists permission rules and tests tool calls against them.

use lariat_core::nearest::nearest;
use lariat_service::permissions::{
    Approval, ApprovalStore, CallDecision, CallJudgement, Mode, PermissionCheck,
};
use lariat_service::trust::Trust;
use lariat_service::{LoadedProject, is_tool};
use lariat_terminal::table::table;
use lariat_terminal::theme::Theme;
use serde::Serialize;

use super::CommandResult;
use super::print::{self, Column};
use crate::args::manage::{CallArgs, PermissionsArgs, PermissionsCommand, RevokeArgs};
use crate::exit::Exit;
use crate::problem::Problem;
use crate::process_env::ProcessEnv;

#[derive(Serialize)]
struct PermissionListing {
    mode: &'static str,
    trusted: bool,
    rules: Vec<ListedRule>,
    approvals: Vec<Approval>,
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct ListedRule {
    effect: String,
    rule: String,
    origin: String,
}

#[derive(Serialize)]
struct RevokedApproval {
    directory: String,
    rule: String,
    revoked: bool,
}

#[derive(Serialize)]
struct CallReport {
    call: String,
    verdict: &'static str,
    danger: String,
    mode: &'static str,
    because: Vec<String>,
    /// The decision for each command of a compound command.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<CommandReport>,
}

#[derive(Serialize)]
struct CommandReport {
    part: String,
    verdict: &'static str,
    because: Vec<String>,
}

pub(crate) async fn permissions(env: &ProcessEnv, args: PermissionsArgs) -> CommandResult {
    let place = env.load_project(&env.load_options(None))?;
    let store = ApprovalStore::new(env.folders.approvals());
    match args.command {
        PermissionsCommand::List(args) => list(env, &place, &store, args.json),
        PermissionsCommand::Test(args) => judge(env, &place, &args, false).await,
        PermissionsCommand::Explain(args) => judge(env, &place, &args, true).await,
        PermissionsCommand::Revoke(args) => revoke(&place, &store, &args),
    }
}

/// The permission check of a session in this directory.
fn check(env: &ProcessEnv, place: &LoadedProject) -> Result<PermissionCheck, Problem> {
    Ok(PermissionCheck::new(place, &env.folders, &env.environment())?)
}

fn list(env: &ProcessEnv, place: &LoadedProject, store: &ApprovalStore, json: bool) -> CommandResult {
    let listing = listing(env, place, store)?;
    if json {
        return print::json(&listing);
    }
    print::out(&listing.text(&print::theme()));
    listing.warnings.iter().for_each(|warning| print::note(&format!("warning: {warning}")));
    Ok(Exit::Done)
}

/// The rules in force in a directory, as text for a session in this mode.
pub(crate) fn rules_text(
    env: &ProcessEnv,
    place: &LoadedProject,
    mode: &str,
    width: usize,
) -> Result<String, Problem> {
    let mut listing = listing(env, place, &ApprovalStore::new(env.folders.approvals()))?;
    if let Some(mode) = Mode::parse(mode) {
        listing.mode = mode.name();
    }
    let mut text = listing.text(&Theme::plain(width));
    listing.warnings.iter().for_each(|warning| text.push_str(&format!("warning: {warning}\n")));
    Ok(text)
}

fn listing(
    env: &ProcessEnv,
    place: &LoadedProject,
    store: &ApprovalStore,
) -> Result<PermissionListing, Problem> {
    let settings = place.opened.settings();
    let rules = settings.rules.iter().map(|rule| ListedRule {
        effect: rule.effect.to_string(),
        rule: rule.text.clone(),
        origin: rule.origin.to_string(),
    });
    let check = check(env, place)?;
    Ok(PermissionListing {
        mode: check.mode().name(),
        trusted: place.opened.trust == Trust::Trusted,
        rules: rules.collect(),
        approvals: store.of(&place.path().display().to_string())?,
        warnings: check.warnings(),
    })
}

impl PermissionListing {
    fn text(&self, theme: &Theme) -> String {
        let mode = format!("mode: {}\n", self.mode);
        let rules =
            self.rules.iter().map(|rule| vec![rule.effect.clone(), rule.rule.clone(), rule.origin.clone()]);
        let approvals = self.approvals.iter().map(|approval| {
            let origin = format!("approved: {}", print::abbreviate(&approval.asked, 50));
            vec!["allow".to_owned(), approval.rule.clone(), origin]
        });
        let rows: Vec<Vec<String>> = rules.chain(approvals).collect();
        if rows.is_empty() {
            return format!("{mode}no rules: actions that the mode does not allow require approval\n");
        }
        let columns = [Column::text("EFFECT"), Column::whole("RULE"), Column::text("ORIGIN")];
        format!("{mode}{}", table(&columns, &rows, theme))
    }
}

/// Prints the decision for a tool call. Exits with 0 if it would run without asking.
async fn judge(env: &ProcessEnv, place: &LoadedProject, args: &CallArgs, every: bool) -> CommandResult {
    let check = check(env, place)?.with_sandbox(place, &env.folders, &env.environment()).await;
    if let Some(mode) = args.mode.as_deref().and_then(Mode::parse) {
        check.set_mode(mode);
    }
    let (tool, arguments) = parse_call(args);
    let call = if arguments.is_empty() { tool.clone() } else { format!("{tool}({arguments})") };
    let judgement = check.judge(&call).ok_or_else(|| {
        Problem::new(Exit::Usage, format!("`{call}` is not a tool call"))
            .hint("give the tool, then its argument: `lariat permissions test bash \"git push\"`")
    })?;
    let verdict = judgement.decision.name();
    let because = judgement.because.into_iter();
    let is_shell = tool.eq_ignore_ascii_case("bash");
    let parts = if every && is_shell { check.judge_parts(&tool, &arguments) } else { Vec::new() };
    let part = |(part, judgement): (String, CallJudgement)| CommandReport {
        part,
        verdict: judgement.decision.name(),
        because: judgement.because,
    };
    let report = CallReport {
        call,
        verdict,
        danger: format!("{:?}", judgement.danger).to_lowercase(),
        mode: check.mode().name(),
        because: if every { because.collect() } else { because.take(1).collect() },
        parts: parts.into_iter().map(part).collect(),
    };
    if args.json {
        print::json(&report)?;
    } else {
        print::line(verdict);
        report.because.iter().for_each(|reason| print::line(&format!("  {reason}")));
        for part in &report.parts {
            print::line(&format!("  {}  {}", part.verdict, part.because.join("; ")));
        }
        if every {
            print::line(&format!("  risk level: {}, permission mode: {}", report.danger, report.mode));
        }
    }
    let runs = judgement.decision == CallDecision::Allow;
    Ok(if runs { Exit::Done } else { Exit::VerificationFailed })
}

/// Splits the words into tool and argument. Words that do not start with a tool name are a shell command.
fn parse_call(args: &CallArgs) -> (String, String) {
    let arguments = args.arguments.join(" ");
    let name = args.tool.split('(').next().unwrap_or_default();
    if is_tool(name) {
        return (args.tool.clone(), arguments);
    }
    let words =
        std::iter::once(args.tool.as_str()).chain((!arguments.is_empty()).then_some(arguments.as_str()));
    ("bash".to_owned(), words.collect::<Vec<_>>().join(" "))
}

fn revoke(place: &LoadedProject, store: &ApprovalStore, args: &RevokeArgs) -> CommandResult {
    let (project, rule) = (place.path().display().to_string(), args.rule.as_str());
    if store.revoke(&project, rule)? {
        if args.json {
            return print::json(&RevokedApproval {
                directory: project,
                rule: rule.to_owned(),
                revoked: true,
            });
        }
        print::note(&format!("removed the approval {rule}"));
        return Ok(Exit::Done);
    }
    let in_file = place.opened.settings().rules.into_iter().find(|known| known.text == rule);
    if let Some(in_file) = in_file {
        return Err(Problem::new(
            Exit::Failed,
            format!("`{rule}` is a rule in a settings file, not an approval"),
        )
        .at(in_file.origin.to_string())
        .hint("remove it from that file"));
    }
    let approvals = store.of(&project)?;
    let near = nearest(rule, approvals.iter().map(|approval| approval.rule.as_str()));
    let near = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
    Err(Problem::new(Exit::Failed, format!("no remembered approval `{rule}` in this directory"))
        .at(project)
        .hint(format!("{near}`lariat permissions list` lists all")))
}
