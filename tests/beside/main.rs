//! Uses both, so that both are built and linked.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let pool = sqlx::SqlitePool::connect("sqlite::memory:").await?;
        let (version,): (String,) = sqlx::query_as("select sqlite_version()").fetch_one(&pool).await?;
        let dir = std::env::temp_dir().join(format!("beside-{}", std::process::id()));
        let client = towpath::Client::open(&format!("sqlite:{}/store.db", dir.display())).await?;
        let census = client.inspect().census().await?;
        println!("SQLite {version}, {} jobs", census.jobs);
        std::fs::remove_dir_all(dir)?;
        Ok(())
    })
}
