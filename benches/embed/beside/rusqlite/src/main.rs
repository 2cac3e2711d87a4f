//! An agent beside a connection of rusqlite 0.37.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let agent = lariat::Agent::builder().model("anthropic/claude-sonnet-4-5").api_key("key").build()?;
    let version: String =
        rusqlite::Connection::open_in_memory()?.query_row("SELECT sqlite_version()", [], |row| row.get(0))?;
    println!("{} messages, SQLite {version} of rusqlite", agent.messages().len());
    Ok(())
}
