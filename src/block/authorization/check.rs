//! The check of one rule: a walk on a server of its own, and what it showed.

use std::sync::Arc;

use super::rule::{AuthorizationRule, RuleText};
use super::walk::{Issue, TokenAnswer, Walk};
use super::{AuthorizationSettings, codes, discovered, resource, sessions, tokens, users};
use crate::check::{CheckEnd, CheckLimits, CheckSession};
use crate::event::{CheckResult, Code, Finding, Outcome, Reason};
use crate::plan::{BoxFuture, Check, CheckContext};

/// Checks one rule.
#[derive(Debug)]
pub(crate) struct RuleCheck {
    pub(crate) settings: Arc<AuthorizationSettings>,
    pub(crate) rule: AuthorizationRule,
    /// The user whom it is about, by the place in the settings; `None` for the one of `login`.
    pub(crate) user: Option<usize>,
}

impl Check for RuleCheck {
    fn run<'a>(&'a self, context: CheckContext<'a>) -> BoxFuture<'a, CheckResult> {
        Box::pin(async move { run(self, &context).await })
    }
}

async fn run(check: &RuleCheck, context: &CheckContext<'_>) -> CheckResult {
    let session = match CheckSession::open(context, CheckLimits::none()).await {
        Ok(session) => session,
        Err(end) => return end.into_result(),
    };
    let walk = match check.user {
        Some(user) => Walk::of_user(context, &session, &check.settings, user),
        None => Walk::new(context, &session, &check.settings),
    };
    let judged = match walk {
        Ok(walk) => judge(check.rule, &walk).await,
        Err(end) => Err(end),
    };
    let result = match judged {
        Ok(note) => CheckResult::because(Outcome::Passed, Reason::Measured(note)),
        Err(end) => end.into_result(),
    };
    session.close_with(result).await
}

/// What a walk showed about a rule that is kept; every other end is an error.
pub(crate) type Judged = Result<String, CheckEnd>;

async fn judge(rule: AuthorizationRule, walk: &Walk<'_>) -> Judged {
    match rule {
        AuthorizationRule::Metadata => discovered::metadata(walk).await,
        AuthorizationRule::Issuer => discovered::issuer(walk).await,
        AuthorizationRule::PkceAnnounced => discovered::pkce_announced(walk).await,
        AuthorizationRule::Endpoints => discovered::endpoints(walk).await,
        AuthorizationRule::Addresses => discovered::addresses(walk).await,
        AuthorizationRule::Registration => discovered::registration(walk).await,
        AuthorizationRule::ResponseIssuer => codes::response_issuer(walk).await,
        AuthorizationRule::State => codes::state(walk).await,
        AuthorizationRule::RedirectStatus => codes::redirect_status(walk).await,
        AuthorizationRule::RedirectUri => codes::redirect_uri(walk).await,
        AuthorizationRule::CodeVerifier => codes::code_verifier(walk).await,
        AuthorizationRule::PkceRequired => codes::pkce_required(walk).await,
        AuthorizationRule::PkcePlain => codes::pkce_plain(walk).await,
        AuthorizationRule::CodeOnce => codes::code_once(walk).await,
        AuthorizationRule::CodeClient => codes::code_client(walk).await,
        AuthorizationRule::NoStore => tokens::no_store(walk).await,
        AuthorizationRule::TokenErrors => tokens::token_errors(walk).await,
        AuthorizationRule::ExpiresIn => tokens::expires_in(walk).await,
        AuthorizationRule::RefreshRotation => tokens::refresh_rotation(walk).await,
        AuthorizationRule::RefreshReuse => tokens::refresh_reuse(walk).await,
        AuthorizationRule::RefreshRevocation => tokens::refresh_revocation(walk).await,
        AuthorizationRule::Audience => resource::audience(walk).await,
        AuthorizationRule::Expiry => resource::expiry(walk).await,
        AuthorizationRule::Revocation => resource::revocation(walk).await,
        AuthorizationRule::Scope => resource::scope(walk).await,
        AuthorizationRule::StepUp => resource::step_up(walk).await,
        AuthorizationRule::UserMay => users::may(walk).await,
        AuthorizationRule::UserMayNot => users::may_not(walk).await,
        AuthorizationRule::InsufficientScope => users::insufficient_scope(walk).await,
        AuthorizationRule::SessionUser => sessions::user(walk).await,
        AuthorizationRule::SessionToken => sessions::token(walk).await,
    }
}

/// The end of a walk on which a rule is broken; `control` is what was served before, without any mistake.
pub(crate) fn broken(rule: AuthorizationRule, message: impl Into<String>, control: &str) -> CheckEnd {
    let RuleText { sentence, source, level, cure, .. } = rule.text();
    let finding = Finding { level, help: Some(cure.to_owned()), ..Finding::new(Code::OAUTH_RULE, message.into()) };
    let finding = finding.with_evidence("rule", sentence).with_evidence("source", source);
    CheckEnd::failed(finding.with_evidence("control", control))
}

/// The end of a walk whose last request for tokens must be refused.
pub(crate) fn must_be_refused(rule: AuthorizationRule, tokens: &TokenAnswer, message: &str, control: &str) -> Judged {
    match tokens.issue() {
        Issue::Issued => Err(broken(rule, message, control)),
        Issue::Refused => Ok(tokens.answer.summary()),
        Issue::Unclear => Err(CheckEnd::inconclusive(tokens.answer.summary())),
    }
}
