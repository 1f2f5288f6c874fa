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
        let message = self.translated(&problem.message);
        Problem { path, message, ..problem.clone() }
    }

    /// A sentence with all places of ours put into theirs, in one go: what was put in is not looked at again.
    fn translated(&self, message: &str) -> String {
        let mut out = String::new();
        let mut rest = message;
        while let Some(first) = rest.chars().next() {
            let begins = out.chars().next_back().is_none_or(|c| !c.is_alphanumeric() && c != '.');
            let known = self.0.iter().filter(|(ours, _)| begins && rest.starts_with(ours.as_str()));
            match known.max_by_key(|(ours, _)| ours.len()) {
                Some((ours, theirs)) => {
                    out.push_str(theirs);
                    rest = &rest[ours.len()..];
                }
                None => {
                    out.push(first);
                    rest = &rest[first.len_utf8()..];
                }
            }
        }
        out
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

    #[test]
    fn a_sentence_is_translated_once() {
        let mut places = Places::default();
        places.put("spec.roles[0]", "spec.template.cliques[2]");
        places.put("spec.roles[0].updateStrategy", "spec.template.cliques[2].spec.updateStrategy");
        places.put("spec.updateStrategy", "spec.updateStrategy.rollingUpdate");
        let message =
            "see spec.roles[0].updateStrategy, spec.updateStrategy and spec.roles[0].name".to_owned();
        let problem = Problem { path: String::new(), value: None, message, line: None };
        assert_eq!(
            places.translate(&problem).message,
            "see spec.template.cliques[2].spec.updateStrategy, spec.updateStrategy.rollingUpdate and \
             spec.template.cliques[2].name"
        );
    }
}
