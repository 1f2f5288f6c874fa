//! What happens to one instance at one time.

use lockstep_core::simulate::faults::{Blow, Strike};
use lockstep_core::simulate::trace::Subject;

use super::fault_profile::{About, role};
use super::reader::{Place, Reader};

const FIELDS: &[&str] = &["at", "what", "role", "instance", "group"];
const BLOWS: &[(&str, Blow)] = &[("evict", Blow::Evict), ("crash", Blow::Crash), ("fail", Blow::Fail)];

/// `strikes: [{at: 10m, what: evict, role: prefill, instance: 0, group: 1}]`.
pub fn read(reader: &mut Reader<'_>, at: &Place<'_>, about: &About<'_>) -> Vec<Strike> {
    let items = reader.list(at);
    items.iter().filter_map(|item| strike(reader, item, about)).collect()
}

fn strike(reader: &mut Reader<'_>, at: &Place<'_>, about: &About<'_>) -> Option<Strike> {
    if !reader.map(at, FIELDS) {
        return None;
    }
    let (Some(time), Some(what), Some(name), Some(instance)) =
        (at.get("at"), at.get("what"), at.get("role"), at.get("instance"))
    else {
        reader.refuse(at, "at, what, role and instance are required, such as {at: 10m, what: evict, …}");
        return None;
    };
    let after = reader.duration(&time);
    let by = reader.word(&what, BLOWS);
    let name = reader.text(&name).and_then(|text| role(reader, &name, text, about));
    let instance = reader.number(&instance);
    let group = at.get("group").map_or(Some(0), |at| reader.number(&at));
    let of = Subject { group: group?, role: name?, instance: instance? };
    Some(Strike { after: after?, of, by: by? })
}
