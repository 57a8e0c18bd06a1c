//! What a test expects to be enqueued, and how far that is from what is.

use serde_json::Value;
use towpath_core::store::{JobFilter, Page};
use towpath_core::{Kind, State as JobState};

use super::harness::{Harness, told};
use crate::job::Job;

/// Jobs read at a time.
const PAGE: u32 = 500;

impl Harness {
    /// The inputs of the jobs of a kind that have not ended, in the order in which they were enqueued.
    ///
    /// # Panics
    /// One cannot be read as this type.
    pub async fn enqueued<J: Job>(&self) -> Vec<J> {
        let read = |value| serde_json::from_value(value).unwrap_or_else(|e| panic!("a stored {}: {e}", J::KIND));
        self.inputs(J::KIND).await.into_iter().map(read).collect()
    }

    /// Passes if a job like this one is enqueued and has not ended.
    ///
    /// # Panics
    /// None is. The text says in what the most similar one differs.
    pub async fn assert_enqueued<J: Job>(&self, job: &J) {
        let expected = serde_json::to_value(job).unwrap_or_else(|e| panic!("the expected {}: {e}", J::KIND));
        let found = self.inputs(J::KIND).await;
        if !found.contains(&expected) {
            panic!("{}", missing(J::KIND, &expected, &found));
        }
    }

    /// Passes if no job of this kind is enqueued that has not ended.
    ///
    /// # Panics
    /// One is. The text has it.
    pub async fn assert_none_enqueued<J: Job>(&self) {
        let found = self.inputs(J::KIND).await;
        if let Some(first) = found.first() {
            panic!("no {} is to be enqueued, and {} are, first: {first}", J::KIND, found.len());
        }
    }

    async fn inputs(&self, kind: &str) -> Vec<Value> {
        let inspect = self.client().inspect();
        let filter = JobFilter { kind: Some(Kind::from_stored(kind)), ..JobFilter::default() };
        let mut lines = Vec::new();
        let mut after = None;
        loop {
            let page = told(inspect.jobs(filter.clone(), Page { after, limit: PAGE }).await);
            after = page.last().map(|line| line.key);
            let is_last = page.len() < PAGE as usize;
            lines.extend(page.into_iter().filter(|line| !matches!(line.state, JobState::Ended(_))));
            if is_last {
                break;
            }
        }
        lines.sort_by_key(|line| line.key);
        let mut inputs = Vec::new();
        for line in lines {
            // One that was pruned meanwhile is no longer enqueued.
            if let Some(detail) = told(inspect.job(line.id).await) {
                inputs.push(detail.input.decode().unwrap_or_else(|e| panic!("the input of job {}: {e}", line.id)));
            }
        }
        inputs
    }
}

/// What to tell about a job that is not there.
fn missing(kind: &str, expected: &Value, found: &[Value]) -> String {
    let closest = found.iter().map(|value| differences("", expected, value)).min_by_key(Vec::len);
    match closest {
        None => format!("no {kind} is enqueued; expected {expected}"),
        Some(lines) => format!(
            "no such {kind} is enqueued among {}; the most similar differs in\n  {}",
            found.len(),
            lines.join("\n  ")
        ),
    }
}

/// A line for each place at which two values differ.
fn differences(at: &str, expected: &Value, found: &Value) -> Vec<String> {
    let below = |key: &str| if at.is_empty() { key.to_owned() } else { format!("{at}.{key}") };
    match (expected, found) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            let side = |side: &serde_json::Map<String, Value>, key: &String| side.get(key).cloned().unwrap_or_default();
            keys.into_iter().flat_map(|key| differences(&below(key), &side(a, key), &side(b, key))).collect()
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let pairs = a.iter().zip(b).enumerate();
            pairs.flat_map(|(n, (a, b))| differences(&below(&n.to_string()), a, b)).collect()
        }
        _ if expected == found => Vec::new(),
        _ => {
            let place = if at.is_empty() { "its input" } else { at };
            vec![format!("{place}: expected {expected}, found {found}")]
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_most_similar_one_is_shown_with_its_differences() {
        let expected = json!({"to": "ann", "copies": [1, 2], "by": {"post": true}});
        let far = json!({"to": "bob", "copies": [], "by": null});
        let near = json!({"to": "ann", "copies": [1, 3], "by": {"post": true}});
        assert_eq!(
            missing("mail", &expected, &[far, near]),
            "no such mail is enqueued among 2; the most similar differs in\n  copies.1: expected 2, found 3"
        );
        assert_eq!(missing("mail", &json!(1), &[]), "no mail is enqueued; expected 1");
    }
}
