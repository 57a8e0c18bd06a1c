use towpath::Job;

#[derive(Job)]
#[job(kind = "greet")]
union Greet {
    name: u64,
    number: i64,
}

fn main() {}
