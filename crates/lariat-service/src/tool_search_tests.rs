use super::*;

struct Named(&'static str, &'static str);

impl AgentTool for Named {
    fn name(&self) -> &str {
        self.0
    }

    fn description(&self) -> &str {
        self.1
    }

    fn parameters_schema(&self) -> Value {
        json!({ "type": "object", "properties": { "id": { "type": "string" } } })
    }

    fn execute<'a>(&'a self, _: Value, _: ToolContext) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
        Box::pin(std::future::ready(Ok(ToolResult::text("ran"))))
    }
}

fn tools() -> Vec<Arc<dyn AgentTool>> {
    let named = [
        ("mcp__hub__create_issue", "Creates an issue in a repository."),
        ("mcp__hub__listIssues", "Lists the issues of a repository."),
        ("mcp__mail__send", "Sends a message to a colleague about an issue."),
        ("openapi__pets__find_pet", "Finds a pet."),
    ];
    named.map(|(name, about)| Arc::new(Named(name, about)) as Arc<dyn AgentTool>).into()
}

fn hidden() -> HiddenTools {
    HiddenTools::new(tools())
}

#[test]
fn tools_are_hidden_only_if_they_take_more_than_their_share() {
    let bytes = tools().iter().map(|tool| definition_bytes(&**tool)).sum::<usize>();
    let tokens = (bytes / BYTES_PER_TOKEN) as u64;
    assert!(!HiddenTools::is_needed(bytes, 10, tokens * 10));
    assert!(HiddenTools::is_needed(bytes, 10, tokens * 10 - 10));
    assert!(HiddenTools::is_needed(bytes, 0, 1_000_000));
    assert!(!HiddenTools::is_needed(0, 0, 1_000_000), "without tools, there is nothing to find");
}

#[test]
fn a_search_returns_the_best_tools_with_their_schemas() {
    let search = ToolSearch { tools: hidden().tools, description: String::new() };
    let names = |query: &str| -> Vec<String> {
        let found = search.find(query);
        let entries = found.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        entries.map(|entry| entry["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names("create issue").first().unwrap(), "mcp__hub__create_issue");
    assert_eq!(names("list ISSUES").first().unwrap(), "mcp__hub__listIssues");
    assert_eq!(names("send").as_slice(), ["mcp__mail__send"]);
    assert_eq!(names("openapi__pets__find_pet").first().unwrap(), "openapi__pets__find_pet");
    assert!(search.find("create").contains(r#""arguments":{"properties":{"id":"#));
    assert!(search.find("weather").contains("No tool matches"));
}

#[test]
fn a_call_of_a_found_tool_gets_its_own_name_and_others_stay() {
    let names = hidden().names();
    let call = |name: &str, arguments: Value| {
        let call =
            ToolCall { id: "call".into(), name: name.to_owned(), arguments, signature: Some("s".to_owned()) };
        real_call(call, &names)
    };
    let real = call(CALL, json!({ "name": "mcp__mail__send", "arguments": { "id": "7" } }));
    assert_eq!((real.name.as_str(), real.arguments), ("mcp__mail__send", json!({ "id": "7" })));
    assert_eq!((real.id.as_str(), real.signature.as_deref()), ("call", Some("s")));
    for arguments in [
        json!({ "name": "bash", "arguments": { "command": "true" } }),
        json!({ "name": "mcp__mail__send", "arguments": "x" }),
        json!({ "arguments": {} }),
    ] {
        assert_eq!(call(CALL, arguments).name, CALL, "only found tools are called");
    }
    assert_eq!(call("bash", json!({ "name": "mcp__mail__send", "arguments": {} })).name, "bash");
}
