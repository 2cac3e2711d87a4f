//! `lariat permissions`: lists permission rules and tests tool calls against them.

use std::sync::Arc;

use lariat_core::nearest::nearest;
use lariat_guard::{ApprovalBook, Cause, Confinement, Decision, Level, Mode, Reason};
use lariat_host::process::Supervisor;
use lariat_runtime::Gate;
use lariat_service::local::HookPrograms;
use lariat_service::{Place, is_tool, walls};
use serde::Serialize;

use super::Ended;
use super::print::{self, Column};
use crate::args::manage::{CallArgs, PermissionsArgs, PermissionsCommand, RevokeArgs};
use crate::exit::Exit;
use crate::problem::Problem;
use crate::world::World;

#[derive(Serialize)]
struct Listed {
    mode: &'static str,
    trusted: bool,
    rules: Vec<ListedRule>,
    approvals: Vec<lariat_guard::Approval>,
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct ListedRule {
    effect: String,
    rule: String,
    origin: String,
}

#[derive(Serialize)]
struct Revoked {
    directory: String,
    rule: String,
    revoked: bool,
}

#[derive(Serialize)]
struct Judged {
    call: String,
    verdict: &'static str,
    danger: String,
    mode: &'static str,
    because: Vec<String>,
    /// The decision for each command of a compound command.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<Part>,
}

#[derive(Serialize)]
struct Part {
    part: String,
    verdict: &'static str,
    because: Vec<String>,
}

pub(crate) async fn permissions(world: &World, args: PermissionsArgs) -> Ended {
    let place = world.place(&world.visit(None))?;
    let book = ApprovalBook::new(world.folders.approvals());
    match args.command {
        PermissionsCommand::List(args) => list(world, &place, &book, args.json),
        PermissionsCommand::Test(args) => judge(world, &place, book, &args, false).await,
        PermissionsCommand::Explain(args) => judge(world, &place, book, &args, true).await,
        PermissionsCommand::Revoke(args) => revoke(&place, &book, &args),
    }
}

/// The permission gate of a session in this directory.
fn gate(world: &World, place: &Place, book: ApprovalBook) -> Result<Gate, Problem> {
    let environment = place.environment(&world.environment());
    let hooks = HookPrograms::new(Supervisor::new(), place.path(), environment.clone());
    let gate = place.opened.gate(Arc::new(hooks), &environment).with_approvals(book)?;
    if let Some(mode) = place.config.text("mode").and_then(|name| Mode::parse(&name)) {
        gate.set_mode(mode);
    }
    Ok(gate)
}

fn list(world: &World, place: &Place, book: &ApprovalBook, json: bool) -> Ended {
    let settings = place.opened.settings();
    let rules = settings.rules.iter().map(|rule| ListedRule {
        effect: rule.effect.to_string(),
        rule: rule.text.clone(),
        origin: rule.origin.to_string(),
    });
    let gate = gate(world, place, book.clone())?;
    let listed = Listed {
        mode: gate.mode().name(),
        trusted: place.opened.trust == lariat_guard::Trust::Trusted,
        rules: rules.collect(),
        approvals: book.of(&place.path().display().to_string())?,
        warnings: gate.guard().warnings().iter().map(ToString::to_string).collect(),
    };
    if json {
        return print::json(&listed);
    }
    print::line(&format!("mode: {}", listed.mode));
    let mut rows: Vec<Vec<String>> =
        listed.rules.into_iter().map(|rule| vec![rule.effect, rule.rule, rule.origin]).collect();
    let approved = |approval: lariat_guard::Approval| {
        vec![
            "allow".to_owned(),
            approval.rule,
            format!("approved: {}", print::beginning(&approval.asked, 50)),
        ]
    };
    rows.extend(listed.approvals.into_iter().map(approved));
    if rows.is_empty() {
        print::line("no rules: actions that the mode does not allow require approval");
    } else {
        print::out(&print::table(
            &[Column::text("EFFECT"), Column::whole("RULE"), Column::text("ORIGIN")],
            &rows,
        ));
    }
    listed.warnings.iter().for_each(|warning| print::note(&format!("warning: {warning}")));
    Ok(Exit::Done)
}

/// Prints the decision for a tool call. Exits with 0 if it would run without asking.
async fn judge(world: &World, place: &Place, book: ApprovalBook, args: &CallArgs, every: bool) -> Ended {
    let gate = gate(world, place, book)?;
    if let Some(mode) = args.mode.as_deref().and_then(Mode::parse) {
        gate.set_mode(mode);
    }
    let (tool, arguments) = call_of(args);
    let call = if arguments.is_empty() { tool.clone() } else { format!("{tool}({arguments})") };
    let confinement = confinement(world, place).await;
    let judgement = gate.guard().dry_run_in(&call, gate.mode(), confinement).ok_or_else(|| {
        Problem::new(Exit::Usage, format!("`{call}` is not a tool call"))
            .next("give the tool, then its argument: `lariat permissions test bash \"git push\"`")
    })?;
    let verdict = word(judgement.verdict);
    let because = judgement.because.iter().map(told);
    let is_shell = tool.eq_ignore_ascii_case("bash");
    let parts = if every && is_shell { parts(&gate, &tool, &arguments, confinement) } else { Vec::new() };
    let judged = Judged {
        call,
        verdict,
        danger: format!("{:?}", judgement.danger).to_lowercase(),
        mode: gate.mode().name(),
        because: if every { because.collect() } else { because.take(1).collect() },
        parts,
    };
    if args.json {
        print::json(&judged)?;
    } else {
        print::line(verdict);
        judged.because.iter().for_each(|reason| print::line(&format!("  {reason}")));
        for part in &judged.parts {
            print::line(&format!("  {}  {}", part.verdict, part.because.join("; ")));
        }
        if every {
            print::line(&format!("  risk level: {}, permission mode: {}", judged.danger, judged.mode));
        }
    }
    Ok(if judgement.verdict == Decision::Allow { Exit::Done } else { Exit::Unsound })
}

/// Splits the words into tool and argument. Words that do not start with a tool name are a shell command.
fn call_of(args: &CallArgs) -> (String, String) {
    let arguments = args.arguments.join(" ");
    let name = args.tool.split('(').next().unwrap_or_default();
    if is_tool(name) {
        return (args.tool.clone(), arguments);
    }
    let words =
        std::iter::once(args.tool.as_str()).chain((!arguments.is_empty()).then_some(arguments.as_str()));
    ("bash".to_owned(), words.collect::<Vec<_>>().join(" "))
}

/// Whether a run in this directory would sandbox its commands.
async fn confinement(world: &World, place: &Place) -> Confinement {
    let is_confined = place.config.flag("sandbox.enabled")
        && walls::backend(&world.folders, &world.environment()).await.is_ok();
    if is_confined { Confinement::Sandboxed } else { Confinement::Open }
}

const fn word(decision: Decision) -> &'static str {
    match decision {
        Decision::Allow => "allow",
        Decision::Ask => "ask",
        Decision::Deny => "deny",
    }
}

/// Describes a reason. Flag-level rules are remembered approvals here, because these commands have no rule flags.
fn told(reason: &Reason) -> String {
    match &reason.cause {
        Cause::Rule { text, origin, .. } if origin.level == Level::Flags => {
            format!("`{}`: matches the remembered approval `{text}`", reason.part)
        }
        _ => reason.to_string(),
    }
}

/// The decision for each command of a compound shell command.
fn parts(gate: &Gate, tool: &str, command: &str, confinement: Confinement) -> Vec<Part> {
    let commands = lariat_guard::shell::analyse(command).commands;
    if commands.len() < 2 {
        return Vec::new();
    }
    let texts =
        commands.into_iter().map(|one| match command.get(one.place).filter(|text| !text.is_empty()) {
            Some(text) => text.to_owned(),
            None => one.words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" "),
        });
    let judged = texts.filter_map(|part| {
        let judgement = gate.guard().dry_run_in(&format!("{tool}({part})"), gate.mode(), confinement)?;
        let because = judgement.because.iter().map(told).collect();
        Some(Part { part, verdict: word(judgement.verdict), because })
    });
    judged.collect()
}

fn revoke(place: &Place, book: &ApprovalBook, args: &RevokeArgs) -> Ended {
    let (project, rule) = (place.path().display().to_string(), args.rule.as_str());
    if book.revoke(&project, rule)? {
        if args.json {
            return print::json(&Revoked { directory: project, rule: rule.to_owned(), revoked: true });
        }
        print::note(&format!("removed the approval {rule}"));
        return Ok(Exit::Done);
    }
    let written = place.opened.settings().rules.into_iter().find(|known| known.text == rule);
    if let Some(written) = written {
        return Err(Problem::new(
            Exit::Failed,
            format!("`{rule}` is a rule in a settings file, not an approval"),
        )
        .at(written.origin.to_string())
        .next("remove it from that file"));
    }
    let approvals = book.of(&project)?;
    let near = nearest(rule, approvals.iter().map(|approval| approval.rule.as_str()));
    let near = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
    Err(Problem::new(Exit::Failed, format!("no remembered approval `{rule}` in this directory"))
        .at(project)
        .next(format!("{near}`lariat permissions list` lists all")))
}
