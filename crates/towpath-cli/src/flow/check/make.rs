//! From drafts to nodes, once all of them are known.

use towpath::NodeName;
use towpath::core::{builtin, limits};

use super::Checker;
use crate::exec::{Exec, Http, http};
use crate::flow::node::{DraftDoes, DraftFlow, DraftNode};
use crate::flow::problem::Problem;
use crate::flow::{Does, Held, Node};

impl Checker<'_> {
    /// The nodes that are right, with all that their graph needs.
    pub(super) fn make(self, drafts: Vec<DraftNode>, problems: &mut Vec<Problem>) -> Vec<Node> {
        let mut nodes = Vec::with_capacity(drafts.len());
        for mut draft in drafts {
            let (Some(does), Ok(name)) = (draft.does.take(), NodeName::new(&draft.name)) else { continue };
            let does = match does {
                DraftDoes::Command(command) => {
                    let Some(dir) = draft.dir.to_str() else {
                        let problem = Problem::new(format!("the path {} is not UTF-8", draft.dir.display()));
                        problems.push(problem.at(draft.span, "its folder").in_source(draft.source));
                        continue;
                    };
                    Does::Exec(Exec {
                        argv: command.argv,
                        dir: dir.to_owned(),
                        env: draft.env,
                        scope: draft.scope.clone(),
                    })
                }
                DraftDoes::Http(http) => Does::Http(Http {
                    method: http.method,
                    url: http.url,
                    headers: http.headers,
                    body: http.body,
                    expect: http.expect,
                    timeout_us: builtin::limit_us(draft.timeout.unwrap_or(http::TIMEOUT)),
                    scope: draft.scope.clone(),
                }),
                DraftDoes::Flow(draft_flow) => {
                    let DraftFlow { file, given, drafts, .. } = *draft_flow;
                    let inner = Self { is_outer: false, ..self };
                    let Some(flow) = drafts.and_then(|drafts| inner.check(drafts, problems)) else { continue };
                    Does::Flow(Box::new(Held { file, flow, given }))
                }
                DraftDoes::Branches(branches) => Does::Branches(branches),
                DraftDoes::Signal(wait) => Does::Signal(wait),
                DraftDoes::Timer(due) => Does::Timer(due),
            };
            let bytes = does.bytes();
            if bytes > limits::PAYLOAD_BYTES_MAX {
                let problem = Problem::new(format!("node `{name}` is too large")).at(
                    draft.span,
                    format!("what it does has {bytes} bytes, at most {} are allowed", limits::PAYLOAD_BYTES_MAX),
                );
                problems.push(
                    problem.help("put long texts into a file and name that, or split the flow").in_source(draft.source),
                );
                continue;
            }
            let after =
                draft.after.into_iter().filter_map(|e| Some((NodeName::new(&e.parent).ok()?, e.condition))).collect();
            nodes.push(Node {
                name,
                does,
                after,
                at_least: draft.at_least.map(|(need, _)| need),
                guards: draft.guards.and_then(|guarded| NodeName::new(&guarded).ok()),
                guard: draft.guard,
                each: draft.each.map(|(each, _)| each),
                may_fail: draft.may_fail,
                delay: draft.delay,
                queue: draft.queue.map(|(queue, _)| queue),
                retry: draft.retry,
                timeout: draft.timeout,
                scope: draft.scope,
            });
        }
        nodes
    }
}
