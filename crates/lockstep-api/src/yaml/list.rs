//! Lists of objects: `kind: List`, as `kubectl get -o yaml` prints several of them.

use super::{Data, Node, documents};
use crate::problem::Problem;

/// The objects of a file: its documents, and in place of a list what is in it.
pub(crate) fn objects(text: &str) -> Result<Vec<Node>, Problem> {
    let mut found = Vec::new();
    for document in documents(text)? {
        unfold(document, &mut found)?;
    }
    Ok(found)
}

fn unfold(node: Node, found: &mut Vec<Node>) -> Result<(), Problem> {
    let is_list = node.get("kind").and_then(Node::as_text) == Some("List");
    let (true, Data::Map(entries)) = (is_list, &node.data) else {
        found.push(node);
        return Ok(());
    };
    let mut given = entries.iter().filter(|entry| entry.key == "items");
    let refuse = |message: &str, value, line| {
        let line = Some(line).filter(|line| *line > 0);
        Err(Problem { path: "items".to_owned(), value, message: message.to_owned(), line })
    };
    let items = match (given.next(), given.next()) {
        (_, Some(second)) => return refuse("written twice", None, second.line),
        (None, _) => return refuse("required: a List holds objects", None, node.line),
        (Some(items), None) => items,
    };
    match &items.value.data {
        Data::Null => Ok(()),
        Data::List(below) => {
            below.iter().filter(|item| !item.is_null()).try_for_each(|item| unfold(item.clone(), found))
        }
        _ => refuse("must be a list of objects", items.value.shown(), items.line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_what_is_in_them() {
        for (text, found) in [
            ("kind: List\nitems:\n- a: 1\n-\n- b: 2\n---\nc: 3\n", r#"3:{"a":1} 5:{"b":2} 7:{"c":3}"#),
            ("kind: List\nitems:\n- kind: List\n  items: [{a: 1}]\n- b: 2\n", r#"4:{"a":1} 5:{"b":2}"#),
            ("kind: List\nitems:\n", ""),
            (r#"{"kind": "List", "items": [{"a": 1}]}"#, r#"1:{"a":1}"#),
            ("kind: Listing\nitems: []\n", r#"1:{"items":[],"kind":"Listing"}"#),
            ("a: 1\nkind: List\n", "1: items: required: a List holds objects"),
            ("kind: List\nitems: 5\n", "2: items: 5: must be a list of objects"),
            ("kind: List\nitems: []\nitems: []\n", "3: items: written twice"),
        ] {
            let said = match objects(text) {
                Ok(objects) => {
                    let shown = |node: &Node| format!("{}:{}", node.line, node.to_json());
                    objects.iter().map(shown).collect::<Vec<_>>().join(" ")
                }
                Err(problem) => format!("{}: {problem}", problem.line.unwrap_or(0)),
            };
            assert_eq!(said, found, "{text}");
        }
    }
}
