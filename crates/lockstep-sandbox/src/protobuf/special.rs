//! Messages that are something else in JSON: times, quantities, raw JSON.

use jiff::Timestamp;
use serde_json::Value;

use super::ProtobufError;
use super::wire::{Datum, Wire};

type Read = fn(&[u8]) -> Result<Value, ProtobufError>;

const SPECIAL: &[(&str, Read)] = &[
    ("k8s.io.apimachinery.pkg.api.resource.Quantity", quantity),
    ("k8s.io.apimachinery.pkg.apis.meta.v1.FieldsV1", raw),
    ("k8s.io.apimachinery.pkg.apis.meta.v1.MicroTime", micro_time),
    ("k8s.io.apimachinery.pkg.apis.meta.v1.Time", time),
    ("k8s.io.apimachinery.pkg.runtime.RawExtension", raw),
    ("k8s.io.apimachinery.pkg.util.intstr.IntOrString", int_or_string),
];

/// Reads a message that is special.
pub fn read(name: &str, bytes: &[u8]) -> Option<Result<Value, ProtobufError>> {
    SPECIAL.iter().find(|(special, _)| *special == name).map(|(_, read)| read(bytes))
}

/// Whether a message is special.
#[cfg(test)]
pub fn is_special(name: &str) -> bool {
    SPECIAL.iter().any(|(special, _)| *special == name)
}

/// `{string = 1}`, as text.
fn quantity(bytes: &[u8]) -> Result<Value, ProtobufError> {
    let text = last(bytes, 1)?.map_or(Ok(""), |datum| datum.text(1))?;
    Ok(if text.is_empty() { "0" } else { text }.into())
}

/// `{raw = 1}`, JSON in itself.
fn raw(bytes: &[u8]) -> Result<Value, ProtobufError> {
    match last(bytes, 1)?.map_or(Ok([].as_slice()), |datum| datum.bytes(1))? {
        [] => Ok(Value::Null),
        text => serde_json::from_slice(text).map_err(|error| ProtobufError::Json(error.to_string())),
    }
}

/// `{type = 1, intVal = 2, strVal = 3}`: a number if the type is 0.
fn int_or_string(bytes: &[u8]) -> Result<Value, ProtobufError> {
    let number = |field| last(bytes, field)?.map_or(Ok(0), |datum| datum.number(field));
    if number(1)? == 0 {
        return Ok((number(2)?.cast_signed() as i32).into());
    }
    Ok(last(bytes, 3)?.map_or(Ok(""), |datum| datum.text(3))?.into())
}

/// `{seconds = 1, nanos = 2}`, to the second. No bytes are no time.
fn time(bytes: &[u8]) -> Result<Value, ProtobufError> {
    Ok(moment(bytes)?.map_or(Value::Null, |(seconds, _)| seconds.to_string().into()))
}

/// `{seconds = 1, nanos = 2}`, to the microsecond.
fn micro_time(bytes: &[u8]) -> Result<Value, ProtobufError> {
    let shown = |(seconds, nanos): (Timestamp, u64)| {
        let whole = seconds.to_string();
        format!("{}.{:06}Z", whole.trim_end_matches('Z'), nanos / 1000)
    };
    Ok(moment(bytes)?.map_or(Value::Null, |moment| shown(moment).into()))
}

/// The second, and nanoseconds on top of it.
fn moment(bytes: &[u8]) -> Result<Option<(Timestamp, u64)>, ProtobufError> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let number = |field| last(bytes, field)?.map_or(Ok(0), |datum| datum.number(field));
    let seconds = Timestamp::from_second(number(1)?.cast_signed());
    let seconds = seconds.map_err(|_| ProtobufError::Malformed("a time beyond all calendars"))?;
    Ok(Some((seconds, number(2)?)))
}

fn last(bytes: &[u8], number: u32) -> Result<Option<Datum<'_>>, ProtobufError> {
    let mut found = None;
    for field in Wire::of(bytes) {
        let (of, datum) = field?;
        if of == number {
            found = Some(datum);
        }
    }
    Ok(found)
}

/// Bytes as JSON has them: base64, with padding.
pub fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let padded = [chunk[0], chunk.get(1).copied().unwrap_or(0), chunk.get(2).copied().unwrap_or(0)];
        let bits = u32::from_be_bytes([0, padded[0], padded[1], padded[2]]);
        for place in 0..4 {
            let digit = char::from(DIGITS[(bits >> (18 - 6 * place)) as usize & 63]);
            text.push(if place <= chunk.len() { digit } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn special_messages() {
        let raw_json = [[0x0a, 7].as_slice(), br#"{"a":1}"#].concat();
        for (name, bytes, value) in [
            ("api.resource.Quantity", [0x0a, 4, b'5', b'0', b'0', b'm'].as_slice(), json!("500m")),
            ("api.resource.Quantity", &[], json!("0")),
            ("apis.meta.v1.Time", &[], json!(null)),
            ("apis.meta.v1.Time", &[0x08, 60, 0x10, 7], json!("1970-01-01T00:01:00Z")),
            ("apis.meta.v1.MicroTime", &[0x08, 60, 0x10, 0xe8, 0x07], json!("1970-01-01T00:01:00.000001Z")),
            ("apis.meta.v1.MicroTime", &[0x08, 60, 0x10, 0], json!("1970-01-01T00:01:00.000000Z")),
            ("util.intstr.IntOrString", &[0x08, 0, 0x10, 80, 0x1a, 0], json!(80)),
            ("util.intstr.IntOrString", &[0x08, 1, 0x10, 0, 0x1a, 3, b'5', b'0', b'%'], json!("50%")),
            ("runtime.RawExtension", &raw_json, json!({"a": 1})),
            ("runtime.RawExtension", &[], json!(null)),
        ] {
            let name = format!("k8s.io.apimachinery.pkg.{name}");
            assert_eq!(read(&name, bytes), Some(Ok(value)), "{name} {bytes:?}");
        }
        assert_eq!(read("k8s.io.api.core.v1.Pod", &[]), None);
        assert!(matches!(raw(&[0x0a, 1, b'{']), Err(ProtobufError::Json(_))));
    }

    #[test]
    fn bytes_as_text() {
        for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")]
        {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
        assert_eq!(base64(&[0xff, 0xef, 0xbe]), "/+++");
    }
}
