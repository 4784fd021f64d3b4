use super::super::source_glob::SourceGlob;
use super::*;

/// A suite of one-line tests below a head, which is a line too.
fn suite(file: &str, head: &str, tests: &[&str]) -> SuiteOutline {
    use super::super::outline::TestLines;
    let lines: Vec<String> = [head].iter().chain(tests).map(|line| (*line).to_owned()).collect();
    let tests = tests.iter().zip(2..).map(|(text, line)| TestLines {
        name: text.split(' ').next().unwrap_or_default().to_owned(),
        first: line,
        last: line,
        is_plain: !text.contains("only"),
    });
    SuiteOutline {
        file: file.to_owned(),
        text: Some(SuiteText { tests: tests.collect(), lines, has_more: head.contains("block") }),
        reads: [PathBuf::from(file), "_shared.yml".into()].into(),
        sources: SourceGlob::new("src", Path::new("")).into_iter().collect(),
        starts_server: true,
    }
}

fn broken(file: &str) -> SuiteOutline {
    SuiteOutline { text: None, ..suite(file, "", &[]) }
}

fn paths(names: &[&str]) -> BTreeSet<PathBuf> {
    names.iter().map(PathBuf::from).collect()
}

/// `a.yml`, `a.yml:3` or `a.yml (sources)`, for everything that runs again.
fn shown(affected: &[AffectedSuite]) -> Vec<String> {
    let show = |suite: &AffectedSuite| match (&suite.extent, suite.cause) {
        (Extent::Whole, Cause::Suite) => vec![suite.file.clone()],
        (Extent::Whole, Cause::Sources) => vec![format!("{} (sources)", suite.file)],
        (Extent::Tests(tests), _) => tests.iter().map(|test| format!("{}:{}", suite.file, test.line)).collect(),
    };
    affected.iter().flat_map(show).collect()
}

#[test]
fn a_change_of_one_suite_runs_what_changed_in_it() {
    let before = suite("a.yml", "head", &["one 1", "two 2", "three 3"]);
    for (after, expected) in [
        (suite("a.yml", "head", &["one 1", "two 2!", "three 3"]), &["a.yml:3"][..]),
        (suite("a.yml", "head", &["one 1!", "two 2", "three 3!"]), &["a.yml:2", "a.yml:4"]),
        // A new test, which moves those below it.
        (suite("a.yml", "head", &["new 0", "one 1", "two 2", "three 3"]), &["a.yml:2"]),
        (suite("a.yml", "head", &["one 1", "two 2", "three 3", "four 4"]), &["a.yml:5"]),
        // The others may have needed it.
        (suite("a.yml", "head", &["one 1", "three 3"]), &["a.yml"]),
        (suite("a.yml", "head", &["one 1", "zwei 2", "three 3"]), &["a.yml"]),
        (suite("a.yml", "head", &["two 2", "one 1", "three 3"]), &["a.yml"]),
        (suite("a.yml", "head!", &["one 1", "two 2", "three 3"]), &["a.yml"]),
        (suite("a.yml", "head!", &["one 1", "two 2!", "three 3"]), &["a.yml"]),
        // Others may repeat it, or do not run beside it.
        (suite("a.yml", "head", &["one 1", "two &anchor 2", "three 3"]), &["a.yml"]),
        (suite("a.yml", "head", &["one 1", "two only 2", "three 3"]), &["a.yml"]),
        // It was written anew with the same text.
        (before.clone(), &["a.yml"]),
        // The run shows what is wrong.
        (broken("a.yml"), &["a.yml"]),
    ] {
        let found = affected(&paths(&["a.yml"]), std::slice::from_ref(&before), std::slice::from_ref(&after));
        assert_eq!(shown(&found), expected, "{after:?}");
    }
    let mended = affected(&paths(&["a.yml"]), &[broken("a.yml")], &[before]);
    assert_eq!(shown(&mended), ["a.yml"]);
}

#[test]
fn changed_files_say_which_suites_run() {
    let before = [suite("a.yml", "head", &["one 1", "two 2"]), suite("b.yml", "head", &["one 1", "two 2"])];
    let edited = suite("a.yml", "head", &["one 1", "two 2!"]);
    let after = [edited, before[1].clone(), suite("new.yml", "head", &["one 1"])];
    for (changed, expected) in [
        (&["a.yml"][..], &["a.yml:3", "new.yml"][..]),
        (&["_shared.yml"], &["a.yml", "b.yml", "new.yml"]),
        // Captures and setup come from elsewhere, so that all of it may be another one.
        (&["_shared.yml", "a.yml"], &["a.yml", "b.yml", "new.yml"]),
        (&["src/server.py"], &["a.yml (sources)", "b.yml (sources)", "new.yml"]),
        (&["a.yml", "src/server.py"], &["a.yml (sources)", "b.yml (sources)", "new.yml"]),
        (&["README.md"], &["new.yml"]),
        (&[], &["new.yml"]),
    ] {
        assert_eq!(shown(&affected(&paths(changed), &before, &after)), expected, "{changed:?}");
    }
    assert_eq!(affected(&paths(&["a.yml"]), &before, &before[1..]), [], "a suite that is gone does not run");
}

#[test]
fn what_failed_runs_first() {
    let suites = [suite("a.yml", "head", &["one 1", "two 2"]), suite("b.yml", "head", &["one 1"]), broken("c.yml")];
    let whole = |file: &str| AffectedSuite { file: file.to_owned(), extent: Extent::Whole, cause: Cause::Suite };
    let one = |file: &str| {
        let tests = vec![ChangedTest { name: "two".to_owned(), line: 3 }];
        AffectedSuite { extent: Extent::Tests(tests), ..whole(file) }
    };
    for (affected, failed, expected) in [
        (vec![whole("a.yml"), whole("b.yml")], vec![], &["a.yml b.yml"][..]),
        (vec![whole("a.yml"), whole("b.yml")], vec!["a.yml::one@s/auto"], &["failed a.yml", "a.yml b.yml"]),
        // What failed elsewhere is not affected.
        (vec![whole("a.yml")], vec!["b.yml::one@s/auto"], &["a.yml"]),
        // All of it failed: that is one run.
        (vec![whole("b.yml")], vec!["b.yml::one@s/auto"], &["b.yml"]),
        (vec![whole("a.yml")], vec!["a.yml::one@s/auto", "a.yml::two@s/auto"], &["a.yml"]),
        // A test that changed is what the user works on.
        (vec![one("a.yml")], vec!["a.yml::one@s/auto"], &["a.yml:3"]),
        (vec![one("a.yml"), whole("b.yml")], vec![], &["a.yml:3 b.yml"]),
        (vec![whole("c.yml")], vec!["c.yml::one@s/auto"], &["c.yml"]),
    ] {
        let failed = Failed { cases: failed.into_iter().map(str::to_owned).collect(), ..Failed::default() };
        let stages = stages(&affected, &suites, &failed);
        let shown: Vec<String> = stages
            .iter()
            .map(|stage| format!("{}{}", if stage.only_failed { "failed " } else { "" }, stage.words.join(" ")))
            .collect();
        assert_eq!(shown, expected, "{affected:?} {failed:?}");
    }
}

#[test]
fn reasons_name_what_changed_and_what_runs() {
    let suite = |file: &str, cause, extent| AffectedSuite { file: file.to_owned(), cause, extent };
    let test = |name: &str| ChangedTest { name: name.to_owned(), line: 4 };
    let whole = |file: &str| suite(file, Cause::Suite, Extent::Whole);
    for (changed, affected, expected) in [
        (&["a.yml"][..], vec![whole("a.yml")], "`a.yml` changed: running `a.yml`"),
        (
            &["a.yml"],
            vec![suite("a.yml", Cause::Suite, Extent::Tests(vec![test("greets")]))],
            "`a.yml` changed: running the test `greets` of `a.yml`",
        ),
        (
            &["a.yml"],
            vec![suite("a.yml", Cause::Suite, Extent::Tests(vec![test("a"), test("b")]))],
            "`a.yml` changed: running 2 tests of `a.yml`",
        ),
        (
            &["server.py"],
            vec![suite("a.yml", Cause::Sources, Extent::Whole)],
            "`server.py` changed: running `a.yml` on a new server",
        ),
        (&["a.yml", "b.yml"], vec![whole("a.yml"), whole("b.yml")], "2 files changed: running 2 suites"),
    ] {
        assert_eq!(reason(&paths(changed), &affected), expected);
    }
}
