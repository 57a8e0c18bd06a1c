//! A node that calls a server.

use std::ops::Range;

use toml::de::DeValue;

use super::NodeReader;
use super::does::ByName;
use crate::exec::Text;
use crate::flow::problem::Problem;
use crate::flow::read::{Place, in_order, wrong_type};

/// A call as read.
#[derive(Debug)]
pub(in crate::flow) struct DraftHttp {
    pub(in crate::flow) method: String,
    pub(in crate::flow) url: Text,
    pub(in crate::flow) headers: ByName<Text>,
    pub(in crate::flow) body: Option<Text>,
    /// Empty: any of 200 to 299.
    pub(in crate::flow) expect: Vec<u16>,
}

/// The fields of a call.
pub(crate) const FIELDS: [&str; 5] = ["method", "url", "headers", "body", "expect"];
pub(crate) const METHODS: [&str; 6] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

impl NodeReader<'_> {
    /// `"https://…"`, or a table.
    pub(super) fn http(&mut self, value: Place<'_, '_>) -> Option<DraftHttp> {
        let help = "write http = { method = \"POST\", url = \"https://…\" }";
        let Some(table) = value.get_ref().as_table() else {
            if value.get_ref().is_str() {
                let url = self.url(value)?;
                return Some(DraftHttp {
                    method: "GET".into(),
                    url,
                    headers: ByName::new(),
                    body: None,
                    expect: Vec::new(),
                });
            }
            self.problem(wrong_type("`http`", "a URL or a table", value).help(help));
            return None;
        };
        let (mut method, mut url, mut is_there) = (None, None, false);
        let (mut headers, mut body, mut expect) = (ByName::new(), None, Vec::new());
        let mut body_span = None;
        for (key, value) in in_order(table) {
            match key.get_ref().as_ref() {
                "method" => method = Some(self.method(value)),
                "url" => {
                    is_there = true;
                    url = self.url(value);
                }
                "headers" => headers = self.headers(value),
                "body" => {
                    body_span = Some(value.span());
                    body = self.any_text("`body`", value);
                }
                "expect" => expect = self.expect(value),
                other => self.unknown(other, key.span(), "`http`", &FIELDS),
            }
        }
        if !is_there {
            self.problem(Problem::new("`http` has no `url`").at(value.span(), "which server?").help(help));
        }
        let default = if body_span.is_some() { "POST" } else { "GET" };
        let method = method.unwrap_or_else(|| Some(default.to_owned()))?;
        if let (Some(span), "GET" | "HEAD") = (body_span, method.as_str()) {
            let problem = Problem::new(format!("{method} has no `body`")).at(span, "it would not be sent");
            self.problem(problem.help("remove it, or write method = \"POST\""));
        }
        Some(DraftHttp { method, url: url?, headers, body, expect })
    }

    fn method(&mut self, value: Place<'_, '_>) -> Option<String> {
        let text = self.text("`method`", value)?;
        if METHODS.contains(&text.as_str()) {
            return Some(text);
        }
        let problem = Problem::new(format!("there is no method {text:?}")).at(value.span(), "here");
        self.problem(problem.help(format!("use one of {}", METHODS.join(", "))));
        None
    }

    fn url(&mut self, value: Place<'_, '_>) -> Option<Text> {
        let url = self.open_text("`url`", value)?;
        if let Text::Literal(text) = &url {
            let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
            let host = rest.map(|rest| rest.split(['/', '?', '#']).next().unwrap_or_default());
            match host {
                Some(host) if host.contains('@') => {
                    // Without its place: that would show it.
                    let problem = Problem::new("a `url` holds a password, which would be stored");
                    self.problem(
                        problem
                            .help("send it in a header: headers = { Authorization = { secret = { env = \"NAME\" } } }"),
                    );
                    return None;
                }
                Some(host) if !host.is_empty() && !text.contains(char::is_whitespace) => {}
                _ => {
                    let problem = Problem::new("`url` is no URL").at(value.span(), "here");
                    self.problem(problem.help("it begins with https:// or http:// and a host, and has no spaces"));
                    return None;
                }
            }
        }
        Some(url)
    }

    fn headers(&mut self, value: Place<'_, '_>) -> ByName<Text> {
        let mut headers = ByName::new();
        let Some(table) = value.get_ref().as_table() else {
            self.problem(wrong_type("`headers`", "a table", value).help("write headers = { Accept = \"text/plain\" }"));
            return headers;
        };
        for (key, value) in in_order(table) {
            let name = key.get_ref().as_ref();
            if !is_token(name) {
                self.problem(Problem::new("a header cannot be named so").at(key.span(), "letters, digits and hyphens"));
            } else if let Some(text) = self.any_text(&format!("the header `{name}`"), value) {
                match &text {
                    Text::Literal(line) if line.contains(char::is_control) => {
                        let problem = Problem::new(format!("the header `{name}` holds a control character"));
                        self.problem(problem.at(value.span(), "such as a line end").help("remove it"));
                    }
                    _ => {
                        headers.insert(name.to_owned(), text);
                    }
                }
            }
        }
        headers
    }

    fn expect(&mut self, value: Place<'_, '_>) -> Vec<u16> {
        match value.get_ref() {
            DeValue::Array(items) if items.is_empty() => self.status(value, value.span()).into_iter().collect(),
            DeValue::Array(items) => items.iter().filter_map(|item| self.status(item, item.span())).collect(),
            _ => self.status(value, value.span()).into_iter().collect(),
        }
    }

    fn status(&mut self, value: Place<'_, '_>, span: Range<usize>) -> Option<u16> {
        let number = value.get_ref().as_integer().and_then(|n| n.as_str().parse::<u16>().ok());
        let status = number.filter(|status| (100..=599).contains(status));
        if status.is_none() {
            let problem = Problem::new("`expect` is a status from 100 to 599, or a list of them");
            let problem = problem.at(span, "this is none");
            self.problem(problem.help("such as expect = 201, or expect = [200, 404]; 200 to 299 if left out"));
        }
        status
    }
}

/// A name as RFC 9110 §5.1 has it, as far as it is used.
fn is_token(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.!#$&'*+^`|~%".contains(&b))
}
