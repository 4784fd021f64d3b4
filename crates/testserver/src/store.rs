//! The users, in the order in which they came: in memory, and in a file where they are to outlive the server. Knows nothing
//! about the protocol.

use std::io;
use std::sync::Arc;

use indexmap::IndexMap;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::data_file::{DataFile, StoredUsers};

/// One user of the directory.
#[derive(Clone, Debug)]
pub(crate) struct User {
    /// `u1`, `u2` and so on; never used twice.
    pub(crate) id: String,
    /// The display name.
    pub(crate) name: String,
    /// The address.
    pub(crate) email: String,
    /// The age in years, where it is known.
    pub(crate) age: Option<i64>,
}

impl User {
    /// The user as tools and resources show it.
    pub(crate) fn to_json(&self) -> Value {
        let mut user = json!({ "id": self.id, "name": self.name, "email": self.email });
        if let Some(age) = self.age {
            user["age"] = age.into();
        }
        user
    }

    /// The user that [`Self::to_json`] showed.
    pub(crate) fn from_json(shown: &Value) -> Option<Self> {
        let text = |field: &str| shown[field].as_str().map(str::to_owned);
        Some(Self { id: text("id")?, name: text("name")?, email: text("email")?, age: shown["age"].as_i64() })
    }
}

/// Users that several requests work on.
pub(crate) type SharedStore = Arc<Mutex<Store>>;

/// All users of one conversation; of all conversations, where they are kept in a file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Store {
    users: IndexMap<String, User>,
    created: u64,
    file: Option<DataFile>,
}

impl Store {
    /// The users that are stored in a file, which keeps them from now on; an error is a sentence for whoever starts the server.
    pub(crate) fn open(file: DataFile) -> Result<Self, String> {
        let unreadable = |error| format!("`--data {}` cannot be read: {error}", file.path().display());
        let StoredUsers { users, created } = file.read().map_err(unreadable)?;
        let users: IndexMap<String, User> = users.into_iter().map(|user| (user.id.clone(), user)).collect();
        let number = |id: &String| id.strip_prefix('u').and_then(|number| number.parse::<u64>().ok());
        let created = users.keys().filter_map(number).max().unwrap_or_default().max(created);
        Ok(Self { users, created, file: Some(file) })
    }

    /// A file keeps the users.
    pub(crate) fn is_stored(&self) -> bool {
        self.file.is_some()
    }

    /// Writes the users to the file, if there is one; an error is a sentence for the caller.
    pub(crate) fn save(&self) -> Result<(), String> {
        let Some(file) = &self.file else { return Ok(()) };
        let failed = |error: io::Error| format!("the users cannot be stored in `{}`: {error}", file.path().display());
        file.write(self.users.values(), self.created).map_err(failed)
    }

    /// Adds a user under the next id.
    pub(crate) fn create(&mut self, name: &str, email: &str, age: Option<i64>) -> &User {
        self.created += 1;
        let user = User { id: format!("u{}", self.created), name: name.to_owned(), email: email.to_owned(), age };
        self.users.entry(user.id.clone()).or_insert(user)
    }

    /// The user with this id.
    pub(crate) fn find(&self, id: &str) -> Option<&User> {
        self.users.get(id)
    }

    /// The user with this id, to be changed.
    pub(crate) fn find_mut(&mut self, id: &str) -> Option<&mut User> {
        self.users.get_mut(id)
    }

    /// Takes the user with this id out.
    pub(crate) fn delete(&mut self, id: &str) -> Option<User> {
        self.users.shift_remove(id)
    }

    /// There never was a user.
    pub(crate) fn is_untouched(&self) -> bool {
        self.created == 0
    }

    /// All users, oldest first.
    pub(crate) fn all(&self) -> impl ExactSizeIterator<Item = &User> {
        self.users.values()
    }
}
