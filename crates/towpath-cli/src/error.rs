//! What goes wrong for a user: named, with a remedy, and with the exit code that scripts see.

use std::fmt;
use std::path::Path;

use miette::Diagnostic;
use towpath::core::{StoreError, StoreErrorKind};
use towpath::{Error, InvalidGraph};

use crate::flow::FlowProblems;
use crate::say;

/// Why a command did not do what it was asked.
#[derive(Debug)]
pub(crate) enum CliError {
    /// A flow file is wrong.
    Flow(FlowProblems),
    /// Anything else.
    Other(Trouble),
}

/// A problem without a place in a file.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Trouble {
    message: String,
    help: Option<String>,
    /// The user can mend it by asking otherwise.
    is_usage: bool,
}

impl Diagnostic for Trouble {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.as_ref().map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }
}

impl CliError {
    /// A problem that the user can mend by asking otherwise.
    pub(crate) fn usage(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Other(Trouble { message: message.into(), help: Some(help.into()), is_usage: true })
    }

    /// Something that the machine would not do.
    pub(crate) fn failed(doing: &str, why: impl fmt::Display) -> Self {
        Self::Other(Trouble { message: format!("failed to {doing}: {why}"), help: None, is_usage: false })
    }

    pub(crate) fn failed_with_help(message: String, help: impl Into<String>) -> Self {
        Self::Other(Trouble { message, help: Some(help.into()), is_usage: false })
    }

    /// A graph that is written as JSON is wrong.
    pub(crate) fn graph(file: &Path, invalid: &InvalidGraph) -> Self {
        let count = invalid.problems.len();
        let problems: Vec<String> = invalid.problems.iter().map(|problem| format!("  {problem}")).collect();
        let problem = if count == 1 { "problem" } else { "problems" };
        Self::usage(
            format!("{} has {count} {problem}; nothing was enqueued\n{}", file.display(), problems.join("\n")),
            "`towpath schema graph` prints what the text may hold",
        )
    }

    pub(crate) fn no_store(file: &Path) -> Self {
        Self::usage(
            format!("there is no store at {}", file.display()),
            "correct the path, or start a flow with `towpath run FLOW.toml --store …`, which makes one",
        )
    }

    pub(crate) fn no_default_store(here: &Path) -> Self {
        Self::usage(
            format!("there is no .towpath/store.db in {} or above it", here.display()),
            "go to the folder of the flow file, or name the store with `--store sqlite:PATH`",
        )
    }

    pub(crate) fn no_folder(folder: &Path, error: &std::io::Error) -> Self {
        Self::failed_with_help(
            format!("the folder {} cannot be made: {error}", folder.display()),
            "make its parent writable, or put the store elsewhere with `--store sqlite:PATH`",
        )
    }

    /// The store at an address could not be opened.
    pub(crate) fn open(store: &str, error: Error) -> Self {
        match error {
            Error::Store(error) => {
                let mut trouble = trouble(&format!("the store {store} cannot be used"), &error);
                if error.kind == StoreErrorKind::Unavailable && store.starts_with("sqlite:") {
                    let help =
                        "make the file and its folder readable and writable, or choose another place with `--store`";
                    trouble.help = Some(help.to_owned());
                }
                Self::Other(trouble)
            }
            Error::Address { .. } => {
                Self::usage(error.to_string(), "such as --store sqlite:work.db or --store postgres://ann@localhost/app")
            }
            error => Self::failed(&format!("open {store}"), error),
        }
    }

    /// The code that the process ends with.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Flow(_) => crate::exit::USAGE,
            Self::Other(trouble) if trouble.is_usage => crate::exit::USAGE,
            Self::Other(_) => crate::exit::FAILED,
        }
    }

    /// Says it on stderr.
    pub(crate) fn print(self) {
        match self {
            Self::Flow(problems) => {
                for report in problems.reports() {
                    say::remark(format_args!("{report:?}"));
                }
                say::remark(format_args!("error: {problems}"));
            }
            Self::Other(trouble) => say::remark(format_args!("{:?}", miette::Report::new(trouble))),
        }
    }
}

impl From<FlowProblems> for CliError {
    fn from(problems: FlowProblems) -> Self {
        Self::Flow(problems)
    }
}

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> Self {
        Self::Other(trouble("the store did not do it", &error))
    }
}

impl From<Error> for CliError {
    fn from(error: Error) -> Self {
        match error {
            Error::Store(error) => error.into(),
            error => Self::Other(Trouble { message: error.to_string(), help: None, is_usage: true }),
        }
    }
}

fn trouble(what: &str, error: &StoreError) -> Trouble {
    let said = error.source.as_ref().map(ToString::to_string).unwrap_or_default();
    let help = match (error.kind, error.doing) {
        (StoreErrorKind::Invalid, "connect") => ADDRESS,
        (StoreErrorKind::Invalid, _) if said.starts_with("invalid configuration") => ADDRESS,
        (kind, _) => remedy(kind),
    };
    Trouble { message: format!("{what}: {error}"), help: Some(help.to_owned()), is_usage: false }
}

/// How a PostgreSQL store is named.
const ADDRESS: &str = "write postgres://USER:PASSWORD@HOST:PORT/DATABASE; connections are not encrypted, so use a local \
                       one or a tunnel";

/// What a user can do about an error of the store.
fn remedy(kind: StoreErrorKind) -> &'static str {
    match kind {
        StoreErrorKind::Unavailable => {
            "check that the database is there and answers, then try again: nothing accepted is lost"
        }
        StoreErrorKind::Full => "make room on the disk, then do the same again: nothing accepted is lost",
        StoreErrorKind::ReadOnly => "make the file and its folder writable, or choose another place with `--store`",
        StoreErrorKind::SchemaTooOld => {
            "correct the database, or make a store in it, or bring an older one up to date, with `towpath migrate`"
        }
        StoreErrorKind::SchemaTooNew => "a newer towpath has migrated this store: use that version",
        StoreErrorKind::Corrupt => "this is no store of towpath, or it is damaged: name another, or restore a backup",
        StoreErrorKind::Unsupported => {
            "name another store with `--store`: a file on a local disk, or a PostgreSQL database that you may use"
        }
        StoreErrorKind::Invalid => "make the flow smaller: split it, or put long texts into files",
        _ => "this is a fault of towpath: please report it",
    }
}
