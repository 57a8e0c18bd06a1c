//! Waiting for the first: history says which it was, since a run is told one thing at a time.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::future;

/// A tuple of two to six things of which the first counts.
pub trait RaceTuple {
    /// The wait for the first of them.
    type Raced;

    /// Waits for the first of them.
    fn race_all(self) -> Self::Raced;
}

/// Waits for the first of a tuple; the others are dropped. If several are done at once, the first in the tuple wins.
pub fn race<T: RaceTuple>(all: T) -> T::Raced {
    all.race_all()
}

/// Waits for the first of a list, and says which; the others are dropped.
pub async fn race_all<F: IntoFuture>(all: impl IntoIterator<Item = F>) -> (usize, F::Output)
where
    F::IntoFuture: Unpin,
{
    let all: Vec<F::IntoFuture> = all.into_iter().map(IntoFuture::into_future).collect();
    if all.is_empty() {
        return std::future::pending().await;
    }
    let (value, at, _) = future::select_all(all).await;
    (at, value)
}

macro_rules! races {
    ($($name:ident $wait:ident: $($part:ident $at:tt),+;)+) => {$(
        /// Which one was first.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name<$($part),+> {
            $(
                #[doc = concat!("The one at place ", stringify!($at), ".")]
                $part($part),
            )+
        }

        /// The wait for the first part of a tuple.
        #[must_use = "a race does nothing until it is awaited"]
        pub struct $wait<$($part: Future),+> {
            parts: ($(Pin<Box<$part>>,)+),
        }

        impl<$($part: IntoFuture),+> RaceTuple for ($($part,)+) {
            type Raced = $wait<$($part::IntoFuture),+>;

            fn race_all(self) -> Self::Raced {
                $wait { parts: ($(Box::pin(self.$at.into_future()),)+) }
            }
        }

        impl<$($part: Future),+> Future for $wait<$($part),+> {
            type Output = $name<$($part::Output),+>;

            fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
                let parts = &mut self.parts;
                $(if let Poll::Ready(value) = parts.$at.as_mut().poll(context) {
                    return Poll::Ready($name::$part(value));
                })+
                Poll::Pending
            }
        }

        impl<$($part: Future),+> fmt::Debug for $wait<$($part),+> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(stringify!($wait))
            }
        }
    )+};
}

races! {
    Race2 RaceOf2: A 0, B 1;
    Race3 RaceOf3: A 0, B 1, C 2;
    Race4 RaceOf4: A 0, B 1, C 2, D 3;
    Race5 RaceOf5: A 0, B 1, C 2, D 3, E 4;
    Race6 RaceOf6: A 0, B 1, C 2, D 3, E 4, F 5;
}
