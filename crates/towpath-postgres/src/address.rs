//! Options of our own in the address of a server, which the driver does not know: `pooler` and `schema`.

use crate::pooler::Pooler;

/// An address without them, and what they say.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Address {
    /// For the driver.
    pub(crate) url: String,
    pub(crate) pooler: Pooler,
    pub(crate) schema: Option<String>,
}

impl Address {
    /// Takes our options out of a URL, or out of a list of `key=value`. What `pooler` does not know is left to the driver, which
    /// refuses it by name.
    pub(crate) fn of(url: &str) -> Self {
        let mut address = Self { url: url.to_owned(), pooler: Pooler::Unsaid, schema: None };
        for (name, pooler) in [("transaction", Pooler::Transaction), ("none", Pooler::None)] {
            if let Some((url, value)) = take(&address.url, "pooler")
                && value == name
            {
                (address.url, address.pooler) = (url, pooler);
            }
        }
        if let Some((url, schema)) = take(&address.url, "schema") {
            (address.url, address.schema) = (url, Some(schema));
        }
        address
    }
}

/// An address without this option, and its value.
fn take(url: &str, name: &str) -> Option<(String, String)> {
    let is_url = url.contains("://");
    // In a URL options begin behind the `?`; a password may hold anything.
    let from = if is_url { url.find('?')? } else { 0 };
    let (mut at, key) = (from, format!("{name}="));
    let start = loop {
        let found = at + url[at..].find(&key)?;
        match url[..found].chars().next_back() {
            None | Some('?' | '&' | ' ') => break found,
            Some(_) => at = found + key.len(),
        }
    };
    let value = &url[start + key.len()..];
    let end = value.find(['&', ' ', '#']).unwrap_or(value.len());
    let (value, rest) = value.split_at(end);
    let before = &url[..start];
    let kept = match rest.strip_prefix(['&', ' ']) {
        Some(rest) => format!("{before}{rest}"),
        None => format!("{}{rest}", before.strip_suffix(['?', '&', ' ']).unwrap_or(before)),
    };
    Some((kept, value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(url: &str) -> (String, Pooler, Option<String>) {
        let Address { url, pooler, schema } = Address::of(url);
        (url, pooler, schema)
    }

    #[test]
    fn options_of_ours_are_taken_out_wherever_they_stand() {
        for (given, left) in [
            ("postgres://h/d?pooler=transaction", "postgres://h/d"),
            ("postgres://h/d?pooler=transaction&sslmode=disable", "postgres://h/d?sslmode=disable"),
            ("postgres://h/d?sslmode=disable&pooler=transaction", "postgres://h/d?sslmode=disable"),
            ("host=h pooler=transaction dbname=d", "host=h dbname=d"),
            ("host=h pooler=transaction", "host=h"),
        ] {
            assert_eq!(of(given), (left.to_owned(), Pooler::Transaction, None));
            let none = given.replace("pooler=transaction", "pooler=none");
            assert_eq!(of(&none), (left.to_owned(), Pooler::None, None));
            let schema = given.replace("pooler=transaction", "schema=app_queue");
            assert_eq!(of(&schema), (left.to_owned(), Pooler::Unsaid, Some("app_queue".into())));
        }
        let both = "postgres://h/d?schema=q&pooler=none&application_name=schema=x";
        let left = "postgres://h/d?application_name=schema=x";
        assert_eq!(of(both), (left.to_owned(), Pooler::None, Some("q".into())));
    }

    #[test]
    fn what_is_none_of_ours_stays() {
        for url in
            ["postgres://h/d", "postgres://a:schema=x@h/d", "postgres://h/d?pooler=session", "host=h my_schema=x"]
        {
            assert_eq!(of(url), (url.to_owned(), Pooler::Unsaid, None));
        }
    }
}
