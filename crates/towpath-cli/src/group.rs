//! Process groups on record: which commands this machine runs for a store, so that none outlives the process that
//! started it unseen.
//!
//! A record is a small file beside the store, written before the command runs and removed when all of it is over.
//! It need not survive a power cut: no process does. A group is known by the start time of its leader and the boot,
//! since numbers alone are reused.

mod process;

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use serde::{Deserialize, Serialize};
use towpath::JobId;

use process::Process;

/// The records of one store.
#[derive(Clone, Debug)]
pub(crate) struct Groups {
    folder: PathBuf,
}

/// What is on record of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    /// The number of the group and of its leader.
    group: i32,
    /// When the leader started, in ticks since the boot.
    started: u64,
    /// The start of the machine.
    boot: String,
    /// The namespace in which process numbers count.
    namespace: String,
    /// The job that the command belongs to.
    job: JobId,
    /// The process that started it.
    owner: i32,
    /// When that process started.
    owner_started: u64,
}

/// A group on record. Dropped, the record stays: whoever comes next looks after the group.
#[derive(Debug)]
pub(crate) struct Recorded {
    record: Record,
    file: PathBuf,
}

impl Groups {
    /// The records kept in this folder, which is made when it is needed.
    pub(crate) fn in_folder(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Records a group whose leader waits at the gate.
    ///
    /// # Errors
    /// The record cannot be written; the command must not run.
    pub(crate) fn record(&self, group: Pid, job: JobId) -> io::Result<Recorded> {
        let group = group.as_raw_nonzero().get();
        let started = process::look(group).map_or(0, |p| p.started);
        let owner = i32::try_from(std::process::id()).unwrap_or(0);
        let record = Record {
            group,
            started,
            boot: process::boot(),
            namespace: process::namespace(),
            job,
            owner,
            owner_started: process::look(owner).map_or(0, |p| p.started),
        };
        let file = self.folder.join(format!("{job}.{group}.{started}.{}.{}", record.owner, record.owner_started));
        let text = serde_json::to_vec(&record)?;
        let mut tries = 0;
        loop {
            std::fs::create_dir_all(&self.folder)?;
            match std::fs::write(&file, &text) {
                // Another process has just left, and took the empty folder along.
                Err(e) if e.kind() == io::ErrorKind::NotFound && tries < FOLDER_TRIES => tries += 1,
                written => return written.map(|()| Recorded { record, file }),
            }
        }
    }

    /// Leaves nothing behind where nothing is on record.
    pub(crate) fn leave(&self) {
        // A folder with a record in it is not removed; one that cannot be does no harm.
        let _ = std::fs::remove_dir(&self.folder);
    }

    /// Stops what is left of groups whose owner is gone. Answers how many there were.
    ///
    /// # Errors
    /// A group cannot be stopped, or a record cannot be read or removed.
    pub(crate) async fn clear_dead(&self) -> io::Result<usize> {
        let mut cleared = 0;
        for recorded in self.read("")? {
            if !recorded.record.owner_lives() {
                cleared += usize::from(recorded.clear().await?);
            }
        }
        Ok(cleared)
    }

    /// Stops what is left of earlier attempts of a job, whoever started them: the claim is now ours.
    ///
    /// # Errors
    /// As [`clear_dead`](Self::clear_dead).
    pub(crate) async fn clear_job(&self, job: JobId) -> io::Result<()> {
        for recorded in self.read(&format!("{job}."))? {
            recorded.clear().await?;
        }
        Ok(())
    }

    fn read(&self, prefix: &str) -> io::Result<Vec<Recorded>> {
        let entries = match std::fs::read_dir(&self.folder) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut found = Vec::new();
        for entry in entries {
            let file = entry?.path();
            if !file.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix)) {
                continue;
            }
            match std::fs::read(&file).map(|bytes| serde_json::from_slice(&bytes)) {
                Ok(Ok(record)) => found.push(Recorded { record, file }),
                // Written in part: its owner is just writing it, or has died before it could open the gate.
                Ok(Err(_)) if owner_in_name_lives(&file) => {}
                Ok(Err(_)) => remove(&file)?,
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => return Err(e),
            }
        }
        Ok(found)
    }
}

impl Record {
    fn is_of_this_boot(&self) -> bool {
        self.boot == process::boot() && self.namespace == process::namespace()
    }

    fn owner_lives(&self) -> bool {
        self.is_of_this_boot() && process::look(self.owner).is_some_and(|p| p.started == self.owner_started && p.lives)
    }

    /// The processes of the group, if it is still the one on record.
    fn members(&self) -> Vec<i32> {
        if !self.is_of_this_boot() {
            return Vec::new();
        }
        match process::look(self.group) {
            // While a group has members, its number is given to no new process: another start time is another group.
            Some(Process { started, .. }) if started != self.started => Vec::new(),
            Some(_) => process::members(self.group),
            None => {
                let members = process::members(self.group);
                let mark = format!("TOWPATH_JOB={}", self.job);
                let is_ours = members.iter().any(|pid| process::has_variable(*pid, &mark));
                if is_ours { members } else { Vec::new() }
            }
        }
    }
}

impl Recorded {
    /// Stops what is left of the group and removes the record. Answers whether something was left.
    ///
    /// # Errors
    /// The group cannot be stopped; the record stays.
    pub(crate) async fn clear(&self) -> io::Result<bool> {
        let was_there = self.stop().await?;
        remove(&self.file)?;
        Ok(was_there)
    }

    async fn stop(&self) -> io::Result<bool> {
        let Some(group) = Pid::from_raw(self.record.group) else { return Ok(false) };
        // The cheap question first: most groups are gone.
        if rustix::process::test_kill_process_group(group) == Err(rustix::io::Errno::SRCH) {
            return Ok(false);
        }
        if self.record.members().is_empty() {
            return Ok(false);
        }
        for (signal, grace) in [(Signal::TERM, TERM_GRACE), (Signal::KILL, KILL_GRACE)] {
            match rustix::process::kill_process_group(group, signal) {
                Ok(()) | Err(rustix::io::Errno::SRCH) => {}
                Err(error) => return Err(error.into()),
            }
            let until = Instant::now() + grace;
            while Instant::now() < until {
                if self.record.members().is_empty() {
                    return Ok(true);
                }
                tokio::time::sleep(LOOK_AGAIN).await;
            }
        }
        Err(io::Error::other(format!("process group {} does not end", self.record.group)))
    }
}

/// Whether the owner lives whose number and start time end the name of a record.
fn owner_in_name_lives(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let mut parts = name.rsplit('.');
    let started = parts.next().and_then(|part| part.parse::<u64>().ok());
    let owner = parts.next().and_then(|part| part.parse::<i32>().ok());
    owner.and_then(process::look).is_some_and(|p| p.lives && Some(p.started) == started)
}

fn remove(file: &Path) -> io::Result<()> {
    match std::fs::remove_file(file) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

/// How long what is left of a dead process's command may take to end by itself.
const TERM_GRACE: Duration = Duration::from_secs(2);
/// A killed process ends at once, unless it waits for a device.
const KILL_GRACE: Duration = Duration::from_secs(10);
/// Far more than there are processes that leave at once.
const FOLDER_TRIES: u32 = 100;
const LOOK_AGAIN: Duration = Duration::from_millis(5);

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command};

    fn leader(script: &str, job: JobId) -> Child {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).env("TOWPATH_JOB", job.to_string()).process_group(0).spawn().unwrap()
    }

    fn pid(child: &Child) -> Pid {
        Pid::from_child(child)
    }

    fn job(byte: u8) -> JobId {
        JobId::from_bytes([byte; 16])
    }

    #[tokio::test]
    async fn a_group_is_stopped_with_all_its_members() {
        let folder = tempfile::tempdir().unwrap();
        let groups = Groups::in_folder(folder.path().join("groups"));
        let mut child = leader("sleep 100 & trap '' TERM; sleep 100", job(1));
        let recorded = groups.record(pid(&child), job(1)).unwrap();
        assert!(recorded.clear().await.unwrap());
        assert!(recorded.record.members().is_empty());
        assert!(!child.wait().unwrap().success());
        assert_eq!(std::fs::read_dir(&groups.folder).unwrap().count(), 0);
    }

    #[tokio::test]
    async fn what_a_dead_leader_left_is_stopped_and_a_living_owner_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let groups = Groups::in_folder(folder.path().to_owned());
        let mut child = leader("sleep 100 & sleep 100", job(2));
        let recorded = groups.record(pid(&child), job(2)).unwrap();
        while recorded.record.members().len() < 3 {
            tokio::task::yield_now().await;
        }
        assert_eq!(groups.clear_dead().await.unwrap(), 0, "its owner is this process");
        rustix::process::kill_process(pid(&child), Signal::KILL).unwrap();
        child.wait().unwrap();
        assert_eq!(recorded.record.members().len(), 2);

        let orphaned = Record { owner_started: recorded.record.owner_started + 1, ..recorded.record.clone() };
        std::fs::write(&recorded.file, serde_json::to_vec(&orphaned).unwrap()).unwrap();
        assert_eq!(groups.clear_dead().await.unwrap(), 1);
        assert!(recorded.record.members().is_empty());
    }

    #[tokio::test]
    async fn a_record_that_was_not_finished_goes_with_its_owner() {
        let folder = tempfile::tempdir().unwrap();
        let groups = Groups::in_folder(folder.path().to_owned());
        let me = i32::try_from(std::process::id()).unwrap();
        let started = process::look(me).unwrap().started;
        let (mine, dead) = (format!("job.1.2.{me}.{started}"), format!("job.1.2.{me}.{}", started + 1));
        std::fs::write(folder.path().join(&mine), "{\"group\":").unwrap();
        std::fs::write(folder.path().join(&dead), "").unwrap();
        assert_eq!(groups.clear_dead().await.unwrap(), 0);
        assert!(folder.path().join(&mine).exists());
        assert!(!folder.path().join(&dead).exists());
    }

    #[test]
    fn an_empty_folder_is_not_left_and_comes_back_with_the_next_record() {
        let folder = tempfile::tempdir().unwrap();
        let groups = Groups::in_folder(folder.path().join("groups"));
        groups.leave();
        let me = Pid::from_raw(i32::try_from(std::process::id()).unwrap()).unwrap();
        let recorded = groups.record(me, job(4)).unwrap();
        groups.leave();
        assert!(recorded.file.exists(), "what is on record stays");
        remove(&recorded.file).unwrap();
        groups.leave();
        assert!(!groups.folder.exists());
        groups.record(me, job(4)).unwrap();
    }

    #[tokio::test]
    async fn a_number_that_was_reused_is_not_touched() {
        let folder = tempfile::tempdir().unwrap();
        let groups = Groups::in_folder(folder.path().to_owned());
        let mut child = leader("sleep 100", job(3));
        let recorded = groups.record(pid(&child), job(3)).unwrap();
        for other in [
            Record { started: recorded.record.started + 1, ..recorded.record.clone() },
            Record { boot: "another".into(), ..recorded.record.clone() },
        ] {
            let stale = Recorded { record: other, file: recorded.file.clone() };
            assert!(!stale.clear().await.unwrap());
        }
        assert!(!recorded.record.members().is_empty(), "the process still runs");
        assert!(recorded.clear().await.unwrap());
        child.wait().unwrap();
    }
}
