//! How long the map of a graph takes.

use std::time::Instant;

use towpath_web::layout::{Shape, lay_out};

use super::Figure;

/// Layers of forty nodes, each after up to three of those before: wide, deep, and full of lines.
fn shape(nodes: usize) -> Shape {
    let mut seed = 7_u64;
    let mut below = |limit: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % limit.max(1)
    };
    let mut edges = Vec::new();
    for node in 40..nodes {
        let layer = node / 40 * 40;
        for _ in 0..=below(3) {
            edges.push((layer - 40 + below(40), node));
        }
    }
    edges.sort_unstable();
    edges.dedup();
    Shape { nodes, edges }
}

/// The median of nine.
pub(super) fn layout(nodes: usize) -> Figure {
    let shape = shape(nodes);
    let mut times: Vec<f64> = (0..9)
        .map(|_| {
            let begun = Instant::now();
            std::hint::black_box(lay_out(&shape));
            begun.elapsed().as_secs_f64() * 1_000.0
        })
        .collect();
    times.sort_by(f64::total_cmp);
    Figure::new("graph_layout", times[times.len() / 2], "ms", nodes).with("edges", shape.edges.len())
}
