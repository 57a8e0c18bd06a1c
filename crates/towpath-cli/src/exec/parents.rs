//! What a command is told of its parents: `{"<parent>": {"state": …, "output": …, "error": …}}`.

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::value::RawValue;
use towpath::core::store::Upstream;

#[derive(Serialize)]
struct Parent<'a> {
    state: &'static str,
    /// As the parent wrote it, byte by byte.
    output: Option<&'a RawValue>,
    error: Option<&'a str>,
}

struct Parents<'a>(&'a [Upstream]);

impl Serialize for Parents<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        let mut seen: Vec<&str> = Vec::new();
        for parent in self.0 {
            // Two edges from one parent are one parent.
            if seen.contains(&parent.node.as_str()) {
                continue;
            }
            seen.push(parent.node.as_str());
            let output = parent.output.as_ref().and_then(|o| serde_json::from_slice(&o.bytes).ok());
            let line = Parent { state: parent.state.word(), output, error: parent.error.as_deref() };
            map.serialize_entry(parent.node.as_str(), &line)?;
        }
        map.end()
    }
}

/// The JSON text, with a line end.
pub(super) fn as_json(parents: &[Upstream]) -> Vec<u8> {
    // Texts and raw JSON always have a JSON form.
    let mut json = serde_json::to_vec(&Parents(parents)).unwrap_or_else(|_| b"{}".to_vec());
    json.push(b'\n');
    json
}

#[cfg(test)]
mod tests {
    use super::*;
    use towpath::core::State;
    use towpath::{End, NodeName, Payload};

    #[test]
    fn parents_come_in_order_with_their_output_untouched() {
        let parent = |name: &str, end, output: Option<&'static [u8]>, error: Option<&str>| Upstream {
            node: NodeName::new(name).unwrap(),
            state: State::Ended(end),
            output: output.map(Payload::json_bytes),
            error: error.map(str::to_owned),
        };
        let parents = [
            parent("b", End::Succeeded, Some(b"{\"z\":1.10,\"a\":12345678901234567890123}"), None),
            parent("a", End::Dead, None, Some("exit status 1")),
            parent("b", End::Succeeded, None, None),
        ];
        assert_eq!(
            String::from_utf8(as_json(&parents)).unwrap(),
            "{\"b\":{\"state\":\"succeeded\",\"output\":{\"z\":1.10,\"a\":12345678901234567890123},\"error\":null},\
             \"a\":{\"state\":\"dead\",\"output\":null,\"error\":\"exit status 1\"}}\n"
        );
        assert_eq!(as_json(&[]), b"{}\n");
    }
}
