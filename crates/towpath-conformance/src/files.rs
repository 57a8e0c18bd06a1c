//! Scripts on disk.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::ScriptError;
use crate::script::Script;

/// Every script below a folder, by path.
///
/// # Errors
/// The folder cannot be read, or a script is malformed.
pub fn find(folder: &Path) -> Result<Vec<Script>, ScriptError> {
    let mut paths = Vec::new();
    collect(folder, &mut paths)?;
    paths.sort();
    paths
        .iter()
        .map(|path| {
            let text = fs::read_to_string(path).map_err(|e| failed("read", path, &e))?;
            let short = path.strip_prefix(folder).unwrap_or(path);
            Script::parse(short, &text)
        })
        .collect()
}

/// Writes a script's answers into its file below `folder`.
///
/// # Errors
/// The file cannot be written.
pub fn rewrite(folder: &Path, script: &Script, answers: &[Vec<String>]) -> Result<(), ScriptError> {
    let path = folder.join(&script.path);
    fs::write(&path, script.with_answers(answers)).map_err(|e| failed("write", &path, &e))
}

fn collect(folder: &Path, paths: &mut Vec<PathBuf>) -> Result<(), ScriptError> {
    for entry in fs::read_dir(folder).map_err(|e| failed("list", folder, &e))? {
        let path = entry.map_err(|e| failed("list", folder, &e))?.path();
        if path.is_dir() {
            collect(&path, paths)?;
        } else if path.extension().is_some_and(|ext| ext == "txt") {
            paths.push(path);
        }
    }
    Ok(())
}

fn failed(doing: &str, path: &Path, error: &std::io::Error) -> ScriptError {
    ScriptError::new(format!("failed to {doing} {}: {error}", path.display()))
}
