//! From text to a tree that is known to be small, closed, and to count its own work.

use std::collections::BTreeSet;

use cel::IdedExpr;
use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, LiteralValue, SelectExpr, operators};
use cel::parser::Parser;
use towpath_core::builtin;

use super::{ExpressionError, Uses, error};

/// What counts the turns of a loop: put around what it goes through. No text can name it.
pub(super) const CHARGE: &str = "@charge";
/// What adds and counts what is put together.
pub(super) const ADD: &str = "@add";

/// Variables that every expression sees.
const VARIABLES: [&str; 5] = ["outputs", "states", "errors", "input", "params"];
/// What those see besides that are of an element of a list. It is not listed: elsewhere it is none.
const ELEMENT: &str = "each";
/// Functions of the standard library; operators and macros are known to the parser.
const FUNCTIONS: [&str; 12] =
    ["size", "contains", "startsWith", "endsWith", "string", "int", "uint", "double", "bytes", "bool", "type", "dyn"];
/// Names of types, which stand like variables.
const TYPES: [&str; 10] = ["int", "uint", "double", "bool", "string", "bytes", "list", "map", "null_type", "type"];

/// Reads a text.
pub(super) fn read(text: &str) -> Result<(IdedExpr, Uses), ExpressionError> {
    builtin::check_expression(text).map_err(error)?;
    let parser = Parser::new().max_recursion_depth(DEPTH_MAX).enable_optional_syntax(false);
    let mut tree = parser.parse(text).map_err(|errors| match errors.errors.first() {
        Some(first) if first.msg.contains("Recursion limit") => too_deep(text),
        Some(first) => error(format!("`{}` is no CEL expression: {}", shown(text), syntax(&first.msg, first.pos))),
        None => error(format!("`{}` is no CEL expression", shown(text))),
    })?;
    let mut walk = Walk { text, bound: Vec::new(), uses: Uses::default(), problems: BTreeSet::new(), is_deep: false };
    walk.walk(&mut tree, 0);
    if walk.is_deep {
        return Err(too_deep(text));
    }
    match walk.problems.into_iter().collect::<Vec<_>>().join("; ") {
        none if none.is_empty() => Ok((tree, walk.uses)),
        problems => Err(error(format!("`{}`: {problems}", shown(text)))),
    }
}

fn too_deep(text: &str) -> ExpressionError {
    let shown = shown(text);
    error(format!("`{shown}` is nested or chained too deeply: at most {DEPTH_MAX} levels are allowed"))
}

/// What the parser says, without its lists of all that it would have taken.
fn syntax(said: &str, (line, column): (isize, isize)) -> String {
    let said = said.lines().next().unwrap_or_default();
    let said = said.strip_prefix("Syntax error: ").unwrap_or(said);
    let said = said.split(" expecting ").next().unwrap_or(said).replace("'<EOF>'", "its end");
    let place = if line > 1 { format!("line {line}, column {column}") } else { format!("column {column}") };
    format!("{said} at {place}")
}

/// A long text as errors show it.
fn shown(text: &str) -> String {
    if text.chars().count() <= SHOWN_CHARS_MAX {
        return text.to_owned();
    }
    text.chars().take(SHOWN_CHARS_MAX).chain(['…']).collect()
}

/// One way through the tree: finds what it names, and makes it count.
struct Walk<'t> {
    text: &'t str,
    /// Variables of the loops around.
    bound: Vec<String>,
    uses: Uses,
    problems: BTreeSet<String>,
    is_deep: bool,
}

impl Walk<'_> {
    fn walk(&mut self, tree: &mut IdedExpr, depth: u16) {
        if depth > DEPTH_MAX {
            self.is_deep = true;
            return;
        }
        self.note_use(&tree.expr);
        let id = tree.id;
        let below = depth + 1;
        match &mut tree.expr {
            Expr::Ident(name) => self.variable(name),
            Expr::Call(call) => {
                self.function(call);
                if let Some(target) = &mut call.target {
                    self.walk(target, below);
                }
                for arg in &mut call.args {
                    self.walk(arg, below);
                }
                // What a macro appends to its own result is bounded by its turns.
                if call.func_name == operators::ADD && !starts_with_result(call) {
                    ADD.clone_into(&mut call.func_name);
                }
            }
            Expr::Comprehension(comprehension) => self.comprehension(comprehension, id, below),
            Expr::List(list) => list.elements.iter_mut().for_each(|element| self.walk(element, below)),
            Expr::Map(map) => {
                for entry in &mut map.entries {
                    if let EntryExpr::MapEntry(entry) = &mut entry.expr {
                        self.walk(&mut entry.key, below);
                        self.walk(&mut entry.value, below);
                    }
                }
            }
            Expr::Select(select) => self.walk(&mut select.operand, below),
            Expr::Struct(made) => {
                let name = made.type_name.clone();
                self.problems.insert(format!("there is no type `{name}` to make values of"));
            }
            Expr::Literal(_) | Expr::Unspecified => {}
        }
    }

    fn comprehension(&mut self, comprehension: &mut ComprehensionExpr, id: u64, below: u16) {
        self.walk(&mut comprehension.iter_range, below);
        let range = std::mem::take(&mut comprehension.iter_range);
        let charged = CallExpr { func_name: CHARGE.to_owned(), target: None, args: vec![range] };
        comprehension.iter_range = IdedExpr { id, expr: Expr::Call(charged) };
        self.walk(&mut comprehension.accu_init, below);
        let before = self.bound.len();
        self.bound.push(comprehension.accu_var.clone());
        self.bound.push(comprehension.iter_var.clone());
        self.bound.extend(comprehension.iter_var2.clone());
        for part in [&mut comprehension.loop_cond, &mut comprehension.loop_step, &mut comprehension.result] {
            self.walk(part, below);
        }
        self.bound.truncate(before);
    }

    fn variable(&mut self, name: &str) {
        if name == ELEMENT && !self.bound.iter().any(|bound| bound == name) {
            self.uses.each = true;
            return;
        }
        let is_there =
            VARIABLES.contains(&name) || TYPES.contains(&name) || self.bound.iter().any(|bound| bound == name);
        if !is_there {
            self.problems.insert(format!("there is no variable `{name}`: there are {}", VARIABLES.join(", ")));
        }
    }

    fn function(&mut self, call: &CallExpr) {
        let name = call.func_name.as_str();
        let is_operator = name.contains(|c: char| !c.is_ascii_alphanumeric());
        if !is_operator && !FUNCTIONS.contains(&name) {
            self.problems.insert(format!("there is no function `{name}`: there are {}", FUNCTIONS.join(", ")));
        } else if is_operator && name.starts_with('@') && self.text.contains(name) {
            self.problems.insert(format!("`{name}` is no name"));
        }
    }

    /// `outputs.build`, `outputs["build"]`, and the same of states, errors and parameters.
    fn note_use(&mut self, expr: &Expr) {
        let (of, name) = match expr {
            Expr::Select(SelectExpr { operand, field, .. }) => (&operand.expr, field.as_str()),
            Expr::Call(call) if call.func_name == operators::INDEX => match call.args.as_slice() {
                [of, IdedExpr { expr: Expr::Literal(LiteralValue::String(name)), .. }] => (&of.expr, name.inner()),
                _ => return,
            },
            _ => return,
        };
        let Expr::Ident(of) = of else { return };
        if self.bound.contains(of) {
            return;
        }
        match of.as_str() {
            "outputs" | "states" | "errors" => self.uses.nodes.insert(name.to_owned()),
            "params" => self.uses.params.insert(name.to_owned()),
            _ => false,
        };
    }
}

/// Whether a macro adds to its own result. Its name begins with a character that no text can.
fn starts_with_result(call: &CallExpr) -> bool {
    matches!(call.args.first().map(|arg| &arg.expr), Some(Expr::Ident(name)) if name.starts_with('@'))
}

/// Levels of an expression: what evaluates it goes down as deep, on a stack that is not ours.
const DEPTH_MAX: u16 = 64;
/// Characters of an expression in an error.
const SHOWN_CHARS_MAX: usize = 80;
