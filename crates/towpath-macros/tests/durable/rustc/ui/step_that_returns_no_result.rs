use towpath::step;

#[step]
async fn count(numbers: Vec<u32>) -> usize {
    numbers.len()
}

fn main() {}
