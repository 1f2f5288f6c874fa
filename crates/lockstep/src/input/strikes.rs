//! What happens to one instance at one time.

use lockstep_core::model::Spec;
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
        let all = "{at: 10m, what: evict, role: prefill, instance: 0}";
        reader.refuse(at, format!("at, what, role and instance are required, such as {all}"));
        return None;
    };
    let after = reader.duration(&time);
    let by = reader.word(&what, BLOWS);
    let name = reader.text(&name).and_then(|text| role(reader, &name, text, about));
    let instance = reader.number(&instance);
    let group = at.get("group").map_or(Some(0), |at| reader.number(&at));
    let of = Subject { group: group?, role: name?, instance: instance? };
    if !is_ever_there(&of, about) {
        reader.refuse(at, format!("there is no {of}: its group or instance is beyond what is wished for"));
        return None;
    }
    Some(Strike { after: after?, of, by: by? })
}

/// Wished for before the change or after it.
fn is_ever_there(of: &Subject, about: &About<'_>) -> bool {
    let wished = |spec: &Spec| {
        of.group < spec.replicas && spec.role(&of.role).is_some_and(|role| of.instance < role.replicas)
    };
    about.from.into_iter().chain([about.to]).any(wished)
}
