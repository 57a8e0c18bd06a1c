//! `towpath versions`: which versions of the code are still needed.

use std::collections::BTreeMap;

use clap::Args;
use serde_json::json;
use towpath::Kind;
use towpath::core::store::{PatchLine, VersionLine};

use super::ViewArgs;
use crate::error::CliError;
use crate::served::Served;
use crate::table::Table;
use crate::{exit, say, words};

/// List which versions of jobs and durable functions are still needed
///
/// What has not ended of each version, and whether a living worker takes it. A version that workers take and that nothing is
/// open of may be removed from the code.
///
/// With `--patches`, the patches (`cx.patched`) that live runs have recorded instead, and how many live runs of that version have not:
/// those passed the place before the patch was there, or have not come to it. Once none of them is older than the deploy
/// of the patch, what stands in its `else` may be removed, and the `if` with it.
#[derive(Debug, Args)]
pub(crate) struct VersionsCommand {
    /// List the patches of durable functions.
    #[arg(long)]
    patches: bool,
    #[command(flatten)]
    view: ViewArgs,
}

/// A version that something is open of, or that a worker names among others.
#[derive(Default)]
struct Line {
    open: Option<VersionLine>,
    served_by: usize,
}

/// How many versions of one kind that nothing is open of are named: a job's handler may take all there ever were.
const NAMED_MAX: u16 = 20;

impl VersionsCommand {
    pub(super) async fn run(self) -> Result<u8, CliError> {
        let client = self.view.store.found()?.open_to_read().await?;
        if self.patches {
            return patches(&client.inspect().open_patches().await?, self.view.json);
        }
        let lines = lines(client.inspect().open_versions(u32::MAX).await?, &Served::look(&client).await?);
        if self.view.json {
            let all = lines.iter().map(|((kind, version), line)| {
                json!({
                    "kind": kind,
                    "version": version,
                    "open": line.open.as_ref().map_or(0, |open| open.open),
                    "runs": line.open.as_ref().map_or(0, |open| open.runs),
                    "oldest": line.open.as_ref().map(|open| words::instant(open.oldest)),
                    "served_by": line.served_by,
                })
            });
            say::json(&all.collect::<Vec<_>>())?;
            return Ok(exit::SUCCEEDED);
        }
        let mut table = Table::new(&["kind", "version", "open", "runs", "oldest", "served by", ""]);
        for ((kind, version), Line { open, served_by }) in &lines {
            let remark = match (open, served_by) {
                (None, _) => "may be removed",
                (Some(_), 0) => "no living worker takes it",
                _ => "",
            };
            table.row(vec![
                kind.to_string(),
                version.to_string(),
                open.as_ref().map_or(0, |open| open.open).to_string(),
                open.as_ref().map_or(0, |open| open.runs).to_string(),
                open.as_ref().map(|open| words::instant(open.oldest)).unwrap_or_default(),
                served_by.to_string(),
                remark.to_owned(),
            ]);
        }
        table.print_or("nothing is open");
        Ok(exit::SUCCEEDED)
    }
}

fn patches(lines: &[PatchLine], as_json: bool) -> Result<u8, CliError> {
    if as_json {
        let all = lines.iter().map(|line| {
            json!({
                "function": line.kind,
                "version": line.version,
                "patch": line.patch,
                "runs": line.runs,
                "first": words::instant(line.first),
                "others": line.others,
                "oldest_other": line.oldest_other.map(words::instant),
            })
        });
        say::json(&all.collect::<Vec<_>>())?;
        return Ok(exit::SUCCEEDED);
    }
    let mut table = Table::new(&["function", "version", "patch", "runs", "first", "without it", "oldest of these", ""]);
    for line in lines {
        table.row(vec![
            line.kind.to_string(),
            line.version.to_string(),
            line.patch.clone(),
            line.runs.to_string(),
            words::instant(line.first),
            line.others.to_string(),
            line.oldest_other.map(words::instant).unwrap_or_default(),
            if line.others == 0 { "may be made the only way" } else { "" }.to_owned(),
        ]);
    }
    table.print_or("no live run has recorded a patch");
    Ok(exit::SUCCEEDED)
}

fn lines(open: Vec<VersionLine>, served: &Served) -> BTreeMap<(Kind, u16), Line> {
    let mut lines: BTreeMap<(Kind, u16), Line> = BTreeMap::new();
    for line in open {
        lines.insert((line.kind.clone(), line.version), Line { open: Some(line), served_by: 0 });
    }
    let living: Vec<_> = served.workers.iter().filter(|worker| served.lives(worker)).collect();
    let kinds = living.iter().flat_map(|worker| &worker.kinds);
    // The code of the engine's own kinds is not the application's to remove.
    for (kind, versions) in kinds.filter(|(kind, _)| !kind.is_reserved()) {
        let ranges = versions.ranges();
        // The newest is what is enqueued now, and is needed for that.
        let Some(newest) = ranges.iter().map(|(_, newest)| *newest).max() else { continue };
        for (oldest, newest_of_range) in ranges {
            for version in
                oldest.max(newest.saturating_sub(NAMED_MAX)).max(1)..=newest_of_range.min(newest.saturating_sub(1))
            {
                lines.entry((kind.clone(), version)).or_default();
            }
        }
    }
    for ((kind, version), line) in &mut lines {
        let takes = |versions: &towpath::core::store::Versions| versions.has(*version);
        line.served_by = living.iter().filter(|worker| worker.kinds.get(kind).is_some_and(takes)).count();
    }
    lines
}
