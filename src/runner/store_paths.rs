//! Paths into a store in what a client says: a server with a copy finds there what they name.
//!
//! They are replaced behind the transcript. What cases, recordings and findings say of a store is the same whichever copy
//! of it a server has.

use std::path::Path;

use serde_json::Value;
use tokio::sync::mpsc;

use super::store_move::StoreMove;
use crate::files::real_path;
use crate::source::replace_path;
use crate::transport::{Link, Outgoing, OutgoingMessage};

/// A path as JSON has it, and what takes its place.
type JsonPaths = Vec<(String, String)>;

/// The link on which absolute paths into the store lead into the copy, wherever the client names one.
pub(crate) fn at_copy(link: Link, moving: &StoreMove) -> Link {
    let paths = json_paths(moving);
    let (outgoing, mut said) = mpsc::unbounded_channel();
    let to_server = link.outgoing;
    tokio::spawn(async move {
        while let Some(message) = said.recv().await {
            if to_server.send(at_copies(message, &paths)).is_err() {
                return;
            }
        }
    });
    Link { outgoing, ..link }
}

/// The path of the store, and the one to which it leads where it is a link.
fn json_paths(moving: &StoreMove) -> JsonPaths {
    let json = |path: &Path| {
        let quoted = Value::from(path.display().to_string()).to_string();
        quoted[1..quoted.len() - 1].to_owned()
    };
    let real = real_path(moving.store()).ok().filter(|real| real != moving.store());
    let stores = [Some(moving.store().to_owned()), real].into_iter().flatten();
    stores.filter(|store| store.parent().is_some()).map(|store| (json(&store), json(moving.copy()))).collect()
}

fn at_copies(message: Outgoing, paths: &JsonPaths) -> Outgoing {
    let moved = |bytes: Vec<u8>| match String::from_utf8(bytes) {
        Ok(text) => moved_text(text, paths).into_bytes(),
        Err(not_text) => not_text.into_bytes(),
    };
    match message {
        Outgoing::Message(message) => {
            let headers = message.headers.into_iter().map(|(name, value)| (name, moved_text(value, paths)));
            Outgoing::Message(OutgoingMessage { headers: headers.collect(), bytes: moved(message.bytes), ..message })
        }
        Outgoing::Raw { pieces, owner } => Outgoing::Raw { pieces: pieces.into_iter().map(moved).collect(), owner },
        other @ (Outgoing::End | Outgoing::Disruption(_) | Outgoing::Abandon { .. }) => other,
    }
}

fn moved_text(text: String, paths: &JsonPaths) -> String {
    paths.iter().fold(
        text,
        |text, (store, copy)| {
            if text.contains(store.as_str()) { replace_path(&text, store, copy) } else { text }
        },
    )
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::transport::Owner;

    #[test]
    fn what_the_client_says_of_the_store_reaches_the_copy() {
        let paths = json_paths(&StoreMove::new("/no/such \"store\"", Path::new("/"), PathBuf::from("/c/store")));
        for (said, heard) in [
            (r#"{"path":"/no/such \"store\"/a.txt"}"#, r#"{"path":"/c/store/a.txt"}"#),
            (r#"{"uri":"file:///no/such \"store\"/a.txt"}"#, r#"{"uri":"file:///c/store/a.txt"}"#),
            (r#"{"path":"/no/such"}"#, r#"{"path":"/no/such"}"#),
        ] {
            let raw = |text: &str| Outgoing::Raw { pieces: vec![text.as_bytes().to_vec()], owner: Owner::Session };
            assert_eq!(at_copies(raw(said), &paths), raw(heard));
        }
        assert_eq!(json_paths(&StoreMove::new("/", Path::new("/"), PathBuf::from("/c"))), []);
    }
}
