//! The style and the script: embedded, and named by what they hold, so that a browser may keep them for good.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};

use crate::problem::{Code, Problem};

/// A file that pages load.
pub(crate) struct Asset {
    /// Its name, with a fingerprint of what it holds.
    pub(crate) name: String,
    of_type: &'static str,
    text: &'static str,
}

pub(crate) static STYLE: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("dashboard", "css", "text/css; charset=utf-8", include_str!("assets/dashboard.css")));
pub(crate) static SCRIPT: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("dashboard", "js", "text/javascript; charset=utf-8", include_str!("assets/dashboard.js"))
});

impl Asset {
    fn new(stem: &str, extension: &str, of_type: &'static str, text: &'static str) -> Self {
        let hash = Sha256::digest(text.as_bytes());
        let print: String = hash.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        Self { name: format!("{stem}.{print}.{extension}"), of_type, text }
    }
}

/// An asset by its name. An old one, of a page that was loaded before an update, is gone: its page is loaded again.
pub(crate) async fn asset(Path(name): Path<String>) -> Result<Response, Problem> {
    let assets = [&*STYLE, &*SCRIPT];
    let found = assets.into_iter().find(|asset| asset.name == name);
    let asset = found.ok_or_else(|| Problem::new(Code::NotFound, format!("there is no file {name}")))?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(asset.of_type)),
        (header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable")),
    ];
    Ok((StatusCode::OK, headers, asset.text).into_response())
}
