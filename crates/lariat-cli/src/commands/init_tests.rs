use super::*;

#[test]
fn only_scripts_that_are_there_are_told() {
    let text = r#"{ "scripts": { "test": "vitest", "start": "node ." } }"#;
    assert_eq!(scripts(text, "pnpm"), [("test", "pnpm run test".to_owned())]);
    assert_eq!(scripts("{", "npm"), []);
}

#[test]
fn a_target_is_no_variable_and_no_recipe() {
    let text = "build := x\ntest: build\n\tcargo test\nlint :\n\tformat: no\n";
    assert_eq!(targets(text, "make"), [("test", "make test".to_owned()), ("lint", "make lint".to_owned())]);
}

#[test]
fn what_a_pyproject_names_is_told() {
    let text = "[tool.pytest.ini_options]\n[tool.ruff]\n";
    let commands = python(text, true);
    let commands: Vec<&str> = commands.iter().map(|(_, command)| command.as_str()).collect();
    assert_eq!(commands, ["uv run pytest", "uv run ruff check", "uv run ruff format"]);
    assert_eq!(python("[project]\nname = 'x'\n", false), []);
}

#[test]
fn nothing_is_said_of_a_project_that_says_nothing() {
    let text = agents(&Project { name: "x".to_owned(), ..Project::default() });
    assert!(!text.contains("## Commands"), "{text}");
}
