//! Where our fields stand in somebody else's manifest.

use lockstep_api::Problem;

/// Pairs of places: ours, and where its user wrote what stands there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places {
    pairs: Vec<(String, String)>,
    /// Those of ours below which nothing of theirs stands.
    folded: Vec<String>,
}

impl Places {
    /// What stands at `ours` (and below it) was written at `theirs`.
    pub fn put(&mut self, ours: impl Into<String>, theirs: impl Into<String>) {
        self.pairs.push((ours.into(), theirs.into()));
    }

    /// Everything at `ours` and below it comes from the one value at `theirs`: a name from which templates are made.
    pub fn fold(&mut self, ours: impl Into<String>, theirs: impl Into<String>) {
        let ours = ours.into();
        self.folded.push(ours.clone());
        self.put(ours, theirs);
    }

    /// Whether a place of ours is one that nobody wrote as it stands.
    pub fn is_folded(&self, ours: &str) -> bool {
        self.longest(ours).is_some_and(|(place, ..)| self.folded.contains(place))
    }

    /// The longest of ours that covers a place, theirs, and its length.
    fn longest(&self, ours: &str) -> Option<(&String, &String, usize)> {
        let covers = |pair: &&(String, String)| {
            let rest = ours.strip_prefix(pair.0.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.') || rest.starts_with('['))
        };
        let longest = self.pairs.iter().filter(covers).max_by_key(|(place, _)| place.len());
        longest.map(|(place, theirs)| (place, theirs, place.len()))
    }

    /// Where a place of ours was written: the longest that covers it, and what is left of it after that. Nothing known
    /// of it: the spec as a whole.
    pub fn theirs(&self, ours: &str) -> String {
        match self.longest(ours) {
            Some((place, theirs, _)) if self.folded.contains(place) => theirs.clone(),
            Some((_, theirs, length)) => format!("{theirs}{}", &ours[length..]),
            None => "spec".to_owned(),
        }
    }

    /// A problem of ours, in their terms. Places of ours in its sentence are put into theirs, too.
    pub fn translate(&self, problem: &Problem) -> Problem {
        let path = if problem.path.is_empty() { String::new() } else { self.theirs(&problem.path) };
        let message = self.translated(&problem.message);
        let value = problem.value.clone().filter(|_| !self.is_folded(&problem.path));
        Problem { path, message, value, ..problem.clone() }
    }

    /// A sentence with all places of ours put into theirs, in one go: what was put in is not looked at again.
    fn translated(&self, message: &str) -> String {
        let mut out = String::new();
        let mut rest = message;
        while let Some(first) = rest.chars().next() {
            let begins = out.chars().next_back().is_none_or(|c| !c.is_alphanumeric() && c != '.');
            let known = self.pairs.iter().filter(|(ours, _)| begins && rest.starts_with(ours.as_str()));
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
            ("spec.roles[0].identity.podName", "spec.template.cliques[2].name"),
        ];
        places.fold("spec.roles[0].identity", "spec.template.cliques[2].name");
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
