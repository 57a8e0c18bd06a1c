//! Queues as people steer them: paused and resumed, and shares of a worker's slots.

use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use towpath::{Context, Failure, Job, JobState, Queue, Worker};

use crate::stores::{Subject, on_every_store};

on_every_store!(a_paused_queue_gives_nothing_until_it_is_resumed, the_queue_that_is_named_first_comes_first);

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "count", output = u32)]
struct Count(u32);

async fn count(job: Count, _cx: Context) -> Result<u32, Failure> {
    Ok(job.0)
}

async fn a_paused_queue_gives_nothing_until_it_is_resumed(subject: Subject) {
    let client = &subject.client;
    let mail = Queue::new("mail").unwrap();
    client.pause_queue(&mail, "ann", "the relay is down").await.unwrap();
    let worker = Worker::builder(client).queue("mail", 5).queue("default", 5).handle(count).start().unwrap();
    let held = client.job(&Count(1)).queue("mail").await.unwrap();
    // Jobs that the worker takes in turns of its own, each of which could have taken the held one as well.
    for number in 2..5 {
        let other = client.enqueue(&Count(number)).await.unwrap();
        assert_eq!(client.output(&other).await.unwrap(), number);
    }
    let line = client.inspect().job(held.id()).await.unwrap().unwrap().line;
    assert_eq!((line.state, line.counters.attempt), (JobState::Ready, 0));
    let queues = client.inspect().queues(u32::MAX).await.unwrap();
    let queue = queues.iter().find(|line| line.queue == mail).unwrap();
    let pause = queue.paused.as_ref().unwrap();
    assert_eq!((queue.ready, pause.actor.as_str(), pause.why.as_str()), (1, "ann", "the relay is down"));
    client.resume_queue(&mail, "bob", "it is back").await.unwrap();
    assert_eq!(client.output(&held).await.unwrap(), 1);
    let audit = client.inspect().audit(towpath::Client::first_page(10)).await.unwrap();
    let audit: Vec<_> =
        audit.iter().map(|line| (line.actor.as_str(), line.action.as_str(), line.target.as_str())).collect();
    assert_eq!(audit, [("bob", "unpause", "mail"), ("ann", "pause", "mail")]);
    worker.shutdown().await;
}

async fn the_queue_that_is_named_first_comes_first(subject: Subject) {
    let client = &subject.client;
    for number in 0..6 {
        let queue = if number % 2 == 0 { "low" } else { "high" };
        client.job(&Count(number)).queue(queue).await.unwrap();
    }
    let order = Arc::new(Mutex::new(Vec::new()));
    let (done, mut all) = mpsc::unbounded_channel();
    let noted = order.clone();
    let worker = Worker::builder(client)
        .queue("high", 10)
        .queue("low", 10)
        .slots(1)
        .handle(move |job: Count, _cx| {
            noted.lock().unwrap().push(job.0);
            done.send(()).unwrap();
            async move { Ok::<_, Failure>(job.0) }
        })
        .start()
        .unwrap();
    for _ in 0..6 {
        all.recv().await.unwrap();
    }
    worker.shutdown().await;
    assert_eq!(*order.lock().unwrap(), [1, 3, 5, 0, 2, 4]);
}

#[test]
fn shares_that_make_no_sense_are_told_together() {
    let client = crate::stores::memory().client;
    let built =
        Worker::builder(&client).queue("mail", 5).slots(0).queue_weight("mial", 3).queue_weight("mail", 0).build();
    let problems = built.err().map(|invalid| invalid.to_string()).unwrap_or_default();
    for problem in ["no slot", "queue mial has a weight but is not served", "queue mail has the weight 0"] {
        assert!(problems.contains(problem), "{problem:?} is not in {problems}");
    }
}
