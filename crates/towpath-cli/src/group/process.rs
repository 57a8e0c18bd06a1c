//! What `/proc` says of processes (`proc(5)`). Where there is none, nothing is known, and nobody is touched.

use std::fs;

/// A process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Process {
    /// When it started, in ticks since the boot.
    pub(super) started: u64,
    /// Its group.
    pub(super) group: i32,
    /// Whether it is more than a corpse that waits to be buried.
    pub(super) lives: bool,
}

/// The process of this number.
pub(super) fn look(pid: i32) -> Option<Process> {
    parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

fn parse(stat: &str) -> Option<Process> {
    // The name of the program, in parentheses, may itself hold spaces and parentheses.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    Some(Process {
        lives: !matches!(*fields.first()?, "Z" | "X" | "x"),
        group: fields.get(2)?.parse().ok()?,
        started: fields.get(19)?.parse().ok()?,
    })
}

/// The living processes of a group.
pub(super) fn members(group: i32) -> Vec<i32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| look(*pid).is_some_and(|p| p.group == group && p.lives)).collect()
}

/// Whether a process was started with this `NAME=value` among its variables.
pub(super) fn has_variable(pid: i32, variable: &str) -> bool {
    let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environ.split(|byte| *byte == 0).any(|entry| entry == variable.as_bytes())
}

/// This start of the machine.
pub(super) fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|text| text.trim().to_owned()).unwrap_or_default()
}

/// The namespace in which process numbers count.
pub(super) fn namespace() -> String {
    fs::read_link("/proc/self/ns/pid").map(|link| link.to_string_lossy().into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_whatever_the_program_is_called() {
        let line = "42 (a) Z (b) S 1 40 40 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 777 1 2 3";
        assert_eq!(parse(line), Some(Process { started: 777, group: 40, lives: true }));
        assert_eq!(parse("42 (sh) Z 1 40").map(|p| p.lives), None);
    }

    #[test]
    fn this_process_is_found_in_its_group() {
        let me = i32::try_from(std::process::id()).unwrap();
        let process = look(me).unwrap();
        assert!(process.lives);
        assert!(members(process.group).contains(&me));
    }
}
