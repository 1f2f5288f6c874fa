//! Which functions there are, what they take and what they give.

use super::types::Type;

/// What a function takes or gives.
#[derive(Clone, Copy, PartialEq)]
enum Of {
    Any,
    Bool,
    Int,
    Uint,
    Double,
    Text,
    Bytes,
    Timestamp,
    Duration,
    Type,
    Quantity,
    Url,
    Ip,
    Cidr,
    Texts,
    List,
    /// A list of what has an order.
    Ordered,
    /// A list of what can be added up.
    Summable,
    Map,
    Optional,
    /// The list, or what an optional value holds: as the first argument.
    Same,
    /// An item of the list, or what an optional value holds.
    Item,
    /// An optional item of the list.
    OptionalItem,
    /// A list of the argument.
    Several,
    /// An optional value of the argument.
    Perhaps,
    QueryMap,
    Semver,
    Format,
    /// Texts, or none.
    Problems,
    OptionalFormat,
}

use Of::{
    Any, Bool, Bytes, Cidr, Double, Duration, Format, Int, Ip, Item, List, Map, Optional, OptionalItem,
    Ordered, Perhaps, Problems, Quantity, QueryMap, Same, Semver, Several, Summable, Text, Texts, Timestamp,
    Uint, Url,
};

/// Name, whether it stands after a dot, what it takes (the target first), what it gives.
type Signature = (&'static str, bool, &'static [Of], Of);

const FUNCTIONS: &[Signature] = &[
    ("size", false, &[Text], Int),
    ("size", false, &[Bytes], Int),
    ("size", false, &[List], Int),
    ("size", false, &[Map], Int),
    ("size", true, &[Text], Int),
    ("size", true, &[Bytes], Int),
    ("size", true, &[List], Int),
    ("size", true, &[Map], Int),
    ("type", false, &[Any], Of::Type),
    ("dyn", false, &[Any], Any),
    ("int", false, &[Int], Int),
    ("int", false, &[Uint], Int),
    ("int", false, &[Double], Int),
    ("int", false, &[Text], Int),
    ("int", false, &[Timestamp], Int),
    ("int", false, &[Duration], Int),
    ("uint", false, &[Uint], Uint),
    ("uint", false, &[Int], Uint),
    ("uint", false, &[Double], Uint),
    ("uint", false, &[Text], Uint),
    ("double", false, &[Double], Double),
    ("double", false, &[Int], Double),
    ("double", false, &[Uint], Double),
    ("double", false, &[Text], Double),
    ("bool", false, &[Bool], Bool),
    ("bool", false, &[Text], Bool),
    ("string", false, &[Text], Text),
    ("string", false, &[Bool], Text),
    ("string", false, &[Int], Text),
    ("string", false, &[Uint], Text),
    ("string", false, &[Double], Text),
    ("string", false, &[Bytes], Text),
    ("string", false, &[Timestamp], Text),
    ("string", false, &[Duration], Text),
    ("string", false, &[Ip], Text),
    ("string", false, &[Cidr], Text),
    ("bytes", false, &[Bytes], Bytes),
    ("bytes", false, &[Text], Bytes),
    ("duration", false, &[Duration], Duration),
    ("duration", false, &[Text], Duration),
    ("timestamp", false, &[Timestamp], Timestamp),
    ("timestamp", false, &[Text], Timestamp),
    ("timestamp", false, &[Int], Timestamp),
    ("matches", true, &[Text, Text], Bool),
    ("matches", false, &[Text, Text], Bool),
    ("startsWith", true, &[Text, Text], Bool),
    ("endsWith", true, &[Text, Text], Bool),
    ("contains", true, &[Text, Text], Bool),
    ("find", true, &[Text, Text], Text),
    ("findAll", true, &[Text, Text], Texts),
    ("findAll", true, &[Text, Text, Int], Texts),
    ("charAt", true, &[Text, Int], Text),
    ("indexOf", true, &[Text, Text], Int),
    ("indexOf", true, &[Text, Text, Int], Int),
    ("lastIndexOf", true, &[Text, Text], Int),
    ("lastIndexOf", true, &[Text, Text, Int], Int),
    ("lowerAscii", true, &[Text], Text),
    ("upperAscii", true, &[Text], Text),
    ("replace", true, &[Text, Text, Text], Text),
    ("replace", true, &[Text, Text, Text, Int], Text),
    ("split", true, &[Text, Text], Texts),
    ("split", true, &[Text, Text, Int], Texts),
    ("join", true, &[Texts], Text),
    ("join", true, &[Texts, Text], Text),
    ("substring", true, &[Text, Int], Text),
    ("substring", true, &[Text, Int, Int], Text),
    ("trim", true, &[Text], Text),
    ("format", true, &[Text, List], Text),
    ("strings.quote", false, &[Text], Text),
    ("isSorted", true, &[Ordered], Bool),
    ("sum", true, &[Summable], Item),
    ("min", true, &[Ordered], Item),
    ("max", true, &[Ordered], Item),
    ("indexOf", true, &[List, Item], Int),
    ("lastIndexOf", true, &[List, Item], Int),
    ("flatten", true, &[List], List),
    ("flatten", true, &[List, Int], List),
    ("distinct", true, &[List], Same),
    ("reverse", true, &[List], Same),
    ("sort", true, &[List], Same),
    ("first", true, &[List], OptionalItem),
    ("last", true, &[List], OptionalItem),
    ("slice", true, &[List, Int, Int], Same),
    ("lists.range", false, &[Int], Several),
    ("sets.contains", false, &[List, Same], Bool),
    ("sets.equivalent", false, &[List, Same], Bool),
    ("sets.intersects", false, &[List, Same], Bool),
    ("getFullYear", true, &[Timestamp], Int),
    ("getMonth", true, &[Timestamp], Int),
    ("getDate", true, &[Timestamp], Int),
    ("getDayOfMonth", true, &[Timestamp], Int),
    ("getDayOfWeek", true, &[Timestamp], Int),
    ("getDayOfYear", true, &[Timestamp], Int),
    ("getHours", true, &[Timestamp], Int),
    ("getMinutes", true, &[Timestamp], Int),
    ("getSeconds", true, &[Timestamp], Int),
    ("getMilliseconds", true, &[Timestamp], Int),
    ("getFullYear", true, &[Timestamp, Text], Int),
    ("getMonth", true, &[Timestamp, Text], Int),
    ("getDate", true, &[Timestamp, Text], Int),
    ("getDayOfMonth", true, &[Timestamp, Text], Int),
    ("getDayOfWeek", true, &[Timestamp, Text], Int),
    ("getDayOfYear", true, &[Timestamp, Text], Int),
    ("getHours", true, &[Timestamp, Text], Int),
    ("getMinutes", true, &[Timestamp, Text], Int),
    ("getSeconds", true, &[Timestamp, Text], Int),
    ("getMilliseconds", true, &[Timestamp, Text], Int),
    ("getHours", true, &[Duration], Int),
    ("getMinutes", true, &[Duration], Int),
    ("getSeconds", true, &[Duration], Int),
    ("getMilliseconds", true, &[Duration], Int),
    ("isQuantity", false, &[Text], Bool),
    ("quantity", false, &[Text], Quantity),
    ("isInteger", true, &[Quantity], Bool),
    ("asInteger", true, &[Quantity], Int),
    ("asApproximateFloat", true, &[Quantity], Double),
    ("sign", false, &[Quantity], Int),
    ("isLessThan", true, &[Quantity, Quantity], Bool),
    ("isGreaterThan", true, &[Quantity, Quantity], Bool),
    ("compareTo", true, &[Quantity, Quantity], Int),
    ("add", true, &[Quantity, Quantity], Quantity),
    ("add", true, &[Quantity, Int], Quantity),
    ("sub", true, &[Quantity, Quantity], Quantity),
    ("sub", true, &[Quantity, Int], Quantity),
    ("isURL", false, &[Text], Bool),
    ("url", false, &[Text], Url),
    ("getScheme", true, &[Url], Text),
    ("getHost", true, &[Url], Text),
    ("getHostname", true, &[Url], Text),
    ("getPort", true, &[Url], Text),
    ("getEscapedPath", true, &[Url], Text),
    ("getQuery", true, &[Url], QueryMap),
    ("isIP", false, &[Text], Bool),
    ("ip", false, &[Text], Ip),
    ("ip.isCanonical", false, &[Text], Bool),
    ("family", true, &[Ip], Int),
    ("isUnspecified", true, &[Ip], Bool),
    ("isLoopback", true, &[Ip], Bool),
    ("isLinkLocalUnicast", true, &[Ip], Bool),
    ("isLinkLocalMulticast", true, &[Ip], Bool),
    ("isGlobalUnicast", true, &[Ip], Bool),
    ("isCIDR", false, &[Text], Bool),
    ("cidr", false, &[Text], Cidr),
    ("containsIP", true, &[Cidr, Ip], Bool),
    ("containsIP", true, &[Cidr, Text], Bool),
    ("containsCIDR", true, &[Cidr, Cidr], Bool),
    ("containsCIDR", true, &[Cidr, Text], Bool),
    ("ip", true, &[Cidr], Ip),
    ("masked", true, &[Cidr], Cidr),
    ("prefixLength", true, &[Cidr], Int),
    ("semver", false, &[Text], Semver),
    ("semver", false, &[Text, Bool], Semver),
    ("isSemver", false, &[Text], Bool),
    ("isSemver", false, &[Text, Bool], Bool),
    ("major", true, &[Semver], Int),
    ("minor", true, &[Semver], Int),
    ("patch", true, &[Semver], Int),
    ("compareTo", true, &[Semver, Semver], Int),
    ("isLessThan", true, &[Semver, Semver], Bool),
    ("isGreaterThan", true, &[Semver, Semver], Bool),
    ("format.named", false, &[Text], Of::OptionalFormat),
    ("format.dns1123Label", false, &[], Format),
    ("format.dns1123Subdomain", false, &[], Format),
    ("format.dns1035Label", false, &[], Format),
    ("format.dns1123LabelPrefix", false, &[], Format),
    ("format.dns1123SubdomainPrefix", false, &[], Format),
    ("format.dns1035LabelPrefix", false, &[], Format),
    ("format.uri", false, &[], Format),
    ("format.uuid", false, &[], Format),
    ("format.byte", false, &[], Format),
    ("format.date", false, &[], Format),
    ("format.datetime", false, &[], Format),
    ("validate", true, &[Format, Text], Problems),
    ("optional.of", false, &[Any], Perhaps),
    ("optional.ofNonZeroValue", false, &[Any], Perhaps),
    ("optional.none", false, &[], Optional),
    ("hasValue", true, &[Optional], Bool),
    ("value", true, &[Optional], Item),
    ("orValue", true, &[Optional, Item], Item),
    ("or", true, &[Optional, Same], Same),
];

/// There is a function of this name.
pub(super) fn is_known(name: &str) -> bool {
    FUNCTIONS.iter().any(|(known, ..)| *known == name)
}

/// What a function gives; nothing if it does not take these.
pub(super) fn result(name: &str, target: Option<&Type>, args: &[Type]) -> Option<Type> {
    let method = target.is_some();
    let args: Vec<&Type> = target.into_iter().chain(args).collect();
    let fitting = FUNCTIONS
        .iter()
        .filter(|(known, dotted, takes, _)| *known == name && *dotted == method && takes.len() == args.len());
    let mut found: Option<Type> = None;
    for (_, _, takes, gives) in fitting {
        if takes.iter().zip(&args).all(|(takes, arg)| takes.takes(arg, &args)) {
            let gives = gives.given(&args);
            // Several may fit what is not known; they agree, or it stays unknown.
            found = match found {
                None => Some(gives),
                Some(before) if before == gives => Some(before),
                Some(_) => Some(Type::Dyn),
            };
        }
    }
    found
}

/// What a list holds.
fn inner(list: &Type) -> Option<&Type> {
    match list {
        Type::List(item) => Some(item),
        Type::Dyn => Some(&Type::Dyn),
        _ => None,
    }
}

fn is_summable(item: &Type) -> bool {
    matches!(item, Type::Dyn | Type::Int | Type::Uint | Type::Double | Type::Duration)
}

impl Of {
    fn takes(self, arg: &Type, args: &[&Type]) -> bool {
        match self {
            Any => true,
            List => matches!(arg, Type::List(_) | Type::Dyn),
            Map => matches!(arg, Type::Map(..) | Type::Dyn),
            Optional => matches!(arg, Type::Optional(_) | Type::Dyn),
            Ordered => inner(arg).is_some_and(|item| {
                let ordered = matches!(item, Type::Bool | Type::Text | Type::Bytes | Type::Timestamp);
                ordered || is_summable(item)
            }),
            Summable => inner(arg).is_some_and(is_summable),
            Texts => arg.fits(&Type::List(Box::new(Type::Text))),
            Same | Item => arg.fits(&self.given(args)),
            other => arg.fits(&other.given(args)),
        }
    }

    fn given(self, args: &[&Type]) -> Type {
        let first = args.first().map_or(Type::Dyn, |first| (*first).clone());
        let inner = match &first {
            Type::List(inner) | Type::Optional(inner) => inner.as_ref().clone(),
            _ => Type::Dyn,
        };
        let boxed = |kind: Type| Box::new(kind);
        match self {
            Any => Type::Dyn,
            Bool => Type::Bool,
            Int => Type::Int,
            Uint => Type::Uint,
            Double => Type::Double,
            Text => Type::Text,
            Bytes => Type::Bytes,
            Timestamp => Type::Timestamp,
            Duration => Type::Duration,
            Self::Type => Type::Type,
            Quantity => Type::Named("kubernetes.Quantity"),
            Url => Type::Named("kubernetes.URL"),
            Ip => Type::Named("net.IP"),
            Cidr => Type::Named("net.CIDR"),
            Texts => Type::List(boxed(Type::Text)),
            List | Ordered | Summable => Type::List(boxed(Type::Dyn)),
            Semver => Type::Named("kubernetes.Semver"),
            Format => Type::Named("kubernetes.NamedFormat"),
            Problems => Type::Optional(boxed(Type::List(boxed(Type::Text)))),
            Self::OptionalFormat => Type::Optional(boxed(Type::Named("kubernetes.NamedFormat"))),
            Map => Type::Map(boxed(Type::Dyn), boxed(Type::Dyn)),
            Optional => Type::Optional(boxed(Type::Dyn)),
            Same => first,
            Item => inner,
            OptionalItem => Type::Optional(boxed(inner)),
            Several => Type::List(boxed(first)),
            Perhaps => Type::Optional(boxed(first)),
            QueryMap => Type::Map(boxed(Type::Text), boxed(Type::List(boxed(Type::Text)))),
        }
    }
}
