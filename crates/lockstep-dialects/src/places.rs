//! Where our fields stand in somebody else's manifest.

use lockstep_api::Problem;

/// Pairs of places: ours, and where its user wrote what stands there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places(Vec<(String, String)>);

impl Places {
    /// What stands at `ours` (and below it) was written at `theirs`.
    pub fn put(&mut self, ours: impl Into<String>, theirs: impl Into<String>) {
        self.0.push((ours.into(), theirs.into()));
    }

    /// Where a place of ours was written: the longest that covers it, and what is left of it after that. Nothing known
    /// of it: the spec as a whole.
    pub fn theirs(&self, ours: &str) -> String {
        let covers = |(place, theirs): &(String, String)| {
            let rest = ours.strip_prefix(place.as_str())?;
            let below = rest.is_empty() || rest.starts_with('.') || rest.starts_with('[');
            below.then(|| (place.len(), format!("{theirs}{rest}")))
        };
        let longest = self.0.iter().filter_map(covers).max_by_key(|(length, _)| *length);
        longest.map_or_else(|| "spec".to_owned(), |(_, theirs)| theirs)
    }

    /// A problem of ours, in their terms. Places of ours in its sentence are put into theirs, too.
    pub fn translate(&self, problem: &Problem) -> Problem {
        let path = if problem.path.is_empty() { String::new() } else { self.theirs(&problem.path) };
        let mut message = problem.message.clone();
        let mut known: Vec<&(String, String)> = self.0.iter().collect();
        known.sort_by_key(|(ours, _)| std::cmp::Reverse(ours.len()));
        for (ours, theirs) in known {
            message = message.replace(ours.as_str(), theirs);
        }
        Problem { path, message, ..problem.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_place_wins() {
        let mut places = Places::default();
        places.put("spec.roles[0]", "spec.template.cliques[2]");
        places.put("spec.roles[0].updateStrategy", "spec.template.cliques[2].spec.updateStrategy");
        let cases = [
            ("spec.roles[0].name", "spec.template.cliques[2].name"),
            (
                "spec.roles[0].updateStrategy.maxSurge",
                "spec.template.cliques[2].spec.updateStrategy.maxSurge",
            ),
            ("spec.roles[01]", "spec"),
            ("spec.gang", "spec"),
        ];
        for (ours, theirs) in cases {
            assert_eq!(places.theirs(ours), theirs, "{ours}");
        }
    }
}
