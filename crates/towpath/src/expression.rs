//! Conditions as data: expressions in CEL over what nodes have left, with bounded cost.
//!
//! An expression is read once, judged before anything is written (its names, its functions, its size), and evaluated
//! where its node runs. It cannot call out, loop without end, or grow without bound.

mod facts;
mod read;
mod value;

pub use facts::{Fact, Facts};

use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use cel::{Env, ExecutionError, IdedExpr, Value};
use towpath_core::limits;

/// An expression that was read and found well-formed.
#[derive(Clone)]
pub struct Expression {
    text: String,
    tree: Arc<IdedExpr>,
    uses: Uses,
}

/// What an expression names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    /// Nodes whose output, state or error is named one by one.
    pub nodes: BTreeSet<String>,
    /// Parameters named one by one.
    pub params: BTreeSet<String>,
    /// Whether it names the element of a list, `each`.
    pub each: bool,
}

/// Why an expression cannot be read or has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpressionError {
    /// What is wrong, and what to do.
    pub problem: String,
}

impl fmt::Display for ExpressionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem)
    }
}

impl std::error::Error for ExpressionError {}

impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Expression").field(&self.text).finish()
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Expression {
    /// Reads an expression.
    ///
    /// ```
    /// # use towpath::expression::{Expression, Facts};
    /// let expression = Expression::parse("input.cents > 1000 && !(\"gift\" in input.tags)")?;
    /// let facts = Facts::default().input(&serde_json::json!({ "cents": 1200, "tags": ["new"] }));
    /// assert_eq!(expression.holds(&facts), Ok(true));
    /// # Ok::<_, towpath::expression::ExpressionError>(())
    /// ```
    ///
    /// # Errors
    /// It is too long, no CEL, too deep, or names a variable or function that is not there.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        let (tree, uses) = roomy(|| read::read(text))??;
        Ok(Self { text: text.to_owned(), tree: Arc::new(tree), uses })
    }

    /// What it names.
    pub fn uses(&self) -> &Uses {
        &self.uses
    }

    /// Its value, as JSON.
    ///
    /// Takes as long as its loops, which are bounded: call it where blocking is allowed if the facts are large.
    ///
    /// # Errors
    /// What cannot be computed (a missing field, types that do not fit), and more than 10,000 turns of its loops.
    pub fn evaluate(&self, facts: &Facts) -> Result<serde_json::Value, ExpressionError> {
        roomy(|| {
            let value = self.value(facts)?;
            value.json().map_err(|_| error(format!("the value of `{}` has no JSON form", self.text)))
        })?
    }

    /// Whether it holds.
    ///
    /// # Errors
    /// As [`evaluate`](Self::evaluate), and when it is neither true nor false.
    pub fn holds(&self, facts: &Facts) -> Result<bool, ExpressionError> {
        roomy(|| match self.value(facts)? {
            Value::Bool(holds) => Ok(holds),
            other => Err(error(format!("`{}` is neither true nor false, but {}", self.text, value::shown(&other)))),
        })?
    }

    fn value(&self, facts: &Facts) -> Result<Value, ExpressionError> {
        let mut context = cel::Context::with_env(Arc::clone(&ENV));
        facts.add_to(&mut context);
        let fuel = Arc::new(AtomicU64::new(0));
        let (loops, growth) = (Arc::clone(&fuel), Arc::new(AtomicU64::new(0)));
        let charge = move |range: Value| {
            let turns = value::length(&range);
            let used = loops.fetch_add(turns, Ordering::Relaxed) + turns;
            if used > TURNS_MAX { Err(ExecutionError::function_error("loop", over_turns())) } else { Ok(range) }
        };
        let add = move |left: Value, right: Value| {
            let size = value::length(&left) + value::length(&right);
            let grown = growth.fetch_add(size, Ordering::Relaxed) + size;
            if grown > GROWTH_MAX {
                return Err(ExecutionError::function_error("+", over_growth()));
            }
            left + right
        };
        // Only a name that is taken would be refused, and no name of CEL begins so.
        let registered = context.add_function(read::CHARGE, charge).and(context.add_function(read::ADD, add));
        registered.map_err(|e| error(e.to_string()))?;
        context.resolve(&self.tree).map_err(|e| error(format!("`{}`: {}", self.text, said(&e))))
    }
}

/// Does something on a stack that is large enough: reader and evaluator go down with the expression, 20 KiB and more a
/// level, and the stack of a task may be 2 MiB or less. A thread costs some ten microseconds.
fn roomy<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, ExpressionError> {
    std::thread::scope(|scope| {
        let thread =
            std::thread::Builder::new().name("towpath-cel".into()).stack_size(STACK_BYTES).spawn_scoped(scope, work);
        let thread = thread.map_err(|e| error(format!("no thread can be started to evaluate it: {e}")))?;
        thread.join().map_err(|_| error("the evaluation panicked: please report it"))
    })
}

/// An error of the evaluation in our words, not longer than a screen.
fn said(error: &ExecutionError) -> String {
    let text = match error {
        ExecutionError::NoSuchKey(key) => format!("there is no field `{key}`: ask with has(…) first"),
        ExecutionError::FunctionError { message, .. } => message.clone(),
        ExecutionError::UndeclaredReference(name) => format!("there is no variable or function `{name}`"),
        ExecutionError::NoSuchOverload(error) => {
            not_for(error.function(), &error.argument_types().iter().map(String::as_str).collect::<Vec<_>>())
        }
        ExecutionError::UnsupportedBinaryOperator(operator, left, right) => {
            let (left, right) = (left.type_of().to_string(), right.type_of().to_string());
            not_for(operator, &[&left, &right])
        }
        other => other.to_string(),
    };
    limits::cut(&text, ERROR_BYTES_MAX)
}

/// What an operator or a function was given that it does not take.
fn not_for(function: &str, types: &[&str]) -> String {
    let shown = |of: &str| match of {
        "map" => "an object".to_owned(),
        "null_type" | "null" => "null".to_owned(),
        "int" => "an integer".to_owned(),
        "uint" => "an unsigned integer".to_owned(),
        "double" | "float" => "a number with a fraction".to_owned(),
        other => format!("a {other}"),
    };
    let function = match function {
        "add" => "+",
        "sub" => "-",
        "mul" => "*",
        "div" => "/",
        "rem" => "%",
        other => other.trim_matches('_'),
    };
    match (function, types) {
        (".", [of, _]) => format!("a field is asked of {}, and only an object has fields", shown(of)),
        ("[_]", [of, by]) => format!("{} cannot be indexed by {}", shown(of), shown(by)),
        (function, types) => {
            let types: Vec<String> = types.iter().map(|of| shown(of)).collect();
            format!("`{function}` does not take {}", types.join(" and "))
        }
    }
}

fn over_turns() -> String {
    format!("its loops take more than {TURNS_MAX} turns: let the node before it count, and look at its result")
}

fn over_growth() -> String {
    format!("it puts together more than {GROWTH_MAX} bytes or items: let a job do that")
}

fn error(problem: impl Into<String>) -> ExpressionError {
    ExpressionError { problem: problem.into() }
}

/// The standard functions, the same for all.
static ENV: LazyLock<Arc<Env>> = LazyLock::new(|| Arc::new(Env::stdlib()));

/// Turns of all loops of one evaluation. Enough for a list that fits a condition; far less than a second.
const TURNS_MAX: u64 = 10_000;
/// Bytes and items that one evaluation may put together.
const GROWTH_MAX: u64 = 4 << 20;
const ERROR_BYTES_MAX: usize = 500;
/// Only what is used of it is there.
const STACK_BYTES: usize = 16 << 20;

#[cfg(test)]
mod tests;
