//! A dashboard that is served, for tests that come by the network.

use tokio::net::TcpListener;
use tokio::sync::oneshot;
use towpath::Client;
use towpath_web::WebOptions;

/// A dashboard that is served until this is dropped.
pub(crate) struct Served {
    pub(crate) url: String,
    stop: Option<oneshot::Sender<()>>,
}

impl Served {
    pub(crate) async fn start(client: &Client, options: WebOptions) -> Self {
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
