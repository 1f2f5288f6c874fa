//! Not everybody who ever wrote is remembered by name.

use std::collections::BTreeMap;

use super::managers::{Entry, Managers, Operation, Who};

/// So many who do not apply are remembered by name.
const MOST: usize = 10;
/// What the others are called, all together.
const OTHERS: &str = "ancient-changes";

impl Managers {
    /// Puts those together who wrote longest ago, each version for itself, until there are few enough.
    pub(super) fn cap(&mut self) {
        let mut updaters: Vec<Entry> =
            self.0.iter().filter(|entry| entry.who.operation == Operation::Update).cloned().collect();
        let mut count = updaters.len();
        updaters.sort_by(|one, other| {
            let place = |entry: &Entry| {
                let Who { manager, api_version, subresource, .. } = entry.who.clone();
                (entry.time.clone(), manager, api_version, subresource)
            };
            place(one).cmp(&place(other))
        });
        let mut first: BTreeMap<String, Who> = BTreeMap::new();
        for entry in updaters {
            if count <= MOST {
                break;
            }
            let version = entry.who.api_version.clone();
            match first.get(&version) {
                None => drop(first.insert(version, entry.who)),
                Some(first) => {
                    self.pour(first, entry);
                    count -= 1;
                }
            }
        }
    }

    /// Puts an entry to the others of its version, who begin with the first of them.
    fn pour(&mut self, first: &Who, entry: Entry) {
        let others = Who {
            manager: OTHERS.to_owned(),
            operation: Operation::Update,
            subresource: String::new(),
            api_version: entry.who.api_version.clone(),
        };
        if !self.0.iter().any(|known| known.who == others)
            && let Some(begins) = self.0.iter_mut().find(|known| known.who == *first)
        {
            begins.who = others.clone();
        }
        if let Some(all) = self.0.iter_mut().find(|known| known.who == others) {
            all.fields = all.fields.union(&entry.fields);
            all.time = entry.time;
        }
        self.0.retain(|known| known.who != entry.who);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(manager: &str, operation: &str, version: &str, second: usize) -> serde_json::Value {
        json!({
            "manager": manager, "operation": operation, "apiVersion": version, "fieldsType": "FieldsV1",
            "time": format!("2026-01-01T00:00:{second:02}Z"), "fieldsV1": {format!("f:{manager}"): {}},
        })
    }

    fn capped(entries: Vec<serde_json::Value>) -> Vec<String> {
        let mut managers = Managers::read(&json!(entries)).expect("managers");
        managers.cap();
        let shown = |entry: &Entry| {
            let Who { manager, api_version, .. } = &entry.who;
            format!("{manager} {api_version} {} {}", &entry.time[17..19], entry.fields.write())
        };
        managers.0.iter().map(shown).collect()
    }

    #[test]
    fn the_oldest_are_put_together_by_version() {
        let updates = |count: usize| (0..count).map(|n| entry(&format!("u{n:02}"), "Update", "v1", n));
        assert_eq!(capped(updates(10).collect()).len(), 10);
        let mut entries: Vec<_> = updates(12).collect();
        entries.push(entry("apply", "Apply", "v1", 0));
        let after = capped(entries);
        assert_eq!(after.len(), 11);
        assert_eq!(after[0], r#"ancient-changes v1 02 {"f:u00":{},"f:u01":{},"f:u02":{}}"#);
        let mut entries: Vec<_> = updates(10).collect();
        entries.push(entry("old", "Update", "v0", 0));
        let after = capped(entries);
        // One of another version stays by its name: there is nobody to put it to.
        assert!(after.contains(&r#"old v0 00 {"f:old":{}}"#.to_owned()), "{after:?}");
        assert_eq!(after[0], r#"ancient-changes v1 01 {"f:u00":{},"f:u01":{}}"#);
    }

    #[test]
    fn who_comes_later_is_put_to_those_who_are_there() {
        let mut entries = vec![entry("ancient-changes", "Update", "v1", 1)];
        entries.extend((2..12).map(|n| entry(&format!("u{n:02}"), "Update", "v1", n)));
        let after = capped(entries);
        assert_eq!(after.len(), 10);
        assert_eq!(after[0], r#"ancient-changes v1 02 {"f:ancient-changes":{},"f:u02":{}}"#);
    }
}
