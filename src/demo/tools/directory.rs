//! Tools on the directory: create, read, search, change and delete users.

use serde_json::{Value, json};

use super::{ToolArguments, ToolEffect, ToolEntry, ToolRun};
use crate::demo::store::{Store, User};

pub(super) const CREATE: ToolEntry = ToolEntry {
    name: "create_user",
    title: "Create a user",
    description: "Adds a user and returns it with its new id. `name` is the display name (1 to 80 characters), `email` \
        the address (with an `@`), and `age` the age in years (0 to 150), which may be left out.",
    effect: ToolEffect::Adds,
    input: || {
        json!({
            "type": "object",
            "properties": { "name": name(), "email": email(), "age": age() },
            "required": ["name", "email"],
            "additionalProperties": false,
        })
    },
    output: user,
    run: ToolRun::Quick(|store, arguments| {
        let (name, email) = (arguments.text("name"), arguments.text("email"));
        Ok(store.create(name, email, arguments.integer("age")).to_json())
    }),
};

pub(super) const GET: ToolEntry = ToolEntry {
    name: "get_user",
    title: "Get a user",
    description: "Returns the user with the id `id`.",
    effect: ToolEffect::Reads,
    input: only_id,
    output: user,
    run: ToolRun::Quick(|store, arguments| {
        let id = arguments.text("id");
        store.find(id).map(User::to_json).ok_or_else(|| no_user(id))
    }),
};

pub(super) const LIST: ToolEntry = ToolEntry {
    name: "list_users",
    title: "List users",
    description: "Returns the users, oldest first, and how many there are in total. `limit` (1 to 100) bounds how many \
        are returned; without it all are.",
    effect: ToolEffect::Reads,
    input: || {
        json!({
            "type": "object",
            "properties": {
                "limit": {
                    "type": "integer",
                    "description": "How many users to return at most",
                    "minimum": 1,
                    "maximum": 100,
                    "examples": [10],
                },
            },
            "additionalProperties": false,
        })
    },
    output: users,
    run: ToolRun::Quick(|store, arguments| {
        let limit = arguments.integer("limit").and_then(|limit| usize::try_from(limit).ok());
        let listed: Value = store.all().take(limit.unwrap_or(usize::MAX)).map(User::to_json).collect();
        Ok(json!({ "users": listed, "total": store.all().len() }))
    }),
};

pub(super) const SEARCH: ToolEntry = ToolEntry {
    name: "search_users",
    title: "Search users",
    description: "Returns the users whose name or email contains `query` (1 to 100 characters), upper and lower case \
        alike, oldest first, and how many there are in total.",
    effect: ToolEffect::Reads,
    input: || {
        json!({
            "type": "object",
            "properties": {
                "query": {
                    "type": "string",
                    "description": "The text to look for",
                    "minLength": 1,
                    "maxLength": 100,
                    "examples": ["ann"],
                },
            },
            "required": ["query"],
            "additionalProperties": false,
        })
    },
    output: users,
    run: ToolRun::Quick(|store, arguments| {
        let query = arguments.text("query").to_lowercase();
        let fits = |text: &str| text.to_lowercase().contains(&query);
        let found: Vec<Value> =
            store.all().filter(|user| fits(&user.name) || fits(&user.email)).map(User::to_json).collect();
        let total = found.len();
        Ok(json!({ "users": found, "total": total }))
    }),
};

pub(super) const UPDATE: ToolEntry = ToolEntry {
    name: "update_user",
    title: "Update a user",
    description: "Replaces the `name` (1 to 80 characters), the `email` (with an `@`), or both, of the user with the id \
        `id`, and returns the user. At least one of the two must be given; the other stays as it is.",
    effect: ToolEffect::Replaces,
    input: || {
        json!({
            "type": "object",
            "properties": { "id": id(), "name": name(), "email": email() },
            "required": ["id"],
            "minProperties": 2,
            "additionalProperties": false,
        })
    },
    output: user,
    run: ToolRun::Quick(update),
};

pub(super) const DELETE: ToolEntry = ToolEntry {
    name: "delete_user",
    title: "Delete a user",
    description: "Removes the user with the id `id` for good. The id is not used again.",
    effect: ToolEffect::Replaces,
    input: only_id,
    output: || {
        json!({
            "type": "object",
            "properties": {
                "id": { "type": "string", "description": "The id of the user" },
                "deleted": { "type": "boolean", "description": "Always true: failures are errors" },
            },
            "required": ["id", "deleted"],
            "additionalProperties": false,
        })
    },
    run: ToolRun::Quick(|store, arguments| {
        let id = arguments.text("id");
        let deleted = store.delete(id).ok_or_else(|| no_user(id))?;
        Ok(json!({ "id": deleted.id, "deleted": true }))
    }),
};

fn update(store: &mut Store, arguments: &ToolArguments) -> Result<Value, String> {
    let id = arguments.text("id");
    let user = store.find_mut(id).ok_or_else(|| no_user(id))?;
    if let Some(name) = arguments.optional_text("name") {
        name.clone_into(&mut user.name);
    }
    if let Some(email) = arguments.optional_text("email") {
        email.clone_into(&mut user.email);
    }
    Ok(user.to_json())
}

fn no_user(id: &str) -> String {
    format!("no user has the id `{id}`; call `list_users` to see the ids that exist")
}

fn id() -> Value {
    json!({
        "type": "string",
        "description": "The id of the user, as `create_user` and `list_users` return it",
        "minLength": 1,
        "maxLength": 64,
        "examples": ["u1"],
    })
}

fn name() -> Value {
    json!({
        "type": "string",
        "description": "The display name",
        "minLength": 1,
        "maxLength": 80,
        "examples": ["Ann"],
    })
}

fn email() -> Value {
    json!({
        "type": "string",
        "description": "The address",
        "pattern": "^[^@\\s]+@[^@\\s]+$",
        "minLength": 3,
        "maxLength": 254,
        "examples": ["ann@example.com"],
    })
}

fn age() -> Value {
    json!({
        "type": "integer",
        "description": "The age in years",
        "minimum": 0,
        "maximum": 150,
        "examples": [36],
    })
}

fn only_id() -> Value {
    json!({
        "type": "object",
        "properties": { "id": id() },
        "required": ["id"],
        "additionalProperties": false,
    })
}

/// One user, as every tool returns it.
fn user() -> Value {
    json!({
        "type": "object",
        "properties": {
            "id": { "type": "string", "description": "The id of the user" },
            "name": { "type": "string", "description": "The display name" },
            "email": { "type": "string", "description": "The address" },
            "age": { "type": "integer", "description": "The age in years, where it is known" },
        },
        "required": ["id", "name", "email"],
        "additionalProperties": false,
    })
}

fn users() -> Value {
    json!({
        "type": "object",
        "properties": {
            "users": { "type": "array", "description": "The users, oldest first", "items": user() },
            "total": { "type": "integer", "description": "How many users fit in all", "minimum": 0 },
        },
        "required": ["users", "total"],
        "additionalProperties": false,
    })
}
