//! Gangs as short text.

use lockstep_core::gang::{Gang, GangName};
use lockstep_core::plan::Create;

/// `prefill-0: base 8`, `prefill-2: own 3*`, `decode-0: batch 1 3`, `decode-0: none`; `*` if it is gated.
pub fn text(create: &Create, gangs: &[Gang]) -> String {
    let minimum = |name: &GangName| {
        let same = |gang: &&Gang| gang.group == create.of.group && gang.name == *name;
        gangs.iter().find(same).map_or("unknown".to_owned(), |gang| gang.minimum.to_string())
    };
    let name = match &create.gang {
        None => "none".to_owned(),
        Some(name @ GangName::Base(0)) => format!("base {}", minimum(name)),
        Some(name @ GangName::Base(stage)) => format!("stage {stage} {}", minimum(name)),
        Some(name @ GangName::Batch(_, batch)) => format!("batch {batch} {}", minimum(name)),
        Some(name @ GangName::Instance(..)) => format!("own {}", minimum(name)),
        Some(name @ GangName::Stage(_, _, stage)) => format!("own stage {stage} {}", minimum(name)),
    };
    let gated = if create.gated { "*" } else { "" };
    format!("{}-{}: {name}{gated}", create.of.role, create.of.instance)
}
