use towpath::Job;

#[derive(Job)]
#[job(kind = "shape")]
enum Shape {
    Round,
    Square,
}

fn main() {}
