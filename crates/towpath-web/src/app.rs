//! What all requests share, and what one request knows: who asks, where the router stands, what may be shown.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use towpath::{Client, Kind};

use crate::api::idempotency::Answers;
use crate::base::Base;
use crate::live::Live;
use crate::options::{Action, Part, User, WebOptions};
use crate::problem::{Code, Problem};

/// What all requests share.
pub(crate) struct App {
    pub(crate) client: Client,
    pub(crate) options: WebOptions,
    pub(crate) answers: Answers,
    pub(crate) live: Live,
}

/// One request, after the gate.
pub(crate) struct Ctx {
    pub(crate) app: Arc<App>,
    pub(crate) base: Base,
    pub(crate) user: User,
}

impl Ctx {
    /// Whether the one who asks may do this here and now.
    pub(crate) fn may(&self, action: Action) -> bool {
        !(action.is_write() && self.app.options.read_only) && self.app.options.access.may(&self.user, action)
    }

    /// Refuses what the one who asks may not do.
    pub(crate) fn allow(&self, action: Action) -> Result<(), Problem> {
        if action.is_write() && self.app.options.read_only {
            return Err(Problem::new(Code::ReadOnly, "this dashboard only shows: nothing may be changed here"));
        }
        if !self.app.options.access.may(&self.user, action) {
            let message = format!("{} may not {} here", self.user.name, action.word());
            return Err(Problem::new(Code::Forbidden, message));
        }
        Ok(())
    }

    /// A text of a job as it may be shown to the one who asks; `None` if it may not be.
    pub(crate) fn shown(&self, kind: &Kind, part: Part, text: &str) -> Option<String> {
        if !self.may(Action::SeePayloads) {
            return None;
        }
        Some(match &self.app.options.redact {
            Some(redact) => redact(kind, part, text.to_owned()),
            None => text.to_owned(),
        })
    }
}

impl FromRequestParts<Arc<App>> for Ctx {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let base = parts.extensions.get::<Base>().cloned().unwrap_or_default();
        let user = parts.extensions.get::<User>().cloned();
        // The gate has put it there; without it nobody is known.
        let user = user.ok_or_else(|| Problem::new(Code::Unauthorized, "nobody is logged in"))?;
        Ok(Self { app: Arc::clone(app), base, user })
    }
}
