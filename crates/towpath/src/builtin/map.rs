//! A node that does something for each element of a list: so many at once, each begun as soon as another has ended, and
//! what they left in the order of the elements.
//!
//! Its run goes on in chapters, so that however long the list is, what it is rebuilt from stays small. A chapter goes on
//! with the elements that the one before has left at work.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Poll;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use towpath_core::builtin::{self, Come, Each, EachJob, Given, Map, OnFailure, Progress, Scope};
use towpath_core::{JobId, Queue, limits};

use super::{MAP, before, nested, source};
use crate::durable::{Cx, Step, StepCx};
use crate::failure::Failure;

/// The function of such a node.
pub(super) async fn run(cx: Cx<'_>, map: Map) -> Result<Box<RawValue>, Failure> {
    let come = match &map.come {
        Some(come) => (**come).clone(),
        None => Come { began: cx.chapter(), ..Come::default() },
    };
    let rest = Rest {
        of: map.come.as_ref().map(|come| come.of),
        next: come.next,
        read: VecDeque::new(),
        left: VecDeque::new(),
    };
    let mut walk = Walk { cx: &cx, map: &map, bytes: bytes(&come.left), come, rest, at_work: BTreeMap::new() };
    walk.go().await
}

/// What is asked of a list: its elements from a number on.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Asked {
    pub(super) job: JobId,
    pub(super) over: String,
    pub(super) scope: Scope,
    pub(super) from: u32,
    /// How many at most: what a chapter does not need it does not write into its journal.
    pub(super) most: u32,
    /// The chapter in which this try began.
    pub(super) began: u32,
    /// The job that is done for each, if it is one and may have been done in an earlier try.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) each: Option<Box<EachJob>>,
    /// The parameters of the graph that is done for each: they take the elements' places.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) given: BTreeMap<String, Given>,
}

/// Some elements of a list.
#[derive(Serialize, Deserialize)]
pub(super) struct Block {
    /// How many it has in all.
    pub(super) of: u32,
    /// The elements that were asked for, as many as fit.
    pub(super) elements: Vec<Box<RawValue>>,
    /// The queue of the node.
    pub(super) queue: Queue,
    /// What an earlier try has left of some of them, by their numbers.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    pub(super) left: VecDeque<(u32, Box<RawValue>)>,
    /// The chapters in which earlier tries began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) tries: Vec<u32>,
}

pub(super) const ELEMENTS: Step<Asked, Block, Failure> = Step::new("elements", &elements);

async fn elements(cx: StepCx, asked: Asked) -> Result<Block, Failure> {
    let list = source::value(cx.client(), asked.job, &asked.over, &asked.scope).await?;
    let all: Vec<&RawValue> = serde_json::from_str(list.get()).map_err(|_| {
        let shown: String = list.get().chars().take(SHOWN_CHARS_MAX).collect();
        Failure::permanent(format!("`{}` is no list, but {shown}", asked.over))
    })?;
    // A list that was begun is gone through, whatever the limit has become.
    let limit = if asked.from == 0 { cx.client().graph_limits().elements } else { u32::MAX };
    let (of, max) = (all.len(), limit as usize);
    if of > max {
        let remedy = "split it, or raise the graph limit `elements` of the workers' client";
        let over = &asked.over;
        return Err(Failure::permanent(format!("`{over}` has {of} elements, at most {max} are allowed: {remedy}")));
    }
    let node = cx.client().inspect().job(asked.job).await?;
    let node = node.ok_or_else(|| Failure::permanent("the node is not there"))?;
    let tries = match node.run {
        Some(run) if asked.began > 1 => before::tries(cx.client(), run.id, asked.began).await?,
        _ => Vec::new(),
    };
    let (mut taken, mut left, mut bytes) = (Vec::new(), VecDeque::new(), 0);
    let rest: Vec<&RawValue> = all.into_iter().skip(asked.from as usize).take(asked.most.max(1) as usize).collect();
    let rest = given(&cx, &asked, rest).await?;
    for (number, element) in (asked.from..).zip(&rest) {
        let earlier = match &asked.each {
            Some(each) => before::left(cx.client(), asked.job, &tries, each, (number, element)).await?,
            None => None,
        };
        bytes += element.get().len() + earlier.as_ref().map_or(0, |earlier| earlier.get().len() + NUMBER_BYTES);
        if !taken.is_empty() && (bytes > BLOCK_BYTES || taken.len() >= asked.most as usize) {
            break;
        }
        taken.push(element.clone().into_owned());
        left.extend(earlier.map(|earlier| (number, earlier)));
    }
    let queue = node.line.queue;
    // It is not more than the limit above.
    Ok(Block { of: of as u32, elements: taken, queue, left, tries })
}

/// What is done is given these, or for each of these its parameters.
async fn given<'e>(
    cx: &StepCx,
    asked: &Asked,
    elements: Vec<&'e RawValue>,
) -> Result<Vec<std::borrow::Cow<'e, RawValue>>, Failure> {
    use std::borrow::Cow;
    if asked.given.is_empty() {
        return Ok(elements.into_iter().map(Cow::Borrowed).collect());
    }
    let elements: Vec<Option<&RawValue>> = elements.into_iter().map(Some).collect();
    let given = source::given(cx.client(), asked.job, &asked.given, &asked.scope, &elements).await?;
    Ok(given.into_iter().map(Cow::Owned).collect())
}

/// The elements that are not begun, read from the list as they are needed.
struct Rest {
    /// How many the list has, once that is known.
    of: Option<u32>,
    /// The number of the first of them.
    next: u32,
    read: VecDeque<Box<RawValue>>,
    /// What an earlier try has left of some of these.
    left: VecDeque<(u32, Box<RawValue>)>,
}

impl Rest {
    fn is_over(&self) -> bool {
        self.of.is_some_and(|of| self.next >= of)
    }
}

/// One chapter's way through a list.
struct Walk<'w, 'r> {
    cx: &'w Cx<'r>,
    map: &'w Map,
    come: Come,
    rest: Rest,
    /// The elements at work, by their numbers.
    at_work: BTreeMap<u32, Box<RawValue>>,
    /// Of what the elements have left.
    bytes: usize,
}

impl Walk<'_, '_> {
    async fn go(&mut self) -> Result<Box<RawValue>, Failure> {
        let (cx, map, began) = (self.cx, self.map, self.come.began);
        let settling = AtomicU32::new(0);
        let mut work = FuturesUnordered::new();
        for (number, element) in std::mem::take(&mut self.come.open) {
            self.at_work.insert(number, element.clone());
            work.push(one(cx, map, (began, number), (element, self.come.queue.clone()), &settling));
        }
        // Children of the chapter before are this one's before anything else happens: a cancel then finds them.
        let mut first = std::future::poll_fn(|context| Poll::Ready(work.poll_next_unpin(context))).await;
        let (mut ended_here, mut is_long) = (0, self.chapter());
        loop {
            let is_due = ended_here >= is_long && !self.rest.is_over();
            // An element whose end was taken here is none of the next chapter's: it is finished first.
            if is_due && settling.load(Ordering::Relaxed) == 0 && !cx.has_untold() {
                match self.next_chapter() {
                    Some(next) => return cx.continue_with_children(MAP, &next).await,
                    // That is too much to carry: this one goes on.
                    None => is_long = u32::MAX,
                }
            }
            while work.len() < map.concurrency as usize && (!is_due || is_long == u32::MAX) {
                let Some((number, element)) = self.take().await? else { break };
                if self.rest.left.front().is_some_and(|(of, _)| *of == number)
                    && let Some((number, left)) = self.rest.left.pop_front()
                {
                    self.ended(number, Ok(left))?;
                    continue;
                }
                self.at_work.insert(number, element.clone());
                work.push(one(cx, map, (began, number), (element, self.come.queue.clone()), &settling));
            }
            self.tell();
            let ended = match std::mem::replace(&mut first, Poll::Pending) {
                Poll::Ready(ended @ Some(_)) => ended,
                _ => work.next().await,
            };
            match ended {
                Some((number, left)) => {
                    self.at_work.remove(&number);
                    self.ended(number, left)?;
                    ended_here += 1;
                }
                None if self.rest.is_over() => break,
                None => {}
            }
        }
        self.tell();
        serde_json::value::to_raw_value(&self.come.left).map_err(|e| Failure::permanent(e.to_string()))
    }

    /// How many elements end in one chapter.
    fn chapter(&self) -> u32 {
        CHAPTER.max(self.map.concurrency)
    }

    /// The number of the next element, and the element; it is read if it is not yet.
    async fn take(&mut self) -> Result<Option<(u32, Box<RawValue>)>, Failure> {
        if self.rest.is_over() {
            return Ok(None);
        }
        if self.rest.read.is_empty() {
            let (job, from) = (self.cx.job_id(), self.rest.next);
            let began = self.come.began;
            let each = match &self.map.each {
                Each::Job(each) if began > 1 => Some(each.clone()),
                _ => None,
            };
            let (over, scope) = (self.map.over.clone(), self.map.scope.clone());
            let given = self.map.given.clone();
            let asked = Asked { job, over, scope, from, most: self.chapter(), began, each, given };
            let Block { of, elements, queue, left, tries } = self.cx.step(ELEMENTS, &asked).await?;
            if let Some(had) = self.rest.of.filter(|had| *had != of) {
                let over = &self.map.over;
                return Err(Failure::permanent(format!("`{over}` had {had} elements, and has {of} now")));
            }
            (self.rest.of, self.rest.read, self.rest.left) = (Some(of), elements.into(), left);
            self.come.queue = queue;
            if from == 0 {
                self.come.tries = tries;
            }
        }
        let Some(element) = self.rest.read.pop_front() else { return Ok(None) };
        self.rest.next += 1;
        Ok(Some((self.rest.next - 1, element)))
    }

    /// Shows how far it has come.
    fn tell(&self) {
        let Come { done, failed, began, .. } = self.come;
        let tries = self.come.tries.iter().copied().chain([began]).collect();
        self.cx.publish(&Progress { of: self.rest.of.unwrap_or_default(), done, failed, tries });
    }

    fn ended(&mut self, number: u32, left: Result<Box<RawValue>, String>) -> Result<(), Failure> {
        self.come.done += 1;
        self.come.failed += u32::from(left.is_err());
        let left = match (self.map.on_failure, left) {
            (OnFailure::Fail, Ok(left)) => left,
            (OnFailure::Fail, Err(problem)) => {
                let (job, began) = (self.cx.job_id(), self.come.began);
                let child = match self.map.each {
                    Each::Job(_) => format!("job {}", builtin::element_job(job, began, number)),
                    Each::Graph(_) => format!("graph {}", builtin::element_graph(job, began, number)),
                };
                return Err(Failure::permanent(format!("element {number} failed ({child}): {problem}")));
            }
            (OnFailure::Collect, left) => collected(left)?,
        };
        self.bytes += left.get().len() + 1;
        let max = limits::PAYLOAD_BYTES_MAX;
        if self.bytes + 1 > max {
            let Come { done, .. } = self.come;
            return Err(Failure::permanent(format!(
                "the outputs of {done} of {} elements have more than {max} bytes together, at most {max} are allowed: let each leave \
                 less, or leave where it is",
                self.rest.of.unwrap_or_default()
            )));
        }
        let at = number as usize;
        if self.come.left.len() <= at {
            self.come.left.resize_with(at + 1, || RawValue::NULL.to_owned());
        }
        self.come.left[at] = left;
        Ok(())
    }

    /// What the next chapter begins with, unless that is too much to carry.
    fn next_chapter(&self) -> Option<Map> {
        let come = Come {
            of: self.rest.of.unwrap_or_default(),
            next: self.rest.next,
            open: self.at_work.iter().map(|(number, element)| (*number, element.clone())).collect(),
            ..self.come.clone()
        };
        let next = Map { come: Some(Box::new(come)), ..self.map.clone() };
        let bytes = serde_json::to_string(&next).map_or(usize::MAX, |text| text.len());
        (bytes <= limits::PAYLOAD_BYTES_MAX).then_some(next)
    }
}

/// Does what is to be done for one element. `settling` counts those whose end was taken, and that have not said what they
/// left.
async fn one(
    cx: &Cx<'_>,
    map: &Map,
    (began, number): (u32, u32),
    (element, queue): (Box<RawValue>, Queue),
    settling: &AtomicU32,
) -> (u32, Result<Box<RawValue>, String>) {
    let node = cx.job_id();
    let left = match &map.each {
        Each::Job(each) => match each.job(builtin::element_job(node, began, number), &element, &queue) {
            Ok(job) => cx
                .held_job(
                    job,
                    &builtin::element_name(each.kind.as_str(), number),
                    builtin::element_label(began, number),
                )
                .await
                .map_err(|e| e.to_string()),
            Err(problem) => Err(problem),
        },
        Each::Graph(text) => {
            let input = match map.given.is_empty() {
                true => Ok(element),
                false => builtin::with_params(text, &element).map_err(Failure::permanent),
            };
            let graph =
                input.and_then(|input| nested::inner(text, builtin::element_graph(node, began, number), Some(input)));
            let left = async {
                let graph = graph?;
                let name = builtin::element_name(graph.name().as_str(), number);
                let id = nested::ended(cx, graph, &name, began, number).await?;
                settling.fetch_add(1, Ordering::Relaxed);
                let left = nested::left(cx, id).await;
                settling.fetch_sub(1, Ordering::Relaxed);
                left
            };
            left.await.map_err(|failure: Failure| failure.to_string())
        }
    };
    (number, left)
}

/// What an element came to, where failures are collected.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Collected {
    Ok(Box<RawValue>),
    Error(String),
}

fn collected(left: Result<Box<RawValue>, String>) -> Result<Box<RawValue>, Failure> {
    let collected = match left {
        Ok(left) => Collected::Ok(left),
        Err(problem) => Collected::Error(limits::cut(&problem, ERROR_BYTES_MAX)),
    };
    serde_json::value::to_raw_value(&collected).map_err(|e| Failure::permanent(e.to_string()))
}

fn bytes(left: &[Box<RawValue>]) -> usize {
    left.iter().map(|one| one.get().len() + 1).sum()
}

/// Elements that end in one chapter, or as many as are at work at once. Each leaves three lines in the journal, which is
/// read whenever one has ended.
const CHAPTER: u32 = 250;
/// Bytes of elements that are read from the list at once: far enough from the limit of what a step may leave.
const BLOCK_BYTES: usize = 256 << 10;
/// What is recorded around an output of an earlier try.
const NUMBER_BYTES: usize = 12;
/// Bytes of an element's error where failures are collected.
const ERROR_BYTES_MAX: usize = 1 << 10;
/// Characters of what is no list in the error that says so.
const SHOWN_CHARS_MAX: usize = 64;
