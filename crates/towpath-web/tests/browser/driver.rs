//! Chromium by its DevTools protocol, over a pair of pipes.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// Where tests find the browser; without it they say that they were left out.
pub(crate) const CHROMIUM: &str = "TOWPATH_TEST_CHROMIUM";

/// How long anything may take on a slow, loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A browser with one page.
pub(crate) struct Browser {
    child: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    events: VecDeque<Value>,
    next: u64,
    session: Option<String>,
    /// What the page has complained of: errors on the console, refusals of the content security policy.
    pub(crate) complaints: Vec<String>,
    _profile: TempDir,
}

impl Browser {
    /// Starts it; `None` where there is none.
    pub(crate) fn start() -> Option<Self> {
        let Ok(program) = std::env::var(CHROMIUM) else {
            eprintln!("left out: Chromium (set {CHROMIUM}, or run `cargo xtask test`)");
            return None;
        };
        let profile = tempfile::tempdir().unwrap();
        // The protocol's pipes are 3 and 4; the shell makes them of what it is given as 0 and 1.
        let mut command = Command::new("sh");
        command
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>/dev/null", &program])
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
            .args(["--disable-dev-shm-usage", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", profile.path().display()));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (to, out) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (tell, from) = channel();
        std::thread::spawn(move || {
            let mut out = BufReader::new(out);
            let mut message = Vec::new();
            while out.read_until(0, &mut message).is_ok_and(|read| read > 0) {
                message.pop();
                let told = serde_json::from_slice(&message).is_ok_and(|message| tell.send(message).is_ok());
                message.clear();
                if !told {
                    break;
                }
            }
        });
        let (events, complaints) = (VecDeque::new(), Vec::new());
        let mut browser = Self { child, to, from, events, next: 0, session: None, complaints, _profile: profile };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        browser.session = browser.call("Target.attachToTarget", attach)["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    /// Asks the browser for something, and waits for its answer.
    pub(crate) fn call(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        let mut message = json!({ "id": id, "method": method, "params": params });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.to.write_all(message.to_string().as_bytes()).and_then(|()| self.to.write_all(&[0])).unwrap();
        let until = Instant::now() + PATIENCE;
        loop {
            let message = self.next_message(until).unwrap_or_else(|| panic!("no answer to {method}"));
            if message["id"] == id {
                assert!(message["error"].is_null(), "{method}: {}", message["error"]);
                return message["result"].clone();
            }
            self.hear(message);
        }
    }

    fn next_message(&mut self, until: Instant) -> Option<Value> {
        match self.from.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(message) => Some(message),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => panic!("the browser is gone"),
        }
    }

    fn hear(&mut self, event: Value) {
        let params = &event["params"];
        match event["method"].as_str().unwrap_or_default() {
            "Runtime.exceptionThrown" => self.complaints.push(params["exceptionDetails"].to_string()),
            "Runtime.consoleAPICalled" if params["type"] == "error" => self.complaints.push(params["args"].to_string()),
            "Log.entryAdded" if params["entry"]["level"] == "error" => {
                self.complaints.push(params["entry"].to_string())
            }
            _ => {}
        }
        self.events.push_back(event);
        if self.events.len() > 10_000 {
            self.events.pop_front();
        }
    }

    /// Goes to an address, and waits until the page has loaded.
    pub(crate) fn go(&mut self, url: &str) {
        self.events.clear();
        let went = self.call("Page.navigate", json!({ "url": url }));
        assert!(went["errorText"].is_null(), "{url}: {went}");
        self.loaded(url);
    }

    /// Waits until a page that is on its way has loaded.
    pub(crate) fn loaded(&mut self, what: &str) {
        let until = Instant::now() + PATIENCE;
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let message = self.next_message(until).unwrap_or_else(|| panic!("{what} does not load"));
            self.hear(message);
        }
        self.events.clear();
    }

    /// The value of an expression; of a promise, what it comes to.
    pub(crate) fn eval(&mut self, expression: &str) -> Value {
        let params = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.call("Runtime.evaluate", params);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Waits until an expression is true.
    pub(crate) fn until(&mut self, expression: &str) -> Duration {
        let begun = Instant::now();
        while self.eval(&format!("!!({expression})")) != true {
            assert!(
                begun.elapsed() < PATIENCE,
                "it never comes true: {expression}\n{}",
                self.eval("document.body.innerText.slice(0, 3000)")
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        begun.elapsed()
    }

    /// A window of this width, in a theme.
    pub(crate) fn window(&mut self, width: u32, height: u32, theme: &str) {
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 700 });
        self.call("Emulation.setDeviceMetricsOverride", metrics);
        let media = json!({ "features": [{ "name": "prefers-color-scheme", "value": theme }] });
        self.call("Emulation.setEmulatedMedia", media);
    }

    /// What the window shows, as a picture, where the environment names a folder for them.
    pub(crate) fn shot(&mut self, name: &str) {
        let Ok(folder) = std::env::var("TOWPATH_TEST_SHOTS") else { return };
        let shot = self.call("Page.captureScreenshot", json!({ "format": "png", "captureBeyondViewport": false }));
        let data = shot["data"].as_str().unwrap();
        std::fs::write(format!("{folder}/{name}.b64"), data).unwrap();
    }

    /// Fails if the page has complained of anything.
    pub(crate) fn is_content(&mut self, what: &str) {
        // What was on its way is heard with the answer.
        self.eval("1");
        assert!(self.complaints.is_empty(), "{what}: {:#?}", self.complaints);
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It is ours, and started by us; if it has gone by itself, so much the better.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
