//! Where the nodes of a graph stand on paper: layers from left to right, few crossings, straight lines where they can be.
//!
//! Pure and deterministic: the same graph always gives the same picture, so that a live page moves nothing. Steps: longest
//! paths give layers; lines over several layers get bends; sweeps by the mean of neighbours order each layer; heights are
//! the closest to the neighbours' that keep their distance.

mod order;
mod place;

/// What is to be laid out: nodes by number, and edges between them. Edges that would close a circle are ignored.
#[derive(Clone, Debug, Default)]
pub struct Shape {
    /// How many nodes.
    pub nodes: usize,
    /// Parent and child, by number; both below `nodes`.
    pub edges: Vec<(usize, usize)>,
}

/// Where everything stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layout {
    /// The upper left corner of each node's box.
    pub nodes: Vec<(f64, f64)>,
    /// The points of each edge: the parent's right side, its bends, the child's left side. In the order of the edges.
    pub edges: Vec<Vec<(f64, f64)>>,
    /// How wide the whole is.
    pub width: f64,
    /// How high the whole is.
    pub height: f64,
}

/// How wide a node's box is.
pub const BOX_WIDTH: f64 = 180.0;
/// How high a node's box is.
pub const BOX_HEIGHT: f64 = 40.0;
/// Room between the layers, and between boxes of one.
const GAP_X: f64 = 76.0;
const GAP_Y: f64 = 16.0;
/// Room that a bend takes.
const BEND_HEIGHT: f64 = 10.0;
const MARGIN: f64 = 20.0;
/// Lines over more layers than this go straight: bends of all of them would be more than the nodes.
const BENT_MAX: usize = 24;
/// Most bends of a picture, for the same reason.
const BENDS_MAX: usize = 20_000;

/// Lays a graph out.
///
/// ```
/// use towpath_web::layout::{Shape, lay_out};
/// let layout = lay_out(&Shape { nodes: 2, edges: vec![(0, 1)] });
/// assert!(layout.nodes[0].0 < layout.nodes[1].0, "a child stands to the right of its parent");
/// ```
///
/// # Panics
/// An edge names a node that is not there.
pub fn lay_out(shape: &Shape) -> Layout {
    let layer_of = layers(shape);
    let mut points: Vec<usize> = layer_of.clone();
    let mut lines: Vec<(usize, usize)> = Vec::with_capacity(shape.edges.len());
    let mut bends: Vec<Vec<usize>> = vec![Vec::new(); shape.edges.len()];
    for (edge, &(parent, child)) in shape.edges.iter().enumerate() {
        let (from, to) = (layer_of[parent], layer_of[child]);
        let mut last = parent;
        if to > from + 1 && to - from <= BENT_MAX && points.len() - shape.nodes < BENDS_MAX {
            for layer in from + 1..to {
                let bend = points.len();
                points.push(layer);
                bends[edge].push(bend);
                lines.push((last, bend));
                last = bend;
            }
        }
        if layer_of[child] > points[last] {
            lines.push((last, child));
        }
    }
    let ordered = order::order(&points, &lines);
    let heights = |point: usize| if point < shape.nodes { BOX_HEIGHT + GAP_Y } else { BEND_HEIGHT + GAP_Y / 2.0 };
    let centres = place::place(&ordered, &lines, points.len(), heights);
    picture(shape, &points, &bends, &centres)
}

fn picture(shape: &Shape, points: &[usize], bends: &[Vec<usize>], centres: &[f64]) -> Layout {
    let top = centres.iter().copied().fold(f64::INFINITY, f64::min);
    let top = if top.is_finite() { top - BOX_HEIGHT / 2.0 - MARGIN } else { 0.0 };
    let x = |point: usize| MARGIN + points[point] as f64 * (BOX_WIDTH + GAP_X);
    let y = |point: usize| centres[point] - top;
    let nodes: Vec<_> = (0..shape.nodes).map(|node| (x(node), y(node) - BOX_HEIGHT / 2.0)).collect();
    let edges = shape.edges.iter().zip(bends).map(|(&(parent, child), bends)| {
        let mut line = vec![(x(parent) + BOX_WIDTH, y(parent))];
        for &bend in bends {
            line.push((x(bend), y(bend)));
            line.push((x(bend) + BOX_WIDTH, y(bend)));
        }
        line.push((x(child), y(child)));
        line
    });
    let edges = edges.collect();
    let layers = points.iter().max().map_or(0, |last| last + 1) as f64;
    let lowest = centres.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Layout {
        nodes,
        edges,
        width: (layers * (BOX_WIDTH + GAP_X) - GAP_X).max(0.0) + 2.0 * MARGIN,
        height: if lowest.is_finite() { lowest - top + BOX_HEIGHT / 2.0 + MARGIN } else { 2.0 * MARGIN },
    }
}

/// The longest way to each node. Nodes of a circle, which no checked graph has, stay on the layer that they have come to.
fn layers(shape: &Shape) -> Vec<usize> {
    let mut layer = vec![0; shape.nodes];
    let mut parents = vec![0_usize; shape.nodes];
    let mut children = vec![Vec::new(); shape.nodes];
    for &(parent, child) in &shape.edges {
        parents[child] += 1;
        children[parent].push(child);
    }
    let mut open: Vec<usize> = (0..shape.nodes).filter(|node| parents[*node] == 0).collect();
    while let Some(node) = open.pop() {
        for &child in &children[node] {
            layer[child] = layer[child].max(layer[node] + 1);
            parents[child] -= 1;
            if parents[child] == 0 {
                open.push(child);
            }
        }
    }
    layer
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(nodes: usize, edges: &[(usize, usize)]) -> Shape {
        Shape { nodes, edges: edges.to_vec() }
    }

    /// Layers of 1 to 20 nodes, each with one to three parents somewhere above.
    fn random(nodes: usize, mut seed: u64) -> Shape {
        let mut next = move |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize % below.max(1)
        };
        let mut edges = Vec::new();
        for node in 1..nodes {
            let near = node.saturating_sub(40);
            for _ in 0..=next(3) {
                edges.push((near + next(node - near), node));
            }
        }
        edges.sort_unstable();
        edges.dedup();
        Shape { nodes, edges }
    }

    #[test]
    fn a_diamond_is_a_diamond() {
        let layout = lay_out(&shape(4, &[(0, 1), (0, 2), (1, 3), (2, 3)]));
        let [a, b, c, d] = layout.nodes[..] else { panic!("{layout:?}") };
        assert!(a.0 < b.0 && b.0 == c.0 && c.0 < d.0, "{layout:?}");
        assert!((a.1 - d.1).abs() < 0.1 && b.1 < a.1 && a.1 < c.1, "{layout:?}");
    }

    #[test]
    fn a_line_without_branches_is_straight() {
        let layout = lay_out(&shape(5, &[(0, 1), (1, 2), (2, 3), (3, 4)]));
        assert!(layout.nodes.windows(2).all(|pair| (pair[0].1 - pair[1].1).abs() < 0.01), "{layout:?}");
    }

    #[test]
    fn crossed_lines_are_uncrossed() {
        // Drawn in the order of their numbers, all three pairs would cross.
        let layout = lay_out(&shape(6, &[(0, 5), (1, 4), (2, 3)]));
        let ys = |at: [usize; 3]| at.map(|node| layout.nodes[node].1);
        let (parents, children) = (ys([0, 1, 2]), ys([5, 4, 3]));
        for (one, other) in [(0, 1), (0, 2), (1, 2)] {
            assert_eq!(parents[one] < parents[other], children[one] < children[other], "{layout:?}");
        }
    }

    #[test]
    fn no_two_boxes_touch_and_all_lines_go_forward() {
        for seed in 0..20 {
            let shape = random(150, seed);
            let layout = lay_out(&shape);
            for (a, one) in layout.nodes.iter().enumerate() {
                for other in &layout.nodes[..a] {
                    let apart = (one.0 - other.0).abs() >= BOX_WIDTH || (one.1 - other.1).abs() >= BOX_HEIGHT;
                    assert!(apart, "seed {seed}: {one:?} {other:?}");
                }
                assert!(
                    one.0 >= 0.0
                        && one.1 >= 0.0
                        && one.0 + BOX_WIDTH <= layout.width
                        && one.1 + BOX_HEIGHT <= layout.height
                );
            }
            assert!(layout.edges.iter().all(|line| line.windows(2).all(|part| part[0].0 <= part[1].0)), "seed {seed}");
            assert_eq!(layout, lay_out(&shape), "seed {seed}: the same graph, another picture");
        }
    }

    #[test]
    fn what_is_no_graph_is_laid_out_too() {
        assert_eq!(lay_out(&shape(0, &[])).nodes, []);
        assert_eq!(lay_out(&shape(1, &[])).nodes.len(), 1);
        assert_eq!(lay_out(&shape(2, &[(0, 1), (1, 0)])).nodes.len(), 2);
    }
}
