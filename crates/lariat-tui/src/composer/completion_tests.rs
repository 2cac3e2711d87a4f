use super::super::tests::{press, type_text};
use super::*;

fn hint(name: &str, arguments: &str) -> CommandHint {
    let summary = format!("Summary of {name}");
    CommandHint { name: name.to_owned(), arguments: arguments.to_owned(), summary }
}

fn composer() -> Composer {
    let mut composer = Composer::new(vec!["/model old".to_owned()]);
    composer.set_commands(vec![hint("clear", ""), hint("compact", "[focus]"), hint("model", "[name]")]);
    composer
}

fn names(composer: &Composer) -> Vec<&str> {
    composer.completion.items().0.iter().map(|item| item.name.as_str()).collect()
}

fn ask(query: &str) -> Outcome {
    Outcome::Ask(Request::Files { query: query.to_owned() })
}

fn answer(composer: &mut Composer, query: &str, items: &[&str]) {
    let items = items.iter().map(|item| (*item).to_owned().into()).collect();
    composer.completed(&Request::Files { query: query.to_owned() }, items);
}

#[test]
fn a_slash_at_the_start_offers_commands() {
    let mut composer = composer();
    press(&mut composer, &["/"]);
    assert_eq!(names(&composer), ["clear", "compact", "model"]);
    press(&mut composer, &["o"]);
    assert_eq!(names(&composer), ["compact", "model"]);
    press(&mut composer, &["x"]);
    assert_eq!(names(&composer), [""; 0]);
    let mut composer = self::composer();
    type_text(&mut composer, "a /");
    assert_eq!(names(&composer), [""; 0]);
}

#[test]
fn tab_completes_and_enter_runs_a_command_without_arguments() {
    let mut composer = composer();
    type_text(&mut composer, "/cl");
    let sent = Outcome::Submit { text: "/clear".to_owned(), queue: false };
    assert_eq!(press(&mut composer, &["enter"]), sent);
    composer.sent();
    type_text(&mut composer, "/com");
    press(&mut composer, &["enter"]);
    assert_eq!((composer.draft().as_str(), composer.is_busy()), ("/compact ", false));
    composer.clear();
    type_text(&mut composer, "/cl");
    press(&mut composer, &["tab"]);
    assert_eq!(composer.draft(), "/clear ");
    // What is typed in full is sent, whatever is offered.
    composer.clear();
    type_text(&mut composer, "/model");
    let sent = Outcome::Submit { text: "/model".to_owned(), queue: false };
    assert_eq!(press(&mut composer, &["enter"]), sent);
}

#[test]
fn down_and_up_select_and_go_round() {
    let mut composer = composer();
    press(&mut composer, &["/", "down", "down", "tab"]);
    assert_eq!(composer.draft(), "/model ");
    composer.clear();
    press(&mut composer, &["/", "up", "tab"]);
    assert_eq!(composer.draft(), "/model ");
    composer.clear();
    press(&mut composer, &["/", "down", "down", "down", "tab"]);
    assert_eq!(composer.draft(), "/clear ");
}

#[test]
fn escape_closes_it_until_the_next_word() {
    let mut composer = composer();
    press(&mut composer, &["/", "esc"]);
    assert!(!composer.is_busy());
    press(&mut composer, &["m"]);
    assert!(!composer.is_busy());
    assert_eq!(press(&mut composer, &["esc"]), Outcome::Unused);
    press(&mut composer, &["space", "@"]);
    assert_eq!(press(&mut composer, &["x"]), ask("x"));
}

#[test]
fn a_recalled_command_opens_no_list_so_that_up_recalls_the_next() {
    let mut composer = composer();
    press(&mut composer, &["up"]);
    assert_eq!((composer.draft().as_str(), composer.is_busy()), ("/model old", false));
}

#[test]
fn an_at_sign_asks_for_files_and_takes_the_answer() {
    let mut composer = composer();
    type_text(&mut composer, "see ");
    assert_eq!(press(&mut composer, &["@"]), ask(""));
    assert_eq!(press(&mut composer, &["m"]), ask("m"));
    // The answer to an older question comes late.
    answer(&mut composer, "", &["late"]);
    assert!(!composer.is_busy());
    answer(&mut composer, "m", &["src/main.rs", "mod.rs"]);
    // What was found stays until the next answer; typing continues.
    assert_eq!(press(&mut composer, &["o"]), ask("mo"));
    assert_eq!(names(&composer), ["src/main.rs", "mod.rs"]);
    answer(&mut composer, "mo", &["mod.rs"]);
    assert_eq!(press(&mut composer, &["enter"]), Outcome::Chose("mod.rs".to_owned()));
    assert_eq!(composer.draft(), "see @mod.rs ");
}

#[test]
fn a_file_replaces_the_whole_word_and_a_folder_lists_its_files() {
    let mut composer = composer();
    type_text(&mut composer, "(@sr");
    answer(&mut composer, "sr", &["src/"]);
    assert_eq!(press(&mut composer, &["tab"]), ask("src/"));
    assert_eq!(composer.draft(), "(@src/");
    answer(&mut composer, "src/", &["src/a file.rs"]);
    press(&mut composer, &["tab"]);
    assert_eq!(composer.draft(), "(@\"src/a file.rs\" ");
    let mut composer = self::composer();
    type_text(&mut composer, "@mai and");
    for _ in 0.." and".len() + 1 {
        press(&mut composer, &["left"]);
    }
    press(&mut composer, &["right", "left"]);
    answer(&mut composer, "ma", &["main.rs"]);
    press(&mut composer, &["tab"]);
    assert_eq!(composer.draft(), "@main.rs and");
}

#[test]
fn an_address_asks_for_nothing() {
    let mut composer = composer();
    type_text(&mut composer, "me@example");
    assert_eq!(press(&mut composer, &["x"]), Outcome::Changed);
}

#[test]
fn enter_sends_while_nothing_is_offered() {
    let mut composer = composer();
    type_text(&mut composer, "ask @all");
    let sent = Outcome::Submit { text: "ask @all".to_owned(), queue: false };
    assert_eq!(press(&mut composer, &["enter"]), sent);
}
