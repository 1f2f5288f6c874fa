//! What is to be done with what is stored: pure.

use std::time::Duration;

use jiff::Timestamp;

use super::Lifetimes;
use super::stored::{Facts, Known};

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Nothing, until then.
    Keep {
        /// When to look again.
        until: Timestamp,
    },
    /// Everything anew: nothing of it can be used.
    Anew,
    /// Make another authority and publish it beside the present one, which goes on signing for a while.
    Publish,
    /// Sign another certificate by the newest authority.
    Sign,
    /// Stop trusting authorities that have expired.
    Forget,
}

/// What is to be done now with what is stored, if a certificate for these names is wanted.
pub fn next(now: Timestamp, known: Option<&Known>, names: &[String], lives: &Lifetimes) -> Next {
    let Some(known) = known else { return Next::Anew };
    let Some(newest) = known.authorities.first() else { return Next::Anew };
    let shown = &known.certificate;
    let of_newest = shown.issuer == newest.subject;
    // Of one that was just published nothing is signed yet, unless there is no choice.
    let heard_of = later(newest.from, lives.skew + lives.overlap);
    let usable = is_good(shown, now) && signed_by_known(known, now) && fits(shown, names);
    if !is_good(newest, now) {
        return Next::Anew;
    }
    if !usable || (now >= due(shown) && (of_newest || now >= heard_of)) {
        return Next::Sign;
    }
    if now >= due(newest) {
        return Next::Publish;
    }
    if !of_newest && now >= heard_of {
        return Next::Sign;
    }
    if known.authorities.iter().any(|authority| now >= authority.until) {
        return Next::Forget;
    }
    let ends = known.authorities.iter().map(|authority| authority.until).min().unwrap_or(newest.until);
    let shown_due = if of_newest { due(shown) } else { heard_of };
    Next::Keep { until: shown_due.min(due(newest)).min(ends) }
}

/// Two thirds of a life: then it is time for another one.
fn due(of: &Facts) -> Timestamp {
    let life = Duration::try_from(of.until.duration_since(of.from)).unwrap_or_default();
    later(of.from, life * 2 / 3)
}

fn later(from: Timestamp, by: Duration) -> Timestamp {
    from.saturating_add(by).unwrap_or(Timestamp::MAX)
}

fn is_good(of: &Facts, now: Timestamp) -> bool {
    of.from <= now && now < of.until
}

/// An authority everybody is told to trust has signed what is shown.
fn signed_by_known(known: &Known, now: Timestamp) -> bool {
    let signer = known.authorities.iter().find(|authority| authority.subject == known.certificate.issuer);
    signer.is_some_and(|authority| is_good(authority, now))
}

fn fits(shown: &Facts, names: &[String]) -> bool {
    names.iter().all(|name| shown.names.contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3600;
    const LIVES: Lifetimes = Lifetimes {
        authority: Duration::from_secs(3000 * 3600),
        certificate: Duration::from_secs(300 * 3600),
        overlap: Duration::from_secs(10 * 3600),
        skew: Duration::ZERO,
    };

    fn at(hour: i64) -> Timestamp {
        Timestamp::from_second(hour * HOUR).expect("a time")
    }

    /// Made at this hour, to live so many.
    fn made(subject: &str, issuer: &str, from: i64, hours: i64) -> Facts {
        Facts {
            subject: subject.to_owned(),
            issuer: issuer.to_owned(),
            from: at(from),
            until: at(from + hours),
            names: vec!["a".to_owned(), "b".to_owned()],
        }
    }

    fn known(authorities: &[(&str, i64)], issuer: &str, from: i64) -> Known {
        Known {
            authorities: authorities.iter().map(|(name, from)| made(name, name, *from, 3000)).collect(),
            certificate: made("webhook", issuer, from, 300),
        }
    }

    fn keep(hour: i64) -> Next {
        Next::Keep { until: at(hour) }
    }

    #[test]
    fn what_when() {
        let one = |from| known(&[("one", 0)], "one", from);
        let both = |issuer, from| known(&[("two", 2000), ("one", 0)], issuer, from);
        let table = [
            ("fresh", 0, one(0), keep(200)),
            ("before it is due", 199, one(0), keep(200)),
            ("due", 200, one(0), Next::Sign),
            ("renewed", 200, one(200), keep(400)),
            ("the authority becomes due first", 1900, one(1900), keep(2000)),
            ("the authority is due", 2000, one(1900), Next::Publish),
            ("both are due: the certificate first", 2100, one(1900), Next::Sign),
            ("published, and nobody may have heard of it", 2001, both("one", 1900), keep(2010)),
            ("due meanwhile, but it holds", 2009, both("one", 1805), keep(2010)),
            ("expired meanwhile: no choice", 2009, both("one", 1700), Next::Sign),
            ("everybody has heard of it", 2010, both("one", 1900), Next::Sign),
            ("signed by the new one", 2010, both("two", 2010), keep(2210)),
            ("the old one is trusted until it ends", 2999, both("two", 2900), keep(3000)),
            ("then it is forgotten", 3000, both("two", 2900), Next::Forget),
            ("an authority nobody trusts", 10, known(&[("two", 0)], "one", 0), Next::Sign),
            ("signed by one that has expired", 3000, both("one", 2900), Next::Sign),
            ("all has expired", 9000, one(0), Next::Anew),
            ("the clock went back", -1, one(0), Next::Anew),
        ];
        let names = ["a".to_owned()];
        for (what, now, known, expected) in table {
            assert_eq!(next(at(now), Some(&known), &names, &LIVES), expected, "{what}");
        }
        assert_eq!(next(at(0), None, &names, &LIVES), Next::Anew);
        assert_eq!(next(at(0), Some(&one(0)), &["c".to_owned()], &LIVES), Next::Sign, "another name");
    }

    /// Whatever happens, hour by hour over years: what is shown is always signed by somebody who has been published
    /// for the overlap, and never expired.
    #[test]
    fn never_a_certificate_that_nobody_knows() {
        let names = ["a".to_owned()];
        let mut world = known(&[("0", 0)], "0", 0);
        let mut done = [0; 4];
        for hour in 0..30_000 {
            for _ in 0..5 {
                match next(at(hour), Some(&world), &names, &LIVES) {
                    Next::Keep { until } => {
                        assert!(until > at(hour), "else it would look again without end");
                        break;
                    }
                    Next::Anew => panic!("all was lost at {hour}"),
                    Next::Publish => {
                        let name = hour.to_string();
                        world.authorities.insert(0, made(&name, &name, hour, 3000));
                        done[0] += 1;
                    }
                    Next::Sign => {
                        let newest = &world.authorities[0];
                        assert!(hour == 0 || at(hour).duration_since(newest.from).as_hours() >= 10);
                        world.certificate = made("webhook", &newest.subject.clone(), hour, 300);
                        done[1] += 1;
                    }
                    Next::Forget => {
                        world.authorities.retain(|authority| authority.until > at(hour));
                        done[2] += 1;
                    }
                }
            }
            assert!(world.authorities.len() <= 2 && signed_by_known(&world, at(hour)));
            assert!(is_good(&world.certificate, at(hour)));
        }
        assert!(done[0] >= 14 && done[1] >= 150 && done[2] >= 13, "{done:?}");
    }
}
