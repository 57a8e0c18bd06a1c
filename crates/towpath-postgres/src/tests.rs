//! Tests of what only this store has: how the server carries its statements out.
//! What every store must do is proven by `towpath-conformance`.

mod plans;
