//! `mcprove lsp` and an editor: what it is told while a suite is written, and what it is offered.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdout};

use serde_json::{Value, json};

use crate::harness::{Scene, snapshot};

struct Editor {
    server: Child,
    said: BufReader<ChildStdout>,
    folder: String,
}

impl Editor {
    fn open(scene: &Scene) -> Self {
        let mut server = scene.talk("lsp --stdio");
        let said = BufReader::new(server.stdout.take().unwrap());
        let mut editor = Self { server, said, folder: format!("file://{}", scene.folder.display()) };
        let answer = editor.ask("initialize", json!({ "capabilities": {} }));
        assert_eq!(answer["serverInfo"]["name"], "mcprove");
        editor.tell("initialized", json!({}));
        editor
    }

    fn send(&mut self, message: &Value) {
        let text = message.to_string();
        write!(self.server.stdin.as_mut().unwrap(), "Content-Length: {}\r\n\r\n{text}", text.len()).unwrap();
    }

    #[expect(clippy::needless_pass_by_value, reason = "JSON that is written where it is sent")]
    fn tell(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    #[expect(clippy::needless_pass_by_value, reason = "JSON that is written where it is sent")]
    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.send(&json!({ "jsonrpc": "2.0", "id": method, "method": method, "params": params }));
        let answer = self.next();
        assert_eq!(answer["id"], method, "{answer}");
        answer.get("result").unwrap_or(&answer["error"]).clone()
    }

    fn next(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            self.said.read_line(&mut line).unwrap();
            match line.trim_end().split_once(": ") {
                Some(("Content-Length", number)) => length = number.parse().unwrap(),
                Some(_) => {}
                None => break,
            }
        }
        let mut text = vec![0; length];
        self.said.read_exact(&mut text).unwrap();
        serde_json::from_slice(&text).unwrap()
    }

    fn uri(&self, file: &str) -> String {
        format!("{}/{file}", self.folder)
    }

    fn write(&mut self, file: &str, text: &str) {
        let document = json!({ "uri": self.uri(file), "languageId": "yaml", "version": 1, "text": text });
        self.tell("textDocument/didOpen", json!({ "textDocument": document }));
    }

    fn change(&mut self, file: &str, text: &str) {
        let document = json!({ "uri": self.uri(file), "version": 2 });
        self.tell("textDocument/didChange", json!({ "textDocument": document, "contentChanges": [{ "text": text }] }));
    }

    /// What the next message says of a file.
    fn told(&mut self) -> Value {
        let told = self.next();
        assert_eq!(told["method"], "textDocument/publishDiagnostics", "{told}");
        told["params"].clone()
    }

    /// The same as text, a line for each mistake.
    fn shown(&mut self) -> String {
        let told = self.told();
        let file = told["uri"].as_str().unwrap().replace(&self.folder, "");
        let mut text = format!("{file}\n");
        for mistake in told["diagnostics"].as_array().unwrap() {
            let start = &mistake["range"]["start"];
            let _ =
                writeln!(text, "  {}:{} {} {}", start["line"], start["character"], mistake["code"], mistake["message"]);
        }
        text
    }

    fn leave(mut self) {
        assert_eq!(self.ask("shutdown", Value::Null), Value::Null);
        self.tell("exit", Value::Null);
        assert!(self.server.wait().unwrap().success());
    }
}

const SUITE: &str = "suite: Ä\nserver: { command: [mcprove, serve, demo] }\ninclude: [_part.yml]\ntests:\n  - { name: 😀, call: add, args: {}, expect: [{ is_eror: true }] }\n";

#[test]
fn mistakes_are_told_while_a_suite_is_written() {
    let scene = Scene::bare("editors");
    scene.write("_part.yml", "suite: part\ntests:\n  - { name: part, call: add, agrs: {}, expect: [] }\n");
    let mut editor = Editor::open(&scene);
    let mut text = String::new();
    editor.write("s.yml", SUITE);
    for _ in 0..2 {
        let _ = write!(text, "{}", editor.shown());
    }
    // What is open counts, not what is saved.
    let _ = writeln!(text, "== the part, corrected");
    editor.write("_part.yml", "suite: part\ntests:\n  - { name: part, call: add, args: {}, expect: [] }\n");
    for _ in 0..2 {
        let _ = write!(text, "{}", editor.shown());
    }
    let _ = writeln!(text, "== no YAML");
    editor.change("s.yml", "suite: [\n");
    let _ = write!(text, "{}", editor.shown());
    let _ = writeln!(text, "== right");
    editor.change("s.yml", &SUITE.replace("eror", "error"));
    let _ = write!(text, "{}", editor.shown());
    snapshot("editors", &text);
    editor.leave();
}

#[test]
fn corrections_and_one_layout_are_offered() {
    let scene = Scene::bare("editors-offers");
    let mut editor = Editor::open(&scene);
    editor.write("s.yml", &SUITE.replace("include: [_part.yml]\n", ""));
    let told = editor.told();
    let document = json!({ "uri": told["uri"] });
    let asked = json!({ "textDocument": document, "range": told["diagnostics"][0]["range"], "context": { "diagnostics": told["diagnostics"] } });
    let offered = editor.ask("textDocument/codeAction", asked);
    let edit = &offered[0]["edit"]["changes"][told["uri"].as_str().unwrap()][0];
    assert_eq!(offered[0]["title"], "Write is_error");
    // The face is two units of UTF-16.
    let range = json!({ "start": { "line": 3, "character": 48 }, "end": { "line": 3, "character": 55 } });
    assert_eq!((&edit["newText"], &edit["range"]), (&json!("is_error"), &range));
    editor.change("s.yml", "suite:   a\n\n\n\ntests: []");
    let _ = editor.told();
    let formatted = editor.ask("textDocument/formatting", json!({ "textDocument": document, "options": {} }));
    assert_eq!(formatted[0]["newText"], "suite: a\n\ntests: []\n");
    editor.leave();
}

/// Other files, texts without a file, and editors that are gone.
#[test]
fn what_is_no_suite_is_left_alone() {
    let scene = Scene::bare("editors-others");
    let mut editor = Editor::open(&scene);
    editor.write("compose.yml", "services: { a: { image: b } }\n");
    editor.write("application.yml", "server: { port: 8080 }\nspring: { name: b }\n");
    editor.change("application.yml", "server: { port: 8081 }\nspring: { name: b }\n");
    let untitled = json!({ "uri": "untitled:1", "languageId": "yaml", "version": 1, "text": SUITE });
    editor.tell("textDocument/didOpen", json!({ "textDocument": untitled }));
    editor.tell("textDocument/didOpen", json!({}));
    let refused = editor.ask("textDocument/hover", json!({}));
    assert_eq!(refused["code"], -32601, "{refused}");
    assert_eq!(
        editor.ask("textDocument/formatting", json!({ "textDocument": { "uri": editor.uri("compose.yml") } })),
        Value::Null
    );
    drop(editor.server.stdin.take());
    assert!(editor.server.wait().unwrap().success());
    scene.assert_nothing_survives();
}
