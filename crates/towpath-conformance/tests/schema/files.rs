//! Reads what a store's SQL files say of themselves: tables and indexes of the migrations, headers of the statements.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// One store's files.
pub(crate) struct Store {
    name: &'static str,
    pub(crate) tables: Vec<Table>,
    pub(crate) indexes: Vec<Index>,
    /// Of each statement, by its file, the indexes that its header names.
    statements: BTreeMap<String, Vec<String>>,
}

pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) columns: Vec<Column>,
}

pub(crate) struct Column {
    pub(crate) name: String,
    /// Its type, with `?` behind it if it may be null.
    pub(crate) kind: String,
}

#[derive(Clone)]
pub(crate) struct Index {
    pub(crate) table: String,
    columns: String,
    /// What else is to be said: whether it is the key, unique, or of some rows only.
    pub(crate) note: String,
}

impl Index {
    /// As headers name it.
    pub(crate) fn name(&self) -> String {
        format!("{} ({})", self.table, self.columns)
    }
}

impl Store {
    pub(crate) fn read(name: &'static str) -> Self {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").join(name);
        let texts = |under: &str| {
            let files = std::fs::read_dir(folder.join(under)).unwrap().map(|file| file.unwrap().path());
            let stem = |path: &PathBuf| path.file_stem().unwrap().to_string_lossy().into_owned();
            files.map(|path| (stem(&path), std::fs::read_to_string(path).unwrap())).collect::<BTreeMap<_, _>>()
        };
        let mut store = Self { name, tables: Vec::new(), indexes: Vec::new(), statements: BTreeMap::new() };
        for text in texts("migrations").into_values() {
            store.migration(&text.replace("towpath.", ""));
        }
        for (file, text) in texts("queries") {
            store.statements.insert(file, header(&text));
        }
        store
    }

    /// The statements that an index serves.
    pub(crate) fn served_by(&self, index: &str) -> Vec<&str> {
        let serves = |(_, indexes): &(&String, &Vec<String>)| indexes.iter().any(|name| name == index);
        self.statements.iter().filter(serves).map(|(file, _)| file.as_str()).collect()
    }

    pub(crate) fn headers_name_indexes_that_are_there(&self) {
        for (file, indexes) in &self.statements {
            for index in indexes {
                let is_there = self.indexes.iter().any(|other| other.name() == *index);
                assert!(is_there, "{}: {file}.sql names the index {index}, which is in no migration", self.name);
            }
        }
    }

    fn migration(&mut self, text: &str) {
        let mut lines = text.lines().map(str::trim).filter(|line| !line.starts_with("--"));
        while let Some(line) = lines.next() {
            if let Some(table) = line.strip_prefix("create table ").and_then(|rest| rest.strip_suffix(" (")) {
                let lines: Vec<&str> = lines.by_ref().take_while(|line| !line.starts_with(')')).collect();
                self.table(table, &lines);
            } else if let Some((_, on)) = line.strip_prefix("create ").and_then(|rest| rest.split_once(" on ")) {
                let is_unique = line.starts_with("create unique");
                let (table, rest) = on.split_once(" (").unwrap();
                let (columns, rest) = rest.split_once(')').unwrap();
                let unique = if is_unique { ", unique" } else { "" };
                let rows = rest.trim_end_matches(';').trim();
                let rows = if rows.is_empty() { String::new() } else { format!(", {rows}") };
                self.index(table, columns, format!("{unique}{rows}"));
            }
        }
    }

    fn table(&mut self, table: &str, lines: &[&str]) {
        let mut columns = Vec::new();
        for line in lines {
            let line = line.trim_end_matches(',');
            let within = |line: &str| line.split_once('(').unwrap().1.trim_end_matches(')').to_owned();
            if line.starts_with("primary key") {
                self.index(table, &within(line), ", primary key".into());
            } else if line.starts_with("unique") || line.starts_with("constraint") {
                self.index(table, &within(line), ", unique".into());
            } else if !line.starts_with("check") {
                let (name, rest) = line.split_once(' ').unwrap();
                let name = name.trim_matches('"');
                let is_key = rest.contains("primary key");
                if is_key {
                    self.index(table, name, ", primary key".into());
                } else if rest.ends_with(" unique") {
                    self.index(table, name, ", unique".into());
                }
                let kind = rest.split([' ']).next().unwrap();
                let null = if is_key || rest.contains("not null") { "" } else { "?" };
                columns.push(Column { name: name.into(), kind: format!("{kind}{null}") });
            }
        }
        self.tables.push(Table { name: table.into(), columns });
    }

    fn index(&mut self, table: &str, columns: &str, note: String) {
        self.indexes.push(Index { table: table.into(), columns: columns.replace('"', ""), note });
    }
}

/// The indexes that a statement's header names: the last sentence of it, if it begins with `Index:`.
fn header(text: &str) -> Vec<String> {
    let lines = text.lines().take_while(|line| line.starts_with("--")).map(|line| line.trim_start_matches("--").trim());
    let header = lines.collect::<Vec<_>>().join(" ");
    let Some((_, indexes)) = header.split_once("Index: ") else { return Vec::new() };
    let indexes = indexes.strip_suffix(").").unwrap_or_else(|| panic!("indexes end a header: {text}"));
    indexes.split("), ").map(|index| format!("{index})")).collect()
}
