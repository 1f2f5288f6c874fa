//! How the objects of a kind are shown.

use jiff::Timestamp;
use serde_json::Value;

use super::custom::CustomColumns;
use super::print::{self, Printer};
use crate::facts;

/// How the objects of a kind are shown: the heads of the columns, and the cells of a row.
#[derive(Debug, Clone)]
pub struct Columns {
    definitions: Vec<Value>,
    cells: Cells,
}

#[derive(Debug, Clone)]
enum Cells {
    /// Of a built-in kind.
    BuiltIn(&'static Printer),
    /// As a definition tells.
    Custom(CustomColumns),
}

impl Columns {
    /// Those of a built-in kind, by group (empty for the core) and resource. Kinds without a printer of their own are
    /// shown by name and time of creation, as real servers do.
    pub fn built_in(group: &str, plural: &str) -> Self {
        let resource = if group.is_empty() { plural.to_owned() } else { format!("{plural}.{group}") };
        let (printer, heads) = match print::printer(&resource) {
            Some(printer) => (printer, resource.as_str()),
            None => (&print::DEFAULT, print::SHOWN_BY_DEFAULT),
        };
        let definitions = facts::columns().get(heads).and_then(Value::as_array).cloned();
        Self { definitions: definitions.unwrap_or_default(), cells: Cells::BuiltIn(printer) }
    }

    /// Those of the `scale` of a built-in kind.
    pub fn scale() -> Self {
        Self { definitions: print::scale::definitions(), cells: Cells::BuiltIn(&print::scale::SCALE) }
    }

    /// Those of a custom kind: `additional` are the `additionalPrinterColumns` of the version. If there are none, the
    /// age is shown.
    pub fn custom(additional: &[Value]) -> Self {
        let (definitions, custom) = CustomColumns::read(additional);
        Self { definitions, cells: Cells::Custom(custom) }
    }

    /// Those of the `scale` of a custom kind; `scale` is `subresources.scale` of the version.
    pub fn custom_scale(scale: &Value) -> Self {
        let (definitions, custom) = CustomColumns::scale(scale);
        Self { definitions, cells: Cells::Custom(custom) }
    }

    /// The heads: a list of `TableColumnDefinition`.
    pub fn definitions(&self) -> Vec<Value> {
        self.definitions.clone()
    }

    /// The cells of an object.
    pub fn row(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        match &self.cells {
            Cells::BuiltIn(printer) => (printer.cells)(object, now),
            Cells::Custom(columns) => columns.cells(object, now),
        }
    }

    /// What is to be known of a row besides its cells: that a pod is through.
    pub(super) fn conditions(&self, object: &Value) -> Option<Value> {
        match &self.cells {
            Cells::BuiltIn(printer) => (printer.conditions)(object),
            Cells::Custom(_) => None,
        }
    }

    /// Whether a table without rows has no list of rows at all. Nobody meant it so; the printers differ.
    pub(super) fn no_rows_are_null(&self) -> bool {
        matches!(&self.cells, Cells::BuiltIn(printer) if printer.no_rows_are_null)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::kinds::{built_in, resource_of};

    #[test]
    fn each_kind_has_a_cell_for_each_column() {
        for kind in built_in().into_iter().filter(|kind| kind.allows("get")) {
            let columns = Columns::built_in(&kind.of.group, &kind.plural);
            let resource = resource_of(&kind.plural, &kind.of.group);
            let real = &facts::columns()[&*resource];
            assert_eq!(&Value::from(columns.definitions()), real, "{resource}");
            let cells = columns.row(&json!({}), Timestamp::UNIX_EPOCH);
            assert_eq!(cells.len(), columns.definitions().len(), "{resource}");
        }
    }

    #[test]
    fn each_printer_has_a_cell_for_each_column() {
        for (resource, _) in print::PRINTERS {
            let (plural, group) = resource.split_once('.').unwrap_or((resource, ""));
            let columns = Columns::built_in(group, plural);
            let cells = columns.row(&json!({}), Timestamp::UNIX_EPOCH);
            assert_eq!(cells.len(), columns.definitions().len(), "{resource}");
        }
    }

    #[test]
    fn kinds_without_a_printer() {
        let columns = Columns::built_in("unheard.of", "things");
        let names: Vec<_> = columns.definitions().iter().map(|head| head["name"].clone()).collect();
        assert_eq!(names, ["Name", "Created At"]);
        let object = json!({"metadata": {"name": "a", "creationTimestamp": "2026-01-01T00:00:00Z"}});
        assert_eq!(columns.row(&object, Timestamp::UNIX_EPOCH), ["a", "2026-01-01T00:00:00Z"]);
        assert_eq!(columns.row(&json!({}), Timestamp::UNIX_EPOCH), ["", "0001-01-01T00:00:00Z"]);
    }
}
