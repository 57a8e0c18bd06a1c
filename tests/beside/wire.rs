//! A way to a server that counts how often the application spoke and had to wait for the answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

#[derive(Clone, Default)]
pub struct Exchanges {
    count: Arc<AtomicU64>,
    is_asked: Arc<AtomicBool>,
}

impl Exchanges {
    /// How many there were since the last look.
    pub fn take(&self) -> u64 {
        self.count.swap(0, Ordering::SeqCst)
    }
}

/// A port that leads to the server.
pub async fn counted(server: String) -> (u16, Exchanges) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let exchanges = Exchanges::default();
    let counts = exchanges.clone();
    tokio::spawn(async move {
        while let Ok((application, _)) = listener.accept().await {
            let server = TcpStream::connect(&server).await.unwrap();
            let (from, to) = application.into_split();
            let (back, forth) = server.into_split();
            let (asks, answers) = (counts.clone(), counts.clone());
            tokio::spawn(pipe(from, forth, move || {
                if !asks.is_asked.swap(true, Ordering::SeqCst) {
                    asks.count.fetch_add(1, Ordering::SeqCst);
                }
            }));
            tokio::spawn(pipe(back, to, move || answers.is_asked.store(false, Ordering::SeqCst)));
        }
    });
    (port, exchanges)
}

async fn pipe(mut from: impl AsyncReadExt + Unpin, mut to: impl AsyncWriteExt + Unpin, passes: impl Fn()) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        passes();
        if to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
}
