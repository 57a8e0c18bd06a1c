//! `select!`: a race whose arms stand beside what they wait for.

/// Waits for the first of two to six operations and goes on with its arm; the others are dropped. It is
/// [`race`](crate::durable::race) in other clothes: if several are done at once, the first arm wins.
///
/// ```
/// use std::time::Duration;
/// use towpath::{Cx, Failure, Signal, durable, select};
///
/// const CONFIRMED: Signal<String> = Signal::new("confirmed");
///
/// #[durable(max_duration = "1h")]
/// async fn confirm(cx: Cx<'_>) -> Result<String, Failure> {
///     let word = select! {
///         word = cx.signal(CONFIRMED) => word,
///         () = cx.sleep(Duration::from_secs(60)) => return Err(Failure::new("nobody came")),
///     };
///     Ok(word)
/// }
/// ```
///
/// A pattern must fit whatever comes. There are no guards: whether an arm counts would be decided anew at each replay.
#[macro_export]
macro_rules! select {
    (@arms [$($arm:tt)*]) => {
        $crate::select!(@race $($arm)*)
    };
    (@arms [$($arm:tt)*] , $($rest:tt)*) => {
        $crate::select!(@arms [$($arm)*] $($rest)*)
    };
    (@arms [$($arm:tt)*] $pattern:pat = $op:expr => $body:block $($rest:tt)*) => {
        $crate::select!(@arms [$($arm)* ($pattern, $op, $body)] $($rest)*)
    };
    (@arms [$($arm:tt)*] $pattern:pat = $op:expr => $body:expr) => {
        $crate::select!(@arms [$($arm)* ($pattern, $op, $body)])
    };
    (@arms [$($arm:tt)*] $pattern:pat = $op:expr => $body:expr, $($rest:tt)*) => {
        $crate::select!(@arms [$($arm)* ($pattern, $op, $body)] $($rest)*)
    };
    (@arms [$($arm:tt)*] $pattern:pat if $($rest:tt)*) => {
        $crate::select!(@guard)
    };
    (@arms [$($arm:tt)*] $pattern:pat = $op:expr, if $($rest:tt)*) => {
        $crate::select!(@guard)
    };
    (@guard) => {
        ::core::compile_error!(
            "an arm of select! has no guard: build the race without the arm instead, with `if` around two of them"
        )
    };
    (@race ($pa:pat, $a:expr, $ba:expr) ($pb:pat, $b:expr, $bb:expr)) => {{
        let first = $crate::durable::race(($a, $b)).await;
        match first {
            $crate::durable::Race2::A($pa) => $ba,
            $crate::durable::Race2::B($pb) => $bb,
        }
    }};
    (@race ($pa:pat, $a:expr, $ba:expr) ($pb:pat, $b:expr, $bb:expr) ($pc:pat, $c:expr, $bc:expr)) => {{
        let first = $crate::durable::race(($a, $b, $c)).await;
        match first {
            $crate::durable::Race3::A($pa) => $ba,
            $crate::durable::Race3::B($pb) => $bb,
            $crate::durable::Race3::C($pc) => $bc,
        }
    }};
    (@race ($pa:pat, $a:expr, $ba:expr) ($pb:pat, $b:expr, $bb:expr) ($pc:pat, $c:expr, $bc:expr)
        ($pd:pat, $d:expr, $bd:expr)) => {{
        let first = $crate::durable::race(($a, $b, $c, $d)).await;
        match first {
            $crate::durable::Race4::A($pa) => $ba,
            $crate::durable::Race4::B($pb) => $bb,
            $crate::durable::Race4::C($pc) => $bc,
            $crate::durable::Race4::D($pd) => $bd,
        }
    }};
    (@race ($pa:pat, $a:expr, $ba:expr) ($pb:pat, $b:expr, $bb:expr) ($pc:pat, $c:expr, $bc:expr)
        ($pd:pat, $d:expr, $bd:expr) ($pe:pat, $e:expr, $be:expr)) => {{
        let first = $crate::durable::race(($a, $b, $c, $d, $e)).await;
        match first {
            $crate::durable::Race5::A($pa) => $ba,
            $crate::durable::Race5::B($pb) => $bb,
            $crate::durable::Race5::C($pc) => $bc,
            $crate::durable::Race5::D($pd) => $bd,
            $crate::durable::Race5::E($pe) => $be,
        }
    }};
    (@race ($pa:pat, $a:expr, $ba:expr) ($pb:pat, $b:expr, $bb:expr) ($pc:pat, $c:expr, $bc:expr)
        ($pd:pat, $d:expr, $bd:expr) ($pe:pat, $e:expr, $be:expr) ($pf:pat, $f:expr, $bf:expr)) => {{
        let first = $crate::durable::race(($a, $b, $c, $d, $e, $f)).await;
        match first {
            $crate::durable::Race6::A($pa) => $ba,
            $crate::durable::Race6::B($pb) => $bb,
            $crate::durable::Race6::C($pc) => $bc,
            $crate::durable::Race6::D($pd) => $bd,
            $crate::durable::Race6::E($pe) => $be,
            $crate::durable::Race6::F($pf) => $bf,
        }
    }};
    (@race $($arm:tt)*) => {
        ::core::compile_error!("select! has two to six arms, `pattern = operation => expression`")
    };
    ($($arms:tt)*) => {
        $crate::select!(@arms [] $($arms)*)
    };
}
