//! Bodies that real programs sent, beside what they stand for.

use std::io::Read;

use flate2::read::GzDecoder;
use serde_json::{Value, json};

use super::{MAGIC, ProtobufError, decode};

/// What `kubectl` 1.37 sent, with what it shows for `--dry-run=client -o json`.
const KUBECTL: &str = include_str!("kubectl.json");

/// What an API server (1.37) answered about its objects: in protobuf, and in JSON.
const SERVED: &[u8] = include_bytes!("served.json.gz");

/// The inverse of how bytes are shown.
fn bytes(base64: &str) -> Vec<u8> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u8> = base64.bytes().filter(|byte| *byte != b'=').map(digit).collect();
    let mut bytes = Vec::new();
    for chunk in digits.chunks(4) {
        let bits = chunk.iter().fold(0_u32, |bits, digit| bits << 6 | u32::from(*digit));
        let bits = bits << (6 * (4 - chunk.len()));
        bytes.extend_from_slice(&bits.to_be_bytes()[1..chunk.len()]);
    }
    bytes
}

fn body(recorded: &Value) -> Vec<u8> {
    bytes(recorded["body"].as_str().expect("a body"))
}

#[test]
fn what_kubectl_sends() {
    let all: Vec<Value> = serde_json::from_str(KUBECTL).expect("JSON");
    assert!(all.len() > 20);
    for one in all {
        assert_eq!(decode(&body(&one)), Ok(one["object"].clone()), "{}", one["command"]);
    }
}

#[test]
fn what_servers_answer() {
    let mut text = String::new();
    GzDecoder::new(SERVED).read_to_string(&mut text).expect("packed");
    let all: Vec<Value> = serde_json::from_str(&text).expect("JSON");
    assert!(all.len() > 25);
    for one in all {
        assert_eq!(decode(&body(&one)), Ok(one["object"].clone()), "{}", one["object"]["kind"]);
    }
}

#[test]
fn what_is_no_body() {
    assert_eq!(decode(b"{}"), Err(ProtobufError::NoMagic));
    let of = |kind: &str| {
        let meta = [[0x0a, 2].as_slice(), b"v1", &[0x12, kind.len() as u8], kind.as_bytes()].concat();
        [MAGIC, &[0x0a, meta.len() as u8], &meta].concat()
    };
    let unknown = ProtobufError::UnknownKind { api_version: "v1".to_owned(), kind: "Nothing".to_owned() };
    assert_eq!(decode(&of("Nothing")), Err(unknown));
    let empty = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}});
    assert_eq!(decode(&of("ConfigMap")), Ok(empty));
}

#[test]
fn no_body_is_too_odd() {
    let all: Vec<Value> = serde_json::from_str(KUBECTL).expect("JSON");
    for one in all {
        let whole = body(&one);
        for end in 0..whole.len() {
            // It need not fail: what is left can be a body too.
            let _ = decode(&whole[..end]);
            let mut changed = whole.clone();
            changed[end] ^= 0x55;
            let _ = decode(&changed);
        }
    }
}
