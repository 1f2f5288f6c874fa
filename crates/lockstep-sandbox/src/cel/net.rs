//! Addresses of machines and networks, and of pages.

use std::net::IpAddr;
use std::rc::Rc;

use super::value::{Result, Val};

pub(super) fn call<'a>(name: &str, args: &[Val<'a>]) -> Option<Result<Val<'a>>> {
    Some(Ok(match (name, args) {
        ("isIP", [Val::Text(text)]) => Val::Bool(address(text).is_some()),
        ("ip", [Val::Text(text)]) => match address(text) {
            Some(address) => Val::Ip(address),
            None => {
                return Some(Err(format!(
                    "IP Address {text:?} parse error during conversion from string: ParseAddr({text:?}): unable to parse IP"
                )));
            }
        },
        ("ip.isCanonical", [Val::Text(text)]) => match address(text) {
            Some(address) => Val::Bool(address.to_string() == text.as_ref()),
            None => {
                return Some(Err(format!(
                    "IP Address {text:?} parse error during conversion from string: ParseAddr({text:?}): unable to parse IP"
                )));
            }
        },
        ("isCIDR", [Val::Text(text)]) => Val::Bool(network(text).is_some()),
        ("cidr", [Val::Text(text)]) => match network(text) {
            Some((address, bits)) => Val::Cidr(address, bits),
            None => {
                return Some(Err(format!(
                    "network address parse error during conversion from string: network address parse error during conversion from string: netip.ParsePrefix({text:?}): no '/'"
                )));
            }
        },
        (_, [Val::Ip(address)]) => return of_address(name, *address).map(Ok),
        (_, [Val::Cidr(address, bits)]) => return of_network(name, *address, *bits).map(Ok),
        ("containsIP", [Val::Cidr(network, bits), Val::Ip(address)]) => {
            Val::Bool(holds(*network, *bits, *address))
        }
        ("containsIP", [Val::Cidr(network, bits), Val::Text(text)]) => {
            Val::Bool(holds(*network, *bits, address(text)?))
        }
        ("containsCIDR", [Val::Cidr(outer, bits), Val::Cidr(inner, more)]) => {
            Val::Bool(bits <= more && holds(*outer, *bits, *inner))
        }
        ("containsCIDR", [Val::Cidr(outer, bits), Val::Text(text)]) => {
            let (inner, more) = network(text)?;
            Val::Bool(*bits <= more && holds(*outer, *bits, inner))
        }
        (_, [Val::Url(_)]) => return of_url(name, args.first()?),
        _ => return None,
    }))
}

fn of_url<'a>(name: &str, url: &Val<'a>) -> Option<Result<Val<'a>>> {
    let Val::Url(url) = url else { return None };
    Some(Ok(match name {
        "getScheme" => Val::text(url.scheme.clone()),
        "getHost" => Val::text(url.host.clone()),
        "getHostname" => Val::text(url.hostname()),
        "getPort" => Val::text(url.port()),
        "getEscapedPath" => Val::text(url.path.clone()),
        "getQuery" => {
            let pairs = url.queries().into_iter().map(|(name, values)| {
                (Val::text(name), Val::list(values.into_iter().map(Val::text).collect()))
            });
            Val::Map(Rc::new(pairs.collect()))
        }
        _ => return None,
    }))
}

/// An address without a zone. One of the old kind in the clothes of the new is none.
fn address(text: &str) -> Option<IpAddr> {
    let address: IpAddr = text.parse().ok()?;
    match address {
        IpAddr::V6(new) if new.to_ipv4_mapped().is_some() => None,
        address => Some(address),
    }
}

fn network(text: &str) -> Option<(IpAddr, u8)> {
    let (front, bits) = text.split_once('/')?;
    let address = address(front)?;
    let bits: u8 = bits.parse().ok()?;
    (bits <= width(address)).then_some((address, bits))
}

fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(old) => u128::from(u32::from(old)),
        IpAddr::V6(new) => u128::from(new),
    }
}

/// The network an address lies in, as a number.
fn masked(address: IpAddr, bits: u8) -> u128 {
    let free = u32::from(width(address)).saturating_sub(u32::from(bits));
    number(address).checked_shr(free).unwrap_or(0).checked_shl(free).unwrap_or(0)
}

fn holds(network: IpAddr, bits: u8, address: IpAddr) -> bool {
    network.is_ipv4() == address.is_ipv4() && masked(network, bits) == masked(address, bits)
}

fn of_address<'a>(name: &str, address: IpAddr) -> Option<Val<'a>> {
    let link_local = match address {
        IpAddr::V4(old) => old.is_link_local(),
        IpAddr::V6(new) => new.segments().first().is_some_and(|first| first & 0xffc0 == 0xfe80),
    };
    let link_multicast = match address {
        IpAddr::V4(old) => matches!(old.octets(), [224, 0, 0, _]),
        IpAddr::V6(new) => new.segments().first().is_some_and(|first| first & 0xff0f == 0xff02),
    };
    let broadcast = matches!(address, IpAddr::V4(old) if old.is_broadcast());
    let special = address.is_unspecified() || address.is_loopback() || address.is_multicast() || link_local;
    Some(match name {
        "family" => Val::Int(if address.is_ipv4() { 4 } else { 6 }),
        "isUnspecified" => Val::Bool(address.is_unspecified()),
        "isLoopback" => Val::Bool(address.is_loopback()),
        "isLinkLocalUnicast" => Val::Bool(link_local),
        "isLinkLocalMulticast" => Val::Bool(link_multicast),
        "isGlobalUnicast" => Val::Bool(!special && !broadcast),
        _ => return None,
    })
}

fn of_network<'a>(name: &str, address: IpAddr, bits: u8) -> Option<Val<'a>> {
    Some(match name {
        "ip" => Val::Ip(address),
        "prefixLength" => Val::Int(i64::from(bits)),
        "masked" => {
            let number = masked(address, bits);
            let address = match address {
                IpAddr::V4(_) => IpAddr::from(u32::try_from(number).unwrap_or(0).to_be_bytes()),
                IpAddr::V6(_) => IpAddr::from(number.to_be_bytes()),
            };
            Val::Cidr(address, bits)
        }
        _ => return None,
    })
}
