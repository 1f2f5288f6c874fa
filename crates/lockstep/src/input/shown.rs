//! What a watch has shown so far.

use std::collections::BTreeMap;

use kube::ResourceExt;
use kube::runtime::watcher::Event;

/// What a watch has shown so far, by namespace and name.
#[derive(Debug)]
pub struct Shown<K> {
    /// What is there.
    pub objects: BTreeMap<(String, String), K>,
    /// Those of a listing that is not over yet.
    coming: BTreeMap<(String, String), K>,
    /// The first listing is over.
    pub complete: bool,
}

impl<K> Default for Shown<K> {
    fn default() -> Self {
        Self { objects: BTreeMap::new(), coming: BTreeMap::new(), complete: false }
    }
}

impl<K: ResourceExt> Shown<K> {
    /// Takes in what the watch shows next.
    pub fn see(&mut self, event: Event<K>) {
        let key = |object: &K| (object.namespace().unwrap_or_default(), object.name_any());
        match event {
            Event::Apply(object) => {
                self.objects.insert(key(&object), object);
            }
            Event::Delete(object) => {
                self.objects.remove(&key(&object));
            }
            Event::Init => self.coming.clear(),
            Event::InitApply(object) => {
                self.coming.insert(key(&object), object);
            }
            Event::InitDone => {
                self.objects = std::mem::take(&mut self.coming);
                self.complete = true;
            }
        }
    }
}
