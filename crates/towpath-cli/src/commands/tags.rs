//! `towpath tags`: which there are, and how many jobs have each.

use clap::Args;
use serde_json::json;
use towpath::core::limits;
use towpath::core::store::{TagLine, TagQuery};

use super::ViewArgs;
use crate::error::CliError;
use crate::table::Table;
use crate::{exit, say, words};

/// List the tags of jobs, with how many jobs have each
#[derive(Debug, Args)]
pub(crate) struct Tags {
    /// Only those that begin so; `customer=` lists the values of a key.
    #[arg(long, value_name = "TEXT", default_value = "")]
    prefix: String,
    /// Only those behind this one.
    #[arg(long, value_name = "TAG")]
    after: Option<String>,
    /// Most lines, 1 to 100.
    #[arg(long, value_name = "COUNT", default_value_t = limits::TAGS_LISTED_MAX, value_parser = clap::value_parser!(u32).range(1..=100))]
    limit: u32,
    #[command(flatten)]
    view: ViewArgs,
}

impl Tags {
    pub(super) async fn run(self) -> Result<u8, CliError> {
        let location = self.view.store.found()?;
        let client = location.open_to_read().await?;
        let query = TagQuery { prefix: self.prefix, after: self.after, limit: self.limit };
        let lines = client.inspect().tags(query).await?;
        let is_cut = |line: &TagLine| line.jobs >= u64::from(limits::TAG_JOBS_COUNTED_MAX);
        if self.view.json {
            let line = |line: &TagLine| json!({ "tag": line.tag, "jobs": line.jobs, "may_be_more": is_cut(line) });
            say::json(&lines.iter().map(line).collect::<Vec<_>>())?;
            return Ok(exit::SUCCEEDED);
        }
        let mut table = Table::new(&["tag", "jobs"]);
        for line in &lines {
            let jobs = if is_cut(line) { format!("{} or more", line.jobs) } else { line.jobs.to_string() };
            table.row(vec![words::short(&line.tag), jobs]);
        }
        table.print_or("no tags");
        super::tell_of_more(lines.len(), self.limit);
        Ok(exit::SUCCEEDED)
    }
}
