//! Stored bytes of an input, output or error, with the codec that wrote them.

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;

/// How a payload's bytes are to be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Codec {
    /// UTF-8 JSON text.
    #[default]
    Json,
    /// Bytes that only the application understands.
    Raw,
    /// A reference to bytes that are kept elsewhere ([`BlobRef`](crate::BlobRef)).
    Blob,
}

impl Codec {
    /// The number that stores keep. Never reused for another codec.
    pub const fn code(self) -> i16 {
        match self {
            Self::Json => 0,
            Self::Raw => 1,
            Self::Blob => 2,
        }
    }

    /// The codec of a stored number, if this build knows it.
    pub const fn from_code(code: i16) -> Option<Self> {
        match code {
            0 => Some(Self::Json),
            1 => Some(Self::Raw),
            2 => Some(Self::Blob),
            _ => None,
        }
    }
}

/// Bytes and their codec.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Payload {
    /// How to read the bytes.
    pub codec: Codec,
    /// The bytes.
    pub bytes: Bytes,
}

/// Why a value could not be written as a payload.
#[derive(Debug, thiserror::Error)]
#[error("{problem}")]
pub struct EncodeError {
    /// What is wrong, and where.
    pub problem: String,
}

impl Payload {
    /// Encodes a value as JSON.
    ///
    /// # Errors
    /// The value has no JSON form (such as a map with keys that are not text), or holds a NUL
    /// character, which not every store can keep; the error says where.
    ///
    /// ```
    /// use towpath_core::Payload;
    /// let payload = Payload::json(&serde_json::json!({"to": "ann"})).unwrap();
    /// assert_eq!(&payload.bytes[..], br#"{"to":"ann"}"#);
    /// ```
    pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<Self, EncodeError> {
        let bytes =
            serde_json::to_vec(value).map_err(|e| EncodeError { problem: format!("it has no JSON form: {e}") })?;
        let payload = Self { codec: Codec::Json, bytes: bytes.into() };
        payload.check_text()?;
        Ok(payload)
    }

    /// Takes bytes that are already JSON text; whether they are is checked when they are read.
    pub fn json_bytes(bytes: impl Into<Bytes>) -> Self {
        Self { codec: Codec::Json, bytes: bytes.into() }
    }

    /// Takes bytes as they are.
    pub fn raw(bytes: impl Into<Bytes>) -> Self {
        Self { codec: Codec::Raw, bytes: bytes.into() }
    }

    /// Decodes a JSON payload.
    ///
    /// # Errors
    /// The bytes are not JSON of that shape, or the codec is another.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, DecodeError> {
        match self.codec {
            Codec::Json => serde_json::from_slice(&self.bytes).map_err(|e| DecodeError { problem: e.to_string() }),
            Codec::Raw => Err(DecodeError { problem: "it is raw bytes, not JSON".into() }),
            Codec::Blob => Err(DecodeError {
                problem: "it is large and kept elsewhere: read it by a client that knows where (`Client::keep_large`)"
                    .into(),
            }),
        }
    }

    /// Refuses JSON text with a NUL character, escaped or not, and says at which byte it stands.
    ///
    /// # Errors
    /// There is one.
    pub fn check_text(&self) -> Result<(), EncodeError> {
        if self.codec != Codec::Json {
            return Ok(());
        }
        match find_nul(&self.bytes) {
            Some(at) => Err(EncodeError { problem: format!("its JSON holds a NUL character at byte {at}: remove it") }),
            None => Ok(()),
        }
    }
}

/// The place of a NUL in JSON text: the byte itself, or its escape with an odd count of backslashes.
fn find_nul(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            0 => return Some(at),
            b'\\' if bytes[at + 1..].starts_with(b"u0000") => return Some(at),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    None
}

/// Why a payload could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct DecodeError {
    /// What is wrong, and where.
    pub problem: String,
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.codec, std::str::from_utf8(&self.bytes)) {
            (Codec::Json, Ok(text)) if text.len() <= 200 => write!(f, "json:{text}"),
            (codec, _) => write!(f, "{codec:?}:{} bytes", self.bytes.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nul_in_json_is_refused_with_its_place() {
        let refused = Payload::json("ab\0c").unwrap_err();
        assert_eq!(refused.problem, "its JSON holds a NUL character at byte 3: remove it");
        assert!(Payload::json(r"ab\u0000").is_ok(), "a backslash that is itself escaped is text");
    }

    #[test]
    fn a_decode_error_says_where() {
        let payload = Payload::json_bytes(&b"{\"a\":"[..]);
        assert!(payload.decode::<serde_json::Value>().unwrap_err().problem.contains("line 1"));
    }
}
