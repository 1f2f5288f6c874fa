//! The table of types.

use std::collections::BTreeMap;
use std::sync::OnceLock;

const TABLE: &str = include_str!("types.txt");

/// A struct of Go.
#[derive(Debug)]
pub(super) struct Struct {
    /// `core/v1.Pod`.
    pub name: &'static str,
    /// Its fields.
    pub fields: Vec<Field>,
}

/// A field of one.
#[derive(Debug)]
pub(super) struct Field {
    /// As it is called in JSON.
    pub name: &'static str,
    /// Left out when empty.
    pub omit: bool,
    /// Left out when zero.
    pub omit_zero: bool,
    /// What it holds.
    pub of: Type,
}

/// What a field holds.
#[derive(Debug)]
pub(super) enum Type {
    /// A text.
    Text,
    /// Whole numbers of so many bits.
    Int(u32),
    /// A truth value.
    Bool,
    /// A number.
    Float,
    /// Bytes in base 64.
    Bytes,
    /// A quantity.
    Quantity,
    /// A whole number or a text.
    IntOrText,
    /// A time, in seconds.
    Time,
    /// A time, in microseconds.
    MicroTime,
    /// Anything.
    Any,
    /// A schema or a truth value.
    SchemaOrBool,
    /// May be nil.
    Pointer(Box<Type>),
    /// A list.
    List(Box<Type>),
    /// A map.
    Map(Box<Type>),
    /// The struct of this name.
    Struct(&'static str),
}

impl Struct {
    /// The struct of a name.
    pub fn named(name: &str) -> Option<&'static Struct> {
        table().get(name)
    }

    /// As Go's errors call it, without its package's path: `v1.PodSpec`.
    pub fn go_name(&self) -> &'static str {
        self.name.rsplit('/').next().unwrap_or(self.name)
    }

    /// Without its package: `PodSpec`.
    pub fn short_name(name: &'static str) -> &'static str {
        name.rsplit('.').next().unwrap_or(name)
    }
}

fn table() -> &'static BTreeMap<&'static str, Struct> {
    static READ: OnceLock<BTreeMap<&'static str, Struct>> = OnceLock::new();
    READ.get_or_init(|| {
        let mut table: BTreeMap<&'static str, Struct> = BTreeMap::new();
        let mut current = "";
        for line in TABLE.lines() {
            match line.strip_prefix("  ").and_then(|line| line.split_once(' ')) {
                None => {
                    current = line;
                    table.insert(current, Struct { name: current, fields: Vec::new() });
                }
                Some((name, of)) => {
                    let bare = of.trim_start_matches(['?', '~']);
                    let marks = &of[..of.len() - bare.len()];
                    let (omit, omit_zero) = (marks.contains('?'), marks.contains('~'));
                    let field = Field { name, omit, omit_zero, of: Type::read(bare) };
                    table.entry(current).and_modify(|of| of.fields.push(field));
                }
            }
        }
        table
    })
}

impl Type {
    pub fn read(text: &'static str) -> Self {
        if let Some(of) = text.strip_prefix('*') {
            return Self::Pointer(Box::new(Self::read(of)));
        }
        if let Some(of) = text.strip_prefix("[]") {
            return Self::List(Box::new(Self::read(of)));
        }
        if let Some(of) = text.strip_prefix("{}") {
            return Self::Map(Box::new(Self::read(of)));
        }
        match text {
            "string" => Self::Text,
            "int64" => Self::Int(64),
            "int32" => Self::Int(32),
            "uint16" => Self::Int(16),
            "bool" => Self::Bool,
            "float64" => Self::Float,
            "bytes" => Self::Bytes,
            "quantity" => Self::Quantity,
            "intstr" => Self::IntOrText,
            "time" => Self::Time,
            "microtime" => Self::MicroTime,
            "any" => Self::Any,
            "schemaorbool" => Self::SchemaOrBool,
            name => Self::Struct(name),
        }
    }
}

/// Names of structs that are not in the table.
#[cfg(test)]
pub(super) fn unknown() -> Vec<String> {
    fn named(of: &Type) -> Option<&'static str> {
        match of {
            Type::Pointer(of) | Type::List(of) | Type::Map(of) => named(of),
            Type::Struct(name) => Some(name),
            _ => None,
        }
    }
    let fields = table().values().flat_map(|of| &of.fields);
    let names = fields.filter_map(|field| named(&field.of));
    names.filter(|name| Struct::named(name).is_none()).map(str::to_owned).collect()
}
