//! The store of a server: the file or folder in which it keeps its data.

use std::path::PathBuf;

use crate::source::grammar::Shape;
use crate::source::settings::Setting;
use crate::source::{Diagnostic, Located, Node, choice, settings};

settings! {
    /// The file or folder in which the server keeps its data; a text is its path.
    pub struct Store as "a store" {
        /// The path, relative to the suite's file, as the server gets it in its command, its `env` or its `cwd`.
        pub path: Node => required() shape(Shape::NonEmpty(&Shape::Text)),
        /// Starts every process without data, whatever is there: `file` with nothing at the path, where the server makes a
        /// file, `folder` with an empty folder. By default it starts with a copy of what is there.
        pub create: Option<NewStore>,
    }
}

/// A folder of which a test, or a run, gets a fresh copy.
#[derive(Debug, Clone)]
pub struct Fixture {
    /// The path, as it is written.
    pub path: Located<String>,
    /// The folder to which it is relative.
    pub folder: PathBuf,
}

choice! {
    /// A store that holds nothing yet.
    pub enum NewStore {
        /// Nothing is there; the server makes a file.
        File = "file",
        /// An empty folder.
        Folder = "folder",
    }
}

/// A store as it is written under a server.
#[derive(Debug, Clone)]
pub(crate) struct WrittenStore(pub(crate) Store);

impl Setting for WrittenStore {
    const SHAPE: Shape = Shape::Either(&[Shape::NonEmpty(&Shape::Text), Store::SHAPE]);

    fn decode(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Self> {
        Some(Self(match node.text() {
            Some(_) => Store { path: node.clone(), create: None },
            None => Store::decode(node, found)?,
        }))
    }
}
