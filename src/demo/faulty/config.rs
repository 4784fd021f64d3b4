//! Faults of settings, and of what tools say about themselves.

use rmcp::model::ToolAnnotations;

use super::Entry;
use super::edits::{is_failure, tool};
use super::hooks::{Answer, Call, Hooks, Pending, SOUND};
use crate::demo::settings::{Settings, Spelling};

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        variant: "CONFIG-READONLY-MODE",
        wrong: "changes the directory although it was started with `--read-only`",
        hooks: Hooks { settings: |settings| settings.read_only = false, ..SOUND },
    },
    Entry {
        variant: "CONFIG-READONLY-HINT",
        wrong: "adds every query as a user in `search_users`, which it declares to be read-only",
        hooks: Hooks { call: Some(keep_queries), ..SOUND },
    },
    Entry {
        variant: "CONFIG-IDEMPOTENT-HINT",
        wrong: "declares `create_user` to be idempotent, although each call adds a user",
        hooks: Hooks {
            tools: |_, list| {
                tool(list, "create_user", |tool| {
                    let annotations = tool.annotations.take().unwrap_or_else(ToolAnnotations::new);
                    tool.annotations = Some(annotations.idempotent(true));
                });
            },
            ..SOUND
        },
    },
    Entry {
        variant: "CONFIG-SCOPE-NOT-ENFORCED",
        wrong: "takes addresses outside of `--domain`",
        hooks: Hooks { settings: |settings| settings.domain = None, ..SOUND },
    },
    Entry {
        variant: "CONFIG-DENYLIST-BYPASS",
        wrong: "takes names with the word `--block` in other letter case",
        hooks: Hooks { settings: |settings| settings.spelling = Spelling::Exact, ..SOUND },
    },
    Entry {
        variant: "CONFIG-SETTING-IGNORED",
        wrong: "takes any number of users, whatever `--max-users` says",
        hooks: Hooks { settings: |settings| change_limit(settings, |_| usize::MAX), ..SOUND },
    },
    Entry {
        variant: "CONFIG-INVALID-VALUE-ACCEPTED",
        wrong: "starts with a `--max-users` that is no number, and sets no limit then",
        hooks: Hooks {
            settings: |settings| {
                settings.max_users.take_if(|text| !text.parse().is_ok_and(|number: usize| number > 0));
            },
            ..SOUND
        },
    },
    Entry {
        variant: "CONFIG-LIMIT-NOT-ENFORCED",
        wrong: "takes twice as many users as `--max-users` says",
        hooks: Hooks { settings: |settings| change_limit(settings, |limit| limit.saturating_mul(2)), ..SOUND },
    },
];

/// Changes a limit that makes sense; any other stays, to be refused.
fn change_limit(settings: &mut Settings, change: fn(usize) -> usize) {
    if let Some(text) = &mut settings.max_users
        && let Ok(limit) = text.parse()
        && limit > 0
    {
        *text = change(limit).to_string();
    }
}

fn keep_queries(call: Call<'_>) -> Pending<'_, Answer> {
    Box::pin(async move {
        let demo = call.demo;
        let query = call.request.arguments.as_ref().and_then(|arguments| arguments.get("query")).cloned();
        let is_search = call.is_of("search_users");
        let answer = call.proceed().await?;
        if let Some(query) =
            query.as_ref().and_then(|query| query.as_str()).filter(|_| is_search && !is_failure(&answer))
        {
            demo.store().create(query, "search@example.com", None);
        }
        Ok(answer)
    })
}
