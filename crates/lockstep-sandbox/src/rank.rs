//! Which of two versions of an API is the better one.

/// How good a version is: `v2` before `v1` before `v1beta1` before `v1alpha1` before anything else. Of other names, the
/// first by the alphabet is the best.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rank<'a> {
    stage: Stage,
    major: u64,
    minor: u64,
    name: &'a str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Other,
    Alpha,
    Beta,
    Stable,
}

impl<'a> Rank<'a> {
    /// The rank of a version by its name.
    pub fn of(name: &'a str) -> Self {
        Self::known(name).unwrap_or(Self { stage: Stage::Other, major: 0, minor: 0, name })
    }

    fn known(name: &'a str) -> Option<Self> {
        let rest = name.strip_prefix('v')?;
        let digits = rest.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(rest.len());
        let (major, rest) = rest.split_at(digits);
        let beta = rest.strip_prefix("beta").map(|minor| (Stage::Beta, minor));
        let alpha = rest.strip_prefix("alpha").map(|minor| (Stage::Alpha, minor));
        let (stage, minor) = match rest {
            "" => (Stage::Stable, 0),
            _ => {
                let (stage, minor) = beta.or(alpha)?;
                (stage, minor.parse().ok()?)
            }
        };
        Some(Self { stage, major: major.parse().ok()?, minor, name: "" })
    }
}

impl PartialOrd for Rank<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Rank<'_> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let number = |rank: &Self| (rank.stage, rank.major, rank.minor);
        number(self).cmp(&number(other)).then_with(|| other.name.cmp(self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_version_is_preferred() {
        let mut versions = ["foo2", "v1alpha2", "v1beta1", "v2", "v1x", "foo10", "v1", "v10", "v1beta2"];
        versions.sort_by_key(|version| std::cmp::Reverse(Rank::of(version)));
        let best_first = ["v10", "v2", "v1", "v1beta2", "v1beta1", "v1alpha2", "foo10", "foo2", "v1x"];
        assert_eq!(versions, best_first);
    }
}
