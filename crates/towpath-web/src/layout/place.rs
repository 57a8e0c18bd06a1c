//! Heights within the layers: each point as near to the mean of its neighbours as the distances to those above and below
//! it in its layer allow.

const SWEEPS: usize = 6;

/// The middle of each point.
pub(super) fn place(
    ordered: &[Vec<usize>],
    lines: &[(usize, usize)],
    points: usize,
    heights: impl Fn(usize) -> f64,
) -> Vec<f64> {
    let (mut before, mut behind) = (vec![Vec::new(); points], vec![Vec::new(); points]);
    for &(parent, child) in lines {
        before[child].push(parent);
        behind[parent].push(child);
    }
    let mut centres = vec![0.0; points];
    for layer in ordered {
        let offsets = offsets(layer, &heights);
        // Around one middle line, so that a lone point is not at the top.
        let middle = offsets.last().copied().unwrap_or(0.0) / 2.0;
        layer.iter().zip(&offsets).for_each(|(&point, offset)| centres[point] = offset - middle);
    }
    for sweep in 0..SWEEPS {
        let settle = |layer: &Vec<usize>, neighbours: &[Vec<usize>], centres: &mut Vec<f64>| {
            let wanted: Vec<f64> = layer.iter().map(|&point| mean(point, neighbours, centres)).collect();
            let settled = nearest(&wanted, &offsets(layer, &heights));
            layer.iter().zip(settled).for_each(|(&point, centre)| centres[point] = centre);
        };
        if sweep % 2 == 0 {
            ordered.iter().skip(1).for_each(|layer| settle(layer, &before, &mut centres));
        } else {
            ordered.iter().rev().skip(1).for_each(|layer| settle(layer, &behind, &mut centres));
        }
    }
    centres
}

fn mean(point: usize, neighbours: &[Vec<usize>], centres: &[f64]) -> f64 {
    match &neighbours[point][..] {
        [] => centres[point],
        all => all.iter().map(|other| centres[*other]).sum::<f64>() / all.len() as f64,
    }
}

/// How far each point of a layer is from the first at least.
fn offsets(layer: &[usize], heights: &impl Fn(usize) -> f64) -> Vec<f64> {
    let mut at = 0.0;
    let mut last = None;
    let step = |&point: &usize| {
        let half = heights(point) / 2.0;
        at += last.map_or(0.0, |last: f64| last + half);
        last = Some(half);
        at
    };
    layer.iter().map(step).collect()
}

/// The places nearest to those wanted, by the sum of squares, that keep the offsets' distances (pool adjacent violators).
fn nearest(wanted: &[f64], offsets: &[f64]) -> Vec<f64> {
    // Without the offsets they need only not fall.
    let mut pools: Vec<(f64, usize)> = Vec::with_capacity(wanted.len());
    for (wanted, offset) in wanted.iter().zip(offsets) {
        let mut pool = (wanted - offset, 1);
        while let Some(&(mean, count)) = pools.last().filter(|(mean, _)| *mean > pool.0) {
            pools.pop();
            let all = count + pool.1;
            pool = ((mean * count as f64 + pool.0 * pool.1 as f64) / all as f64, all);
        }
        pools.push(pool);
    }
    let flat = pools.into_iter().flat_map(|(mean, count)| std::iter::repeat_n(mean, count));
    flat.zip(offsets).map(|(mean, offset)| mean + offset).collect()
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn places_keep_their_distance_and_move_as_little_as_they_can() {
        assert_eq!(nearest(&[0.0, 50.0], &[0.0, 10.0]), [0.0, 50.0]);
        assert_eq!(nearest(&[5.0, 5.0], &[0.0, 10.0]), [0.0, 10.0]);
        assert_eq!(nearest(&[20.0, 0.0, 100.0], &[0.0, 10.0, 20.0]), [5.0, 15.0, 100.0]);
    }
}
