//! Where one event of a watch ends and the next begins.

use http::{HeaderMap, header};
use hyper::body::Bytes;
use serde_json::json;

use super::rule::Refusal;

/// How the events of a stream are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// JSON, an event per line.
    Lines,
    /// Protobuf, each event after its length in four bytes.
    Lengths,
    /// Something else: what arrives at once counts as an event.
    Chunks,
}

impl Framing {
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        match content_type.and_then(|value| value.split(';').next()).map(str::trim) {
            _ if headers.contains_key(header::CONTENT_ENCODING) => Self::Chunks,
            Some("application/json") => Self::Lines,
            Some("application/vnd.kubernetes.protobuf") => Self::Lengths,
            _ => Self::Chunks,
        }
    }

    /// How long the first event is, once it is complete.
    fn first(self, buffer: &[u8]) -> Option<usize> {
        let end = match self {
            Self::Lines => buffer.iter().position(|byte| *byte == b'\n')? + 1,
            Self::Lengths => {
                let length = u32::from_be_bytes(*buffer.first_chunk()?);
                usize::try_from(length).ok()?.checked_add(4)?
            }
            Self::Chunks => buffer.len(),
        };
        (0 < end && end <= buffer.len()).then_some(end)
    }

    /// The event an API server ends a watch with whose starting point is too old.
    pub(super) fn expired(self) -> Bytes {
        let status = Refusal {
            status: 410,
            reason: "Expired".to_owned(),
            message: "too old resource version: ended by a fault".to_owned(),
            retry_after: None,
        };
        match self {
            Self::Lengths => expired_in_protobuf(&status),
            Self::Lines | Self::Chunks => {
                let mut line = json!({"type": "ERROR", "object": status.status_object()}).to_string();
                line.push('\n');
                line.into()
            }
        }
    }
}

/// Cuts what arrives into events.
#[derive(Debug)]
pub(super) struct Splitter {
    framing: Framing,
    buffer: Vec<u8>,
}

impl Splitter {
    pub(super) fn new(framing: Framing) -> Self {
        Self { framing, buffer: Vec::new() }
    }

    /// The events that are complete now.
    pub(super) fn push(&mut self, chunk: &[u8]) -> Vec<Bytes> {
        self.buffer.extend_from_slice(chunk);
        let mut events = Vec::new();
        let mut start = 0;
        while let Some(length) = self.framing.first(self.buffer.get(start..).unwrap_or_default()) {
            events.push(Bytes::copy_from_slice(&self.buffer[start..start + length]));
            start += length;
        }
        self.buffer.drain(..start);
        events
    }

    /// What is left at the end: an event that never became whole.
    pub(super) fn rest(&mut self) -> Option<Bytes> {
        let rest = std::mem::take(&mut self.buffer);
        (!rest.is_empty()).then(|| rest.into())
    }
}

/// `WatchEvent { type: 1, object: RawExtension 2 }`, the object in the envelope all objects have.
fn expired_in_protobuf(status: &Refusal) -> Bytes {
    let mut object = field(2, b"Failure");
    object.extend(field(3, status.message.as_bytes()));
    object.extend(field(4, status.reason.as_bytes()));
    object.push(6 << 3);
    object.extend(varint(u64::from(status.status)));
    let kind = [field(1, b"v1"), field(2, b"Status")].concat();
    let envelope = [b"k8s\0".to_vec(), field(1, &kind), field(2, &object)].concat();
    let event = [field(1, b"ERROR"), field(2, &field(1, &envelope))].concat();
    let length = u32::try_from(event.len()).unwrap_or(u32::MAX);
    [length.to_be_bytes().to_vec(), event].concat().into()
}

/// A field of bytes, with its number and length.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let mut all = vec![number << 3 | 2];
    all.extend(varint(content.len() as u64));
    all.extend_from_slice(content);
    all
}

fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pushes chunks and shows what came out after each, and what was left.
    fn cut(framing: Framing, chunks: &[&str]) -> (Vec<Vec<String>>, Option<String>) {
        let text = |bytes: Bytes| String::from_utf8_lossy(&bytes).into_owned();
        let mut splitter = Splitter::new(framing);
        let events =
            chunks.iter().map(|chunk| splitter.push(chunk.as_bytes()).into_iter().map(text).collect());
        let events = events.collect();
        (events, splitter.rest().map(text))
    }

    #[test]
    fn events_are_cut_apart_however_they_arrive() {
        let lines = cut(Framing::Lines, &["a\nb", "b\n", "\n", "c"]);
        assert_eq!(lines.0, [vec!["a\n"], vec!["bb\n"], vec!["\n"], vec![]]);
        assert_eq!(lines.1.as_deref(), Some("c"));
        let lengths = cut(Framing::Lengths, &["\0\0", "\0\u{2}x", "y\0\0\0\u{1}z\0\0\0\0", "\0"]);
        assert_eq!(lengths.0, [vec![], vec![], vec!["\0\0\0\u{2}xy", "\0\0\0\u{1}z", "\0\0\0\0"], vec![]]);
        assert_eq!(lengths.1.as_deref(), Some("\0"));
        let chunks = cut(Framing::Chunks, &["ab", "", "c\n"]);
        assert_eq!(chunks.0, [vec!["ab"], vec![], vec!["c\n"]]);
        assert_eq!(chunks.1, None);
    }

    #[test]
    fn framing_is_known_by_content_type() {
        let table = [
            ("application/json", Framing::Lines),
            ("application/json;stream=watch", Framing::Lines),
            ("application/vnd.kubernetes.protobuf;stream=watch", Framing::Lengths),
            ("application/cbor-seq", Framing::Chunks),
        ];
        let mut headers = HeaderMap::new();
        assert_eq!(Framing::of(&headers), Framing::Chunks);
        for (content_type, framing) in table {
            headers.insert(header::CONTENT_TYPE, content_type.parse().unwrap());
            assert_eq!(Framing::of(&headers), framing);
        }
        headers.insert(header::CONTENT_TYPE, "application/json".parse().unwrap());
        headers.insert(header::CONTENT_ENCODING, "gzip".parse().unwrap());
        assert_eq!(Framing::of(&headers), Framing::Chunks);
    }

    #[test]
    fn the_end_is_one_event_in_either_framing() {
        for framing in [Framing::Lines, Framing::Lengths] {
            let event = framing.expired();
            assert_eq!(Splitter::new(framing).push(&event), [event]);
        }
        let event: kube::core::WatchEvent<k8s_openapi::api::core::v1::Pod> =
            serde_json::from_slice(&Framing::Lines.expired()).unwrap();
        let kube::core::WatchEvent::Error(status) = event else { panic!("not an error") };
        assert_eq!((status.code, status.reason.as_str()), (410, "Expired"));
    }

    #[test]
    fn numbers_are_written_as_protobuf_writes_them() {
        assert_eq!(varint(1), [1]);
        assert_eq!(varint(410), [0x9a, 3]);
        assert_eq!(field(3, b"ab"), [0x1a, 2, b'a', b'b']);
    }
}
