//! Where the router is mounted, and links from there.

use std::fmt::{self, Write};
use std::sync::Arc;

/// The path under which the router stands, without a slash at its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Base(Arc<str>);

impl Base {
    /// The path that was asked for, without the part that the router itself sees.
    pub(crate) fn of(original: Option<&str>, seen: &str) -> Self {
        let Some(original) = original else { return Self::default() };
        let base = original.strip_suffix(seen).unwrap_or_else(|| original.strip_suffix('/').unwrap_or(original));
        // Mounted at `/x` and asked for `/x`: the router sees `/`.
        if seen == "/" && !original.ends_with('/') {
            return Self(original.into());
        }
        Self(base.trim_end_matches('/').into())
    }

    /// A link to a page: parts are escaped, and joined by slashes.
    pub(crate) fn to(&self, parts: &[&str]) -> String {
        let mut link = self.0.to_string();
        for part in parts {
            link.push('/');
            escape(part, &mut link);
        }
        // A nested router is found at `/x`, not at `/x/`.
        if link.is_empty() {
            link.push('/');
        }
        link
    }

    /// A link with a query; what is empty is left out.
    pub(crate) fn query(&self, parts: &[&str], pairs: &[(&str, &str)]) -> String {
        let mut link = self.to(parts);
        let mut joint = '?';
        for (name, value) in pairs.iter().filter(|(_, value)| !value.is_empty()) {
            link.push(joint);
            link.push_str(name);
            link.push('=');
            escape(value, &mut link);
            joint = '&';
        }
        link
    }
}

impl fmt::Display for Base {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Percent-escapes all but what a path and a query take everywhere.
fn escape(text: &str, into: &mut String) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            into.push(char::from(byte));
        } else {
            // Writing to a text cannot fail.
            let _ = write!(into, "%{byte:02X}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_is_what_the_router_does_not_see() {
        let of = |original, seen| Base::of(Some(original), seen).to_string();
        assert_eq!(of("/jobs/1", "/jobs/1"), "");
        assert_eq!(of("/a/b/jobs/1", "/jobs/1"), "/a/b");
        assert_eq!(of("/a", "/"), "/a");
        assert_eq!(of("/a/", "/"), "/a");
        assert_eq!(of("/", "/"), "");
    }

    #[test]
    fn any_name_is_one_part_of_a_link() {
        let base = Base::of(Some("/x/"), "/");
        assert_eq!(base.to(&["runs", "a/b c?\"<é"]), "/x/runs/a%2Fb%20c%3F%22%3C%C3%A9");
        assert_eq!(
            base.query(&["jobs"], &[("queue", "a&b"), ("kind", ""), ("state", "dead")]),
            "/x/jobs?queue=a%26b&state=dead"
        );
        assert_eq!((base.to(&[]).as_str(), Base::default().to(&[]).as_str()), ("/x", "/"));
    }
}
