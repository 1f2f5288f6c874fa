//! Formats of texts.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::OnceLock;

use jiff::Timestamp;
use jiff::civil::Date;
use regex::Regex;

use super::pattern;

/// A format is one that texts are checked against. Others are passed over.
pub(super) fn is_known(format: &str) -> bool {
    const KNOWN: &[&str] = &[
        "uri",
        "email",
        "hostname",
        "ipv4",
        "ipv6",
        "cidr",
        "mac",
        "uuid",
        "uuid3",
        "uuid4",
        "uuid5",
        "isbn",
        "isbn10",
        "isbn13",
        "creditcard",
        "ssn",
        "hexcolor",
        "rgbcolor",
        "byte",
        "password",
        "date",
        "duration",
        "datetime",
        "bsonobjectid",
        "k8sshortname",
        "k8slongname",
    ];
    KNOWN.contains(&format.replace('-', "").as_str())
}

/// A text has a format.
pub(crate) fn is_valid(format: &str, text: &str) -> bool {
    match format.replace('-', "").as_str() {
        "datetime" => parse_date_time(text).is_some(),
        "date" => parse_date(text).is_some(),
        "duration" => parse_duration(text).is_some(),
        "uri" => is_request_uri(text),
        "email" => is_email(text),
        "hostname" => is_hostname(text),
        "ipv4" => text.contains('.') && parse_ip(text).is_some(),
        "ipv6" => text.contains(':') && text.parse::<IpAddr>().is_ok(),
        "cidr" => is_cidr(text),
        "mac" => is_mac(text),
        "isbn" => is_isbn10(text) || is_isbn13(text),
        "isbn10" => is_isbn10(text),
        "isbn13" => is_isbn13(text),
        "creditcard" => is_credit_card(text),
        "ssn" => text.len() == 11 && by_pattern("ssn", text),
        "k8sshortname" => text.len() <= 63 && by_pattern("shortname", text),
        "k8slongname" => text.len() <= 253 && by_pattern("longname", text),
        "password" => true,
        other => by_pattern(other, text),
    }
}

const PATTERNS: &[(&str, &str)] = &[
    ("uuid", r"(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$"),
    ("uuid3", r"(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$"),
    ("uuid4", r"(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$"),
    ("uuid5", r"(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$"),
    ("ssn", r"^\d{3}[- ]?\d{2}[- ]?\d{4}$"),
    ("hexcolor", r"^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$"),
    (
        "rgbcolor",
        r"^rgb\(\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*\)$",
    ),
    ("byte", r"^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$"),
    ("bsonobjectid", r"(?i)^[0-9a-f]{24}$"),
    ("shortname", r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"),
    ("longname", r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"),
    (
        "hostname",
        r"^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$",
    ),
    (
        "creditcard",
        r"^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11})$",
    ),
];

pub(super) fn by_pattern(name: &str, text: &str) -> bool {
    static COMPILED: OnceLock<Vec<(&str, Option<Regex>)>> = OnceLock::new();
    let compiled = COMPILED.get_or_init(|| {
        PATTERNS.iter().map(|(name, pattern)| (*name, pattern::compile(pattern).ok())).collect()
    });
    let found = compiled.iter().find(|(known, _)| *known == name);
    found.and_then(|(_, pattern)| pattern.as_ref()).is_some_and(|pattern| pattern.is_match(text))
}

/// A point in time, as `date-time` writes it. A zone may be missing.
pub(crate) fn parse_date_time(text: &str) -> Option<Timestamp> {
    // Go accepts the capital letters only.
    let shaped = text.as_bytes().get(10) == Some(&b'T') && !text.contains('z') && text.len() >= 19;
    if !shaped {
        return None;
    }
    let local = text.get(19..).is_some_and(|rest| {
        rest.is_empty() || (rest.starts_with('.') && rest.chars().skip(1).all(|c| c.is_ascii_digit()))
    });
    let text = if local { format!("{text}Z") } else { text.to_owned() };
    text.parse().ok()
}

/// A day, as `date` writes it.
pub(crate) fn parse_date(text: &str) -> Option<Date> {
    (text.len() == 10).then(|| text.parse().ok()).flatten()
}

/// A span of time in nanoseconds: `1h30m` as Go writes it, or `2 days` as people do.
pub(crate) fn parse_duration(text: &str) -> Option<i64> {
    go_duration(text).or_else(|| plain_duration(text))
}

/// A span of time as Go writes it.
pub(crate) fn go_duration(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.as_bytes().first()? {
        b'-' => (true, text.get(1..)?),
        b'+' => (false, text.get(1..)?),
        _ => (false, text),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total: f64 = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
        let (number, after) = rest.split_at(digits);
        let end = after.find(|letter: char| letter.is_ascii_digit() || letter == '.').unwrap_or(after.len());
        let (unit, next) = after.split_at(end);
        let size = match unit {
            "ns" => 1.0,
            "us" | "µs" | "μs" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            "m" => 6e10,
            "h" => 3.6e12,
            _ => return None,
        };
        if !number.chars().any(|letter| letter.is_ascii_digit()) {
            return None;
        }
        total += number.parse::<f64>().ok()? * size;
        rest = next;
    }
    let total = if negative { -total } else { total };
    (total.abs() < 9.223_372_036_854_775e18).then_some(total as i64)
}

fn plain_duration(text: &str) -> Option<i64> {
    const UNITS: &[(&[&str], i64)] = &[
        (&["ns", "nano"], 1),
        (&["us", "µs", "micro"], 1_000),
        (&["ms", "milli"], 1_000_000),
        (&["s", "sec"], 1_000_000_000),
        (&["m", "min"], 60_000_000_000),
        (&["h", "hr", "hour"], 3_600_000_000_000),
        (&["d", "day"], 86_400_000_000_000),
        (&["w", "wk", "week"], 604_800_000_000_000),
    ];
    static SHAPE: OnceLock<Option<Regex>> = OnceLock::new();
    let shape = SHAPE.get_or_init(|| pattern::compile(r"(\d+)\s*([A-Za-zµ]+)").ok()).as_ref()?;
    let mut total = None;
    for found in shape.captures_iter(text) {
        let number: i64 = found.get(1)?.as_str().parse().ok()?;
        let unit = found.get(2)?.as_str().to_lowercase();
        let means = |names: &[&str]| {
            names.contains(&unit.as_str()) || names.last().is_some_and(|last| unit.starts_with(last))
        };
        if let Some((_, size)) = UNITS.iter().find(|(names, _)| means(names)) {
            total = Some(total.unwrap_or(0_i64).checked_add(number.checked_mul(*size)?)?);
        }
    }
    total
}

/// An address; a part may have zeros in front.
fn parse_ip(text: &str) -> Option<IpAddr> {
    let plain: Vec<String> = text
        .split('.')
        .map(|part| match part.trim_start_matches('0') {
            "" if !part.is_empty() => "0".to_owned(),
            rest => rest.to_owned(),
        })
        .collect();
    let text = if text.contains(':') { text.to_owned() } else { plain.join(".") };
    text.parse().ok()
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let most = match parse_ip(address) {
        Some(IpAddr::V4(_)) => 32,
        Some(IpAddr::V6(_)) => 128,
        None => return false,
    };
    bits.chars().all(|letter| letter.is_ascii_digit()) && bits.parse::<u32>().is_ok_and(|bits| bits <= most)
}

fn is_mac(text: &str) -> bool {
    let hex = |part: &str, length: usize| part.len() == length && part.chars().all(|c| c.is_ascii_hexdigit());
    let parts = |sign: char, length: usize, numbers: &[usize]| {
        let parts: Vec<&str> = text.split(sign).collect();
        numbers.contains(&parts.len()) && parts.iter().all(|part| hex(part, length))
    };
    parts(':', 2, &[6, 8, 20]) || parts('-', 2, &[6, 8, 20]) || parts('.', 4, &[3, 4, 10])
}

fn is_hostname(text: &str) -> bool {
    by_pattern("hostname", text) && text.len() <= 255 && text.split('.').all(|part| part.len() <= 63)
}

/// An address that a request could be sent to: a path, or a scheme and what follows it.
fn is_request_uri(text: &str) -> bool {
    if text.chars().any(|letter| letter.is_ascii_control() || letter == ' ') || !escapes_are_fine(text) {
        return false;
    }
    if text.starts_with('/') || text == "*" {
        return true;
    }
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let mut letters = scheme.chars();
    let named = letters.next().is_some_and(|first| first.is_ascii_alphabetic())
        && letters.all(|letter| letter.is_ascii_alphanumeric() || "+-.".contains(letter));
    named
        && match rest.strip_prefix("//") {
            Some(rest) => host_is_fine(rest.split(['/', '?', '#']).next().unwrap_or_default()),
            None => true,
        }
}

fn host_is_fine(authority: &str) -> bool {
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    if let Some(rest) = host.strip_prefix('[') {
        let Some((inside, after)) = rest.split_once(']') else { return false };
        return inside.parse::<Ipv6Addr>().is_ok() && (after.is_empty() || port_is_fine(after));
    }
    match host.split_once(':') {
        Some((_, port)) => port_is_fine(&format!(":{port}")),
        None => true,
    }
}

fn port_is_fine(text: &str) -> bool {
    text.strip_prefix(':').is_some_and(|port| port.chars().all(|letter| letter.is_ascii_digit()))
}

fn escapes_are_fine(text: &str) -> bool {
    text.split('%')
        .skip(1)
        .all(|after| after.get(..2).is_some_and(|hex| hex.chars().all(|letter| letter.is_ascii_hexdigit())))
}

/// `name@host`, or the same in angle brackets after a name.
fn is_email(text: &str) -> bool {
    let text = text.trim();
    let bare = match (text.find('<'), text.strip_suffix('>')) {
        (Some(start), Some(inside)) => inside.get(start.saturating_add(1)..).unwrap_or_default(),
        _ => text,
    };
    let Some((name, host)) = bare.rsplit_once('@') else { return false };
    let atom = |part: &str| {
        let plain = |letter: char| letter.is_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(letter);
        !part.is_empty() && part.chars().all(plain)
    };
    let quoted = name.len() > 2 && name.starts_with('"') && name.ends_with('"');
    (quoted || name.split('.').all(atom)) && host.split('.').all(atom)
}

fn digits(text: &str) -> Vec<u32> {
    let plain = text.chars().filter(|letter| !letter.is_whitespace() && *letter != '-');
    plain.map(|letter| letter.to_digit(10).unwrap_or(if letter == 'X' { 10 } else { 99 })).collect()
}

fn is_isbn10(text: &str) -> bool {
    let digits = digits(text);
    let fine = |(place, digit): (usize, &u32)| *digit < 10 || (place == 9 && *digit == 10);
    let sum: u32 = (1_u32..).zip(&digits).map(|(place, digit)| place.saturating_mul(*digit)).sum();
    digits.len() == 10 && digits.iter().enumerate().all(fine) && sum.is_multiple_of(11)
}

fn is_isbn13(text: &str) -> bool {
    let digits = digits(text);
    let sum: u32 =
        digits.iter().zip([1, 3].iter().cycle()).map(|(digit, factor)| digit.saturating_mul(*factor)).sum();
    digits.len() == 13 && digits.iter().all(|digit| *digit < 10) && sum.is_multiple_of(10)
}

fn is_credit_card(text: &str) -> bool {
    let plain: String = text.chars().filter(char::is_ascii_digit).collect();
    let doubled = |(place, digit): (usize, u32)| match digit.saturating_mul(2) {
        _ if place % 2 == 0 => digit,
        twice if twice >= 10 => twice.saturating_sub(9),
        twice => twice,
    };
    let sum: u32 =
        plain.chars().rev().filter_map(|letter| letter.to_digit(10)).enumerate().map(doubled).sum();
    by_pattern("creditcard", &plain) && sum.is_multiple_of(10)
}
