//! Whether something stands between us and the server.
//!
//! A transaction pooler gives each transaction another of its connections. A statement that was prepared under a name
//! is then missing, or, worse, is another process's statement of the same name. So statements go by name only where
//! the server is known to be reached directly; everywhere else they go without, which costs a planning each.

use std::path::Path;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_postgres::config::Host;
use tokio_postgres::{Config, NoTls, SimpleQueryMessage};

/// What the URL says of a pooler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pooler {
    /// `pooler=transaction`: there is one.
    Transaction,
    /// `pooler=none`: there is none.
    None,
    /// Nothing: look.
    Unsaid,
}

const PATIENCE: Duration = Duration::from_secs(5);

/// Whether every host of the configuration is seen to be the server itself. One connection of its own per host.
pub(crate) async fn is_direct(config: &Config) -> bool {
    let ports = config.get_ports();
    let hosts = config.get_hosts();
    for (at, host) in hosts.iter().enumerate() {
        let port = ports.get(at).or_else(|| ports.first()).copied().unwrap_or(5432);
        let looked = tokio::time::timeout(PATIENCE, is_direct_to(config, host, port)).await;
        if !matches!(looked, Ok(Some(true))) {
            return false;
        }
    }
    !hosts.is_empty()
}

async fn is_direct_to(config: &Config, host: &Host, port: u16) -> Option<bool> {
    match host {
        Host::Tcp(name) => {
            let stream = TcpStream::connect((name.as_str(), port)).await.ok()?;
            let ours = stream.local_addr().ok()?.port();
            // A server that is reached directly sees the port that we left from; behind a pooler it sees the pooler's.
            let seen = ask(config, stream, "select inet_client_port()").await?;
            Some(seen.parse() == Ok(ours))
        }
        #[cfg(unix)]
        Host::Unix(folder) => is_socket_of_postgres(folder, port).await,
    }
}

/// Whether the process behind a local socket is a PostgreSQL server.
#[cfg(unix)]
async fn is_socket_of_postgres(folder: &Path, port: u16) -> Option<bool> {
    let stream = tokio::net::UnixStream::connect(folder.join(format!(".s.PGSQL.{port}"))).await.ok()?;
    let pid = stream.peer_cred().ok()?.pid()?;
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some(name.trim().starts_with("postgres"))
}

/// Asks one thing on a connection of its own.
async fn ask<S>(config: &Config, stream: S, question: &str) -> Option<String>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (client, connection) = config.connect_raw(stream, NoTls).await.ok()?;
    let carrier = tokio::spawn(connection);
    let answer = client.simple_query(question).await;
    carrier.abort();
    answer.ok()?.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_throwaway_cluster_is_seen_as_what_it_is() {
        let Ok(url) = std::env::var("TOWPATH_TEST_POSTGRES") else {
            eprintln!("LEFT OUT: PostgreSQL, because TOWPATH_TEST_POSTGRES names no cluster");
            return;
        };
        let config: Config = crate::address::Address::of(&url).url.parse().unwrap();
        let through_pooler = std::env::var_os("TOWPATH_TEST_POOLER").is_some();
        assert_eq!(is_direct(&config).await, !through_pooler);
    }

    #[tokio::test]
    async fn what_cannot_be_reached_is_not_direct() {
        let config: Config = "postgres://postgres@127.0.0.1:1/postgres".parse().unwrap();
        assert!(!is_direct(&config).await);
    }
}
