//! A site to ask, and answers checked against the API's own description.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Method, Request, StatusCode};
use serde_json::Value;
use tower::ServiceExt;
use towpath::Client;
use towpath_web::WebOptions;

/// A router as its callers see it.
pub(crate) struct Site {
    router: Router,
    /// Headers of every request.
    headers: Vec<(&'static str, String)>,
}

/// An answer.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.body))
    }

    /// The code of a problem.
    pub(crate) fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap().to_owned()
    }
}

impl Site {
    pub(crate) fn new(client: &Client, options: WebOptions) -> Self {
        Self { router: towpath_web::router(client.clone(), options), headers: Vec::new() }
    }

    /// Mounted under a path, as in an application.
    pub(crate) fn under(path: &str, client: &Client, options: WebOptions) -> Self {
        let router = Router::new().nest(path, towpath_web::router(client.clone(), options));
        Self { router, headers: Vec::new() }
    }

    pub(crate) fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    /// Asks, and holds the answer of the API against its description.
    pub(crate) async fn ask(&self, method: Method, path: &str, body: Option<Value>) -> Answer {
        let mut request = Request::builder().method(method.clone()).uri(path).header("host", "localhost");
        if body.is_some() {
            request = request.header("content-type", "application/json");
        }
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
        let answer = self.send(request.body(body).unwrap()).await;
        if path.contains("/api/") && !path.contains("openapi") {
            schema::check(method.as_str(), path, &answer);
        }
        answer
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = String::from_utf8(to_bytes(body, usize::MAX).await.unwrap().to_vec()).unwrap();
        Answer { status: parts.status, headers: parts.headers, body }
    }

    /// The pieces of an answer that does not end.
    pub(crate) async fn stream(&self, path: &str) -> axum::body::BodyDataStream {
        let request = Request::get(path).header("host", "localhost").body(Body::empty()).unwrap();
        self.router.clone().oneshot(request).await.unwrap().into_body().into_data_stream()
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.ask(Method::GET, path, None).await
    }

    /// An answer that is as asked.
    pub(crate) async fn json(&self, path: &str) -> Value {
        let answer = self.get(path).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}: {}", answer.body);
        answer.json()
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answer {
        self.ask(Method::POST, path, Some(body)).await
    }
}

/// Whether answers are as `openapi.json` says.
mod schema {
    use serde_json::Value;

    use super::Answer;

    /// Holds an answer against the description of its path, method and status.
    pub(super) fn check(method: &str, path: &str, answer: &Answer) {
        let described: Value = serde_json::from_str(include_str!("../../src/api/openapi.json")).unwrap();
        let asked = &path[path.find("/api/").unwrap()..];
        let asked = asked.split('?').next().unwrap();
        let known = described["paths"].as_object().unwrap();
        let found = known.iter().find(|(known, _)| is_path(known, asked));
        // What is not described is answered with a problem.
        let schema = match found.map(|(_, item)| &item[method.to_lowercase()]).filter(|operation| operation.is_object())
        {
            Some(operation) => {
                let status = if answer.status.is_success() { "200" } else { "default" };
                operation["responses"][status]["content"]["application/json"]["schema"].clone()
            }
            None => serde_json::json!({ "$ref": "#/components/schemas/Problem" }),
        };
        assert_eq!(answer.headers["content-type"], "application/json", "{method} {path}: {}", answer.body);
        let problems = mismatches(&described, &schema, &answer.json(), "$");
        assert!(problems.is_empty(), "{method} {path}: {problems:#?}\n{}", answer.body);
    }

    fn is_path(known: &str, asked: &str) -> bool {
        let (known, asked): (Vec<_>, Vec<_>) = (known.split('/').collect(), asked.split('/').collect());
        known.len() == asked.len() && known.iter().zip(&asked).all(|(k, a)| k == a || k.starts_with('{'))
    }

    /// Where a value is not as a schema says. Knows the words of JSON Schema that the description uses, and no others.
    pub(super) fn mismatches(root: &Value, schema: &Value, value: &Value, at: &str) -> Vec<String> {
        let mut found = Vec::new();
        for (word, rule) in schema.as_object().unwrap() {
            match word.as_str() {
                "$ref" => {
                    let pointer = rule.as_str().unwrap().trim_start_matches('#');
                    found.extend(mismatches(root, root.pointer(pointer).unwrap(), value, at));
                }
                "type" => {
                    let types: Vec<&str> = match rule {
                        Value::Array(types) => types.iter().filter_map(Value::as_str).collect(),
                        one => vec![one.as_str().unwrap()],
                    };
                    if !types.iter().any(|of| is_of_type(of, value)) {
                        found.push(format!("{at} is {value}, not {types:?}"));
                    }
                }
                "enum" if !rule.as_array().unwrap().contains(value) => {
                    found.push(format!("{at} is {value}, not of {rule}"))
                }
                "minimum" if value.as_i64() < rule.as_i64() && value.is_i64() => found.push(format!("{at} is {value}")),
                "maximum" if value.as_i64() > rule.as_i64() && value.is_i64() => found.push(format!("{at} is {value}")),
                "oneOf" => {
                    let fits =
                        rule.as_array().unwrap().iter().filter(|s| mismatches(root, s, value, at).is_empty()).count();
                    if fits != 1 {
                        found.push(format!("{at} is {value}, which fits {fits} of {rule}"));
                    }
                }
                "items" => {
                    for (place, item) in value.as_array().into_iter().flatten().enumerate() {
                        found.extend(mismatches(root, rule, item, &format!("{at}[{place}]")));
                    }
                }
                "required" => {
                    let missing = rule.as_array().unwrap().iter().filter_map(Value::as_str);
                    let missing = missing.filter(|name| value.is_object() && value.get(name).is_none());
                    found.extend(missing.map(|name| format!("{at} has no {name}")));
                }
                "properties" => {
                    for (name, rule) in rule.as_object().unwrap() {
                        if let Some(value) = value.get(name) {
                            found.extend(mismatches(root, rule, value, &format!("{at}.{name}")));
                        }
                    }
                }
                "additionalProperties" => {
                    let named = schema.get("properties").and_then(Value::as_object);
                    let others = value.as_object().into_iter().flatten();
                    for (name, value) in others.filter(|(name, _)| named.is_none_or(|named| !named.contains_key(*name)))
                    {
                        match rule {
                            Value::Bool(true) => {}
                            Value::Bool(false) => found.push(format!("{at} has {name}, which is not described")),
                            rule => found.extend(mismatches(root, rule, value, &format!("{at}.{name}"))),
                        }
                    }
                }
                "format" | "pattern" => found.extend(check_text(word, rule, value).map(|e| format!("{at}: {e}"))),
                "enum" | "minimum" | "maximum" | "description" => {}
                other => panic!("the description uses {other:?}, which is not checked here"),
            }
        }
        found
    }

    fn check_text(word: &str, rule: &Value, value: &Value) -> Option<String> {
        let text = value.as_str()?;
        let fits = match (word, rule.as_str()?) {
            ("format", "uuid") => text.len() == 36 && text.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-'),
            ("format", "date-time") => text.len() == 27 && text.ends_with('Z') && text.as_bytes()[10] == b'T',
            ("pattern", "^[0-9a-f]{16}$") => text.len() == 16 && text.bytes().all(|b| b.is_ascii_hexdigit()),
            (_, other) => panic!("the description uses {other:?}, which is not checked here"),
        };
        (!fits).then(|| format!("{text:?} does not fit {rule}"))
    }

    fn is_of_type(of: &str, value: &Value) -> bool {
        match of {
            "null" => value.is_null(),
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "integer" => value.is_i64() || value.is_u64(),
            "number" => value.is_number(),
            "array" => value.is_array(),
            "object" => value.is_object(),
            other => panic!("no type {other}"),
        }
    }

    #[test]
    fn a_value_off_its_schema_is_seen() {
        let root = serde_json::json!({});
        let schema = serde_json::json!({
            "type": "object", "properties": { "n": { "type": ["integer", "null"] } },
            "required": ["n"], "additionalProperties": false,
        });
        let of = |value: Value| mismatches(&root, &schema, &value, "$").len();
        assert_eq!(of(serde_json::json!({ "n": null })), 0);
        assert_eq!(of(serde_json::json!({ "n": "1" })), 1);
        assert_eq!(of(serde_json::json!({ "m": 1 })), 2);
        assert_eq!(of(serde_json::json!([])), 1);
    }
}
