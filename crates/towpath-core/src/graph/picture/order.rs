//! In which order the lines of a drawing stand: parents before children, and a chain in one piece.

use super::Picture;

impl Picture {
    /// Every node once, after all its parents (Kahn, CACM 1962). Of those that could come next, one that follows the
    /// node just written, so that chains stay together. Nodes of a cycle, which no store has, come last.
    pub(super) fn order(&self) -> Vec<usize> {
        let children = self.children();
        let mut left = vec![0_usize; self.nodes.len()];
        for child in children.iter().flatten() {
            left[*child] += 1;
        }
        let mut free: Vec<usize> = (0..self.nodes.len()).rev().filter(|at| left[*at] == 0).collect();
        let mut order = Vec::with_capacity(self.nodes.len());
        while let Some(at) = free.pop() {
            order.push(at);
            for child in children[at].iter().rev() {
                left[*child] -= 1;
                if left[*child] == 0 {
                    free.push(*child);
                }
            }
        }
        order.extend((0..self.nodes.len()).filter(|at| left[*at] > 0));
        order
    }

    /// Each node's children, each once, in the order of the edges.
    pub(super) fn children(&self) -> Vec<Vec<usize>> {
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); self.nodes.len()];
        let mut seen = std::collections::HashSet::new();
        for line in &self.lines {
            if seen.insert((line.parent, line.child)) {
                children[line.parent].push(line.child);
            }
        }
        children
    }
}
