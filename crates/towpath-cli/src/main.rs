//! The `towpath` command: runs flow files durably, and shows and steers what a store holds.

mod bench;
mod commands;
mod drive;
mod error;
mod exec;
mod exit;
mod flow;
mod group;
mod held;
mod location;
mod progress;
#[cfg(test)]
mod reference;
mod say;
mod served;
mod summary;
mod table;
mod waits;
mod words;

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    if let Some(code) = exec::pass_gate() {
        return ExitCode::from(code);
    }
    let cli = commands::Cli::parse();
    report_like_this();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(e) => {
            eprintln!("error: failed to start the runtime: {e}");
            return ExitCode::from(exit::FAILED);
        }
    };
    let result = runtime.block_on(cli.run());
    // A store that hangs must not keep an answer from its user.
    runtime.shutdown_timeout(std::time::Duration::from_secs(5));
    match result {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            let code = error.code();
            error.print();
            ExitCode::from(code)
        }
    }
}

/// Diagnostics fit the terminal; elsewhere they are plain and always of one width.
fn report_like_this() {
    let hook = miette::set_hook(Box::new(|_| {
        let options = miette::MietteHandlerOpts::new().unicode(true);
        let options = if std::io::stderr().is_terminal() { options } else { options.color(false).width(100) };
        Box::new(options.build())
    }));
    // Only a second hook would be refused.
    let _ = hook;
}
