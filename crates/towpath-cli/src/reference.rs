//! The CLI reference, `docs/cli.md`, as clap knows it: a test says when the page is out of date.

use std::fmt::Write;
use std::path::Path;

use clap::{Command, CommandFactory};

use crate::commands::Cli;

const HEAD: &str = "# The `towpath` command\n\n\
    Printed from the command itself; a test compares it. To renew it after a change: \
    `TOWPATH_UPDATE=1 cargo test -p towpath-cli reference`.\n";

const JSON_HEAD: &str = "\n## What `--json` answers\n\n\
    One value, printed over several lines; here in one. Instants are RFC 3339 in UTC; what is not known is `null`. Lists come\n\
    newest first. `served` is `null` of a job that is not ready. A payload that is not JSON is `{\"bytes\": 17}`. Fields are\n\
    only ever added.\n";

#[test]
fn the_reference_is_up_to_date() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli.md");
    let mut text = HEAD.to_owned();
    let mut command = Cli::command();
    command.build();
    describe(&mut command, "", &mut text);
    text.push_str(JSON_HEAD);
    for example in include_str!("json_examples.txt").trim_end().split("\n\n") {
        // Writing to a text cannot fail.
        writeln!(text, "\n```text\n{example}\n```").unwrap();
    }
    if std::env::var_os("TOWPATH_UPDATE").is_some() {
        std::fs::write(&page, &text).unwrap();
    }
    let stored = std::fs::read_to_string(&page).unwrap_or_default();
    assert!(stored == text, "docs/cli.md is out of date: run TOWPATH_UPDATE=1 cargo test -p towpath-cli reference");
}

fn describe(command: &mut Command, above: &str, text: &mut String) {
    let name = format!("{above}{}", command.get_name());
    // Writing to a text cannot fail.
    writeln!(text, "\n## `{name}`\n\n```text").unwrap();
    let help = command.clone().bin_name(&name).term_width(100).render_long_help().to_string();
    for line in help.lines() {
        writeln!(text, "{}", line.trim_end()).unwrap();
    }
    text.push_str("```\n");
    for child in command.get_subcommands_mut().filter(|c| c.get_name() != "help" && !c.is_hide_set()) {
        describe(child, &format!("{name} "), text);
    }
}
