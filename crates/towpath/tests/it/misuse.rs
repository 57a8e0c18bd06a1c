//! What a durable function cannot do is said at once; what it can do with other people's combinators is let alone.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt, future};
use towpath::testing::RunHarness;
use towpath::{Cx, Durable, Failure, Step, StepCx};

const DAY: Duration = Duration::from_secs(86_400);

macro_rules! function {
    ($name:ident, $function:ident, |$cx:ident, $n:ident| $body:block) => {
        const $name: Durable<u64, u64, Failure> = Durable::new("function", 1, DAY, &$function);
        #[allow(unused_variables, reason = "not every body uses both")]
        async fn $function($cx: Cx<'_>, $n: u64) -> Result<u64, Failure> {
            $body
        }
    };
}

const SAME: Step<u64, u64, Failure> = Step::new("same", &same);
async fn same(_cx: StepCx, n: u64) -> Result<u64, Failure> {
    Ok(n)
}

/// What stops a function, as a person reads it.
async fn refusal(function: Durable<u64, u64, Failure>) -> String {
    let harness = RunHarness::new(function, 3);
    let run = tokio::spawn(async move { drop(harness.run().await) });
    let panic = run.await.unwrap_err().into_panic();
    panic.downcast_ref::<String>().cloned().unwrap_or_default()
}

function!(TOKIO_SLEEP, tokio_sleep, |cx, n| {
    tokio::time::sleep(Duration::from_millis(1)).await;
    Ok(n)
});
function!(SPAWN, spawn, |cx, n| {
    drop(tokio::spawn(async {}));
    Ok(cx.step(SAME, &n).await?)
});
function!(BLOCKING, blocking, |cx, n| {
    let work = move || {
        std::thread::sleep(Duration::from_millis(50));
        n
    };
    Ok(tokio::task::spawn_blocking(work).await?)
});
function!(CHANNEL, channel, |cx, n| {
    let (_send, receive) = tokio::sync::oneshot::channel::<u64>();
    Ok(receive.await?)
});
function!(FOREIGN_THREAD, foreign_thread, |cx, n| {
    let (send, receive) = tokio::sync::oneshot::channel::<u64>();
    let thread = std::thread::Builder::new().name("stranger".into()).spawn(move || {
        std::thread::sleep(Duration::from_millis(5));
        let _ = send.send(1);
    });
    thread?;
    // Beside an operation of its own, so that only the wake shows it.
    let step = cx.run("slow", |_| async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        Ok::<_, Failure>(1_u64)
    });
    match future::select(receive, step).await {
        future::Either::Left((n, _)) => Ok(n?),
        future::Either::Right((n, _)) => Ok(n?),
    }
});
function!(SPIN, spin, |cx, n| {
    loop {
        let mut woken = false;
        future::poll_fn(|context| {
            context.waker().wake_by_ref();
            if std::mem::replace(&mut woken, true) { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
        })
        .await;
    }
});
function!(PANIC, panic, |cx, n| {
    cx.step(SAME, &n).await?;
    panic!("no idea")
});
function!(AGAIN, again, |cx, n| {
    let mut step = cx.step(SAME, &n);
    (&mut step).await?;
    Ok(step.await?)
});

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_no_replay_could_repeat_is_refused() {
    let cases = [
        (TOKIO_SLEEP, "the function uses a timer of tokio"),
        (SPAWN, "the function started a task"),
        (BLOCKING, "the function waits for something that is not an operation of its `cx`"),
        (CHANNEL, "the function waits for something that is not an operation of its `cx`"),
        (FOREIGN_THREAD, "the function was woken by thread \"stranger\""),
        (SPIN, "the function wakes itself without end"),
        (PANIC, "the function panicked: no idea"),
        (AGAIN, "an operation of a run was polled after it was done"),
    ];
    for (function, text) in cases {
        let said = refusal(function).await;
        assert!(said.contains(text), "{text}: {said}");
    }
}

/// A place through which an operation leaves its run, which its lifetime forbids without such tricks.
static SHELF: Mutex<Option<Cx<'static>>> = Mutex::new(None);

const LENDER: Durable<u64, u64, Failure> = Durable::new("lender", 1, DAY, &|cx: Cx<'static>, n: u64| async move {
    *SHELF.lock().unwrap() = Some(cx.clone());
    Ok(cx.step(SAME, &n).await?)
});
const BORROWER: Durable<u64, u64, Failure> = Durable::new("borrower", 1, DAY, &|cx: Cx<'static>, n: u64| async move {
    let other = SHELF.lock().unwrap().clone().ok_or_else(|| Failure::new("the shelf is empty"))?;
    other.step(SAME, &n).await?;
    Ok(cx.step(SAME, &n).await?)
});

#[tokio::test]
async fn an_operation_of_another_run_is_refused() {
    assert_eq!(RunHarness::new(LENDER, 1).run().await.result.unwrap(), 1);
    let said = refusal(BORROWER).await;
    assert!(said.contains("an operation of one run was used in another"), "{said}");
}

// ---- no false alarms ------------------------------------------------------------------------------

function!(JOIN_ALL, f_join_all, |cx, n| {
    let all = future::join_all((0..n).map(|n| cx.step(SAME, &n))).await;
    Ok(all.into_iter().sum::<Result<u64, _>>()?)
});
function!(TRY_JOIN_ALL, f_try_join_all, |cx, n| {
    Ok(future::try_join_all((0..n).map(|n| cx.step(SAME, &n))).await?.into_iter().sum())
});
function!(UNORDERED, f_unordered, |cx, n| {
    let mut steps: FuturesUnordered<_> = (0..n).map(|n| cx.step(SAME, &n)).collect();
    let mut sum = 0;
    while let Some(n) = steps.next().await {
        sum += n?;
    }
    Ok(sum)
});
function!(BUFFERED, f_buffered, |cx, n| {
    let steps = futures_util::stream::iter(0..n).map(|n| cx.step(SAME, &n)).buffer_unordered(7);
    Ok(steps.collect::<Vec<_>>().await.into_iter().sum::<Result<u64, _>>()?)
});
function!(SHARED, f_shared, |cx, n| {
    let step = cx.step(SAME, &n).map(|n| n.unwrap_or_default()).shared();
    let all = future::join_all((0..n).map(|_| step.clone())).await;
    Ok(all.into_iter().sum::<u64>() / n.max(1) * (n.saturating_sub(1)) / 2)
});
function!(SELECT, f_select, |cx, n| {
    let mut sum = 0;
    for at in 0..n {
        let timer = cx.sleep(DAY / 2);
        let won = match future::select(cx.step(SAME, &at), timer).await {
            future::Either::Left((n, _)) => n?,
            future::Either::Right(_) => 0,
        };
        sum += won;
    }
    Ok(sum)
});
function!(TOKIO_JOIN, f_tokio_join, |cx, n| {
    let half = n / 2;
    let (a, b) = tokio::join!(
        async { future::join_all((0..half).map(|n| cx.step(SAME, &n))).await.into_iter().sum::<Result<u64, _>>() },
        async { future::join_all((half..n).map(|n| cx.step(SAME, &n))).await.into_iter().sum::<Result<u64, _>>() }
    );
    Ok(a? + b?)
});
function!(TOKIO_SELECT, f_tokio_select, |cx, n| {
    let mut sum = 0;
    for at in 0..n {
        let timer = cx.sleep(DAY / 2);
        tokio::select! {
            biased;
            n = cx.step(SAME, &at) => sum += n?,
            () = timer => {}
        }
    }
    Ok(sum)
});
function!(CHANNELS, f_channels, |cx, n| {
    let (send, mut receive) = tokio::sync::mpsc::channel(3);
    let sending = async {
        for at in 0..n {
            let n = cx.step(SAME, &at).await?;
            send.send(n).await?;
        }
        drop(send);
        Ok::<_, Failure>(())
    };
    let receiving = async {
        let mut sum = 0;
        while let Some(n) = receive.recv().await {
            sum += n;
        }
        sum
    };
    let (sent, sum) = cx.join((sending, receiving)).await;
    sent.map(|()| sum)
});
function!(MUTEX, f_mutex, |cx, n| {
    let sum = Arc::new(tokio::sync::Mutex::new(0));
    let add = |at: u64| {
        let (cx, sum) = (&cx, Arc::clone(&sum));
        async move {
            let mut sum = sum.lock().await;
            *sum += cx.step(SAME, &at).await?;
            Ok::<_, Failure>(())
        }
    };
    future::try_join_all((0..n).map(add)).await?;
    let sum = *sum.lock().await;
    Ok(sum)
});
function!(YIELDS, f_yields, |cx, n| {
    let mut sum = 0;
    for at in 0..n {
        let mut yielded = false;
        future::poll_fn(|context| {
            if std::mem::replace(&mut yielded, true) {
                return std::task::Poll::Ready(());
            }
            context.waker().wake_by_ref();
            std::task::Poll::Pending
        })
        .await;
        sum += cx.step(SAME, &at).await?;
    }
    Ok(sum)
});

const COMBINATORS: [Durable<u64, u64, Failure>; 11] =
    [JOIN_ALL, TRY_JOIN_ALL, UNORDERED, BUFFERED, SHARED, SELECT, TOKIO_JOIN, TOKIO_SELECT, CHANNELS, MUTEX, YIELDS];

#[tokio::test]
async fn other_peoples_combinators_are_let_alone_and_bear_crashes() {
    for (at, function) in COMBINATORS.into_iter().enumerate() {
        for n in [1, 5, 31, 70] {
            let harness = RunHarness::new(function, n).seed(at as u64);
            assert_eq!(harness.run().await.result.unwrap(), n * (n - 1) / 2, "combinator {at} of {n}");
            if n <= 31 {
                harness.prove().await;
            }
        }
    }
}

function!(OWN_JOIN, own_join, |cx, n| {
    let all = cx.join_all((0..n).map(|n| cx.step(SAME, &n))).await;
    Ok(all.into_iter().sum::<Result<u64, _>>()?)
});
function!(OWN_MAP, own_map, |cx, n| {
    Ok(cx.map(0..n, 100, |n| cx.step(SAME, &n)).await.into_iter().sum::<Result<u64, _>>()?)
});
function!(OWN_RACE, own_race, |cx, n| {
    let (_, first) = cx.race_all((0..n).map(|n| cx.step(SAME, &n))).await;
    first?;
    Ok(n * (n - 1) / 2)
});

#[tokio::test]
async fn combinators_of_any_width_come_to_their_end() {
    for n in [1, 30, 31, 1_023, 1_024, 10_000] {
        for function in [OWN_JOIN, OWN_MAP, OWN_RACE, JOIN_ALL, UNORDERED] {
            assert_eq!(RunHarness::new(function, n).run().await.result.unwrap(), n * (n - 1) / 2, "{n}");
        }
    }
}
