//! Gates whose branches are expressions.

use serde::{Deserialize, Serialize};
use towpath_core::builtin;
use towpath_core::{Label, Payload};

use crate::context::Context;
use crate::expression::{Expression, Facts};
use crate::failure::Failure;
use crate::job::Job;
use crate::middleware::Left;

/// A gate whose branches are expressions: the first that holds is taken. Its output is the branch's label.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ExpressionGate(pub(crate) builtin::Gate);

impl Job for ExpressionGate {
    const KIND: &'static str = builtin::GATE;
    type Output = String;
}

/// Performs one attempt. What is wrong with an expression stays wrong, so such a failure is for good; that the store could
/// not be asked is not.
pub(super) async fn choose(gate: ExpressionGate, cx: Context) -> Result<Left, Failure> {
    let label = chosen(gate.0, &cx).await?;
    // A label always has a JSON form.
    let output = Payload::json(&label).ok();
    Ok(Left { output, branches: vec![label] })
}

async fn chosen(gate: builtin::Gate, cx: &Context) -> Result<Label, Failure> {
    let labels = gate.branches.iter().map(|(label, _)| label.as_str()).collect::<Vec<_>>().join(", ");
    let cannot = |why: String| Failure::permanent(format!("{why}; the branches are {labels}"));
    let mut branches = Vec::with_capacity(gate.branches.len());
    for (label, text) in gate.branches {
        let expression = Expression::parse(&text).map_err(|e| cannot(format!("branch {label}: {e}")))?;
        branches.push((label, expression));
    }
    let expressions: Vec<&Expression> = branches.iter().map(|(_, expression)| expression).collect();
    let facts = Facts::gather(cx, &expressions, &gate.scope).await?;
    let decided = tokio::task::spawn_blocking(move || {
        for (label, expression) in branches {
            match expression.holds(&facts) {
                Ok(true) => return Ok(Some(label)),
                Ok(false) => {}
                Err(e) => return Err(format!("branch {label}: {e}")),
            }
        }
        Ok(None)
    });
    let decided = decided.await.map_err(|e| Failure::new(format!("the evaluation was stopped: {e}")))?;
    decided.map_err(cannot)?.ok_or_else(|| cannot("no expression holds: let the last be \"true\"".to_owned()))
}
