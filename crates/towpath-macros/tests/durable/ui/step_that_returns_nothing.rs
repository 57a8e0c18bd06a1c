use towpath::step;

#[step]
async fn forget(_number: u32) {}

fn main() {}
