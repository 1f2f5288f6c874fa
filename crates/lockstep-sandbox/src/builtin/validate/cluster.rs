//! What is wrong with nodes and namespaces.

use std::net::IpAddr;

use serde_json::Value;

use super::meta;
use super::placement::EFFECTS;
use super::resources::amount_of;
use crate::builtin::access::{at, entries, has, list, text, texts};
use crate::builtin::causes::{At, Causes, quoted};
use crate::builtin::formats::{NameRule, label_value, qualified};

/// A node, whenever it is written.
pub(super) fn node(object: &Value, causes: &mut Causes) {
    meta::create(object, false, NameRule::Subdomain, causes);
    taints(object, causes);
    amounts(object, causes);
    for (place, range) in texts(at(object, &["spec"]), "podCIDRs").into_iter().enumerate() {
        address_range(range, &At::new("spec").child("podCIDRs").index(place), causes);
    }
}

/// A node, or its status, that is updated.
pub(super) fn node_update(new: &Value, old: &Value, causes: &mut Causes) {
    meta::update(new, old, causes);
    amounts(new, causes);
    let addresses = list(at(new, &["status"]), "addresses");
    for (place, address) in addresses.iter().enumerate() {
        if addresses[..place].contains(address) {
            // A real one shows its own type here.
            let shown = format!(
                "{{\"Type\":{},\"Address\":{}}}",
                quoted(text(address, "type")),
                quoted(text(address, "address"))
            );
            causes.duplicate_shown(&At::new("status").child("addresses").index(place), &shown, "");
        }
    }
    let (spec, before, here) = (at(new, &["spec"]), at(old, &["spec"]), At::new("spec"));
    if has(before, "podCIDRs") && at(spec, &["podCIDRs"]) != at(before, &["podCIDRs"]) {
        let why = "node updates may not change podCIDR except from \"\" to valid";
        causes.forbidden(&here.child("podCIDRs"), why);
    }
    let (now, before) = (text(spec, "providerID"), text(before, "providerID"));
    if !before.is_empty() && now != before {
        let what = if now.is_empty() { "cleared" } else { "modified" };
        let why = format!("field cannot be {what} once set");
        causes.invalid(&here.child("providerID"), &Value::Null, &why);
    }
    taints(new, causes);
}

/// A range of addresses.
pub(super) fn address_range(range: &str, here: &At, causes: &mut Causes) {
    let read = range.split_once('/').and_then(|(address, bits)| {
        let most = match address.parse().ok()? {
            IpAddr::V4(_) => 32,
            IpAddr::V6(_) => 128,
        };
        bits.parse::<u8>().ok().filter(|bits| *bits <= most)
    });
    if read.is_none() {
        let why = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
        causes.invalid(here, &Value::from(range), why);
    }
}

fn taints(object: &Value, causes: &mut Causes) {
    let here = At::new("metadata").child("taints");
    let all = list(at(object, &["spec"]), "taints");
    for (place, taint) in all.iter().enumerate() {
        let here = here.index(place);
        let (key, value, effect) = (text(taint, "key"), text(taint, "value"), text(taint, "effect"));
        causes.invalid_each(&here.child("key"), key, qualified(key));
        let wrong = label_value(value);
        if !wrong.is_empty() {
            causes.invalid(&here.child("value"), &Value::from(value), &wrong.join(";"));
        }
        causes.one_of(&here.child("effect"), effect, &EFFECTS);
        let same = |other: &Value| text(other, "key") == key && text(other, "effect") == effect;
        if all[..place].iter().any(same) {
            // A real one shows its own type here.
            let time = taint.get("timeAdded").map_or("null".to_owned(), Value::to_string);
            let shown = format!(
                "{{\"Key\":{},\"Value\":{},\"Effect\":{},\"TimeAdded\":{time}}}",
                quoted(key),
                quoted(value),
                quoted(effect)
            );
            causes.duplicate_shown(&here, &shown, "taints must be unique by key and effect pair");
        }
    }
}

fn amounts(object: &Value, causes: &mut Causes) {
    for field in ["capacity", "allocatable"] {
        for (resource, amount) in entries(at(object, &["status"]), field) {
            amount_of(resource, amount, &At::new("status").child(field).child(resource), causes);
        }
    }
}

/// A namespace, whenever it is written.
pub(super) fn namespace(object: &Value, causes: &mut Causes) {
    meta::create(object, false, NameRule::Label, causes);
    finalizers(object, |here, _| here, causes);
}

/// The finalizers of a namespace, when they are updated.
pub(super) fn namespace_finalize(new: &Value, old: &Value, causes: &mut Causes) {
    meta::update(new, old, causes);
    finalizers(new, |here, place| here.index(place), causes);
}

fn finalizers(object: &Value, at_place: impl Fn(At, usize) -> At, causes: &mut Causes) {
    for (place, finalizer) in texts(at(object, &["spec"]), "finalizers").into_iter().enumerate() {
        let here = at_place(At::new("spec").child("finalizers"), place);
        causes.invalid_each(&here, finalizer, qualified(finalizer));
        meta::known_finalizer(finalizer, &here, causes);
    }
}

/// The status of a namespace.
pub(super) fn namespace_status(new: &Value, old: &Value, causes: &mut Causes) {
    meta::update(new, old, causes);
    let phase = text(at(new, &["status"]), "phase");
    let (wanted, is) = match has(at(new, &["metadata"]), "deletionTimestamp") {
        false => ("Active", "empty"),
        true => ("Terminating", "not empty"),
    };
    if phase != wanted {
        let why = format!("may only be '{wanted}' if `deletionTimestamp` is {is}");
        causes.invalid(&At::new("status").child("Phase"), &Value::from(phase), &why);
    }
}
