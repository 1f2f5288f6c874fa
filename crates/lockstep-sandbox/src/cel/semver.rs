//! Versions: `1.2.3-rc.1+build`.

use std::cmp::Ordering;
use std::rc::Rc;

use super::value::{Result, Val};

/// A version. What it was built from does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Semver {
    numbers: [u64; 3],
    before: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Number(u64),
    Text(String),
}

impl Semver {
    fn read(text: &str) -> std::result::Result<Self, &'static str> {
        const MISSING: &str = "No Major.Minor.Patch elements found";
        let (text, _) = text.split_once('+').unwrap_or((text, ""));
        let (numbers, before) = match text.split_once('-') {
            Some((numbers, before)) => (numbers, Some(before)),
            None => (text, None),
        };
        let parts: Vec<&str> = numbers.split('.').collect();
        let [major, minor, patch] = parts.as_slice() else { return Err(MISSING) };
        let number = |text: &str| {
            let plain = !text.is_empty() && text.chars().all(|letter| letter.is_ascii_digit());
            if !plain || (text.len() > 1 && text.starts_with('0')) {
                return Err("Invalid character(s) found in version number");
            }
            text.parse::<u64>().map_err(|_| MISSING)
        };
        let part = |text: &str| match text.parse() {
            Ok(number) => Part::Number(number),
            Err(_) => Part::Text(text.to_owned()),
        };
        let before: Vec<Part> =
            before.map(|before| before.split('.').map(part).collect()).unwrap_or_default();
        if before.contains(&Part::Text(String::new())) {
            return Err("Prerelease is empty");
        }
        Ok(Self { numbers: [number(major)?, number(minor)?, number(patch)?], before })
    }

    /// Reads a version that is written loosely: `v1.2`.
    fn read_loosely(text: &str) -> std::result::Result<Self, &'static str> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let mut parts: Vec<String> = text.splitn(3, '.').map(without_zeros).collect();
        if parts.len() < 3 && parts.last().is_some_and(|last| last.contains(['+', '-'])) {
            return Err("short version cannot contain PreRelease/Build meta data");
        }
        while parts.len() < 3 {
            parts.push("0".to_owned());
        }
        Self::read(&parts.join("."))
    }
}

fn without_zeros(part: &str) -> String {
    let trimmed = part.trim_start_matches('0');
    match trimmed.starts_with(|first: char| first.is_ascii_digit()) {
        _ if part.len() < 2 => part.to_owned(),
        true => trimmed.to_owned(),
        false => format!("0{trimmed}"),
    }
}

impl PartialOrd for Semver {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Semver {
    /// What comes before a release is less than the release.
    fn cmp(&self, other: &Self) -> Ordering {
        self.numbers.cmp(&other.numbers).then_with(|| {
            match (self.before.is_empty(), other.before.is_empty()) {
                (true, true) => Ordering::Equal,
                (true, false) => Ordering::Greater,
                (false, true) => Ordering::Less,
                (false, false) => self.before.cmp(&other.before),
            }
        })
    }
}

pub(super) fn call<'a>(name: &str, args: &[Val<'a>]) -> Option<Result<Val<'a>>> {
    let read =
        |text: &str, loosely: bool| if loosely { Semver::read_loosely(text) } else { Semver::read(text) };
    let integer = |number: u64| Val::Int(i64::try_from(number).unwrap_or(i64::MAX));
    Some(Ok(match (name, args) {
        ("semver" | "isSemver", [Val::Text(text), rest @ ..]) => {
            let loosely = matches!(rest, [Val::Bool(true)]);
            match (name, read(text, loosely)) {
                ("isSemver", found) => Val::Bool(found.is_ok()),
                (_, Ok(version)) => Val::Semver(Rc::new(version)),
                (_, Err(error)) => return Some(Err(error.to_owned())),
            }
        }
        ("major" | "minor" | "patch", [Val::Semver(version)]) => {
            let [major, minor, patch] = version.numbers;
            integer(match name {
                "major" => major,
                "minor" => minor,
                _ => patch,
            })
        }
        ("isLessThan", [Val::Semver(one), Val::Semver(other)]) => Val::Bool(one < other),
        ("isGreaterThan", [Val::Semver(one), Val::Semver(other)]) => Val::Bool(one > other),
        ("compareTo", [Val::Semver(one), Val::Semver(other)]) => Val::Int(match one.cmp(other) {
            Ordering::Less => -1,
            Ordering::Equal => 0,
            Ordering::Greater => 1,
        }),
        _ => return None,
    }))
}
