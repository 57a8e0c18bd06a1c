//! The dashboard and the HTTP API of towpath: one router, to be served alone or mounted in an application.
//!
//! ```
//! use towpath::Client;
//! use towpath_web::WebOptions;
//!
//! # async fn f(client: Client) -> std::io::Result<()> {
//! let options = WebOptions::default().instance("shop, production").token("ops", "a long secret");
//! let app = axum::Router::<()>::new().nest("/towpath", towpath_web::router(client, options));
//! # drop(app);
//! # Ok(())
//! # }
//! ```
//!
//! It reads by [`Inspect`](towpath::inspect::Inspect) and acts by [`Client`]; it runs no jobs. Without a login everybody
//! who reaches it may see and do everything: give it [tokens](WebOptions::token), or put the application's own login before
//! it and a [`User`] into the request's extensions.

mod api;
mod app;
mod assets;
mod base;
mod gate;
pub mod layout;
mod live;
mod look;
#[cfg(feature = "metrics")]
mod metrics;
mod options;
mod orders;
mod page;
mod problem;
mod serve;
mod shape;

pub use options::{Access, Action, Colour, Hosts, Part, Redact, User, WebOptions};
pub use serve::serve;

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware;
use towpath::Client;

/// Largest body that is taken, in bytes: a signal's payload with what is around it.
const BODY_BYTES_MAX: usize = 2 << 20;

/// A router with the pages and the API, to be served at the root or nested under any path.
pub fn router(client: Client, options: WebOptions) -> Router {
    let live = live::Live::new(&client);
    let app = Arc::new(app::App { client, options, answers: api::idempotency::Answers::default(), live });
    Router::new()
        .merge(api::routes())
        .merge(page::routes())
        .fallback(api::unknown)
        .method_not_allowed_fallback(api::wrong_method)
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(middleware::from_fn_with_state(Arc::clone(&app), gate::gate))
        .with_state(app)
}
