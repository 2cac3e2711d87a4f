//! An agent beside a connection pool of sqlx 0.8.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let agent = lariat::Agent::builder().model("anthropic/claude-sonnet-4-5").api_key("key").build()?;
    let pool = sqlx::postgres::PgPoolOptions::new().max_connections(1);
    println!("{} messages, {pool:?}", agent.messages().len());
    Ok(())
}
