//! PgBouncer in transaction mode before a cluster: what must work there works anywhere.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::cluster::{Cluster, as_owner, free_port};
use crate::command::output;

/// A pooler that runs.
pub(crate) struct Pooler {
    child: Child,
    port: u16,
}

impl Pooler {
    /// Starts one before `cluster`.
    pub(crate) fn start(program: &Path, cluster: &Cluster) -> Result<Self, String> {
        let port = free_port()?;
        let dir = cluster.dir();
        let ini = format!(
            "[databases]\n* = host=127.0.0.1 port={} user=postgres\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
             listen_port = {port}\nunix_socket_dir =\nauth_type = any\npool_mode = transaction\n\
             max_client_conn = 1000\ndefault_pool_size = 40\nlogfile = {}/pooler.log\npidfile = {}/pooler.pid\n",
            cluster.port,
            dir.display(),
            dir.display()
        );
        let file = dir.join("pooler.ini");
        write_as_owner(&file, &ini)?;
        let child = as_owner(program)
            .arg("-q")
            .arg(&file)
            .stdin(Stdio::null())
            .spawn()
            .map_err(|e| format!("PgBouncer cannot be started: {e}"))?;
        let pooler = Self { child, port };
        pooler.wait()?;
        Ok(pooler)
    }

    /// Where it is.
    pub(crate) fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    fn wait(&self) -> Result<(), String> {
        let started = Instant::now();
        while started.elapsed() < Duration::from_secs(10) {
            if std::net::TcpStream::connect(("127.0.0.1", self.port)).is_ok() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Err("PgBouncer does not listen after 10 s".into())
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn write_as_owner(file: &Path, text: &str) -> Result<(), String> {
    output(as_owner("sh").args(["-c", "printf '%s' \"$1\" > \"$2\"", "sh", text]).arg(file)).map(|_| ())
}
