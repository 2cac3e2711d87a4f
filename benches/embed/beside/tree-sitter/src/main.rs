//! An agent beside a parser of tree-sitter 0.25.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let agent = lariat::Agent::builder().model("anthropic/claude-sonnet-4-5").api_key("key").build()?;
    let parser = tree_sitter::Parser::new();
    println!("{} messages, {:?} as language", agent.messages().len(), parser.language().is_some());
    Ok(())
}
