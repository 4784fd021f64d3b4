//! The data file of a server, damaged between two runs: one bad line must not take all the others with it unseen.
//!
//! A server may go on with the records that are whole, or say that something is wrong: any readable error counts, and
//! so do the last words of a server that ends. A server is reported if it answers nothing, ends without a word, or shows
//! none of the other records as if there had been none, and does so twice.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::StateSettings;
use super::caller::Callers;
use super::search::Search;
use super::seen::Seen;
use super::store_file::{FileDamage, StoreFile};
use crate::check::answer_data::texts_of;
use crate::check::evidence::finding_with_help;
use crate::check::visit::ShownText;
use crate::check::{CheckEnd, Confirmation};
use crate::event::{CheckResult, Exchange, FailureClass, Finding, Outcome, Reason, Severity};
use crate::files::FolderPlace;
use crate::plan::arguments::ConfigSource;
use crate::plan::{BoxFuture, Check, CheckContext, OpenServer};
use crate::session::Session;
use crate::source::Node;

/// Words of an answer that explains damage, beside the name of the file.
const WORDS_OF_DAMAGE: [&str; 3] = ["corrupt", "damaged", "malformed"];

/// Damages the data file of a server between two of its runs.
#[derive(Debug)]
pub(crate) struct StoreCheck {
    pub(crate) settings: Arc<StateSettings>,
    /// The path of the file, unfilled.
    pub(crate) store: Node,
    /// The folder of the suite.
    pub(crate) folder: FolderPlace,
}

impl Check for StoreCheck {
    fn run<'a>(&'a self, context: CheckContext<'a>) -> BoxFuture<'a, CheckResult> {
        Box::pin(async move { run(self, &context).await.unwrap_or_else(CheckEnd::into_result) })
    }
}

async fn run(check: &StoreCheck, context: &CheckContext<'_>) -> Result<CheckResult, CheckEnd> {
    let callers = Callers::of(context, &check.settings);
    if callers.called.iter().all(|caller| caller.only_reads) {
        return Err(callers.end_without_writers(ConfigSource::of(context.suite)));
    }
    let name = context.fill(&check.store).and_then(|value| value.as_str().map(str::to_owned));
    let name = name.ok_or_else(|| CheckEnd::inconclusive("`store` uses a name that only a step captures"))?;
    let file = store_file(check, context, name).map_err(CheckEnd::inconclusive)?;
    let mut study = StoreStudy {
        search: Search::new(context, &check.settings, &callers.called, Seen::default()),
        context,
        content: Vec::new(),
        usual_log: BTreeSet::new(),
        file: &file,
        exchanges: Vec::new(),
        findings: Vec::new(),
    };
    study.fill().await?;
    let mut notes = Vec::new();
    for damage in FileDamage::ALL {
        notes.extend(study.judge(damage).await?);
    }
    let StoreStudy { search, exchanges, findings, .. } = study;
    if let Err(error) = file.restore() {
        return Err(CheckEnd::inconclusive(format!("`{}` could not be restored: {error}", file.name)));
    }
    let result = if findings.is_empty() {
        CheckResult::because(Outcome::Passed, Reason::Measured(notes.join("; ")))
    } else {
        CheckEnd::Failed(findings).into_result()
    };
    Ok(CheckResult { exchanges, frames: search.into_seen().await.frames, ..result })
}

/// The file that is damaged: the one that the suite names, or the copy of it that the server works on.
fn store_file(check: &StoreCheck, context: &CheckContext<'_>, name: String) -> Result<StoreFile, String> {
    let Some(copy) = context.machine.path_in_copy(&context.suite.folder.join(&name))? else {
        return StoreFile::new(name, &check.folder);
    };
    let in_folder = copy.file_name().unwrap_or_default().to_string_lossy().into_owned();
    StoreFile::new(in_folder, &FolderPlace::resolve(copy.parent().unwrap_or(&copy)))
}

/// The way in which a server gets along with a damaged file.
enum Survival {
    /// It shows records that are whole.
    Readable,
    /// It says that something is wrong.
    Explained,
    /// It goes on without the only records, which the damage took.
    NothingLeft,
    /// Neither.
    Unexplained(Box<DamagedRun>),
}

/// A run on a damaged file.
struct DamagedRun {
    /// The texts that are whole in the file.
    whole: BTreeSet<String>,
    shown: Vec<ShownText>,
    /// The reason why the server did not start, or why a request got no answer.
    failure: Option<Finding>,
    /// The lines of standard error that no run on the whole file had.
    log: Vec<String>,
}

impl DamagedRun {
    fn is_explained(&self, file_name: &str) -> bool {
        let names_damage = |shown: &ShownText| {
            let lower = shown.text.to_lowercase();
            names_file(shown, file_name) || WORDS_OF_DAMAGE.iter().any(|word| lower.contains(word))
        };
        !self.log.is_empty()
            || self.failure.as_ref().is_some_and(|failure| !is_end(failure))
            || self.shown.iter().any(|shown| names_damage(shown) || is_error(shown) && has_words(&shown.text))
    }

    /// The damage took every text that was written, so that a server which goes on without them has lost none of the others.
    fn has_nothing_to_show(&self) -> bool {
        self.whole.is_empty() && self.failure.is_none() && !self.shown.iter().any(is_error)
    }

    fn message(&self, damage: FileDamage, name: &str) -> String {
        let says = damage.says();
        match &self.failure {
            Some(failure) => format!("{says}, {}, and nothing says that `{name}` is damaged", failure.message),
            None if self.shown.iter().any(is_error) => {
                format!("{says}, the server answers with an error that has no words")
            }
            None => format!("{says}, the server shows none of the other records of `{name}`, and no error"),
        }
    }
}

/// The finding where the file that the suite names keeps nothing, and no other place does.
fn not_stored(name: &str) -> Finding {
    let message = format!(
        "`{name}`, which the suite names as the store, has none of the texts that were written and read back, and the next \
         run shows none of them"
    );
    finding_with_help("store-not-written", message, "write the data before a call is confirmed, or name another file")
}

/// A server whose file holds canaries.
struct StoreStudy<'a> {
    context: &'a CheckContext<'a>,
    search: Search<'a>,
    /// The file after a run, undamaged.
    content: Vec<u8>,
    /// Lines of standard error on the whole file, without their digits.
    usual_log: BTreeSet<String>,
    file: &'a StoreFile,
    exchanges: Vec<Exchange>,
    findings: Vec<Finding>,
}

impl StoreStudy<'_> {
    /// Writes canaries in one run, and makes sure that the file has them and that another run shows them.
    async fn fill(&mut self) -> Result<(), CheckEnd> {
        let name = &self.file.name;
        let session = self.context.servers.open(OpenServer::FRESH).await.map_err(CheckEnd::unavailable)?;
        self.search.write(&session).await;
        self.usual_log.extend(session.stderr_tail().iter().map(|line| without_digits(line)));
        self.search.close(session).await;
        if let Some(exit) = self.search.round.exit() {
            return Err(CheckEnd::failed(exit));
        }
        if let (true, Some(failed)) = (self.search.seen.reads.is_empty(), self.search.round.failure()) {
            let why = format!("a request got no answer, and no text could be read back: {}", failed.message);
            return Err(CheckEnd::inconclusive(why));
        }
        if self.search.seen.reads.is_empty() {
            return Err(CheckEnd::not_applicable(
                "no text that was written could be read back, so no loss of one could be seen",
            ));
        }
        self.content = self.file.read().map_err(|error| {
            CheckEnd::inconclusive(format!("`{name}` cannot be read after the server wrote its data: {error}"))
        })?;
        let written = self.canaries_in(&self.content);
        if written.is_empty() {
            let session = self.context.servers.open(OpenServer::FRESH).await.map_err(CheckEnd::unavailable)?;
            let shown = self.ask_again(&session).await;
            self.search.close(session).await;
            let read_back = self.search.seen.read_back.clone();
            if shown.iter().any(|shown| shown.is_served) && !self.shows_any(&shown, &read_back) {
                return Err(CheckEnd::failed(not_stored(name)));
            }
            let why =
                format!("`{name}` has none of the texts that were written, so the server keeps its data elsewhere");
            return Err(CheckEnd::inconclusive(why));
        }
        let session = self.context.servers.open(OpenServer::FRESH).await.map_err(CheckEnd::unavailable)?;
        let shown = self.ask_again(&session).await;
        self.usual_log.extend(session.stderr_tail().iter().map(|line| without_digits(line)));
        self.search.close(session).await;
        if self.shows_any(&shown, &written) {
            Ok(())
        } else {
            let why = format!("the next run shows nothing of the undamaged `{name}`, so no loss could be seen");
            Err(CheckEnd::inconclusive(why))
        }
    }

    /// Runs the server on a damaged file, twice if nothing can be read: a note, or none where that is a finding.
    async fn judge(&mut self, damage: FileDamage) -> Result<Option<String>, CheckEnd> {
        let note = |how: &str| Ok(Some(format!("{}: {how}", damage.says())));
        for attempt in 0..2 {
            match self.survives(damage).await? {
                Survival::Readable => return note("the other records can be read"),
                Survival::Explained => return note("an error explains it"),
                Survival::NothingLeft => return note("the server goes on, and there are no other records"),
                Survival::Unexplained(run) if attempt == 1 => self.add_finding(damage, &run),
                Survival::Unexplained(_) => {}
            }
        }
        Ok(None)
    }

    async fn survives(&mut self, damage: FileDamage) -> Result<Survival, CheckEnd> {
        let damaged = damage.of(&self.content);
        let whole = self.canaries_in(&damaged);
        self.replace_content(&damaged)?;
        self.search.round.forget_failures();
        let (shown, failure, said) = match self.context.servers.open(OpenServer::FRESH).await {
            Ok(session) => {
                let shown = self.ask_again(&session).await;
                let said = session.stderr_tail();
                self.search.close(session).await;
                (shown, self.search.round.failure(), said)
            }
            Err(found) if found.class.is_none_or(|class| class == FailureClass::CommandNotFound) => {
                return Err(CheckEnd::unavailable(found));
            }
            Err(found) => (Vec::new(), Some(found), Vec::new()),
        };
        self.replace_content(&self.content)?;
        if self.search.round.limits.is_over() {
            let why = "the time ended before the server was asked for its damaged data; raise `time`";
            return Err(CheckEnd::inconclusive(why));
        }
        if self.shows_any(&shown, &whole) {
            return Ok(Survival::Readable);
        }
        // The last words of a server are known when it has ended.
        let failure = self.search.round.exit().or(failure);
        let of_failure = failure.iter().flat_map(|found| &found.evidence).filter(|(name, _)| name == "stderr");
        let lines = of_failure.flat_map(|(_, text)| text.lines().map(str::to_owned)).chain(said);
        let is_new = |line: &String| !line.trim().is_empty() && !self.usual_log.contains(&without_digits(line));
        let log = lines.filter(is_new).collect();
        let run = DamagedRun { whole, shown, failure, log };
        if run.is_explained(&self.file.file_name()) {
            return Ok(Survival::Explained);
        }
        if run.has_nothing_to_show() {
            return Ok(Survival::NothingLeft);
        }
        Ok(Survival::Unexplained(Box::new(run)))
    }

    /// Has the file hold this.
    fn replace_content(&self, content: &[u8]) -> Result<(), CheckEnd> {
        let failed = |error| CheckEnd::inconclusive(format!("`{}` cannot be written: {error}", self.file.name));
        self.file.write(content).map_err(failed)
    }

    fn add_finding(&mut self, damage: FileDamage, run: &DamagedRun) {
        if self.exchanges.is_empty() {
            self.exchanges
                .extend(self.search.seen.written.iter().take(1).map(|written| written.shown.exchange.clone()));
        }
        let answer = run.shown.first().map(|shown| shown.exchange.clone());
        let frame = answer.as_ref().and_then(|exchange| exchange.answer_frame);
        let help = "skip what cannot be read and go on with the rest, or answer with an error that names the file";
        let has_answer = answer.is_some();
        self.exchanges.extend(answer);
        let found = Finding {
            severity: Some(Severity::High),
            exchange: has_answer.then(|| self.exchanges.len() - 1),
            frame,
            ..finding_with_help("corrupt-store", run.message(damage, &self.file.name), help)
        };
        let found =
            found.with_evidence("whole", format!("{} of the texts that were written are in the file", run.whole.len()));
        self.findings.push(Confirmation::of(1, 1).weigh(found, "in a second run"));
    }

    /// Makes the requests again that showed canaries.
    async fn ask_again(&mut self, session: &Session) -> Vec<ShownText> {
        let mut shown = Vec::new();
        for read in self.search.seen.reads.clone() {
            shown.extend(self.search.round.repeat(session, &read).await);
        }
        shown
    }

    fn canaries_in(&self, content: &[u8]) -> BTreeSet<String> {
        self.search.canaries.find(&String::from_utf8_lossy(content)).into_iter().collect()
    }

    fn shows_any(&self, shown: &[ShownText], canaries: &BTreeSet<String>) -> bool {
        shown.iter().any(|shown| self.search.canaries.find(&shown.text).iter().any(|canary| canaries.contains(canary)))
    }
}

/// A server went away or fell silent, rather than say something.
fn is_end(failure: &Finding) -> bool {
    matches!(
        failure.class,
        Some(
            FailureClass::ProcessExited
                | FailureClass::Timeout
                | FailureClass::ConnectionRefused
                | FailureClass::ConnectionLost
        )
    )
}

/// An error, other than one about a resource that is not there.
fn is_error(shown: &ShownText) -> bool {
    !shown.is_served && !is_missing_resource(shown)
}

/// An answer names the file. That it repeats the address of a resource, which may be that of the file, is no mention.
fn names_file(shown: &ShownText, file_name: &str) -> bool {
    let uri = shown.request().and_then(|request| request.params["uri"].as_str()).filter(|uri| !uri.is_empty());
    let said = uri.map_or_else(|| shown.text.clone(), |uri| shown.text.replace(uri, ""));
    said.contains(file_name) || texts_of(&shown.result()).any(|text| text.contains(file_name))
}

/// An answer says that there is no such resource, as if there had never been one: by -32002 up to 2025-11-25, and by
/// -32602 since 2026-07-28 (server/resources, error handling).
fn is_missing_resource(shown: &ShownText) -> bool {
    let message: Value = serde_json::from_str(&shown.text).unwrap_or_default();
    let is_read = shown.request().is_some_and(|request| request.method == "resources/read");
    is_read && [-32002, -32602].iter().any(|code| message["error"]["code"] == *code)
}

/// An error has words that somebody could read.
fn has_words(answer: &str) -> bool {
    let message: Value = serde_json::from_str(answer).unwrap_or_default();
    let error = message["error"]["message"].as_str();
    error.into_iter().chain(texts_of(&message["result"])).any(|text| text.chars().any(char::is_alphanumeric))
}

/// A line as every run has it, whatever time or process it names.
fn without_digits(line: &str) -> String {
    line.chars().filter(|character| !character.is_ascii_digit()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::ReproductionCall;

    fn run(failure: Option<FailureClass>, log: &[&str]) -> DamagedRun {
        DamagedRun {
            whole: BTreeSet::new(),
            shown: Vec::new(),
            failure: failure.map(|class| Finding::failure(class, "it went wrong".to_owned())),
            log: log.iter().map(ToString::to_string).collect(),
        }
    }

    #[test]
    fn any_readable_error_explains_damage_and_silence_does_not() {
        assert!(!run(None, &[]).is_explained("notes"));
        assert!(!run(Some(FailureClass::ProcessExited), &[]).is_explained("notes"));
        assert!(!run(Some(FailureClass::Timeout), &[]).is_explained("notes"));
        assert!(run(Some(FailureClass::ProcessExited), &["a line cannot be read"]).is_explained("notes"));
        assert!(run(Some(FailureClass::ProtocolError), &[]).is_explained("notes"));
        assert!(has_words(r#"{"error": {"code": -32603, "message": "Unexpected end of JSON input"}}"#));
        assert!(has_words(r#"{"result": {"isError": true, "content": [{"type": "text", "text": "no"}]}}"#));
        assert!(!has_words(r#"{"result": {"isError": true, "content": [{"type": "text", "text": ""}]}}"#));
        assert!(!has_words(r#"{"error": {"code": -32603}}"#));
    }

    #[test]
    fn an_end_or_silence_is_no_word_about_the_damage() {
        use FailureClass::{AuthRequired, HttpStatus, Internal, TlsError};
        for (class, expected) in [
            (FailureClass::ProcessExited, true),
            (FailureClass::Timeout, true),
            (FailureClass::ConnectionRefused, true),
            (FailureClass::ConnectionLost, true),
            (FailureClass::ProtocolError, false),
            (HttpStatus, false),
            (AuthRequired, false),
            (TlsError, false),
            (Internal, false),
        ] {
            assert_eq!(is_end(&Finding::failure(class, String::new())), expected, "{class:?}");
        }
        assert!(!is_end(&Finding::new("output-schema", "the answer does not fit")));
    }

    fn read(text: &str, is_served: bool) -> ShownText {
        ShownText::of_test("get", text, is_served)
    }

    #[test]
    fn answers_explain_damage_by_its_words_or_by_an_error() {
        let missing = |method: &str, code: i32| {
            let shown = read(&format!(r#"{{"error": {{"code": {code}, "message": "not found"}}}}"#), false);
            let request =
                shown.request.clone().map(|request| ReproductionCall { method: method.to_owned(), ..request });
            ShownText { request, ..shown }
        };
        for (shown, is_explained, message) in [
            (read(r#"{"result": {}}"#, true), false, "shows none of the other records"),
            (read(r#"{"result": {"content": [{"text": "notes is broken"}]}}"#, true), true, ""),
            (read(r#"{"result": {"content": [{"text": "a Corrupt file"}]}}"#, true), true, ""),
            (read(r#"{"error": {"code": 1, "message": "bad line"}}"#, false), true, ""),
            (read(r#"{"error": {"code": 1}}"#, false), false, "answers with an error that has no words"),
            (missing("resources/read", -32002), false, "shows none of the other records"),
            (missing("resources/read", -32602), false, "shows none of the other records"),
            (missing("tools/call", -32602), true, ""),
        ] {
            let text = shown.text.clone();
            let run = DamagedRun { shown: vec![shown], ..run(None, &[]) };
            assert_eq!(run.is_explained("notes"), is_explained, "{text}");
            assert!(is_explained || run.message(FileDamage::CutLine, "notes").contains(message), "{text}");
        }
        let exited = run(Some(FailureClass::ProcessExited), &[]).message(FileDamage::BrokenLine, "notes");
        let expected =
            "with a broken line at the end of the file, it went wrong, and nothing says that `notes` is damaged";
        assert_eq!(exited, expected);
    }

    #[test]
    fn lines_of_a_log_are_alike_but_for_their_times() {
        assert_eq!(without_digits("12:31:07 ready, process 4711"), without_digits("12:31:09 ready, process 4712"));
    }

    #[test]
    fn an_address_that_names_the_file_explains_nothing() {
        let read = |text: &str, is_served| {
            let request = ReproductionCall::new("resources/read", serde_json::json!({"uri": "file:///srv/notes.json"}));
            ShownText { request: Some(request), ..read(text, is_served) }
        };
        let contents = |text: &str| {
            format!(r#"{{"result": {{"contents": [{{"uri": "file:///srv/notes.json", "text": "{text}"}}]}}}}"#)
        };
        let error = |message: &str| format!(r#"{{"error": {{"code": -32002, "message": "{message}"}}}}"#);
        for (says, shown, expected) in [
            ("nothing", read(&contents(""), true), false),
            ("that the file is broken", read(&contents("notes.json: line 3 is broken"), true), true),
            ("that the address is broken", read(&contents("file:///srv/notes.json is broken"), true), true),
            ("that there is no such resource", read(&error("no file:///srv/notes.json"), false), false),
            ("that the file cannot be parsed", read(&error("cannot parse notes.json"), false), true),
        ] {
            let run = DamagedRun { shown: vec![shown], ..run(None, &[]) };
            assert_eq!(run.is_explained("notes.json"), expected, "it says {says}");
        }
    }

    #[test]
    fn a_server_that_lost_its_only_record_has_hidden_no_other_one() {
        let whole = || BTreeSet::from(["kw1q001".to_owned()]);
        let empty = || vec![read(r#"{"result": {"content": []}}"#, true)];
        let wordless = || vec![read(r#"{"error": {"code": 1}}"#, false)];
        for (server, run, expected) in [
            ("drops the torn record", DamagedRun { shown: empty(), ..run(None, &[]) }, true),
            ("drops whole records, too", DamagedRun { whole: whole(), shown: empty(), ..run(None, &[]) }, false),
            ("fails without a word", DamagedRun { shown: wordless(), ..run(None, &[]) }, false),
            ("ends without a word", run(Some(FailureClass::ProcessExited), &[]), false),
            ("answers nothing", run(Some(FailureClass::Timeout), &[]), false),
        ] {
            assert_eq!(run.has_nothing_to_show(), expected, "the server {server}");
        }
    }
}
