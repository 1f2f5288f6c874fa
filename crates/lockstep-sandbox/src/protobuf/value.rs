//! Messages into JSON.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::ProtobufError;
use super::fields::{Field, Kind, Many, Message, Messages};
use super::special;
use super::wire::{Datum, Wire, packed};

/// How deep messages may lie in each other.
const DEEPEST: u32 = 100;

/// The JSON of a message.
pub fn message(messages: &Messages, name: &str, bytes: &[u8]) -> Result<Value, ProtobufError> {
    message_at(messages, name, bytes, 0)
}

fn message_at(messages: &Messages, name: &str, bytes: &[u8], depth: u32) -> Result<Value, ProtobufError> {
    if depth > DEEPEST {
        return Err(ProtobufError::Malformed("exceeded max depth"));
    }
    if let Some(special) = special::read(name, bytes) {
        return special;
    }
    let reader = Reader { messages, depth };
    match messages.get(name) {
        Some(Message::Fields(fields)) => reader.fields(fields, bytes).map(Value::Object),
        Some(Message::List(kind)) => {
            Ok(reader.list(kind, 1, &found(bytes)?.remove(&1).unwrap_or_default())?.into())
        }
        None => Ok(Value::Null),
    }
}

/// What there is of each field.
type Found<'a> = BTreeMap<u32, Vec<Datum<'a>>>;

fn found(bytes: &[u8]) -> Result<Found<'_>, ProtobufError> {
    let mut found = Found::new();
    for field in Wire::of(bytes) {
        let (number, datum) = field?;
        found.entry(number).or_default().push(datum);
    }
    Ok(found)
}

struct Reader<'a> {
    messages: &'a Messages,
    depth: u32,
}

impl Reader<'_> {
    fn fields(&self, fields: &[Field], bytes: &[u8]) -> Result<Map<String, Value>, ProtobufError> {
        let found = found(bytes)?;
        let mut object = Map::new();
        for field in fields {
            let data = found.get(&field.number).map(Vec::as_slice).unwrap_or_default();
            match self.field(field, data)? {
                None => {}
                Some(Value::Object(inline)) if field.name.is_empty() => object.extend(inline),
                Some(value) => drop(object.insert(field.name.clone(), value)),
            }
        }
        Ok(object)
    }

    /// The value of a field, if it is written at all.
    fn field(&self, field: &Field, data: &[Datum<'_>]) -> Result<Option<Value>, ProtobufError> {
        // What is null to Go.
        let absent = (!field.omit_empty).then_some(Value::Null);
        match (field.many, data) {
            (Many::List | Many::Map, []) => Ok(absent),
            (Many::List, _) => Ok(Some(self.list(&field.kind, field.number, data)?.into())),
            (Many::Map, _) => Ok(Some(self.map(&field.kind, field.number, data)?.into())),
            (Many::One, []) if field.pointer || field.kind == Kind::Bytes => Ok(absent),
            (Many::One, [.., last]) if field.pointer => {
                Ok(Some(self.value(&field.kind, field.number, Some(*last))?))
            }
            (Many::One, _) => {
                let value = self.value(&field.kind, field.number, data.last().copied())?;
                Ok((!self.is_left_out(field, &value)?).then_some(value))
            }
        }
    }

    /// Whether a value that is no pointer is not worth writing. Go never calls a struct empty, only zero.
    fn is_left_out(&self, field: &Field, value: &Value) -> Result<bool, ProtobufError> {
        let can_be_empty = !matches!(field.kind, Kind::Message(_));
        if (field.omit_empty && can_be_empty) || field.omit_zero {
            return Ok(*value == self.value(&field.kind, field.number, None)?);
        }
        Ok(false)
    }

    fn list(&self, kind: &Kind, number: u32, data: &[Datum<'_>]) -> Result<Vec<Value>, ProtobufError> {
        let mut values = Vec::new();
        for datum in data {
            match (kind, datum) {
                (Kind::Bool | Kind::Int32 | Kind::Int64, Datum::Bytes(several)) => {
                    for one in packed(several)? {
                        values.push(self.value(kind, number, Some(Datum::Number(one)))?);
                    }
                }
                _ => values.push(self.value(kind, number, Some(*datum))?),
            }
        }
        Ok(values)
    }

    /// Entries are messages: the key is their first field, the value their second.
    fn map(&self, kind: &Kind, number: u32, data: &[Datum<'_>]) -> Result<Map<String, Value>, ProtobufError> {
        let mut map = Map::new();
        for datum in data {
            let entry = found(datum.bytes(number)?)?;
            let last = |field: u32| entry.get(&field).and_then(|data| data.last().copied());
            let key = last(1).map_or(Ok(""), |key| key.text(number))?;
            map.insert(key.to_owned(), self.value(kind, number, last(2))?);
        }
        Ok(map)
    }

    /// A value; zero if there is nothing.
    fn value(&self, kind: &Kind, number: u32, datum: Option<Datum<'_>>) -> Result<Value, ProtobufError> {
        let bytes = || datum.map_or(Ok([].as_slice()), |datum| datum.bytes(number));
        let whole = || datum.map_or(Ok(0), |datum| datum.number(number));
        Ok(match kind {
            Kind::Text => datum.map_or(Ok(""), |datum| datum.text(number))?.into(),
            Kind::Bytes => special::base64(bytes()?).into(),
            Kind::Bool => (whole()? != 0).into(),
            // Negative numbers come with all their 64 bits.
            Kind::Int32 => (whole()?.cast_signed() as i32).into(),
            Kind::Int64 => whole()?.cast_signed().into(),
            Kind::Message(name) => message_at(self.messages, name, bytes()?, self.depth + 1)?,
        })
    }
}
