//! axe-core over every page: nothing serious. The script is not ours and not in the repository: the test command fetches
//! it, and says where by the environment.

use serde_json::Value;
use towpath_web::WebOptions;

use crate::driver::Browser;
use crate::pages::pages;
use crate::works::Works;
use crate::{Served, stores};

/// Where the script lies; without it the test says that it was left out.
const AXE: &str = "TOWPATH_TEST_AXE";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn axe_finds_nothing_serious() {
    let Ok(script) = std::env::var(AXE) else {
        eprintln!("left out: axe-core (set {AXE} to axe.min.js, or run `cargo xtask test`)");
        return;
    };
    let script = std::fs::read_to_string(script).unwrap();
    let subject = stores::sqlite();
    let works = Works::start(&subject.client).await;
    let served = Served::start(&subject.client, WebOptions::default().instance("a shop")).await;
    tokio::task::block_in_place(|| {
        let Some(mut browser) = Browser::start() else { return };
        let mut found = Vec::new();
        for theme in ["light", "dark"] {
            browser.window(1_280, 900, theme);
            for (name, path) in pages(&works) {
                browser.go(&format!("{}{path}", served.url));
                browser.eval(&script);
                let report = browser.eval("axe.run().then(report => report.violations)");
                for violation in report.as_array().unwrap() {
                    let impact = violation["impact"].as_str().unwrap_or_default();
                    if matches!(impact, "serious" | "critical") {
                        let nodes: Vec<&Value> =
                            violation["nodes"].as_array().unwrap().iter().take(3).map(|n| &n["html"]).collect();
                        found.push(format!("{name}, {theme}: {} ({impact}) {nodes:?}", violation["help"]));
                    }
                }
            }
        }
        assert!(found.is_empty(), "{found:#?}");
    });
    works.worker.shutdown().await;
}
