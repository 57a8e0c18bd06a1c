//! Finding the program of a command, as the system would.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Where a program is that is started in `dir` with this `PATH`.
///
/// A name with a slash is a path, relative to `dir`; another is looked for in `PATH`.
///
/// # Errors
/// Says where it was looked for.
pub(crate) fn find_program(program: &str, dir: &Path, path: Option<&str>) -> Result<PathBuf, String> {
    if program.contains('/') {
        let full = dir.join(program);
        return match full.metadata() {
            Ok(meta) if meta.is_dir() => Err(format!("{} is a folder", full.display())),
            Ok(meta) if meta.permissions().mode() & 0o111 == 0 => Err(format!("{} is not executable", full.display())),
            Ok(_) => Ok(full),
            Err(_) => Err(format!("there is no {}", full.display())),
        };
    }
    let from_process = std::env::var_os("PATH");
    let path = path.map(std::ffi::OsStr::new).or(from_process.as_deref());
    let path = path.ok_or_else(|| format!("{program} is searched in PATH, which is not set"))?;
    let is_program = |at: &PathBuf| at.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0);
    std::env::split_paths(path)
        .map(|folder| dir.join(folder).join(program))
        .find(is_program)
        .ok_or_else(|| format!("no {program} in any folder of PATH"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_in_path_or_by_its_path() {
        let root = Path::new("/");
        assert!(find_program("sh", root, None).is_ok());
        assert!(find_program("bin/sh", root, None).is_ok());
        assert!(find_program("sh", root, Some("/nowhere")).is_err());
        assert_eq!(find_program("./bin", root, None), Err("/./bin is a folder".into()));
        assert_eq!(find_program("etc/passwd", root, None), Err("/etc/passwd is not executable".into()));
        assert_eq!(find_program("no-such-program", root, None), Err("no no-such-program in any folder of PATH".into()));
    }
}
