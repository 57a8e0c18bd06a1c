//! Where this process is, and whether a process on the same host still lives.
//!
//! A pid alone is reused, so a process is named by its host, its boot, its pid namespace, its pid and its start
//! time (`proc(5)`, field 22 of `stat`). Where any of these cannot be read, nobody is known to be gone, and the
//! lease alone tells.

use std::fs;
use std::time::UNIX_EPOCH;

use towpath_core::store::HostId;

/// Where this process is.
pub(crate) fn this_process() -> HostId {
    let pid = std::process::id();
    HostId {
        machine: machine(),
        boot: read("/proc/sys/kernel/random/boot_id"),
        pid_namespace: pid_namespace(),
        pid,
        started: started(pid).unwrap_or(0),
    }
}

/// Whether `process` is known to be gone, as seen from `me`.
pub(crate) fn is_known_gone(me: &HostId, process: &HostId) -> bool {
    let named = !me.machine.is_empty() && !me.boot.is_empty() && !process.boot.is_empty();
    if !named || me.machine != process.machine {
        return false;
    }
    if me.boot != process.boot {
        return true;
    }
    if me.pid_namespace.is_empty() || me.pid_namespace != process.pid_namespace || process.started == 0 {
        return false;
    }
    started(process.pid) != Some(process.started)
}

/// Which program this is: another build of it has another size or time. Empty where that cannot be read.
pub(crate) fn this_program() -> String {
    let file = std::env::current_exe().and_then(fs::metadata);
    let changed = file.as_ref().ok().and_then(|file| file.modified().ok()?.duration_since(UNIX_EPOCH).ok());
    file.map(|file| format!("{}/{}", file.len(), changed.unwrap_or_default().as_micros())).unwrap_or_default()
}

fn read(path: &str) -> String {
    fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default()
}

/// The machine's own id. Without one the boot serves: then only processes of this boot can be judged.
fn machine() -> String {
    let id = read("/etc/machine-id");
    if id.is_empty() { read("/proc/sys/kernel/random/boot_id") } else { id }
}

fn pid_namespace() -> String {
    fs::read_link("/proc/self/ns/pid").map(|link| link.to_string_lossy().into_owned()).unwrap_or_default()
}

/// When a process started, in ticks since the boot; `None` if there is none, or if it is only a corpse.
fn started(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program, in parentheses, may itself hold spaces and parentheses.
    let after_name = stat.rsplit_once(')')?.1;
    let mut fields = after_name.split_whitespace();
    let state = fields.next()?;
    if state == "Z" || state == "X" {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_lives_and_another_start_or_boot_of_it_does_not() {
        let me = this_process();
        assert!(!is_known_gone(&me, &me));
        assert!(is_known_gone(&me, &HostId { started: me.started + 1, ..me.clone() }));
        assert!(is_known_gone(&me, &HostId { boot: "another".into(), ..me.clone() }));
    }

    #[test]
    fn of_another_machine_or_namespace_nothing_is_known() {
        let me = this_process();
        assert!(!is_known_gone(&me, &HostId { machine: "far".into(), started: 1, ..me.clone() }));
        assert!(!is_known_gone(&me, &HostId { pid_namespace: "pid:[1]".into(), started: 1, ..me.clone() }));
        assert!(!is_known_gone(&me, &HostId::default()));
    }

    #[test]
    fn a_child_that_has_ended_and_was_not_reaped_is_gone() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = child.id();
        let seen = started(pid);
        while started(pid).is_some() {
            std::thread::yield_now();
        }
        let me = this_process();
        assert!(is_known_gone(&me, &HostId { pid, started: seen.unwrap_or(1), ..me.clone() }));
        child.wait().unwrap();
    }
}
