//! Texts: their normal form, and what refusals say.

use super::super::Spec;
use super::spec;
use crate::limits;

#[test]
fn texts_are_shown_in_a_normal_form_that_reads_the_same() {
    for (text, normal) in [
        ("* * * * *", "* * * * *"),
        ("  0\t 0 * *   * ", "0 0 * * *"),
        ("0 0 0 * * *", "0 0 * * *"),
        ("*/10 * * * * *", "*/10 * * * * *"),
        ("0/15 0-23 ? JAN,feb,Mar ?", "*/15 * * 1-3 *"),
        ("0 0-59/20 * * * *", "*/20 * * * *"),
        ("5/20 * * * *", "5,25,45 * * * *"),
        ("0 */6 * * *", "0 */6 * * *"),
        ("0 0,6,12,18 * * *", "0 0-18/6 * * *"),
        ("0 3/6 * * *", "0 3/6 * * *"),
        ("0 20/6 * * *", "0 20 * * *"),
        ("0 0 1-31 * 0-6", "0 0 1-31 * 0-6"),
        ("0 0 */1 * */01", "0 0 * * *"),
        ("0 0 *,5 * *", "0 0 1-31 * *"),
        ("0 0 * * 7", "0 0 * * 0"),
        ("0 0 * * sun,SAT", "0 0 * * 0,6"),
        ("0 0 * * fri-sun", "0 0 * * 0,5,6"),
        ("0 0 * * 5-7", "0 0 * * 0,5,6"),
        ("0 0 * * 7/2", "0 0 * * 0"),
        ("0 0 l,15w,L-3,lw,1 * *", "0 0 1,15W,L,L-3,LW * *"),
        ("0 0 ? * 5L,mon#2,FRI#L,7#1", "0 0 * * 0#1,1#2,5L"),
        ("@hourly", "0 * * * *"),
        ("@Daily", "0 0 * * *"),
        ("@midnight", "0 0 * * *"),
        ("@weekly", "0 0 * * 0"),
        ("@monthly", "0 0 1 * *"),
        ("@yearly", "0 0 1 1 *"),
        ("@annually", "0 0 1 1 *"),
        ("@every 1h30m", "@every 1h30m"),
        ("@every 5400s", "@every 1h30m"),
        ("@EVERY 1D", "@every 1d"),
        ("@every 25h1s", "@every 1d1h1s"),
    ] {
        assert_eq!(spec(text).to_string(), normal, "{text}");
        assert_eq!(spec(normal), spec(text), "{text}");
    }
}

#[test]
fn a_refusal_names_the_field_the_text_its_place_and_the_remedy() {
    for (text, said) in [
        (
            "",
            r#"expression "" at character 1: has 0 fields: write minute, hour, day of month, month and weekday, with seconds before them or not"#,
        ),
        ("0 0 * *", r#"expression "0 0 * *" at character 1: has 4 fields: write minute,"#),
        ("0 0 0 1 1 ? 2026", r#"expression "0 0 0 1 1 ? 2026" at character 1: has 7 fields: write minute,"#),
        ("60 * * * *", r#"minute "60" at character 1: use 0 to 59"#),
        ("0 24 * * *", r#"hour "24" at character 3: use 0 to 23"#),
        ("0 0 0 * *", r#"day of month "0" at character 5: use 1 to 31, L, L-3, 15W or LW"#),
        ("0 0 * JANUARY *", r#"month "JANUARY" at character 7: use 1 to 12 or JAN to DEC"#),
        ("0 0 * * 1,8", r#"weekday "8" at character 11: use 0 (Sunday) to 7 (Sunday again) or SUN to SAT"#),
        ("0 0 * MON *", r#"month "MON" at character 7: use 1 to 12"#),
        ("0  0 1, * *", r#"day of month "" at character 8: nothing stands here: use 1 to 31, L, L-3, 15W or LW, or *"#),
        ("0 22-2 * * *", r#"hour "22-2" at character 3: goes backwards: write 22-23,0-2"#),
        ("*/0 * * * *", r#"minute "*/0" at character 1: a step is a number from 1 to 59, such as */2"#),
        (
            "*/60 * * * *",
            r#"minute "*/60" at character 1: a step is at most 59 here: for the first value alone write 0"#,
        ),
        ("*/x * * * *", r#"minute "*/x" at character 1: a step is a number"#),
        ("? * * * *", r#"minute "?" at character 1: ? stands only alone"#),
        ("0 0 ?,1 * *", r#"day of month "?" at character 5: ? stands only alone"#),
        ("0 0 L-31 * *", r#"day of month "L-31" at character 5: write L-1 to L-30"#),
        ("0 0 W * *", r#"day of month "W" at character 5: write 1W to 31W"#),
        ("0 0 * * L", r#"weekday "L" at character 9: write which weekday, such as 5L or FRIL for the last Friday"#),
        ("0 0 * * MON#6", r#"weekday "MON#6" at character 9: write #1 to #5, such as MON#2 for the second Monday"#),
        ("0 0 31 2 *", r#"day of month "31" at character 5: never comes: the months "2" have at most 29 days"#),
        (
            "0 0 31W 4,6,9,11 ?",
            r#"day of month "31W" at character 5: never comes: the months "4,6,9,11" have at most 30 days"#,
        ),
        ("0 0 L-29 FEB *", r#"day of month "L-29" at character 5: never comes"#),
        ("ü 0 * * *", r#"minute "ü" at character 1: use 0 to 59"#),
        ("0 ü,x * * *", r#"hour "ü" at character 3: use 0 to 23"#),
        ("0 1,ü,+5 * * *", r#"hour "ü" at character 5: use 0 to 23"#),
        ("0 +5 * * *", r#"hour "+5" at character 3: use 0 to 23"#),
        ("TZ=UTC 0 0 * * *", r#"zone "TZ=UTC" at character 1: a spec has no zone: name it beside the spec"#),
        (
            "@reboot",
            r#"macro "@reboot" at character 1: a start of a program is no instant: enqueue the job when the program starts"#,
        ),
        ("@fortnightly", r#"macro "@fortnightly" at character 1: is none of @hourly,"#),
        ("@daily at 5", r#"end "at" at character 8: nothing may follow @daily"#),
        ("@every", r#"period "@every" at character 1: needs one period after it, such as @every 1h30m"#),
        ("@every 1h 30m", r#"period "@every" at character 1: needs one period"#),
        ("@every 1h30", r#"period "30" at character 10: write numbers with s, m, h or d, such as 1h30m"#),
        ("@every 500ms", r#"period "500ms" at character 8: a tick is a whole second: use s, m, h or d"#),
        ("@every 0s", r#"period "0s" at character 8: a period is 1s to 366d, such as 1h30m"#),
        ("@every 367d", r#"period "367d" at character 8: a period is 1s to 366d"#),
        ("@every 99999999999999999999h", r#"at character 8: write numbers"#),
        ("@every -5m", r#"period "-5m" at character 8: write numbers"#),
    ] {
        let error = Spec::parse(text).expect_err(text).to_string();
        assert!(error.starts_with(&format!("schedule {text:?}: ")) && error.contains(said), "{text}\n{error}");
    }
}

#[test]
fn a_text_is_bounded() {
    let minutes = (0..60).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
    assert_eq!(spec(&format!("{minutes} {minutes} 0 * * *")).to_string(), "* * 0 * * *", "the longest lists there are");
    let many = ["1"; limits::SPEC_ITEMS_MAX + 1].join(",");
    let refused = Spec::parse(&format!("{many} * * * *")).unwrap_err();
    assert_eq!(refused.problem, "a list of 61, at most 60 are allowed: write ranges");
    let padded = |length: usize| format!("{}* * * * *", " ".repeat(length - 9));
    assert_eq!(spec(&padded(limits::SPEC_BYTES_MAX)).to_string(), "* * * * *");
    let refused = Spec::parse(&padded(limits::SPEC_BYTES_MAX + 1)).unwrap_err();
    assert_eq!((refused.field, refused.problem.as_str()), ("length", "513 bytes, at most 512 are allowed"));
    assert!(refused.spec.len() == 200 && refused.found.len() == 60);
}

#[test]
fn a_spec_is_kept_as_its_normal_form() {
    let kept = serde_json::to_string(&spec("0 9 * * MON-FRI")).unwrap();
    assert_eq!(kept, "\"0 9 * * 1-5\"");
    assert_eq!(serde_json::from_str::<Spec>(&kept).unwrap(), spec("0 9 * * MON-FRI"));
    assert!(serde_json::from_str::<Spec>("\"0 9 * *\"").is_err());
}
