//! Waiting for all: tuples, lists, maps, and waiting for no longer than that.

use std::error::Error;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::future::{self, MaybeDone};
use futures_util::{StreamExt, stream};

use super::race::{Race2, race};

/// A tuple of two to six things to wait for.
pub trait Tuple {
    /// The wait for all of them.
    type Joined;

    /// Waits for all of them.
    fn join_all(self) -> Self::Joined;
}

/// Waits for all of a tuple.
pub fn join<T: Tuple>(all: T) -> T::Joined {
    all.join_all()
}

macro_rules! joins {
    ($($name:ident: $($part:ident $at:tt),+;)+) => {$(
        /// The wait for all parts of a tuple.
        #[must_use = "a join does nothing until it is awaited"]
        pub struct $name<$($part: Future),+> {
            parts: ($(Pin<Box<MaybeDone<$part>>>,)+),
        }

        impl<$($part: IntoFuture),+> Tuple for ($($part,)+) {
            type Joined = $name<$($part::IntoFuture),+>;

            fn join_all(self) -> Self::Joined {
                $name { parts: ($(Box::pin(future::maybe_done(self.$at.into_future())),)+) }
            }
        }

        impl<$($part: Future),+> Future for $name<$($part),+> {
            type Output = ($($part::Output,)+);

            fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
                let parts = &mut self.parts;
                let mut all = true;
                $(all &= parts.$at.as_mut().poll(context).is_ready();)+
                if !all {
                    return Poll::Pending;
                }
                match ($(parts.$at.as_mut().take_output(),)+) {
                    ($(Some($part),)+) => Poll::Ready(($($part,)+)),
                    // Only after it was ready once.
                    _ => Poll::Pending,
                }
            }
        }

        impl<$($part: Future),+> fmt::Debug for $name<$($part),+> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(stringify!($name))
            }
        }
    )+};
}

#[allow(non_snake_case, reason = "a variable for each type parameter, by its name")]
mod tuples {
    use super::*;

    joins! {
        Join2: A 0, B 1;
        Join3: A 0, B 1, C 2;
        Join4: A 0, B 1, C 2, D 3;
        Join5: A 0, B 1, C 2, D 3, E 4;
        Join6: A 0, B 1, C 2, D 3, E 4, F 5;
    }
}

/// Waits for all of a list; the results are in its order. Only what was woken is polled.
pub async fn join_all<F: IntoFuture>(all: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    future::join_all(all.into_iter().map(IntoFuture::into_future)).await
}

/// Does something for each element, so many at once; the results are in the order of the elements.
pub async fn map<T, F: IntoFuture>(
    items: impl IntoIterator<Item = T>,
    at_once: usize,
    mut each: impl FnMut(T) -> F,
) -> Vec<F::Output> {
    let work = stream::iter(items).map(move |item| each(item).into_future());
    work.buffered(at_once.max(1)).collect().await
}

/// It took longer than it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elapsed;

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it took longer than it was given")
    }
}

impl Error for Elapsed {}

/// Gives up on something when a timer is over; a draw goes to the work.
pub async fn timeout<F: IntoFuture>(timer: impl Future<Output = ()>, work: F) -> Result<F::Output, Elapsed> {
    match race((work.into_future(), timer)).await {
        Race2::A(value) => Ok(value),
        Race2::B(()) => Err(Elapsed),
    }
}
