//! Wrong use that types can see is refused by the compiler, with a message that helps.

#[test]
fn wrong_use_does_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
