//! The tools that answer at once: on the directory, and `add` and `echo`.

use serde_json::{Value, json};

use super::ValidArguments;
use crate::store::{Store, User};

/// Runs a tool; an error is a sentence for the caller.
pub(crate) fn run(tool: &str, store: &mut Store, arguments: &ValidArguments) -> Result<Value, String> {
    let id = arguments.text("id");
    Ok(match tool {
        "add" => json!({ "sum": add(&arguments.0["a"], &arguments.0["b"]) }),
        "create_user" => {
            store.create(arguments.text("name"), arguments.text("email"), arguments.integer("age")).to_json()
        }
        "delete_user" => {
            let deleted = store.delete(id).ok_or_else(|| no_user(id))?;
            json!({ "id": deleted.id, "deleted": true })
        }
        "echo" => json!({ "message": arguments.text("message") }),
        "get_user" => store.find(id).ok_or_else(|| no_user(id))?.to_json(),
        "list_users" => {
            let limit = arguments.integer("limit").and_then(|limit| usize::try_from(limit).ok());
            let listed: Value = store.all().take(limit.unwrap_or(usize::MAX)).map(User::to_json).collect();
            json!({ "users": listed, "total": store.all().len() })
        }
        "search_users" => {
            let query = arguments.text("query").to_lowercase();
            let fits = |text: &str| text.to_lowercase().contains(&query);
            let found: Vec<Value> =
                store.all().filter(|user| fits(&user.name) || fits(&user.email)).map(User::to_json).collect();
            let total = found.len();
            json!({ "users": found, "total": total })
        }
        "update_user" => {
            let user = store.find_mut(id).ok_or_else(|| no_user(id))?;
            if let Some(name) = arguments.0["name"].as_str() {
                name.clone_into(&mut user.name);
            }
            if let Some(email) = arguments.0["email"].as_str() {
                email.clone_into(&mut user.email);
            }
            user.to_json()
        }
        _ => return Err(format!("the tool `{tool}` does nothing")),
    })
}

fn add(a: &Value, b: &Value) -> Value {
    match (a.as_i64(), b.as_i64()) {
        (Some(a), Some(b)) => (a + b).into(),
        _ => (a.as_f64().unwrap_or_default() + b.as_f64().unwrap_or_default()).into(),
    }
}

fn no_user(id: &str) -> String {
    format!("no user has the id `{id}`; call `list_users` to see the ids that exist")
}
