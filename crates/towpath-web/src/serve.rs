//! Serving the router by itself.

use std::future::Future;
use std::io;
use std::time::Duration;

use tokio::net::TcpListener;
use towpath::Client;

use crate::options::WebOptions;

/// How long requests that are under way may still take once it is to stop; streams of news never end by themselves.
const GRACE: Duration = Duration::from_secs(2);

/// Serves pages and API on a listener until `stop` is done, then lets requests end for two seconds.
///
/// # Errors
/// The listener failed.
///
/// # Cancel safety
/// Dropped, it stops at once.
pub async fn serve(
    listener: TcpListener,
    client: Client,
    options: WebOptions,
    stop: impl Future<Output = ()> + Send,
) -> io::Result<()> {
    let (tell, told) = tokio::sync::oneshot::channel::<()>();
    let app = crate::router(client, options);
    let served = axum::serve(listener, app).with_graceful_shutdown(async move {
        // The other end is dropped when it is to stop.
        let _ = told.await;
    });
    let mut served = std::pin::pin!(std::future::IntoFuture::into_future(served));
    tokio::select! {
        ended = &mut served => return ended,
        () = stop => drop(tell),
    }
    tokio::time::timeout(GRACE, served).await.unwrap_or(Ok(()))
}
