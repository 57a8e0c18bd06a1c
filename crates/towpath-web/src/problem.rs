//! The one shape of an error: a stable code, a message that names the thing, and what to do.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use towpath::core::{StoreError, StoreErrorKind};
use towpath::{Error, Refusal};

/// What an error is to a program. Codes are only ever added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Code {
    /// The request is wrong; the message says where.
    Invalid,
    /// Nobody is logged in.
    Unauthorized,
    /// The user may not do this.
    Forbidden,
    /// Nothing may be changed here.
    ReadOnly,
    /// A page of another site asked.
    CrossOrigin,
    /// The host name is not one of ours.
    UnknownHost,
    /// There is no such thing.
    NotFound,
    /// Not with this method.
    MethodNotAllowed,
    /// Not as it stands now.
    Conflict,
    /// The body is larger than is taken.
    TooLarge,
    /// The body is of a type that is not taken.
    UnsupportedMediaType,
    /// An idempotency key that came with another request before.
    KeyReused,
    /// The store cannot be reached, is busy or full: try again.
    Unavailable,
    /// The schema and this build do not fit.
    Schema,
    /// The store contradicts itself, or an error that has no name.
    Internal,
}

impl Code {
    #[cfg(test)]
    pub(crate) const ALL: [Self; 15] = [
        Self::Invalid,
        Self::Unauthorized,
        Self::Forbidden,
        Self::ReadOnly,
        Self::CrossOrigin,
        Self::UnknownHost,
        Self::NotFound,
        Self::MethodNotAllowed,
        Self::Conflict,
        Self::TooLarge,
        Self::UnsupportedMediaType,
        Self::KeyReused,
        Self::Unavailable,
        Self::Schema,
        Self::Internal,
    ];

    pub(crate) const fn status(self) -> StatusCode {
        match self {
            Self::Invalid => StatusCode::BAD_REQUEST,
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::Forbidden | Self::ReadOnly | Self::CrossOrigin => StatusCode::FORBIDDEN,
            Self::UnknownHost => StatusCode::MISDIRECTED_REQUEST,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::Conflict => StatusCode::CONFLICT,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::KeyReused => StatusCode::UNPROCESSABLE_ENTITY,
            Self::Unavailable | Self::Schema => StatusCode::SERVICE_UNAVAILABLE,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

/// Why a request was not answered as asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Problem {
    pub(crate) code: Code,
    pub(crate) message: String,
    /// What to do, where there is something to say.
    pub(crate) help: Option<String>,
}

impl Problem {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), help: None }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(Code::Invalid, message)
    }

    pub(crate) fn not_found(what: &str, id: &str) -> Self {
        Self::new(Code::NotFound, format!("there is no {what} {id}"))
            .help("it may have been pruned after its retention; ids are in the lists")
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

#[derive(Serialize)]
struct Body<'a> {
    error: &'a Problem,
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        // Texts always have a JSON form.
        let body = serde_json::to_vec(&Body { error: &self }).unwrap_or_default();
        let mut response = (self.code.status(), body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if self.code == Code::Unauthorized {
            headers.insert(
                header::WWW_AUTHENTICATE,
                HeaderValue::from_static("Basic realm=\"towpath\", charset=\"UTF-8\""),
            );
        }
        if self.code == Code::Unavailable {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        // For pages, which show it in their own way.
        response.extensions_mut().insert(self);
        response
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        let message = error.to_string();
        match error.kind {
            StoreErrorKind::Unavailable => {
                Self::new(Code::Unavailable, message).help("try again; what was asked may have happened")
            }
            StoreErrorKind::Full => Self::new(Code::Unavailable, message).help("make room on the disk, then try again"),
            StoreErrorKind::ReadOnly => {
                Self::new(Code::ReadOnly, message).help("the store itself can only be read now")
            }
            StoreErrorKind::SchemaTooOld => Self::new(Code::Schema, message).help("run `towpath migrate`"),
            StoreErrorKind::SchemaTooNew => Self::new(Code::Schema, message).help("use a newer build"),
            StoreErrorKind::Invalid => Self::new(Code::Invalid, message),
            _ => Self::new(Code::Internal, message),
        }
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::Store(error) => error.into(),
            other => Self::new(Code::Invalid, other.to_string()),
        }
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        Self::new(Code::Conflict, refusal.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_described() {
        let described: serde_json::Value = serde_json::from_str(crate::api::OPENAPI).unwrap();
        let codes = &described["components"]["schemas"]["Problem"]["properties"]["error"]["properties"]["code"]["enum"];
        assert_eq!(*codes, serde_json::json!(Code::ALL));
        assert!(Code::ALL.iter().all(|code| code.status().is_client_error() || code.status().is_server_error()));
    }
}
