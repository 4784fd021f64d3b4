"""Runs the suites of mcprove as tests of pytest: each case is a test with its own name, place, result and text.

`mcprove plan` lists the cases when pytest collects a suite. When the first of them is due, one `mcprove run` runs those
that are selected, and its reports say how each ended. With pytest-xdist, the first worker that needs a suite runs it,
and the others read its reports.
"""

import contextlib
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sysconfig
import tempfile
import threading
from pathlib import Path
from xml.etree import ElementTree

import pytest

SUITES = (".mcprove.yml", ".mcprove.yaml")
# The folder of the reports, which all workers share.
FOLDER = pytest.StashKey[Path]()
# The seconds in which an interrupted run ends its servers and writes its reports.
GRACE = 10
# What pip installed beside this Python comes first, whether or not its environment is active: servers need it, too.
PATH = os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", "")])
# Of a group of cases, so many failures are quoted.
QUOTED = 5
# What only a run of all cases can say: that nothing was judged, and that a threshold was missed.
OF_THE_WHOLE_SUITE = (4, 6)


class McproveError(Exception):
    """What mcprove prints about a case or a run."""


class McproveWarning(UserWarning):
    """A case that passed, and is flaky or ignores a recommendation of the specification."""


def pytest_addoption(parser):
    parser.getgroup("mcprove").addoption("--mcprove", metavar="PROGRAM", help="the program `mcprove`")
    parser.addini("mcprove_program", "the program `mcprove`")
    parser.addini("mcprove_args", "more arguments of `mcprove run`, such as `--threshold 60`", "args", [])


def pytest_configure(config):
    shared = getattr(config, "workerinput", {}).get("mcprove_folder")
    config.stash[FOLDER] = Path(shared or tempfile.mkdtemp(prefix="pytest-mcprove-"))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node):
    node.workerinput["mcprove_folder"] = str(node.config.stash[FOLDER])


def pytest_unconfigure(config):
    if not hasattr(config, "workerinput"):
        shutil.rmtree(config.stash[FOLDER], ignore_errors=True)


def pytest_collect_file(file_path, parent):
    return Suite.from_parent(parent, path=file_path) if file_path.name.endswith(SUITES) else None


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if isinstance(item, Case):
        if call.when == "call":
            report.duration = item.seconds
        if isinstance(report.longrepr, tuple):
            path, line, _ = item.reportinfo()
            report.longrepr = (str(path), line + 1, report.longrepr[2])
        elif call.excinfo and isinstance(call.excinfo.value, McproveError):
            report.longrepr = str(call.excinfo.value)


class Suite(pytest.File):
    """A suite file, and the one run of its selected cases."""

    code = None

    def collect(self):
        planned = self.call(["plan", self.file, "--format", "json"], subprocess.PIPE)
        if planned.returncode:
            raise self.CollectError(planned.stderr.strip() or f"`mcprove plan` ended with {planned.returncode}")
        cases = json.loads(planned.stdout)["cases"]
        targets = {(case["server"], case["revision"]) for case in cases}
        self.plan = []
        for case in cases:
            row = f"[{case['row']}]" if case["row"] else ""
            target = f" @{case['server']}/{case['revision']}" if len(targets) > 1 else ""
            self.plan.append(Case.from_parent(self, name=case["name"] + row + target, planned=case))
        return self.plan

    @property
    def file(self):
        """The path as mcprove prints it, which runs in the root folder."""
        return Path(os.path.relpath(self.path, self.config.rootpath)).as_posix()

    @property
    def selected(self):
        return [item for item in self.session.items if item.parent is self]

    @property
    def is_whole(self):
        return len(self.selected) == len(self.plan)

    def program(self):
        named = self.config.getoption("mcprove") or self.config.getini("mcprove_program")
        if program := shutil.which(named or "mcprove", path=PATH):
            return os.path.abspath(program)
        raise self.CollectError(
            f"error: the program `{named or 'mcprove'}` was not found\n"
            "help: install it with `pip install mcprove`, or name it with `--mcprove PROGRAM` or `mcprove_program`"
        )

    def call(self, arguments, stderr):
        """Runs mcprove, which ends with this process where that is interrupted."""
        command = [self.program(), *arguments]
        where = {"cwd": self.config.rootpath, "env": {**os.environ, "PATH": PATH}}
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": stderr}
        text = {"encoding": "utf-8", "errors": "replace"}
        with interruptible(), subprocess.Popen(command, **where, **streams, **text) as process:
            try:
                stdout, stderr = process.communicate()
            except BaseException:
                process.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(GRACE)
                process.kill()
                raise
        return subprocess.CompletedProcess(command, process.returncode, stdout, stderr)

    def run(self):
        """Runs the selected cases, or reads what the run of another worker left."""
        folder = self.config.stash[FOLDER] / hashlib.sha256(self.nodeid.encode()).hexdigest()[:16]
        folder.mkdir(parents=True, exist_ok=True)
        end, ndjson, junit = folder / "end", folder / "ndjson", folder / "junit"
        with locked(folder / "lock"):
            if not end.exists():
                only = "|".join(case.pattern for case in self.selected)
                only = [] if self.is_whole else ["--filter", f"id(/^(?:{only})$/)"]
                reports = ["--report", f"ndjson={ndjson}", "--report", f"junit={junit}"]
                arguments = ["run", self.file, *reports, *only, *self.config.getini("mcprove_args")]
                ended = self.call(arguments, subprocess.STDOUT)
                end.write_text(json.dumps([ended.returncode, ended.stdout.strip("\n")]), "utf-8")
        self.code, self.output = json.loads(end.read_text("utf-8"))
        events, texts = read_events(ndjson), read_texts(junit)
        self.has_ended = any("run-finished" in event for event in events)
        # Texts about no planned case, such as what a server did outside of any.
        self.beside = []
        for result in [event["case-finished"] for event in events if "case-finished" in event]:
            result["text"] = texts.pop(result["case"]["id"], "")
            case = next((case for case in self.plan if case.has(result["case"])), None)
            if case:
                case.results.append(result)
            elif is_red(result):
                self.beside.append(result["text"])
        self.beside += texts.values()

    def problem(self):
        """What is wrong with the run as a whole; nothing where that is what a case failed for."""
        is_told = self.code in (1, 3) and any(is_red(result) for case in self.plan for result in case.results)
        if self.beside:
            return "\n".join(self.beside)
        if self.code == 0 or is_told or self.code in OF_THE_WHOLE_SUITE and not self.is_whole:
            return None
        return f"`mcprove run` ended with {self.code}\n\n{self.output}"


class Case(pytest.Item):
    """A case of a suite, or a group of cases that only a running server can name."""

    def __init__(self, *, planned, **rest):
        super().__init__(**rest)
        self.planned, self.results = planned, []
        self.extra_keyword_matches.update(planned["tags"])
        name, _, target = planned["id"].rpartition("@")
        parts = re.split(r"\{\{.*?\}\}", f"{name}{'{{}}' if planned['expands'] else ''}@{target}")
        # Any character stands for one that may mean something in an expression or a filter.
        self.pattern = ".*".join(re.sub(r"[^\w ]", ".", part) for part in parts)

    def has(self, info):
        """Whether a case that ran is this one, or was made from it."""
        is_there = all(info[key] == self.planned[key] for key in ("file", "line", "column"))
        is_made = self.planned["expands"] and is_there and re.fullmatch(self.pattern, info["id"])
        return info["id"] == self.planned["id"] or is_made

    def reportinfo(self):
        path = self.config.rootpath / self.planned["file"]
        title = f"{self.planned['suite']}: {self.name}"
        # Suites that are part of mcprove are no files.
        return (path, self.planned["line"] - 1, title) if path.is_file() else (self.path, 0, title)

    @property
    def seconds(self):
        return sum(result["duration_us"] for result in self.results) / 1e6

    def setup(self):
        suite = self.parent
        if suite.code is None:
            suite.run()
        if not suite.has_ended and not self.results:
            text, suite.output = suite.output, "its output is shown at the first case that it did not reach"
            raise McproveError(f"`mcprove run` ended with {suite.code} before this case\n\n{text}")

    def runtest(self):
        red = [result for result in self.results if is_red(result)]
        if red:
            count = [f"{len(red)} of {len(self.results)} cases failed"] if len(self.results) > 1 else []
            more = "\n".join(f"✗ {result['case']['name']}" for result in red[QUOTED:])
            quoted = [result["text"] for result in red[:QUOTED]]
            raise McproveError("\n\n".join(filter(None, [*count, *quoted, more])))
        by_outcome = {result["outcome"]: result for result in reversed(self.results)}
        if doubtful := by_outcome.get("inconclusive"):
            pytest.skip(f"not judged: {reason(doubtful)}")
        if known := by_outcome.get("failed"):
            pytest.xfail(f"known failure: {known['findings'][0]['baseline_reason']}")
        if not {"passed", "warned"} & set(by_outcome):
            nothing = "the run made no case of this one, or ended before it"
            pytest.skip(reason(self.results[0]) if self.results else nothing)
        for result in self.results:
            if result["earlier"]:
                last = reason(result["earlier"][-1])
                self.warn(McproveWarning(f"flaky: attempt {len(result['earlier']) + 1} passed; before: {last}"))
            elif result["outcome"] == "warned":
                self.warn(McproveWarning(reason(result)))

    def teardown(self):
        suite = self.parent
        if self is suite.selected[-1] and suite.code is not None and suite.has_ended and suite.problem():
            raise McproveError(suite.problem())


def is_red(result):
    musts = [finding for finding in result["findings"] if finding["level"] == "must"]
    is_known = musts and all(finding.get("baseline_reason") for finding in musts)
    return result["outcome"] == "errored" or result["outcome"] == "failed" and not is_known


def reason(result):
    """Why a case or an attempt ended as it did, in a sentence."""
    text = (result.get("reason") or {}).get("text")
    return text or "; ".join(finding["message"] for finding in result["findings"]) or result["outcome"]


def read_events(path):
    """The events of a run; the last line of one that was killed may lack its end."""
    events = []
    with contextlib.suppress(OSError, ValueError):
        for line in filter(None, path.read_text("utf-8").split("\n")):
            events.append(json.loads(line))
    return events


def read_texts(path):
    """The texts of cases that did not pass, by their ids, as a terminal shows them."""
    texts = {}
    with contextlib.suppress(OSError, ElementTree.ParseError):
        for case in ElementTree.parse(path).iter("testcase"):
            text = case.findtext("failure") or case.findtext("error") or case.findtext("skipped")
            if text:
                texts[case.find("properties/property[@name='id']").get("value")] = text.strip("\n")
    return texts


@contextlib.contextmanager
def interruptible():
    """SIGTERM, with which jobs are cancelled, interrupts this process as Ctrl-C does; only the main thread can say so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before or signal.SIG_DFL)


@contextlib.contextmanager
def locked(path):
    """Waits until no other worker has the lock, which ends with its process."""
    with open(path, "ab") as file:
        if os.name != "nt":
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        else:
            import msvcrt

            while True:
                with contextlib.suppress(OSError):  # After ten seconds, it gives up.
                    msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
                    break
        yield
