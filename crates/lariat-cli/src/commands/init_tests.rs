use super::*;

#[test]
fn lists_only_scripts_that_exist() {
    let text = r#"{ "scripts": { "test": "vitest", "start": "node ." } }"#;
    assert_eq!(scripts(text, "pnpm"), [("test", "pnpm run test".to_owned())]);
    assert_eq!(scripts("{", "npm"), []);
}

#[test]
fn ignores_variables_and_recipe_lines() {
    let text = "build := x\ntest: build\n\tcargo test\nlint :\n\tformat: no\n";
    assert_eq!(targets(text, "make"), [("test", "make test".to_owned()), ("lint", "make lint".to_owned())]);
}

#[test]
fn lists_tools_of_pyproject() {
    let text = "[tool.pytest.ini_options]\n[tool.ruff]\n";
    let commands = python(text, true);
    let commands: Vec<&str> = commands.iter().map(|(_, command)| command.as_str()).collect();
    assert_eq!(commands, ["uv run pytest", "uv run ruff check", "uv run ruff format"]);
    assert_eq!(python("[project]\nname = 'x'\n", false), []);
}

#[test]
fn empty_project_has_no_commands_section() {
    let text = agents(&Project { name: "x".to_owned(), ..Project::default() });
    assert!(!text.contains("## Commands"), "{text}");
}
