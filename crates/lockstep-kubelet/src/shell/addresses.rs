//! Addresses, each given to one holder at a time.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use crate::draw;

/// A range of addresses and who holds them.
#[derive(Debug)]
pub(crate) struct AddressPool {
    first: u32,
    size: u32,
    held: BTreeMap<u32, String>,
}

impl AddressPool {
    /// 10.128.0.0/9: for pods. Clear of the usual ranges for services.
    pub(crate) fn for_pods() -> Self {
        Self::new(Ipv4Addr::new(10, 128, 0, 0), 1 << 23)
    }

    /// 172.16.0.0/12: for nodes.
    pub(crate) fn for_nodes() -> Self {
        Self::new(Ipv4Addr::new(172, 16, 0, 0), 1 << 20)
    }

    fn new(first: Ipv4Addr, size: u32) -> Self {
        Self { first: first.to_bits(), size, held: BTreeMap::new() }
    }

    /// An address for this holder: where its name falls, or the next free one.
    pub(crate) fn claim(&mut self, holder: &str) -> Ipv4Addr {
        let start = draw::number(&[holder]) % u64::from(self.size);
        let places = (start..u64::from(self.size)).chain(0..start).filter_map(|n| u32::try_from(n).ok());
        let first = self.first;
        let free = places
            .map(|place| first + place)
            .find(|bits| self.held.get(bits).is_none_or(|by| by == holder))
            // Eight million pods: somebody has to share.
            .unwrap_or(first);
        self.held.insert(free, holder.to_owned());
        Ipv4Addr::from_bits(free)
    }

    /// Takes note that this holder has this address; whoever came first keeps it.
    pub(crate) fn note(&mut self, address: Ipv4Addr, holder: &str) {
        self.held.entry(address.to_bits()).or_insert_with(|| holder.to_owned());
    }

    /// Takes an address back from this holder.
    pub(crate) fn release(&mut self, address: Ipv4Addr, holder: &str) {
        if self.held.get(&address.to_bits()).is_some_and(|by| by == holder) {
            self.held.remove(&address.to_bits());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn nobody_gets_what_another_holds() {
        let mut pool = AddressPool::new(Ipv4Addr::new(10, 0, 0, 0), 64);
        let names: Vec<_> = (0..64).map(|n| format!("uid-{n}")).collect();
        let given: BTreeSet<_> = names.iter().map(|name| pool.claim(name)).collect();
        assert_eq!(given.len(), 64);
    }

    #[test]
    fn an_address_goes_back_only_from_its_holder() {
        let mut pool = AddressPool::for_pods();
        let address = pool.claim("a");
        assert_eq!(pool.claim("a"), address);
        pool.release(address, "b");
        pool.note(address, "b");
        assert_eq!(pool.claim("a"), address);
        pool.release(address, "a");
        pool.note(address, "b");
        assert_ne!(pool.claim("a"), address);
    }
}
