//! What is to be done, object by object. Pure.

use std::collections::BTreeSet;

use lockstep_api::{Problem, label};
use lockstep_dialects::Lowered;
use lockstep_operator::act::{Maker, SetRef, Volcano};
use lockstep_operator::adopt::{Adoption, Estate, judge};
use lockstep_operator::dialects::made_set;
use serde_json::Value;

use super::site::{Site, name, namespace, uid};
use crate::install::title;

/// What is to be done.
pub struct Moves {
    /// Objects that become sets.
    pub all: Vec<Move>,
    /// Objects that are refused, and why.
    pub refused: Vec<(Value, Vec<Problem>)>,
}

/// How far an object has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Nothing was done.
    New,
    /// It was begun.
    Begun,
    /// All of it is done.
    Done,
}

/// What is to be done with one object.
pub struct Move {
    /// The object.
    pub object: Value,
    /// What it becomes.
    pub lowered: Lowered,
    /// Its set, as it is applied.
    pub wanted: Value,
    /// Its set as it stands.
    pub set: Option<Value>,
    /// How far it has come.
    pub stage: Stage,
    /// What becomes of its pods.
    pub adoption: Adoption,
    /// What stands between it and its pods and is not needed any more, owners first.
    pub between: Vec<Value>,
    /// What stands beside it and has a name that we need.
    pub kept: Vec<Value>,
    /// What stands beside it and nobody needs.
    pub left: Vec<String>,
}

impl Moves {
    /// Decides.
    pub fn plan(site: &Site) -> Self {
        let mut moves = Self { all: Vec::new(), refused: Vec::new() };
        let owned: BTreeSet<&str> = site.objects.iter().map(uid).collect();
        for object in &site.objects {
            // What another object made is between that one and its pods.
            let made =
                owners(object).any(|owner| owner["uid"].as_str().is_some_and(|uid| owned.contains(uid)));
            if made {
                continue;
            }
            match site.dialect.lower(object, &site.world(object)) {
                Ok(lowered) => moves.all.push(Move::of(site, object, lowered)),
                Err(problems) => moves.refused.push((object.clone(), problems)),
            }
        }
        moves
    }
}

impl Move {
    fn of(site: &Site, object: &Value, lowered: Lowered) -> Self {
        let wanted = made_set(object, &lowered, site.dialect.name());
        let same = |set: &&Value| namespace(set) == namespace(object) && name(set) == name(object);
        let set = site.sets.iter().find(same).cloned();
        let said = set.as_ref().map(|set| &set["metadata"]["annotations"][label::MIGRATION]);
        let stage = match said.and_then(Value::as_str) {
            Some(label::ADOPTED) => Stage::Done,
            Some(_) => Stage::Begun,
            None => Stage::New,
        };
        let (others, pods) = (Site::near(&site.between, object), Site::near(&site.pods, object));
        let set_uid = set.as_ref().map_or("", uid);
        let estate = Estate::of(object, &lowered.set, set_uid, &others, &pods);
        let volumes = site.dialect.original().volumes;
        let adoption = judge(&set_ref(object, set_uid), &lowered.set, volumes, &estate.pods);
        let is_needed = |it: &Value| lowered.beside.iter().any(|wanted| is_same(wanted, it));
        let between = estate.between.iter().filter(|it| !is_needed(it)).map(|it| Value::clone(it)).collect();
        let beside = Site::near(&site.beside, object);
        let all = beside.iter().chain(&others);
        let kept = all.filter(|it| is_needed(it) && is_its(it, object)).cloned().collect();
        let is_left = |it: &&Value| owners(it).any(|owner| owner["uid"] == uid(object)) && !is_needed(it);
        let left = beside.iter().filter(is_left).map(title).collect();
        Self { object: object.clone(), wanted, set, stage, adoption, between, kept, left, lowered }
    }

    /// The UIDs of those that owned its pods before.
    pub fn former_owners(&self) -> BTreeSet<&str> {
        self.between.iter().chain(&self.kept).chain([&self.object]).map(uid).collect()
    }

    /// `ml/llama`
    pub fn title(&self) -> String {
        format!("{}/{}", namespace(&self.object), name(&self.object))
    }
}

/// The set that is made from an object; without a UID if it is not there yet.
pub fn set_ref(object: &Value, set: &str) -> SetRef {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    SetRef {
        namespace: namespace(object).to_owned(),
        name: name(object).to_owned(),
        uid: set.to_owned(),
        maker: Some(Maker {
            api_version: text(&object["apiVersion"]),
            kind: text(&object["kind"]),
            name: name(object).to_owned(),
            uid: uid(object).to_owned(),
        }),
        // Gangs are written by the operator.
        volcano: Volcano::default(),
    }
}

/// Those who own an object.
pub fn owners(object: &Value) -> impl Iterator<Item = &Value> {
    object["metadata"]["ownerReferences"].as_array().into_iter().flatten()
}

/// Whether nobody but the object controls it.
fn is_its(it: &Value, object: &Value) -> bool {
    let mut controllers = owners(it).filter(|owner| owner["controller"] == true);
    controllers.all(|owner| owner["uid"] == uid(object))
}

fn is_same(wanted: &Value, it: &Value) -> bool {
    let group = |object: &Value| {
        let version = object["apiVersion"].as_str().unwrap_or_default().to_owned();
        version.split_once('/').map(|(group, _)| group.to_owned()).unwrap_or_default()
    };
    group(wanted) == group(it) && wanted["kind"] == it["kind"] && name(wanted) == name(it)
}
