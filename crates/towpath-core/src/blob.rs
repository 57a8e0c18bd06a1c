//! Large payloads by reference: what is kept elsewhere, under which name, and what a home of such blobs must do.
//!
//! The order is what makes it safe: a blob is written before the row that names it, and deleted after that row is gone. What is
//! left over by a crash in between belongs to a job that never was, or is no more, and is swept.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::fingerprint::mix;
use crate::id::JobId;
use crate::limits;
use crate::payload::{Codec, Payload};
use crate::store::{BoxFuture, StoreResult};

/// The name of a blob: the job that owns it, and what it holds. The same content of the same job has the same name, so that an
/// enqueue that is repeated is still the same.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BlobName(String);

impl BlobName {
    /// The name of this content of a job.
    pub fn of(owner: JobId, bytes: &[u8]) -> Self {
        let (mut high, mut low) = (bytes.len() as u64, !(bytes.len() as u64));
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            let word = u64::from_le_bytes(word);
            high = mix(high, word);
            low = mix(low ^ high, word.rotate_left(32));
        }
        Self(format!("{owner}.{high:016x}{low:016x}"))
    }

    /// Reads a name, such as that of a file.
    ///
    /// # Errors
    /// It is none.
    pub fn parse(text: &str) -> Result<Self, String> {
        let is_hash =
            |hash: &str| hash.len() == 32 && hash.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        match text.split_once('.') {
            Some((owner, hash)) if is_hash(hash) && owner.parse::<JobId>().is_ok_and(|id| id.to_string() == owner) => {
                Ok(Self(text.to_owned()))
            }
            _ => Err(format!("{:?} is no name of a blob", limits::cut(text, 80))),
        }
    }

    /// The job that it belongs to.
    pub fn owner(&self) -> JobId {
        let owner = self.0.split_once('.').and_then(|(owner, _)| owner.parse().ok());
        // A name is made or checked here, and begins with an id.
        owner.unwrap_or_else(|| JobId::from_bytes([0; 16]))
    }

    /// Its text: letters of hexadecimal digits, `-` and one `.`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for BlobName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text)
    }
}

impl From<BlobName> for String {
    fn from(name: BlobName) -> Self {
        name.0
    }
}

impl fmt::Display for BlobName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for BlobName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

/// What a payload says that is kept elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlobRef {
    /// Its name.
    pub name: BlobName,
    /// How many bytes there are.
    pub bytes: u64,
    /// Whether they are JSON.
    pub is_json: bool,
    /// How it begins, for people; empty if it is no text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub preview: String,
}

impl BlobRef {
    /// The reference that stands for a payload of a job.
    pub fn to(owner: JobId, payload: &Payload) -> Self {
        let head = &payload.bytes[..payload.bytes.len().min(limits::BLOB_PREVIEW_BYTES)];
        let valid = std::str::from_utf8(head).map_or_else(|e| e.valid_up_to(), str::len);
        let preview = String::from_utf8_lossy(&head[..valid]).replace('\0', "\u{FFFD}");
        Self {
            name: BlobName::of(owner, &payload.bytes),
            bytes: payload.bytes.len() as u64,
            is_json: payload.codec == Codec::Json,
            preview,
        }
    }

    /// The payload that a store keeps in its place.
    pub fn to_payload(&self) -> Payload {
        // A map of texts and numbers always has a JSON form.
        Payload { codec: Codec::Blob, bytes: serde_json::to_vec(self).unwrap_or_default().into() }
    }

    /// What a payload refers to, if it does.
    ///
    /// # Errors
    /// It refers to something that this build cannot read.
    pub fn of(payload: &Payload) -> Result<Option<Self>, String> {
        if payload.codec != Codec::Blob {
            return Ok(None);
        }
        serde_json::from_slice(&payload.bytes)
            .map(Some)
            .map_err(|e| format!("a reference to a blob cannot be read: {e}"))
    }

    /// The payload itself, of what its home has under the name.
    ///
    /// # Errors
    /// It is another content than the one that was put there.
    pub fn restore(&self, bytes: Bytes) -> Result<Payload, String> {
        if BlobName::of(self.name.owner(), &bytes) != self.name {
            return Err(format!("the blob {} has another content than it had", self.name));
        }
        Ok(Payload { codec: if self.is_json { Codec::Json } else { Codec::Raw }, bytes })
    }
}

/// A blob in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlobLine {
    /// Its name.
    pub name: BlobName,
    /// How long ago it was put there.
    pub age: Duration,
}

/// A home of blobs: a folder, a table, a bucket. Names are unique, and what has been put there is never changed.
pub trait BlobStore: Send + Sync + 'static {
    /// Keeps these bytes under a name. On disk when it is answered; the same name again has the same bytes, and changes at most
    /// its age.
    fn put(&self, name: BlobName, bytes: Bytes) -> BoxFuture<'_, StoreResult<()>>;

    /// The bytes under a name; `None` if there are none.
    fn get(&self, name: BlobName) -> BoxFuture<'_, StoreResult<Option<Bytes>>>;

    /// Names by their text, behind one, at most `limit`.
    fn list(&self, after: Option<BlobName>, limit: u32) -> BoxFuture<'_, StoreResult<Vec<BlobLine>>>;

    /// Deletes what is under these names; one that is not there is no error.
    fn delete(&self, names: Vec<BlobName>) -> BoxFuture<'_, StoreResult<()>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_comes_back_whole_and_another_content_is_seen() {
        let owner = JobId::from_bytes([7; 16]);
        let payload = Payload::json(&"ü".repeat(5_000)).unwrap();
        let blob = BlobRef::to(owner, &payload);
        assert_eq!((blob.name.owner(), blob.bytes), (owner, 10_002));
        assert!(blob.preview.len() <= limits::BLOB_PREVIEW_BYTES && blob.preview.starts_with("\"üü"));
        let kept = blob.to_payload();
        assert!(kept.bytes.len() < 2_000);
        assert_eq!(BlobRef::of(&kept).unwrap(), Some(blob.clone()));
        assert_eq!(BlobRef::of(&payload).unwrap(), None);
        assert_eq!(blob.restore(payload.bytes.clone()).unwrap(), payload);
        assert!(blob.restore(Bytes::from_static(b"1")).is_err());
        assert!(kept.decode::<String>().unwrap_err().problem.contains("kept elsewhere"));
    }

    #[test]
    fn names_differ_with_their_content_and_what_is_none_is_refused() {
        let owner = JobId::from_bytes([7; 16]);
        let names = [&b""[..], b"\0", b"\0\0", b"a", b"b", b"12345678", b"123456780", b"12345678\0"]
            .map(|b| BlobName::of(owner, b));
        let mut unique = names.to_vec();
        unique.sort();
        unique.dedup();
        assert_eq!(unique.len(), names.len());
        assert_eq!(BlobName::parse(names[0].as_str()).as_ref(), Ok(&names[0]));
        for text in ["", "a.b", "../../etc/passwd", &names[0].as_str()[1..], &format!("{}0", names[0])] {
            assert!(BlobName::parse(text).is_err(), "{text}");
        }
    }
}
