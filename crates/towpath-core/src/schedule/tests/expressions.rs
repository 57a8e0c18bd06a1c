//! Random expressions that know, in the plainest way, which local times they allow.

use jiff::civil::DateTime;
use proptest::prelude::*;

/// One item of a field, as it is written.
#[derive(Clone, Debug)]
pub(super) enum Item {
    Any,
    AnyStep(u32),
    Value(u32),
    From(u32, u32),
    Range(u32, u32),
    RangeStep(u32, u32, u32),
    BeforeLast(u32),
    Near(u32),
    LastWorking,
    Nth(u32, u32),
    LastOf(u32),
}

/// Six fields, the seconds perhaps not written.
#[derive(Clone, Debug)]
pub(super) struct Expression {
    pub(super) seconds: Option<Vec<Item>>,
    pub(super) minutes: Vec<Item>,
    pub(super) hours: Vec<Item>,
    pub(super) days: Vec<Item>,
    pub(super) months: Vec<Item>,
    pub(super) weekdays: Vec<Item>,
}

impl Item {
    fn text(&self) -> String {
        match self {
            Self::Any => "*".into(),
            Self::AnyStep(step) => format!("*/{step}"),
            Self::Value(value) => value.to_string(),
            Self::From(value, step) => format!("{value}/{step}"),
            Self::Range(from, to) => format!("{from}-{to}"),
            Self::RangeStep(from, to, step) => format!("{from}-{to}/{step}"),
            Self::BeforeLast(0) => "L".into(),
            Self::BeforeLast(before) => format!("L-{before}"),
            Self::Near(day) => format!("{day}W"),
            Self::LastWorking => "LW".into(),
            Self::Nth(weekday, nth) => format!("{weekday}#{nth}"),
            Self::LastOf(weekday) => format!("{weekday}L"),
        }
    }

    fn allows(&self, value: u32, first: u32) -> bool {
        match *self {
            Self::Any => true,
            Self::AnyStep(step) => (value - first).is_multiple_of(step),
            Self::Value(only) => value == only,
            Self::From(from, step) => value >= from && (value - from).is_multiple_of(step),
            Self::Range(from, to) => from <= value && value <= to,
            Self::RangeStep(from, to, step) => from <= value && value <= to && (value - from).is_multiple_of(step),
            _ => false,
        }
    }

    fn allows_day(&self, local: DateTime) -> bool {
        let (day, length) = (local.day() as i32, local.date().days_in_month() as i32);
        let working = |day: i32| {
            let date = local.date().with().day(day as i8).build().unwrap();
            date.weekday().to_monday_one_offset() <= 5
        };
        let near = |day: i32| {
            let mut by_distance = [0, -1, 1, -2, 2].map(|by| day + by).into_iter();
            by_distance.find(|day| (1..=length).contains(day) && working(*day)).unwrap()
        };
        match *self {
            Self::BeforeLast(before) => day == length - before as i32,
            Self::Near(of) => of as i32 <= length && day == near(of as i32),
            Self::LastWorking => day == near(length),
            _ => self.allows(day as u32, 1),
        }
    }

    fn allows_weekday(&self, local: DateTime) -> bool {
        let weekday = local.weekday().to_sunday_zero_offset() as u32;
        let (day, length) = (local.day() as u32, local.date().days_in_month() as u32);
        match *self {
            Self::Nth(of, nth) => weekday == of % 7 && day.div_ceil(7) == nth,
            Self::LastOf(of) => weekday == of % 7 && day + 7 > length,
            _ => {
                self.allows(weekday, 0)
                    || weekday == 0 && self.allows(7, 0) && !matches!(self, Self::From(..) | Self::AnyStep(_))
            }
        }
    }
}

impl Expression {
    pub(super) fn text(&self) -> String {
        let fields = [&self.minutes, &self.hours, &self.days, &self.months, &self.weekdays];
        let fields = self.seconds.iter().chain(fields);
        let words = fields.map(|items| items.iter().map(Item::text).collect::<Vec<_>>().join(","));
        words.collect::<Vec<_>>().join(" ")
    }

    pub(super) fn allows(&self, local: DateTime) -> bool {
        let any = |items: &[Item], value: i8, first| items.iter().any(|item| item.allows(value as u32, first));
        let second = match &self.seconds {
            Some(items) => any(items, local.second(), 0),
            None => local.second() == 0,
        };
        second && any(&self.minutes, local.minute(), 0) && any(&self.hours, local.hour(), 0) && self.allows_date(local)
    }

    pub(super) fn allows_date(&self, local: DateTime) -> bool {
        let is_star = |items: &[Item]| matches!(items, [Item::Any | Item::AnyStep(1)]);
        let day = self.days.iter().any(|item| item.allows_day(local));
        let weekday = self.weekdays.iter().any(|item| item.allows_weekday(local));
        let date = match (is_star(&self.days), is_star(&self.weekdays)) {
            (true, _) => weekday,
            (_, true) => day,
            _ => day || weekday,
        };
        date && self.months.iter().any(|item| item.allows(local.month() as u32, 1))
    }

    /// Whether the hour follows the clock.
    pub(super) fn has_wildcard_hour(&self) -> bool {
        let allowed = (0..24).filter(|hour| self.hours.iter().any(|item| item.allows(*hour, 0))).count();
        let rhythm = matches!(self.hours.as_slice(), [Item::Any | Item::AnyStep(_) | Item::From(..)]) && allowed > 1;
        rhythm || allowed == 24
    }
}

/// Any expression, with seconds or without.
pub(super) fn expression(seconds: bool) -> impl Strategy<Value = Expression> {
    let seconds = if seconds { field(0, 59).prop_map(Some).boxed() } else { Just(None).boxed() };
    let day = prop_oneof![
        6 => item(1, 31),
        1 => (0_u32..=30).prop_map(Item::BeforeLast),
        1 => (1_u32..=31).prop_map(Item::Near),
        1 => Just(Item::LastWorking),
    ];
    let weekday = prop_oneof![
        6 => item(0, 6),
        1 => Just(Item::Value(7)),
        1 => (0_u32..=7, 1_u32..=5).prop_map(|(weekday, nth)| Item::Nth(weekday, nth)),
        1 => (0_u32..=7).prop_map(Item::LastOf),
    ];
    (seconds, field(0, 59), field(0, 23), mostly_any(day), mostly_any(item(1, 12)), mostly_any(weekday)).prop_map(
        |(seconds, minutes, hours, days, months, weekdays)| Expression {
            seconds,
            minutes,
            hours,
            days,
            months,
            weekdays,
        },
    )
}

fn field(first: u32, last: u32) -> impl Strategy<Value = Vec<Item>> {
    prop_oneof![2 => Just(vec![Item::Any]), 3 => item(first, last).prop_map(|item| vec![item]), 3 => prop::collection::vec(item(first, last), 1..4)]
}

fn mostly_any(item: impl Strategy<Value = Item> + 'static) -> impl Strategy<Value = Vec<Item>> {
    prop_oneof![3 => Just(vec![Item::Any]), 2 => prop::collection::vec(item, 1..4)]
}

fn item(first: u32, last: u32) -> impl Strategy<Value = Item> {
    let width = last - first;
    let range = (first..=last, first..=last).prop_map(|(a, b)| (a.min(b), a.max(b)));
    prop_oneof![
        1 => Just(Item::Any),
        2 => (1..=width).prop_map(Item::AnyStep),
        4 => (first..=last).prop_map(Item::Value),
        1 => (first..=last, 1..=width).prop_map(|(from, step)| Item::From(from, step)),
        2 => range.clone().prop_map(|(from, to)| Item::Range(from, to)),
        1 => (range, 1..=width).prop_map(|((from, to), step)| Item::RangeStep(from, to, step)),
    ]
}
