//! The table of formats, targets and sinks.

use std::path::Path;

use crate::files::FilePlace;

use super::super::{FORMATS, sink};
use super::root;

#[test]
fn every_format_is_in_the_table() {
    let folder = root().join("src/report");
    let table = std::fs::read_to_string(folder.join("mod.rs")).unwrap();
    let mut formats = 0;
    for entry in walkdir::WalkDir::new(&folder).into_iter().map(Result::unwrap) {
        let path = entry.path().strip_prefix(&folder).unwrap();
        let is_source = path.extension().is_some_and(|extension| extension == "rs") && !path.starts_with("tests");
        if is_source && std::fs::read_to_string(entry.path()).unwrap().contains("const FORMAT: Format") {
            let module = path.iter().next().map(Path::new).unwrap().file_stem().unwrap().to_str().unwrap();
            assert!(table.contains(&format!("{module}::FORMAT")), "`{module}` is missing in FORMATS");
            formats += 1;
        }
    }
    assert_eq!(formats, FORMATS.len());
    let mut names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), FORMATS.len());
}

#[test]
fn targets_are_read_with_suggestions() {
    let (format, path) = sink::parse_target("junit=out/a=b.xml").unwrap();
    assert_eq!((format.name, path.to_str()), ("junit", Some("out/a=b.xml")));
    assert_eq!(sink::parse_target("text=-").unwrap().1.to_str(), Some("-"));
    let told = |typed: &str| sink::parse_target(typed).unwrap_err();
    assert_eq!(told("junti=out.xml"), "unknown report format `junti`; did you mean `junit`?");
    assert_eq!(told("junit"), "`junit` names no file; write `junit=FILE`, or `junit=-` for standard output");
    assert_eq!(told("json="), "`json=` names no file; write `json=FILE`, or `json=-` for standard output");
    insta::assert_snapshot!("unknown-format", told("pdf=out.pdf"));
}

#[test]
fn files_appear_whole_and_nothing_stays_beside_them() {
    let folder = Scratch::new("sink");
    let file = folder.path("new/folders/report.xml");
    sink::write(&FilePlace::resolve(&file), "one").unwrap();
    sink::write(&FilePlace::resolve(&file), "two").unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "two");
    assert_eq!(std::fs::read_dir(file.parent().unwrap()).unwrap().count(), 1);

    let told = |path: &Path| {
        sink::write(&FilePlace::resolve(path), "x").unwrap_err().to_string().replace(folder.0.to_str().unwrap(), "DIR")
    };
    insta::assert_snapshot!(told(&folder.path("new")));
    insta::assert_snapshot!(told(&folder.path("new/folders/report.xml/more.xml")));
}

#[cfg(unix)]
#[test]
fn links_stay_links_and_devices_stay_devices() {
    let folder = Scratch::new("links");
    let (file, link) = (folder.path("file.json"), folder.path("link.json"));
    std::fs::write(&file, "old").unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    sink::write(&FilePlace::resolve(&link), "new").unwrap();
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "new");
    sink::write(&FilePlace::resolve(Path::new("/dev/null")), "x").unwrap();
    if Path::new("/dev/full").exists() {
        insta::assert_snapshot!(sink::write(&FilePlace::resolve(Path::new("/dev/full")), "x").unwrap_err());
    }
}

#[test]
fn an_event_log_grows_with_the_run() {
    let folder = Scratch::new("log");
    let path = folder.path("deep/events.ndjson");
    let mut log = sink::EventLog::create(&FilePlace::resolve(&path)).unwrap();
    let events = super::fixture::events();
    for (count, event) in events.iter().take(3).enumerate() {
        log.write(event).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), count + 1);
    }
    assert_eq!(super::read(&std::fs::read_to_string(&path).unwrap()).unwrap().events, events[..3]);
}

/// A folder that is gone after the test.
struct Scratch(std::path::PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("mcprove-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
