//! The environment a container really gets: what is read from the pod itself and what refers to other variables is
//! filled in, as a kubelet does.

use std::collections::BTreeMap;

use serde_json::Value;

/// The variables of a container whose values can be known, by name.
pub(super) fn effective(container: &Value, pod: &Value) -> BTreeMap<String, String> {
    let mut known: BTreeMap<String, String> = BTreeMap::new();
    for variable in container["env"].as_array().into_iter().flatten() {
        let Some(name) = variable["name"].as_str() else { continue };
        let value = match variable["valueFrom"]["fieldRef"]["fieldPath"].as_str() {
            Some(path) => field(path, pod),
            None if variable["valueFrom"].is_null() => {
                Some(filled_in(variable["value"].as_str().unwrap_or_default(), &known))
            }
            None => None,
        };
        match value {
            Some(value) => known.insert(name.to_owned(), value),
            None => known.remove(name),
        };
    }
    known
}

/// What a pod says of itself.
fn field(path: &str, pod: &Value) -> Option<String> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    if let Some((map, key)) = path.strip_suffix("']").and_then(|path| path.split_once("['")) {
        let map = match map {
            "metadata.labels" => &pod["metadata"]["labels"],
            "metadata.annotations" => &pod["metadata"]["annotations"],
            _ => return None,
        };
        return text(&map[key]);
    }
    match path {
        "metadata.name"
        | "metadata.namespace"
        | "metadata.uid"
        | "spec.nodeName"
        | "spec.serviceAccountName" => {
            path.split('.').try_fold(pod, |value, key| value.get(key)).and_then(text)
        }
        _ => None,
    }
}

/// A text with `$(NAME)` filled in where NAME came before; `$$` is a dollar sign.
fn filled_in(text: &str, known: &BTreeMap<String, String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(tail) = rest.strip_prefix('$') {
            out.push('$');
            rest = tail;
        } else if let Some((name, tail)) = rest.strip_prefix('(').and_then(|inner| inner.split_once(')')) {
            match known.get(name) {
                Some(value) => out.push_str(value),
                None => out.push_str(&format!("$({name})")),
            }
            rest = tail;
        } else {
            out.push('$');
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_a_container_really_gets() {
        let pod = json!({"metadata": {"name": "llama-0", "labels": {"a/b": "7"}}});
        let from = |path: &str| json!({"fieldRef": {"fieldPath": path}});
        let container = json!({"env": [
            {"name": "EARLY", "value": "$(NAME)"},
            {"name": "NAME", "valueFrom": from("metadata.name")},
            {"name": "INDEX", "valueFrom": from("metadata.labels['a/b']")},
            {"name": "ADDRESS", "value": "$(NAME)-$(INDEX).svc $$(NAME) $5 $(open"},
            {"name": "IP", "valueFrom": from("status.podIP")},
            {"name": "SECRET", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
            {"name": "EMPTY"},
        ]});
        let known = effective(&container, &pod);
        let pairs: Vec<(&str, &str)> =
            known.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let expected = [
            ("ADDRESS", "llama-0-7.svc $(NAME) $5 $(open"),
            ("EARLY", "$(NAME)"),
            ("EMPTY", ""),
            ("INDEX", "7"),
            ("NAME", "llama-0"),
        ];
        assert_eq!(pairs, expected);
    }
}
