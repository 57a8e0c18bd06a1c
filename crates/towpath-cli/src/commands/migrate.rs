//! `towpath migrate`: the schema, brought to this version.

use clap::Args;
use serde_json::json;

use super::ViewArgs;
use crate::error::CliError;
use crate::{exit, say};

/// Bring a store's schema to this version
///
/// Every command that opens a store does so by itself; this one does nothing else. A store that is named and not there is made.
#[derive(Debug, Args)]
pub(crate) struct Migrate {
    #[command(flatten)]
    view: ViewArgs,
}

impl Migrate {
    pub(super) async fn run(self) -> Result<u8, CliError> {
        let location = self.view.store.found_or_made()?;
        let client = location.open().await?;
        let migration = client.store().migrate().await?;
        if self.view.json {
            say::json(&json!({ "store": location.shown(), "version": migration.to }))?;
        } else {
            say::line(format_args!("{} has schema version {}", location.shown(), migration.to));
        }
        Ok(exit::SUCCEEDED)
    }
}
