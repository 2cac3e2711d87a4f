//! An agent beside a connection of diesel.

use diesel::Connection;
use diesel::connection::SimpleConnection;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let agent = lariat::Agent::builder().model("anthropic/claude-sonnet-4-5").api_key("key").build()?;
    let mut connection = diesel::SqliteConnection::establish(":memory:")?;
    connection.batch_execute("CREATE TABLE notes (text TEXT)")?;
    println!("{} messages, a database of diesel", agent.messages().len());
    Ok(())
}
