//! A throwaway PostgreSQL cluster: on a free port, owned by a user who is not root, gone when dropped.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{is_root, output, run};

/// A cluster that runs.
pub(crate) struct Cluster {
    bin: PathBuf,
    dir: PathBuf,
    /// The port it listens on, on the loopback address.
    pub(crate) port: u16,
}

impl Cluster {
    /// Makes and starts one.
    pub(crate) fn start(bin: &Path) -> Result<Self, String> {
        let dir = PathBuf::from(output(as_owner("mktemp").args(["-d", "/tmp/towpath-pg-XXXXXX"]))?);
        let cluster = Self { bin: bin.into(), port: free_port()?, dir };
        let data = cluster.dir.join("data");
        let init = ["--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C", "--no-sync"];
        output(as_owner(bin.join("initdb")).arg("-D").arg(&data).args(init))?;
        let options = format!(
            "-p {} -k {} -c listen_addresses=127.0.0.1 -c max_connections=300 -c shared_buffers=256MB \
             -c fsync=off -c log_min_messages=warning -c log_line_prefix='%m [%p] %d '",
            cluster.port,
            cluster.dir.display()
        );
        let log = cluster.dir.join("log");
        output(
            as_owner(bin.join("pg_ctl"))
                .arg("-D")
                .arg(&data)
                .arg("-l")
                .arg(&log)
                .args(["-w", "-t", "60", "-o", &options, "start"]),
        )?;
        Ok(cluster)
    }

    /// Where it is, as a superuser.
    pub(crate) fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// Its directory, which its owner may write.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// What its log says of deadlocks; there must be none, except in databases named `deadlocks_…`, where a test provokes
    /// them.
    pub(crate) fn deadlocks(&self) -> usize {
        let log = output(as_owner("cat").arg(self.dir.join("log"))).unwrap_or_default();
        log.lines().filter(|line| line.contains("deadlock detected") && !line.contains(" deadlocks_")).count()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let data = self.dir.join("data");
        let stop = ["-m", "immediate", "-w", "stop"];
        let stopped = output(as_owner(self.bin.join("pg_ctl")).arg("-D").arg(&data).args(stop));
        let removed = run(Command::new("rm").arg("-rf").arg(&self.dir));
        for problem in [stopped.err(), removed.err()].into_iter().flatten() {
            eprintln!("xtask: the throwaway cluster in {} was not removed: {problem}", self.dir.display());
        }
    }
}

/// A command run by somebody who is not root: PostgreSQL refuses root.
pub(crate) fn as_owner(program: impl AsRef<std::ffi::OsStr>) -> Command {
    if !is_root() {
        let mut command = Command::new(program);
        command.current_dir("/");
        return command;
    }
    let mut command = Command::new("setpriv");
    let user = if output(Command::new("id").args(["-u", "postgres"])).is_ok() { "postgres" } else { "nobody" };
    command.args(["--reuid", user, "--regid", group_of(user), "--clear-groups", "--"]).arg(program).current_dir("/");
    command
}

fn group_of(user: &str) -> &str {
    if user == "nobody" { "nogroup" } else { user }
}

/// A port that was free a moment ago.
pub(crate) fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|e| format!("no free port: {e}"))?;
    listener.local_addr().map(|a| a.port()).map_err(|e| format!("no free port: {e}"))
}
