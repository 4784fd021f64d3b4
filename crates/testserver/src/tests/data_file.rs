//! A file that keeps the users.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::peer::{ERAS, Peer};
use crate::{DamagedData, Settings};

/// A folder of its own, gone in the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("mcprove-data-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn file(&self) -> PathBuf {
        self.0.join("users.jsonl")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn settings(file: &Path, damaged_data: DamagedData) -> Settings {
    Settings { data: Some(file.to_owned()), damaged_data, ..Settings::default() }
}

/// The names that a server with this file lists.
async fn listed(file: &Path, damaged: DamagedData) -> Vec<String> {
    let mut peer = Peer::connect_to(ERAS[0], settings(file, damaged)).opened("2025-11-25").await;
    let listed = peer.call("list_users", json!({})).await;
    let users = listed["users"].as_array().unwrap();
    users.iter().map(|user| user["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn users_outlive_the_server_and_ids_are_never_used_twice() {
    let folder = Folder::new("outlive");
    let created = async |name: &str| {
        let settings = settings(&folder.file(), DamagedData::LeavesOut);
        let mut peer = Peer::connect_to(ERAS[0], settings).opened("2025-11-25").await;
        let created = peer.call("create_user", json!({"name": name, "email": "x@example.com"})).await;
        let id = created["id"].clone();
        (peer, id)
    };
    assert_eq!(created("Ann").await.1, "u1");
    let (mut peer, id) = created("Bob").await;
    assert_eq!(id, "u2");
    peer.call("update_user", json!({"id": "u1", "name": "Anna"})).await;
    peer.call("delete_user", json!({"id": "u2"})).await;
    assert_eq!(created("Eve").await.1, "u3");
    assert_eq!(listed(&folder.file(), DamagedData::LeavesOut).await, ["Anna", "Eve"]);
}

#[tokio::test]
async fn damaged_lines_are_left_out_or_take_all_with_them() {
    let folder = Folder::new("damaged");
    let whole = "{\"created\":2}\n{\"id\":\"u1\",\"name\":\"Ann\",\"email\":\"a@example.com\"}\n";
    for damage in ["{\"id\":\"u2\",\"na", "null\n", "\u{0}\n", "{\"id\":\"u2\"}\n"] {
        fs::write(folder.file(), format!("{whole}{damage}")).unwrap();
        assert_eq!(listed(&folder.file(), DamagedData::LeavesOut).await, ["Ann"], "{damage}");
        assert_eq!(listed(&folder.file(), DamagedData::ForgetsAll).await, [""; 0], "{damage}");
    }
    fs::write(folder.file(), whole).unwrap();
    assert_eq!(listed(&folder.file(), DamagedData::ForgetsAll).await, ["Ann"]);
}

#[tokio::test]
async fn what_cannot_be_stored_is_not_confirmed() {
    let folder = Folder::new("unwritable");
    let file = folder.0.join("missing/users.jsonl");
    let settings = settings(&file, DamagedData::LeavesOut);
    let mut peer = Peer::connect_to(ERAS[0], settings).opened("2025-11-25").await;
    let refusal = peer.refusal("create_user", json!({"name": "Ann", "email": "a@example.com"})).await;
    assert!(refusal.starts_with("the users cannot be stored in `"), "{refusal}");
    assert_eq!(peer.call("list_users", json!({})).await["total"], 0);
}
