//! Where the store of a command is: said by the user, or found by rule.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use towpath::{Client, Error, PostgresOptions, PostgresStore};

use crate::error::CliError;
use crate::group::Groups;
use crate::say;

/// The address of a store, and where its process groups are recorded.
#[derive(Clone, Debug)]
pub(crate) struct Location {
    /// The address as `Client::open` takes it.
    url: String,
    /// The file, if it is one.
    file: Option<PathBuf>,
    groups: PathBuf,
}

/// The store's place beside a flow file.
const FOLDER: &str = ".towpath";
const FILE: &str = "store.db";

impl Location {
    /// The store that the user named.
    pub(crate) fn named(url: &str) -> Self {
        match url.strip_prefix("sqlite:") {
            Some(path) => Self::sqlite(PathBuf::from(path.strip_prefix("//").unwrap_or(path))),
            None => Self { url: url.to_owned(), file: None, groups: state_folder().join(groups_of(url)) },
        }
    }

    fn sqlite(file: PathBuf) -> Self {
        let mut groups = file.clone().into_os_string();
        groups.push(".groups");
        Self { url: format!("sqlite:{}", file.display()), groups: groups.into(), file: Some(file) }
    }

    /// The store of a flow: named, or `.towpath/store.db` beside the file.
    pub(crate) fn of_flow(named: Option<&str>, folder: &Path) -> Self {
        named.map_or_else(|| Self::sqlite(near(folder).join(FOLDER).join(FILE)), Self::named)
    }

    /// The store of a command without a flow file: named, or the nearest `.towpath/store.db` from here upwards.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn found(named: Option<&str>) -> Result<Self, CliError> {
        if let Some(url) = named {
            let location = Self::named(url);
            return match &location.file {
                Some(file) if !file.exists() => Err(CliError::no_store(file)),
                _ => Ok(location),
            };
        }
        let here = std::env::current_dir().map_err(|e| CliError::failed("look at the current folder", e))?;
        let stores = here.ancestors().map(|folder| folder.join(FOLDER).join(FILE));
        match stores.into_iter().find(|file| file.exists()) {
            Some(file) => Ok(Self::sqlite(near(&file))),
            None => Err(CliError::no_default_store(&here)),
        }
    }

    /// Opens it to work on it, and makes what is missing of it. A default store's folder is kept out of version control;
    /// of another folder that is made, the user is told.
    pub(crate) async fn open(&self) -> Result<Client, CliError> {
        if let Some(folder) = self.missing_folder() {
            say::remark(format_args!("note: making the folder {} for the store", folder.display()));
        }
        if let Some(folder) = self.own_folder() {
            let ignore = folder.join(".gitignore");
            let made = std::fs::create_dir_all(folder)
                .and_then(|()| if ignore.exists() { Ok(()) } else { std::fs::write(&ignore, "*\n") });
            made.map_err(|e| CliError::no_folder(folder, &e))?;
        }
        Client::open(&self.url).await.map_err(|e: Error| CliError::open(&self.shown(), e))
    }

    /// Opens it to look at it: what is not there is not made, neither a file nor a schema.
    pub(crate) async fn open_to_read(&self) -> Result<Client, CliError> {
        match &self.file {
            // Its length does not open the file, which SQLite alone may do.
            Some(file) if std::fs::metadata(file).is_ok_and(|f| f.len() == 0) => Err(CliError::no_store(file)),
            Some(_) => self.open().await,
            None if is_postgres(&self.url) => match PostgresStore::connect(&self.url, PostgresOptions::default()) {
                Ok(store) => Ok(Client::new(Arc::new(store))),
                Err(error) => Err(CliError::open(&self.shown(), error.into())),
            },
            None => self.open().await,
        }
    }

    /// A named store's folder that is not there yet. That of a default store is part of the store.
    fn missing_folder(&self) -> Option<&Path> {
        let folder = self.file.as_deref()?.parent()?;
        (self.own_folder().is_none() && !folder.as_os_str().is_empty() && !folder.exists()).then_some(folder)
    }

    /// The folder that belongs to the store alone.
    fn own_folder(&self) -> Option<&Path> {
        let folder = self.file.as_deref()?.parent()?;
        (folder.file_name()? == FOLDER).then_some(folder)
    }

    pub(crate) fn groups(&self) -> Groups {
        Groups::in_folder(self.groups.clone())
    }

    /// The address without its password.
    pub(crate) fn shown(&self) -> String {
        if self.file.is_some() {
            // A path may hold any of the characters.
            return self.url.clone();
        }
        let url = match self.url.rsplit_once('@') {
            Some((before, host)) => match before.split_once("://") {
                Some((scheme, user)) => match user.split_once(':') {
                    Some((user, _)) => format!("{scheme}://{user}:…@{host}"),
                    None => self.url.clone(),
                },
                None => format!("…@{host}"),
            },
            None => self.url.clone(),
        };
        match url.split_once("password=") {
            Some((before, rest)) => {
                let after = rest.find(['&', ' ']).map_or("", |end| &rest[end..]);
                format!("{before}password=…{after}")
            }
            None => url,
        }
    }

    /// What to add to a command so that it finds this store from here: nothing, where the rule finds it.
    pub(crate) fn option(&self) -> String {
        let by_rule = Self::found(None).ok().and_then(|l| l.file).and_then(|f| std::path::absolute(f).ok());
        let mine = self.file.as_ref().and_then(|f| std::path::absolute(f).ok());
        if mine.is_some() && by_rule == mine { String::new() } else { format!(" --store {}", quoted(&self.shown())) }
    }
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-:@=+,%…".contains(c);
    if word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

fn is_postgres(url: &str) -> bool {
    url.starts_with("postgres:") || url.starts_with("postgresql:")
}

/// A path as seen from the current folder, where that is shorter to read.
fn near(path: &Path) -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    match path.strip_prefix(&here) {
        Ok(rest) if rest.as_os_str().is_empty() => PathBuf::new(),
        Ok(rest) => rest.to_owned(),
        Err(_) => path.to_owned(),
    }
}

/// Where this machine keeps what it knows of stores elsewhere.
fn state_folder() -> PathBuf {
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_else(|| "/tmp".into())).join(".local/state");
    std::env::var_os("XDG_STATE_HOME").map_or_else(home, PathBuf::from).join("towpath")
}

/// A folder name per address, without the password that the address may hold.
fn groups_of(url: &str) -> String {
    let public: String = url.rsplit('@').next().unwrap_or_default().chars().take(100).collect();
    let safe = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
    format!("{}.groups", public.chars().map(safe).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_lie_beside_a_file_and_apart_from_a_server() {
        let file = Location::named("sqlite:/data/app.db");
        assert_eq!(file.groups, Path::new("/data/app.db.groups"));
        assert_eq!(Location::named("sqlite:///data/app.db").file, file.file);
        let server = Location::named("postgres://ann:secret@db/app");
        assert!(server.groups.ends_with("towpath/db_app.groups"));
        assert_eq!(server.shown(), "postgres://ann:…@db/app");
        let user = Location::named("postgres://ann@db/app?schema=x");
        assert_eq!((user.shown(), user.option()), (user.url.clone(), format!(" --store '{}'", user.url)));
        let late = Location::named("postgres://db/app?password=secret&schema=it's");
        assert_eq!(late.shown(), "postgres://db/app?password=…&schema=it's");
        assert_eq!(late.option(), " --store 'postgres://db/app?password=…&schema=it'\\''s'");
        assert_eq!(Location::named("postgres//ann:secret@db/app").shown(), "…@db/app");
        assert_eq!(Location::named("sqlite:a@b.db").shown(), "sqlite:a@b.db");
    }
}
