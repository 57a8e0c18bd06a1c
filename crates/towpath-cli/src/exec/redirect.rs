//! Where a server sends a request on to, and what goes along (RFC 9110, section 15.4; RFC 3986, section 5.2).
//!
//! To another origin (scheme, host or port) goes no secret: neither a header that holds one, whatever its name, nor a body.

use ureq::http::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, LOCATION, PROXY_AUTHORIZATION};
use ureq::http::{HeaderMap, Method, Request, StatusCode, Uri};

use super::redact::Redactor;

/// What comes of an answer.
pub(super) enum Next {
    /// It is the answer.
    Answer,
    /// The request goes on.
    Request(Box<Request<String>>),
    /// It cannot go on, for this reason.
    Refused(String),
}

/// What comes of an answer with this status and these headers to a request.
pub(super) fn next(request: &Request<String>, status: StatusCode, headers: &HeaderMap, redactor: &Redactor) -> Next {
    let (method, has_body) = match (status.as_u16(), request.method()) {
        (301 | 302, &Method::POST) => (Method::GET, false),
        (303, &Method::HEAD) => (Method::HEAD, false),
        (303, _) => (Method::GET, false),
        (301 | 302 | 307 | 308, method) => (method.clone(), true),
        _ => return Next::Answer,
    };
    let Some(location) = headers.get(LOCATION).and_then(|value| value.to_str().ok()) else { return Next::Answer };
    let Some(uri) = resolve(request.uri(), location) else {
        return Next::Refused(format!(
            "it is sent on to {}, which is no URL of http or https",
            redactor.text(location)
        ));
    };
    let stays = origin(request.uri()) == origin(&uri);
    let body = if has_body { request.body().clone() } else { String::new() };
    if !stays && redactor.text(&body) != body {
        let to = uri.host().unwrap_or_default();
        return Next::Refused(format!("it is sent on to {to} with its body, which holds a secret: write that URL"));
    }
    let mut next = Request::builder().method(method).uri(uri);
    for (name, value) in request.headers() {
        let is_known = matches!(*name, AUTHORIZATION | COOKIE | PROXY_AUTHORIZATION);
        let is_secret = is_known || value.to_str().map_or(true, |text| redactor.text(text) != text);
        let is_of_body = *name == CONTENT_TYPE || *name == CONTENT_LENGTH;
        if (stays || !is_secret) && (has_body || !is_of_body) {
            next = next.header(name, value);
        }
    }
    match next.body(body) {
        Ok(request) => Next::Request(Box::new(request)),
        Err(problem) => Next::Refused(format!("it cannot be sent on: {problem}")),
    }
}

/// Scheme, host and port.
fn origin(uri: &Uri) -> (Option<&str>, Option<String>, u16) {
    let port = uri.port_u16().unwrap_or(if uri.scheme_str() == Some("https") { 443 } else { 80 });
    (uri.scheme_str(), uri.host().map(str::to_ascii_lowercase), port)
}

/// A reference as seen from a URL; `None` if that is no URL of HTTP.
fn resolve(base: &Uri, location: &str) -> Option<Uri> {
    let location = location.split('#').next().unwrap_or_default();
    let root = format!("{}://{}", base.scheme_str()?, base.authority()?);
    let target = if location.starts_with("//") {
        format!("{}:{location}", base.scheme_str()?)
    } else if location.starts_with('/') {
        format!("{root}{}", without_dots(location))
    } else if location.starts_with('?') || location.is_empty() {
        format!("{root}{}{location}", base.path())
    } else if has_scheme(location) {
        location.to_owned()
    } else {
        let folder = base.path().rsplit_once('/').map_or("", |(folder, _)| folder);
        format!("{root}{}", without_dots(&format!("{folder}/{location}")))
    };
    let uri: Uri = target.parse().ok()?;
    (matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some()).then_some(uri)
}

fn has_scheme(location: &str) -> bool {
    location.split_once(':').is_some_and(|(scheme, _)| {
        !scheme.is_empty() && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
    })
}

/// A path whose segments `.` and `..` are carried out.
fn without_dots(path: &str) -> String {
    let (path, query) = path.find('?').map_or((path, ""), |at| path.split_at(at));
    let mut segments: Vec<&str> = Vec::new();
    let mut parts = path.split('/').skip(1).peekable();
    while let Some(part) = parts.next() {
        let is_last = parts.peek().is_none();
        match part {
            "." | ".." => {
                if part == ".." {
                    segments.pop();
                }
                if is_last {
                    segments.push("");
                }
            }
            part => segments.push(part),
        }
    }
    format!("/{}{query}", segments.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(location: &str) -> String {
        let base: Uri = "https://a.example/b/c/d?q=1".parse().unwrap();
        resolve(&base, location).map_or_else(|| "none".into(), |uri| uri.to_string())
    }

    #[test]
    fn a_location_is_seen_from_where_the_request_went() {
        for (location, want) in [
            ("http://b.example/x?y=1#z", "http://b.example/x?y=1"),
            ("//b.example/x", "https://b.example/x"),
            ("/x/../y/.", "https://a.example/y/"),
            ("g", "https://a.example/b/c/g"),
            ("../g?z=/../", "https://a.example/b/g?z=/../"),
            ("../../../g", "https://a.example/g"),
            ("?y=2", "https://a.example/b/c/d?y=2"),
            ("", "https://a.example/b/c/d"),
            ("g:h", "none"),
            ("file:///etc/passwd", "none"),
            ("https://", "none"),
        ] {
            assert_eq!(resolved(location), want, "{location}");
        }
    }

    #[test]
    fn what_goes_along_depends_on_the_status_and_the_origin() {
        let mut redactor = Redactor::default();
        redactor.add("hunter2");
        let sent = |method: &str, body: &str, status: u16, to: &str| {
            let request = Request::builder().method(method).uri("http://a.example:80/x");
            let request = request.header("x-key", "hunter2").header("cookie", "c").header("x-plain", "p");
            let request = request.header("content-type", "text/plain").body(body.to_owned()).unwrap();
            let headers = HeaderMap::from_iter([(LOCATION, to.parse().unwrap())]);
            match next(&request, StatusCode::from_u16(status).unwrap(), &headers, &redactor) {
                Next::Answer => "answer".to_owned(),
                Next::Refused(why) => why,
                Next::Request(next) => {
                    let names: Vec<&str> = next.headers().keys().map(|name| name.as_str()).collect();
                    format!("{} {} {} [{}]", next.method(), next.uri(), names.join(" "), next.body())
                }
            }
        };
        let here = "http://A.example/y";
        assert_eq!(sent("POST", "b", 302, here), "GET http://A.example/y x-key cookie x-plain []");
        assert_eq!(sent("PUT", "b", 302, here), "PUT http://A.example/y x-key cookie x-plain content-type [b]");
        assert_eq!(sent("PUT", "b", 303, here), "GET http://A.example/y x-key cookie x-plain []");
        assert_eq!(sent("HEAD", "", 303, here), "HEAD http://A.example/y x-key cookie x-plain []");
        assert_eq!(
            sent("POST", "hunter2", 307, "/y"),
            "POST http://a.example:80/y x-key cookie x-plain content-type [hunter2]"
        );
        let there = "https://a.example/y";
        assert_eq!(sent("GET", "", 301, there), "GET https://a.example/y x-plain content-type []");
        assert_eq!(sent("POST", "b", 308, there), "POST https://a.example/y x-plain content-type [b]");
        assert!(
            sent("POST", "a hunter2", 308, "http://b.example/")
                .contains("b.example with its body, which holds a secret")
        );
        assert_eq!(sent("GET", "", 304, here), "answer");
        assert!(sent("GET", "", 301, "ftp://b.example/").contains("no URL of http or https"));
    }
}
