//! The pages in a real browser, on SQLite and PostgreSQL: nothing complains, everything is live, every button works.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod axe;
mod driver;
mod pages;
mod shots;
#[path = "../it/stores.rs"]
#[allow(dead_code, unused_macros, unused_imports, reason = "shared with the tests that need no browser")]
mod stores;
#[path = "../it/works.rs"]
#[allow(dead_code, reason = "shared with the tests that need no browser")]
mod works;

use tokio::net::TcpListener;
use tokio::sync::oneshot;
use towpath::Client;
use towpath_web::WebOptions;

/// A dashboard that is served.
struct Served {
    url: String,
    stop: Option<oneshot::Sender<()>>,
}

impl Served {
    async fn start(client: &Client, options: WebOptions) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (stop, stopped) = oneshot::channel::<()>();
        let client = client.clone();
        tokio::spawn(async move {
            towpath_web::serve(listener, client, options, async {
                let _ = stopped.await;
            })
            .await
            .unwrap();
        });
        Self { url, stop: Some(stop) }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // A server that has gone needs no word.
        let _ = self.stop.take().map(|stop| stop.send(()));
    }
}
