//! Every page, what is live on it, and what its buttons do.

use towpath::{Client, End, JobState};
use towpath_web::{Action, User, WebOptions};

use crate::Served;
use crate::driver::Browser;
use crate::stores::Subject;
use crate::works::{NASTY, Nobody, Say, Works};

/// A test on each of the stores that people run, in a thread that may block.
macro_rules! in_a_browser {
    ($($name:ident),+ $(,)?) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(crate::stores::sqlite()).await;
            })+
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                if let Some(subject) = crate::stores::postgres().await {
                    super::$name(subject).await;
                }
            })+
        }
    };
}
pub(crate) use in_a_browser;

in_a_browser!(
    no_page_complains,
    a_change_is_seen_without_a_touch,
    buttons_do_what_they_say,
    schedules_and_queues_are_steered,
    a_job_is_edited_and_what_was_typed_is_not_lost,
    a_retry_is_counted_before_it_is_ordered,
    the_lines_of_a_stream_come_by_themselves,
    a_run_is_forked_from_its_page,
    who_may_not_act_sees_no_button,
    many_jobs_are_counted_before_they_are_cancelled,
);

/// The pages of some work.
pub(crate) fn pages(works: &Works) -> Vec<(&'static str, String)> {
    vec![
        ("overview", "/".into()),
        ("jobs", "/jobs".into()),
        ("dead", "/jobs?state=dead".into()),
        ("job", format!("/jobs/{}", works.dead)),
        ("graphs", "/graphs".into()),
        ("graph", format!("/graphs/{}", works.graph)),
        ("failed", format!("/graphs/{}?show=failed", works.graph)),
        ("retry", format!("/graphs/{}/retry", works.graph)),
        ("edit", format!("/jobs/{}/edit", works.unserved)),
        ("runs", "/runs".into()),
        ("run", format!("/jobs/{}", works.run)),
        ("schedules", "/schedules".into()),
        ("schedule", "/schedules/yearly".into()),
        ("queues", "/queues".into()),
        ("queue", "/queues/lonely".into()),
        ("workers", "/workers".into()),
        ("versions", "/versions".into()),
        ("charts", "/charts".into()),
        ("audit", "/audit".into()),
    ]
}

/// Runs what blocks beside the runtime.
pub(crate) fn browse<T>(with: impl FnOnce(&mut Browser) -> T) -> Option<T> {
    tokio::task::block_in_place(|| Browser::start().map(|mut browser| with(&mut browser)))
}

async fn no_page_complains(subject: Subject) {
    let works = Works::start(&subject.client).await;
    subject.client.cancel(works.unserved, "ann <b>", NASTY).await.unwrap();
    let served = Served::start(&subject.client, WebOptions::default().instance(NASTY)).await;
    browse(|browser| {
        for (name, path) in pages(&works) {
            browser.go(&format!("{}{path}", served.url));
            assert_eq!(browser.eval("document.querySelector('#live').textContent != ''"), true, "{name}");
            browser.until("document.querySelector('#live').textContent == 'live'");
            assert_eq!(browser.eval("document.querySelectorAll('main script, main b b, main i').length"), 0, "{name}");
            assert_eq!(
                browser.eval("document.documentElement.scrollWidth <= innerWidth"),
                true,
                "{name}: it is wider than its window"
            );
            browser.is_content(name);
        }
        for width in [390, 820, 3_840] {
            browser.window(width, 900, "dark");
            for (name, path) in pages(&works) {
                browser.go(&format!("{}{path}", served.url));
                let wide = browser.eval("document.documentElement.scrollWidth - innerWidth");
                assert!(wide.as_f64().unwrap() <= 0.0, "{name} at {width}: {wide} too wide");
                browser.is_content(name);
            }
        }
        browser.go(&format!("{}/find?q={}", served.url, works.run));
        assert!(browser.eval("document.querySelector('h1').textContent").as_str().unwrap().contains("<script>"));
        browser.is_content("find");
    });
    works.worker.shutdown().await;
}

async fn a_change_is_seen_without_a_touch(subject: Subject) {
    let works = Works::start(&subject.client).await;
    let served = Served::start(&subject.client, WebOptions::default()).await;
    let runtime = tokio::runtime::Handle::current();
    browse(|browser| {
        browser.go(&format!("{}/jobs?kind=nobody", served.url));
        browser.until("document.querySelector('#live').textContent == 'live'");
        browser.eval(
            "document.querySelector('[name=queue]').focus(), document.querySelector('[name=queue]').value = 'typed'",
        );
        let id = runtime.block_on(subject.client.enqueue(&Nobody { big: 7 })).unwrap().id();
        browser.until(&format!("document.querySelector('main').textContent.includes('{id}')"));
        assert_eq!(browser.eval("document.activeElement.value"), "typed", "what is being typed stays");

        browser.go(&format!("{}/jobs/{}", served.url, works.run));
        browser.until("document.querySelector('#live').textContent == 'live'");
        let paid = subject.client.signal(NASTY, crate::works::PAID, &5);
        runtime.block_on(async { paid.await }).unwrap();
        browser.until("document.querySelector('main .head .st-succeeded')");
        browser.is_content("live");
    });
    works.worker.shutdown().await;
}

async fn state(client: &Client, job: towpath::JobId) -> JobState {
    client.inspect().job(job).await.unwrap().unwrap().line.state
}

async fn buttons_do_what_they_say(subject: Subject) {
    let works = Works::start(&subject.client).await;
    let served = Served::start(&subject.client, WebOptions::default().anonymous("ann")).await;
    let runtime = tokio::runtime::Handle::current();
    browse(|browser| {
        let click = |browser: &mut Browser, what: &str, fill: &str| {
            browser.eval("document.querySelectorAll('.act').forEach(menu => menu.open = true)");
            browser.eval(fill);
            browser.eval(&format!("document.querySelector('button[value={what}]').click()"));
            browser.loaded(what);
            browser.until("document.querySelector('main .alert.run')");
        };
        let reason = "document.querySelectorAll('[name=reason]').forEach(field => field.value = 'no \"use\"')";
        browser.go(&format!("{}/jobs/{}", served.url, works.unserved));
        click(browser, "cancel", reason);
        assert_eq!(runtime.block_on(state(&subject.client, works.unserved)), JobState::Ended(End::Cancelled));

        browser.go(&format!("{}/jobs/{}", served.url, works.unserved));
        click(browser, "requeue", reason);
        assert_eq!(runtime.block_on(state(&subject.client, works.unserved)), JobState::Ready);

        browser.go(&format!("{}/jobs/{}", served.url, works.run));
        let signal = "document.querySelector('[name=name]').value = 'paid', document.querySelector('[name=payload]').value = '250'";
        click(browser, "signal", signal);
        browser.until("document.querySelector('main .head .st-succeeded')");

        let audit = runtime.block_on(subject.client.inspect().audit(Client::first_page(10))).unwrap();
        assert_eq!(audit.len(), 2, "{audit:?}");
        assert!(audit.iter().all(|line| line.actor == "ann" && line.reason == "no \"use\""), "{audit:?}");
        browser.is_content("buttons");
    });
    works.worker.shutdown().await;
}

/// Opens the menus, writes a reason, and presses the button of this value.
fn press(browser: &mut Browser, what: &str) {
    browser.eval("document.querySelectorAll('.act').forEach(menu => menu.open = true)");
    browser.eval("document.querySelectorAll('[name=reason]').forEach(field => field.value = 'a look')");
    browser.eval(&format!("document.querySelector('button[value={what}]').click()"));
    browser.loaded(what);
    browser.until("document.querySelector('main .alert.run')");
}

async fn schedules_and_queues_are_steered(subject: Subject) {
    let works = Works::start(&subject.client).await;
    let served = Served::start(&subject.client, WebOptions::default().anonymous("ann")).await;
    browse(|browser| {
        browser.go(&format!("{}/schedules", served.url));
        browser.until("document.querySelector('main').textContent.includes('00:00:00 +05:45')");
        browser.eval("document.querySelector('tbody a').click()");
        browser.loaded("the schedule");
        press(browser, "pause");
        browser.until("document.querySelector('main .head .st-paused')");
        press(browser, "resume");
        browser.until("!document.querySelector('main .head .st-paused')");
        press(browser, "trigger");
        browser.until("document.querySelectorAll('main table a[href*=\"/jobs/\"]').length == 1");

        browser.go(&format!("{}/queues/lonely", served.url));
        press(browser, "pause");
        browser.go(&served.url);
        browser.until("document.querySelector('main .alert .st-paused')");
        browser.go(&format!("{}/queues/lonely", served.url));
        press(browser, "resume");
        assert_eq!(browser.eval("!document.querySelector('main .st-paused')"), true);
        browser.is_content("steering");
    });
    works.worker.shutdown().await;
}

async fn a_job_is_edited_and_what_was_typed_is_not_lost(subject: Subject) {
    let works = Works::start(&subject.client).await;
    let served = Served::start(&subject.client, WebOptions::default().anonymous("ann")).await;
    let runtime = tokio::runtime::Handle::current();
    browse(|browser| {
        browser.go(&format!("{}/jobs/{}", served.url, works.unserved));
        browser.eval("document.querySelector('.head .acts a[href$=edit]').click()");
        browser.loaded("the form");
        let send = |browser: &mut Browser, input: &str| {
            browser.eval(&format!("document.querySelector('[name=input]').value = {input:?}"));
            browser.eval("document.querySelector('form.sheet button').click()");
            browser.loaded("the answer");
        };
        send(browser, "{big: 8}");
        assert_eq!(browser.eval("document.querySelector('[name=input]').value"), "{big: 8}");
        assert!(browser.eval("document.querySelector('.alert.bad').textContent").as_str().unwrap().contains("JSON"));
        // The refusal itself is an error on the console, of the page's own making.
        browser.complaints.clear();
        browser.eval("document.querySelector('[name=priority]').value = '7'");
        send(browser, "{\"big\": 8}");
        browser.until("document.querySelector('main .alert.run')");
        browser.is_content("edit");
        let job = runtime.block_on(subject.client.inspect().job(works.unserved)).unwrap().unwrap();
        assert_eq!((job.input.decode::<Nobody>().unwrap().big, job.line.priority), (8, 7));
    });
    works.worker.shutdown().await;
}

async fn a_retry_is_counted_before_it_is_ordered(subject: Subject) {
    let works = Works::start(&subject.client).await;
    let served = Served::start(&subject.client, WebOptions::default().anonymous("ann")).await;
    browse(|browser| {
        let counted = |browser: &mut Browser| browser.eval("document.querySelector('form button.danger').textContent");
        browser.go(&format!("{}/graphs/{}", served.url, works.graph));
        browser.eval("document.querySelector('.head .acts a[href$=retry]').click()");
        browser.loaded("the question");
        assert_eq!(counted(browser), "Retry 2 nodes", "what failed, and what was skipped because of it");
        browser.eval("document.querySelector('[name=mode]').value = 'all'");
        browser.eval("document.querySelector('form.filters button').click()");
        browser.loaded("all");
        assert_eq!(counted(browser), "Retry 5 nodes");
        browser.eval("document.querySelector('form button.danger').click()");
        browser.loaded("the answer");
        browser.until("document.querySelector('main').textContent.includes('in generation 2')");
        browser.until("document.querySelector('main .head .st-failed')");
        browser.is_content("retry");
    });
    works.worker.shutdown().await;
}

async fn the_lines_of_a_stream_come_by_themselves(subject: Subject) {
    let works = Works::start(&subject.client).await;
    let family = Works::family(&subject.client).await;
    let served = Served::start(&subject.client, WebOptions::default()).await;
    let runtime = tokio::runtime::Handle::current();
    browse(|browser| {
        browser.window(390, 844, "light");
        browser.go(&format!("{}/jobs/{family}", served.url));
        browser.until("document.querySelectorAll('[data-key^=child-]').length == 2");
        assert!(browser.eval("document.documentElement.scrollWidth - innerWidth").as_f64().unwrap() <= 0.0);
        browser.eval("document.querySelector('a[href$=\"streams/log\"]').click()");
        browser.loaded("the stream");
        browser.until("document.querySelector('#live').textContent == 'live'");
        assert_eq!(browser.eval("document.querySelectorAll('[data-key^=line-]').length"), 2);
        let more = subject.client.signal("family/1", crate::works::MORE, &4_711);
        runtime.block_on(async { more.await }).unwrap();
        browser.until("document.querySelector('[data-key=line-3]')?.textContent.includes('4711')");
        browser.is_content("stream");
    });
    works.worker.shutdown().await;
}

async fn who_may_not_act_sees_no_button(subject: Subject) {
    let works = Works::start(&subject.client).await;
    let access = |_: &User, action: Action| !action.is_write();
    let served = Served::start(&subject.client, WebOptions::default().access(access)).await;
    browse(|browser| {
        for (name, path) in pages(&works) {
            browser.go(&format!("{}{path}", served.url));
            assert_eq!(browser.eval("document.querySelectorAll('main form[method=post]').length"), 0, "{name}");
        }
        // One who writes the form by hand is told.
        let form = format!(
            "fetch('/jobs/{}/act', {{ method: 'POST', body: new URLSearchParams({{ do: 'cancel' }}) }}).then(r => r.status)",
            works.unserved
        );
        assert_eq!(browser.eval(&form), 403);
    });
    works.worker.shutdown().await;
}

async fn a_run_is_forked_from_its_page(subject: Subject) {
    let works = Works::start(&subject.client).await;
    let served = Served::start(&subject.client, WebOptions::default().anonymous("ann")).await;
    let without = WebOptions::default().access(|_: &User, action: Action| action != Action::Retry);
    let without = Served::start(&subject.client, without).await;
    let runtime = tokio::runtime::Handle::current();
    browse(|browser| {
        let path = format!("/jobs/{}", works.run);
        browser.go(&format!("{}{path}", served.url));
        browser.eval(
            "document.querySelector('[name=at]').value = '2', document.querySelector('[name=id]').value = 'a <fork>'",
        );
        press(browser, "fork");
        browser.until("document.querySelector('h1').textContent == 'a <fork>'");
        browser.until("document.querySelector('main').textContent.includes('Forked from')");
        browser.is_content("fork");
        // A number that no operation has is told, and nothing is started.
        let send = "fetch(location.pathname + '/act', { method: 'POST', body: new URLSearchParams({ do: 'fork', at: '99', id: 'x' }) }).then(r => r.status)";
        browser.go(&format!("{}{path}", served.url));
        assert_eq!(browser.eval(send), 409);
        browser.go(&format!("{}{path}", without.url));
        assert_eq!(browser.eval("document.querySelectorAll('button[value=fork]').length"), 0);
        assert_eq!(browser.eval(send), 403);
        assert!(
            runtime.block_on(subject.client.inspect().run(towpath::core::RunId::new("x").unwrap())).unwrap().is_none()
        );
    });
    works.worker.shutdown().await;
}

async fn many_jobs_are_counted_before_they_are_cancelled(subject: Subject) {
    let client = &subject.client;
    for big in 0..30 {
        client.enqueue(&Nobody { big }).await.unwrap();
    }
    client.enqueue(&Say::ok("stays")).await.unwrap();
    let served = Served::start(client, WebOptions::default()).await;
    let runtime = tokio::runtime::Handle::current();
    browse(|browser| {
        browser.go(&format!("{}/jobs?kind=nobody", served.url));
        browser.eval("document.querySelector('.head .acts a').click()");
        browser.loaded("the question");
        assert_eq!(browser.eval("document.querySelector('h1').textContent"), "Cancel 30 jobs?");
        // What comes after the count is not meant.
        runtime.block_on(client.enqueue(&Nobody { big: 31 })).unwrap();
        browser.eval("document.querySelector('main form button').click()");
        browser.loaded("the answer");
        browser.until("document.querySelector('main .alert').textContent.includes('30 jobs')");
        browser.is_content("many");
        let counts = runtime.block_on(client.inspect().counts(100)).unwrap();
        assert_eq!((counts.cancelled, counts.ready), (30, 2));
    });
}
