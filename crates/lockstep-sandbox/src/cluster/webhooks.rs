//! Who carries questions to webhooks.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use serde_json::Value;

use crate::server::Call;

/// Carries a question to a webhook.
pub trait Caller: fmt::Debug + Send + Sync {
    /// The review that comes back, or why there is none.
    fn call<'a>(&'a self, call: &'a Call)
    -> Pin<Box<dyn Future<Output = Result<Value, String>> + Send + 'a>>;
}

/// Nobody: every webhook is out of reach.
#[derive(Debug, Clone, Copy)]
pub struct NoWebhooks;

impl Caller for NoWebhooks {
    fn call<'a>(
        &'a self,
        call: &'a Call,
    ) -> Pin<Box<dyn Future<Output = Result<Value, String>> + Send + 'a>> {
        let name = call.name.clone();
        Box::pin(async move { Err(format!("nobody carries questions to {name}")) })
    }
}
