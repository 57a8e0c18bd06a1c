//! The order within the layers: sweeps to and fro, each point at the mean of its neighbours in the layer before; the order
//! with the fewest crossings is kept.

const SWEEPS: usize = 8;

/// Points by layer, in their order from the top.
pub(super) fn order(layer_of: &[usize], lines: &[(usize, usize)]) -> Vec<Vec<usize>> {
    let layers = layer_of.iter().max().map_or(0, |last| last + 1);
    let (mut before, mut behind) = (vec![Vec::new(); layer_of.len()], vec![Vec::new(); layer_of.len()]);
    for &(parent, child) in lines {
        before[child].push(parent);
        behind[parent].push(child);
    }
    let mut ordered = vec![Vec::new(); layers];
    for (point, &layer) in layer_of.iter().enumerate() {
        ordered[layer].push(point);
    }
    let mut rank = vec![0_usize; layer_of.len()];
    ordered.iter().for_each(|layer| number(layer, &mut rank));
    let mut best = (crossings(&ordered, &behind, &rank), ordered.clone());
    for sweep in 0..SWEEPS {
        if best.0 == 0 {
            break;
        }
        if sweep % 2 == 0 {
            ordered.iter_mut().skip(1).for_each(|layer| settle(layer, &before, &mut rank));
        } else {
            ordered.iter_mut().rev().skip(1).for_each(|layer| settle(layer, &behind, &mut rank));
        }
        let crossed = crossings(&ordered, &behind, &rank);
        if crossed < best.0 {
            best = (crossed, ordered.clone());
        }
    }
    best.1
}

fn number(layer: &[usize], rank: &mut [usize]) {
    layer.iter().enumerate().for_each(|(at, point)| rank[*point] = at);
}

/// Sorts a layer by the means of its neighbours. A point without any stays about where it is.
fn settle(layer: &mut [usize], neighbours: &[Vec<usize>], rank: &mut [usize]) {
    let mean = |point: usize| match &neighbours[point][..] {
        [] => rank[point] as f64,
        all => all.iter().map(|other| rank[*other]).sum::<usize>() as f64 / all.len() as f64,
    };
    let mut keyed: Vec<(f64, usize, usize)> = layer.iter().map(|&point| (mean(point), rank[point], point)).collect();
    keyed.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    keyed.iter().zip(layer.iter_mut()).for_each(|((_, _, point), place)| *place = *point);
    number(layer, rank);
}

/// How many lines between neighbouring layers cross, counted by a tree of sums (Barth, Mutzel, Jünger 2004).
fn crossings(ordered: &[Vec<usize>], behind: &[Vec<usize>], rank: &[usize]) -> u64 {
    let mut found = 0;
    for pair in ordered.windows(2) {
        let mut sums = vec![0_u64; pair[1].len() + 1];
        let mut seen = 0;
        for &point in &pair[0] {
            let mut ends: Vec<usize> = behind[point].iter().map(|child| rank[*child]).collect();
            ends.sort_unstable();
            // Those that end further down and began further up cross this one.
            for &end in &ends {
                found += seen - up_to(&sums, end);
            }
            for end in ends {
                add(&mut sums, end);
                seen += 1;
            }
        }
    }
    found
}

fn up_to(sums: &[u64], end: usize) -> u64 {
    let (mut at, mut sum) = (end + 1, 0);
    while at > 0 {
        sum += sums[at];
        at &= at - 1;
    }
    sum
}

fn add(sums: &mut [u64], end: usize) {
    let mut at = end + 1;
    while at < sums.len() {
        sums[at] += 1;
        at += at & at.wrapping_neg();
    }
}
