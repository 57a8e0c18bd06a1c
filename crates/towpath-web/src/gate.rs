//! What stands before every answer: the host name, who asks, whether another site asks for them, and the headers that
//! tell a browser what a page may do.

use std::sync::Arc;

use axum::extract::{OriginalUri, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::app::App;
use crate::base::Base;
use crate::options::{Action, Hosts, User};
use crate::page;
use crate::problem::{Code, Problem};

/// No script and no style but our own files, nothing from elsewhere, and no frame around us.
const CSP: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
     font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Lets a request in, or says why not.
pub(crate) async fn gate(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    let original = request.extensions().get::<OriginalUri>().map(|uri| uri.path().to_owned());
    let base = Base::of(original.as_deref(), request.uri().path());
    let is_api = is_api(request.uri().path());
    request.extensions_mut().insert(base.clone());
    let user = match admit(&app, &request) {
        Ok(user) => user,
        Err(problem) => return finish(problem.into_response(), &app, &base, None, is_api),
    };
    request.extensions_mut().insert(user.clone());
    let response = next.run(request).await;
    finish(response, &app, &base, Some(&user), is_api)
}

fn is_api(path: &str) -> bool {
    path.starts_with("/api/") || path == "/api" || path == "/metrics" || path == "/healthz" || path == "/readyz"
}

fn admit(app: &App, request: &Request) -> Result<User, Problem> {
    let headers = request.headers();
    if app.options.hosts == Hosts::Loopback && !is_loopback(host(headers, request)) {
        let name = host(headers, request).unwrap_or_default();
        return Err(Problem::new(Code::UnknownHost, format!("this is not served under the name {name}"))
            .help("use localhost or a loopback address, or serve it with a login"));
    }
    if !is_safe(request.method()) && !same_origin(headers, host(headers, request)) {
        return Err(Problem::new(Code::CrossOrigin, "a page of another site may not act here")
            .help("act from the dashboard itself, or from a program that sends no Origin"));
    }
    let user = identify(app, request)?;
    // Whoever asks whether the process is well reads nothing of the store.
    let is_health = matches!(request.uri().path(), "/healthz" | "/readyz");
    if !is_health && !app.options.access.may(&user, Action::View) {
        return Err(Problem::new(Code::Forbidden, format!("{} may not view this instance", user.name)));
    }
    Ok(user)
}

/// Who asks: as the application has said, by their secret, or nobody in particular.
fn identify(app: &App, request: &Request) -> Result<User, Problem> {
    if let Some(user) = request.extensions().get::<User>() {
        return Ok(user.clone());
    }
    if !app.options.asks_for_login() {
        return Ok(app.options.anonymous.clone());
    }
    if matches!(request.uri().path(), "/healthz" | "/readyz") {
        return Ok(app.options.anonymous.clone());
    }
    let given = request.headers().get(header::AUTHORIZATION).and_then(|v| v.to_str().ok());
    given
        .and_then(|given| {
            let (scheme, secret) = given.split_once(' ')?;
            let secret = secret.trim();
            if scheme.eq_ignore_ascii_case("bearer") {
                return app.options.by_token(secret);
            }
            if !scheme.eq_ignore_ascii_case("basic") {
                return None;
            }
            let decoded = String::from_utf8(base64(secret)?).ok()?;
            let (name, password) = decoded.split_once(':')?;
            app.options.by_password(name, password)
        })
        .ok_or_else(|| {
            let message = if given.is_some() { "this login is not known here" } else { "nobody is logged in" };
            Problem::new(Code::Unauthorized, message).help("send Authorization: Bearer TOKEN, or a user and a password")
        })
}

/// Bytes of standard base64, with or without its padding.
fn base64(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=');
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    let (mut held, mut bits) = (0_u32, 0);
    for c in text.bytes() {
        let six = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        held = (held << 6 | u32::from(six)) & 0x3fff;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits) as u8);
        }
    }
    Some(bytes)
}

fn is_safe(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

/// The host that the request names.
fn host<'a>(headers: &'a HeaderMap, request: &'a Request) -> Option<&'a str> {
    headers
        .get(header::HOST)
        .and_then(|v| v.to_str().ok())
        .or_else(|| request.uri().authority().map(|authority| authority.as_str()))
}

fn is_loopback(host: Option<&str>) -> bool {
    let Some(host) = host else { return false };
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Whether a write comes from our own page, or from no page at all. Browsers say so themselves; older ones by the
/// origin alone.
fn same_origin(headers: &HeaderMap, host: Option<&str>) -> bool {
    if let Some(site) = headers.get("sec-fetch-site") {
        return site == "same-origin" || site == "none";
    }
    match headers.get(header::ORIGIN).map(|origin| origin.to_str()) {
        None => true,
        Some(Ok(origin)) => {
            let of = origin.split_once("://").map(|(_, authority)| authority);
            of.is_some() && of == host
        }
        Some(Err(_)) => false,
    }
}

/// The headers of every answer; and a problem becomes a page where a person asked.
fn finish(mut response: Response, app: &App, base: &Base, user: Option<&User>, is_api: bool) -> Response {
    let mut problem = response.extensions_mut().remove::<Problem>();
    if problem.is_none()
        && let Some(code) = unnamed(&response)
    {
        // The frame around us has refused it, in its own words.
        let named = Problem::new(code, "the request is not one that is taken here");
        response = named.clone().into_response();
        problem = Some(named);
    }
    if let Some(problem) = problem.filter(|_| !is_api) {
        let shown = page::problem(app, base, user, &problem);
        let (parts, body) = shown.into_parts();
        response.headers_mut().extend(parts.headers);
        *response.body_mut() = body;
        response.headers_mut().remove(header::CONTENT_LENGTH);
    }
    let headers = response.headers_mut();
    let fixed = [
        (header::CONTENT_SECURITY_POLICY, CSP),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "same-origin"),
        (header::X_FRAME_OPTIONS, "DENY"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

/// The code of an error that came without one: its path or its body could not be read.
fn unnamed(response: &Response) -> Option<Code> {
    match response.status().as_u16() {
        200..=399 => None,
        413 => Some(Code::TooLarge),
        415 => Some(Code::UnsupportedMediaType),
        400..=499 if !is_ours(response) => Some(Code::Invalid),
        _ => None,
    }
}

/// Whether it is an answer or a page of ours, which says itself what is wrong.
fn is_ours(response: &Response) -> bool {
    let of_type = response.headers().get(header::CONTENT_TYPE).and_then(|of| of.to_str().ok()).unwrap_or_default();
    of_type == "application/json" || of_type.starts_with("text/html")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_read_and_what_is_none_is_refused() {
        assert_eq!(base64("YW5uOnB3").as_deref(), Some(&b"ann:pw"[..]));
        assert_eq!(base64("YW5uOnA=").as_deref(), Some(&b"ann:p"[..]));
        assert_eq!(base64("").as_deref(), Some(&b""[..]));
        assert_eq!(base64("a b"), None);
    }

    #[test]
    fn only_loopback_names_are_loopback() {
        for host in ["localhost", "LOCALHOST:8080", "127.0.0.1:80", "[::1]:8080", "127.9.9.9"] {
            assert!(is_loopback(Some(host)), "{host}");
        }
        for host in ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "10.0.0.1", "", "[fe80::1]"]
        {
            assert!(!is_loopback(Some(host)), "{host}");
        }
        assert!(!is_loopback(None));
    }

    #[test]
    fn a_write_of_another_site_is_seen_with_and_without_the_newer_header() {
        let with = |pairs: &[(&'static str, &'static str)]| {
            let mut headers = HeaderMap::new();
            pairs.iter().for_each(|(name, value)| {
                headers.insert(*name, HeaderValue::from_static(value));
            });
            same_origin(&headers, Some("here:80"))
        };
        assert!(with(&[]), "a program sends neither");
        assert!(with(&[("origin", "http://here:80")]));
        assert!(!with(&[("origin", "http://there:80")]));
        assert!(!with(&[("origin", "null")]));
        assert!(!with(&[("origin", "http://here:80"), ("sec-fetch-site", "cross-site")]));
        assert!(!with(&[("sec-fetch-site", "same-site")]));
        assert!(with(&[("sec-fetch-site", "same-origin")]));
    }
}
