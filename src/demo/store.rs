//! The users, in memory and in the order in which they came. Knows nothing about the protocol.

use std::sync::{Arc, Mutex};

use indexmap::IndexMap;
use serde_json::{Value, json};

/// One user of the directory.
#[derive(Clone, Debug)]
pub(super) struct User {
    /// `u1`, `u2` and so on; never used twice.
    pub(super) id: String,
    /// The display name.
    pub(super) name: String,
    /// The address.
    pub(super) email: String,
    /// The age in years, where it is known.
    pub(super) age: Option<i64>,
}

impl User {
    /// The user as tools and resources show it.
    pub(super) fn to_json(&self) -> Value {
        let mut user = json!({ "id": self.id, "name": self.name, "email": self.email });
        if let Some(age) = self.age {
            user["age"] = age.into();
        }
        user
    }
}

/// Users that several requests work on.
pub(super) type SharedStore = Arc<Mutex<Store>>;

/// All users of one conversation.
#[derive(Debug, Default)]
pub(super) struct Store {
    users: IndexMap<String, User>,
    created: u64,
}

impl Store {
    /// Adds a user under the next id.
    pub(super) fn create(&mut self, name: &str, email: &str, age: Option<i64>) -> &User {
        self.created += 1;
        let user = User { id: format!("u{}", self.created), name: name.to_owned(), email: email.to_owned(), age };
        self.users.entry(user.id.clone()).or_insert(user)
    }

    /// The user with this id.
    pub(super) fn find(&self, id: &str) -> Option<&User> {
        self.users.get(id)
    }

    /// The user with this id, to be changed.
    pub(super) fn find_mut(&mut self, id: &str) -> Option<&mut User> {
        self.users.get_mut(id)
    }

    /// Takes the user with this id out.
    pub(super) fn delete(&mut self, id: &str) -> Option<User> {
        self.users.shift_remove(id)
    }

    /// All users, oldest first.
    pub(super) fn all(&self) -> impl ExactSizeIterator<Item = &User> {
        self.users.values()
    }
}
