//! Percentiles, and the time of one lone fsync.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use miette::{IntoDiagnostic, Result};

use super::Figure;

/// The value below which this share of the values lies.
pub(crate) fn percentile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = (share * values.len() as f64) as usize;
    values.get(at.min(values.len().saturating_sub(1))).copied().unwrap_or(0.0)
}

pub(crate) fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

/// One writer appends 4 KiB and waits for the disk, again and again.
pub(crate) fn fsync(dir: &Path) -> Result<Figure> {
    let path = dir.join("fsync.probe");
    let mut file = OpenOptions::new().create(true).truncate(true).write(true).open(&path).into_diagnostic()?;
    let mut times = Vec::new();
    let started = Instant::now();
    while times.len() < 500 && started.elapsed() < Duration::from_secs(2) {
        file.write_all(&[7; 4096]).into_diagnostic()?;
        let before = Instant::now();
        file.sync_data().into_diagnostic()?;
        times.push(millis(before.elapsed()));
    }
    std::fs::remove_file(&path).into_diagnostic()?;
    let n = times.len();
    let p99 = percentile(&mut times, 0.99);
    Ok(Figure::new("fsync_p50", percentile(&mut times, 0.5), "ms", n).with("p99_ms", p99))
}

/// The host's clock, in microseconds: the same in every process.
pub(crate) fn host_micros() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(0)
}
