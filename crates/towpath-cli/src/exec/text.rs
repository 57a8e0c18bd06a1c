//! Texts of a command or a call: written out, computed from what is above, or secret.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use towpath::core::builtin::Scope;
use towpath::expression::{Expression, Facts};
use towpath::{Context, Failure};

use super::redact::Redactor;

/// A text as it is stored. Of a secret only the place is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Text {
    /// The text itself.
    Literal(String),
    /// The value of an expression: a text as it is, everything else as JSON.
    From {
        /// In CEL.
        from: String,
    },
    /// What a variable or a file of the machine that runs the node holds.
    Secret {
        /// Where.
        secret: Secret,
    },
}

/// Where a secret is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Secret {
    /// In a variable of the process.
    Env(String),
    /// In a file; a line end at its end is not part of it.
    File(String),
}

impl Text {
    /// The text, if it is written out.
    pub(crate) fn literal(&self) -> Option<&str> {
        match self {
            Self::Literal(text) => Some(text),
            _ => None,
        }
    }
}

/// The texts of one attempt, and what must not be shown of it.
pub(crate) struct Texts {
    values: Vec<Value>,
    pub(crate) redactor: Redactor,
}

impl Texts {
    /// Computes texts, and reads secrets.
    ///
    /// # Errors
    /// A value cannot be computed, a secret is not there, or the store cannot be asked.
    pub(crate) async fn resolve(cx: &Context, texts: &[&Text], scope: &Scope) -> Result<Self, Failure> {
        let mut expressions = Vec::new();
        for text in texts {
            if let Text::From { from } = text {
                expressions.push(Expression::parse(from).map_err(Failure::permanent)?);
            }
        }
        let facts = match expressions.is_empty() {
            true => Facts::default(),
            false => Facts::gather(cx, &expressions.iter().collect::<Vec<_>>(), scope).await?,
        };
        let computed = tokio::task::spawn_blocking(move || {
            expressions.iter().map(|expression| value(expression, &facts)).collect::<Result<Vec<_>, _>>()
        });
        let computed = computed.await.map_err(|e| Failure::new(format!("the evaluation was stopped: {e}")))?;
        let mut computed = computed.map_err(Failure::permanent)?.into_iter();
        let mut redactor = Redactor::default();
        let values = texts.iter().map(|text| match text {
            Text::Literal(text) => Ok(Value::from(text.clone())),
            // There are as many as texts of this kind.
            Text::From { .. } => Ok(computed.next().unwrap_or_default()),
            Text::Secret { secret } => {
                let text = secret.read()?;
                redactor.add(&text);
                Ok(Value::from(text))
            }
        });
        let values = values.collect::<Result<_, Failure>>()?;
        Ok(Self { values, redactor })
    }

    /// The texts in their order, of values that are no texts the JSON.
    pub(crate) fn iter(&self) -> impl Iterator<Item = String> {
        self.values.iter().map(|value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        })
    }

    /// Whether the text at a place is a value that is no text.
    pub(crate) fn is_json(&self, at: usize) -> bool {
        self.values.get(at).is_some_and(|value| !value.is_string())
    }
}

/// A value that can be handed on: null is none, and no process can be given a NUL.
fn value(expression: &Expression, facts: &Facts) -> Result<Value, String> {
    let value = expression.evaluate(facts).map_err(|e| e.problem)?;
    match &value {
        Value::Null => Err(format!("`{expression}` is null: write `has(…) ? … : \"\"` where it may be")),
        Value::String(text) if text.contains('\0') => Err(format!("the value of `{expression}` holds a NUL character")),
        _ => Ok(value),
    }
}

impl Secret {
    fn read(&self) -> Result<String, Failure> {
        let text = match self {
            Self::Env(name) => std::env::var(name)
                .map_err(|_| Failure::permanent(format!("the secret is not there: no variable {name} is set")))?,
            Self::File(path) => {
                let text = std::fs::read_to_string(path);
                let text = text.map_err(|e| Failure::permanent(format!("the secret cannot be read: {path}: {e}")))?;
                let text = text.strip_suffix('\n').unwrap_or(&text);
                text.strip_suffix('\r').unwrap_or(text).to_owned()
            }
        };
        if text.is_empty() || text.contains('\0') {
            return Err(Failure::permanent(format!("the secret in {self} is empty, or holds a NUL character")));
        }
        Ok(text)
    }
}

impl std::fmt::Display for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Env(name) => write!(f, "the variable {name}"),
            Self::File(path) => f.write_str(path),
        }
    }
}
