//! Edges that have a parent and still want a child, and what can stand for several of them.

use std::fmt;

use towpath_core::{Condition, NodeName};

use super::{GraphBuilder, Node, Parallel};
use crate::job::Job;

/// Where a parent is.
#[derive(Clone)]
pub(super) enum Parent {
    /// The place of a new node.
    Place(usize),
    /// The name of one that is stored.
    Named(NodeName),
}

/// A parent and how it must end, for a child that is still to be named.
#[derive(Clone)]
#[must_use = "an edge is nothing without a child: use `then`, or give it to `after`"]
pub struct Edge<'g> {
    pub(super) graph: &'g GraphBuilder,
    pub(super) parent: Parent,
    pub(super) condition: Condition,
}

impl<'g> Edge<'g> {
    pub(super) fn parent_name(&self) -> NodeName {
        match &self.parent {
            Parent::Place(place) => self.graph.name_of(*place),
            Parent::Named(name) => name.clone(),
        }
    }

    /// Adds a node that runs when the parent has ended so.
    pub fn then<C: Job>(self, name: impl AsRef<str>, job: &C) -> Node<'g, C> {
        self.graph.node(name, job).after(self)
    }
}

impl fmt::Debug for Edge<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Edge({} {})", self.parent_name(), self.condition)
    }
}

/// What a node can wait for: nodes, edges, arms, and tuples, arrays or vectors of them.
pub trait Parents<'g>: sealed::Sealed {
    /// Adds its edges, in order.
    #[doc(hidden)]
    fn edges(self, edges: &mut Vec<Edge<'g>>);
}

pub(super) mod sealed {
    pub trait Sealed {}
}

impl<J> sealed::Sealed for Node<'_, J> {}
impl<'g, J> Parents<'g> for Node<'g, J> {
    fn edges(self, edges: &mut Vec<Edge<'g>>) {
        edges.push(self.succeeded());
    }
}

impl<J> sealed::Sealed for &Node<'_, J> {}
impl<'g, J> Parents<'g> for &Node<'g, J> {
    fn edges(self, edges: &mut Vec<Edge<'g>>) {
        edges.push(self.succeeded());
    }
}

impl sealed::Sealed for Edge<'_> {}
impl<'g> Parents<'g> for Edge<'g> {
    fn edges(self, edges: &mut Vec<Edge<'g>>) {
        edges.push(self);
    }
}

impl<J> sealed::Sealed for Parallel<'_, J> {}
impl<'g, J> Parents<'g> for Parallel<'g, J> {
    fn edges(self, edges: &mut Vec<Edge<'g>>) {
        edges.extend(self.lasts);
    }
}

impl<P: sealed::Sealed> sealed::Sealed for Vec<P> {}
impl<'g, P: Parents<'g>> Parents<'g> for Vec<P> {
    fn edges(self, edges: &mut Vec<Edge<'g>>) {
        for parent in self {
            parent.edges(edges);
        }
    }
}

impl<P: sealed::Sealed, const N: usize> sealed::Sealed for [P; N] {}
impl<'g, P: Parents<'g>, const N: usize> Parents<'g> for [P; N] {
    fn edges(self, edges: &mut Vec<Edge<'g>>) {
        for parent in self {
            parent.edges(edges);
        }
    }
}

macro_rules! tuples {
    ($(($($name:ident)*))*) => {$(
        impl<$($name: sealed::Sealed),*> sealed::Sealed for ($($name,)*) {}
        impl<'g, $($name: Parents<'g>),*> Parents<'g> for ($($name,)*) {
            #[allow(non_snake_case, unused_variables, reason = "a variable for each type parameter, by its name")]
            fn edges(self, edges: &mut Vec<Edge<'g>>) {
                let ($($name,)*) = self;
                $($name.edges(edges);)*
            }
        }
    )*};
}

tuples! {
    ()
    (A)
    (A B)
    (A B C)
    (A B C D)
    (A B C D E)
    (A B C D E F)
    (A B C D E F G)
    (A B C D E F G H)
}
