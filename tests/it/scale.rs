//! The jobs of `examples/scale/`, in which several machines share a run.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use regex::Regex;

use crate::harness::{Scene, is_installed, root};

/// The published schemas of the services, and of Kubernetes, have no objection.
#[test]
fn jobs_fit_the_published_schemas() {
    if !is_installed() {
        return;
    }
    let scene = Scene::bare("scale-schemas");
    let (jobs, bin) = (root().join("examples/scale"), root().join("tests/real/venv/bin"));
    let check = |command: &str| scene.line(&format!("sh -c '{}/{command}'", bin.display()));
    for (schema, file) in
        [("vendor.github-workflows", "github"), ("vendor.gitlab-ci", "gitlab-ci"), ("vendor.buildkite", "buildkite")]
    {
        let seen = check(&format!("check-jsonschema --builtin-schema {schema} {}/{file}.yaml", jobs.display()));
        assert_eq!(seen.status, 0, "{}", seen.text());
    }
    let manifest = fs::read_to_string(jobs.join("kubernetes.yaml")).unwrap();
    scene.write("good.yaml", &manifest);
    scene.write("bad.yaml", &manifest.replace("completionMode:", "completionMod:"));
    for (file, status) in [("good.yaml", 0), ("bad.yaml", 1)] {
        let seen = check(&format!("kubernetes-validate --strict {file}"));
        assert_eq!(seen.status, status, "{}", seen.text());
    }
}

/// The scripts of the Jobs for Kubernetes, run one after another: suites are links, as a `ConfigMap` has them, and a part is
/// there for the verdict once it ran to its end.
#[test]
fn the_scripts_of_kubernetes_make_one_verdict() {
    let scene = Scene::copied("cases/shards", "scale-kubernetes");
    let folder = scene.folder.display().to_string();
    fs::create_dir_all(scene.folder.join("suites/..data")).unwrap();
    for suite in ["suite.yml", "other.yml"] {
        fs::rename(scene.folder.join(suite), scene.folder.join("suites/..data").join(suite)).unwrap();
        symlink(Path::new("..data").join(suite), scene.folder.join("suites").join(suite)).unwrap();
    }
    let manifest = fs::read_to_string(root().join("examples/scale/kubernetes.yaml")).unwrap();
    let scripts = Regex::new(r"- \|\n((?: {14}.*\n)+)").unwrap();
    let here = |script: &str| script.replace("RUN-ID", "run").replace("/parts", &format!("{folder}/parts"));
    let scripts: Vec<String> = scripts.captures_iter(&manifest).map(|found| here(&found[1])).collect();
    let [part, wait, verdict] = scripts.as_slice() else { panic!("{scripts:#?}") };
    let program = Path::new(env!("CARGO_BIN_EXE_mcprove")).parent().unwrap();
    for (name, script) in [("part.sh", part), ("wait.sh", wait), ("verdict.sh", verdict)] {
        let script = script.replace("/tmp/state", &format!("{folder}/state"));
        scene.write(name, &format!("PATH={}:$PATH\n{script}", program.display()));
    }
    for index in 0..8 {
        let seen = scene.line(&format!("JOB_COMPLETION_INDEX={index} sh part.sh"));
        assert_eq!(seen.status, 0, "{}", seen.text());
    }
    assert_eq!(scene.line("sh wait.sh").status, 0);
    let verdict = scene.line("sh verdict.sh");
    let whole = scene.run("run suites/suite.yml suites/other.yml");
    assert_eq!(verdict.status, whole.status, "{}", verdict.text());
    assert!(whole.stdout.contains("1 failed"), "{}", whole.text());
    // No recording, no verdict: a suite that is wrong ends every pod with a code that ends the Job.
    scene.write("suites/suite.yml", "suite: wrong\n");
    let seen = scene.line("JOB_COMPLETION_INDEX=0 sh part.sh");
    assert_eq!(seen.status, 2, "{}", seen.text());
}

/// How often a node is asked if it is idle.
const MOST_QUESTIONS: usize = 2000;

/// A cluster of one node, with a controller and a node of its own, which end with it.
struct Cluster {
    configuration: String,
    daemons: Vec<Child>,
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for daemon in &mut self.daemons {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

impl Cluster {
    /// Starts Slurm, where its packages are there and this user may run a node.
    fn start(folder: &Path) -> Option<Self> {
        let said = |program: &str, flag: &str| {
            let output = Command::new(program).arg(flag).output().ok()?;
            Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
        };
        let is_there = ["slurmctld", "slurmd", "sbatch"].iter().all(|program| said(program, "-V").is_some());
        if !is_there || said("id", "-u").as_deref() != Some("0") {
            return None;
        }
        let (host, state) = (said("uname", "-n")?, folder.display());
        let settings = format!(
            "ClusterName=one\nSlurmctldHost={host}(127.0.0.1)\nNodeName={host} NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN\n\
             PartitionName=all Nodes=ALL Default=YES State=UP\nSlurmUser=root\nSlurmdUser=root\n\
             AuthType=auth/none\nCredType=cred/none\nSlurmctldPort=16817\nSlurmdPort=16818\n\
             StateSaveLocation={state}/state\nSlurmdSpoolDir={state}/spool\nSlurmctldPidFile={state}/controller.pid\n\
             SlurmdPidFile={state}/node.pid\nSlurmctldLogFile={state}/controller.log\nSlurmdLogFile={state}/node.log\n\
             ProctrackType=proctrack/pgid\nTaskPlugin=task/none\nJobAcctGatherType=jobacct_gather/none\n\
             AccountingStorageType=accounting_storage/none\nReturnToService=2\nMpiDefault=none\n\
             SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\n"
        );
        for part in ["state", "spool"] {
            fs::create_dir_all(folder.join(part)).ok()?;
        }
        fs::write(folder.join("slurm.conf"), settings).ok()?;
        let configuration = folder.join("slurm.conf").display().to_string();
        let daemon = |program| {
            let mut command = Command::new(program);
            command.arg("-D").env("SLURM_CONF", &configuration).stdout(Stdio::null()).stderr(Stdio::null());
            command.spawn().ok()
        };
        let daemons = ["slurmctld", "slurmd"].into_iter().filter_map(daemon).collect();
        Some(Self { configuration, daemons })
    }

    /// A daemon has ended: this machine cannot run it.
    fn has_ended(&mut self) -> bool {
        self.daemons.len() < 2 || self.daemons.iter_mut().any(|daemon| !matches!(daemon.try_wait(), Ok(None)))
    }
}

/// An array of eight tasks runs a part each, and the job after it comes to the verdict of one run.
#[test]
fn an_array_of_slurm_makes_one_verdict() {
    let scene = Scene::copied("cases/shards", "scale-slurm");
    let Some(mut cluster) = Cluster::start(&scene.folder) else { return };
    let configuration = cluster.configuration.clone();
    let script = root().join("examples/scale/slurm.sh");
    let program = Path::new(env!("CARGO_BIN_EXE_mcprove")).parent().unwrap();
    let slurm = |command: &str| {
        let paths = format!("PATH={}:$PATH SLURM_CONF={configuration}", program.display());
        scene.line(&format!("sh -c '{paths} {command}'"))
    };
    // Somebody else's machine may have no place for a node: its daemon ends, or never becomes idle.
    let is_idle = || slurm("sinfo --noheader --format=%t").stdout.contains("idle");
    if !(0..MOST_QUESTIONS).any(|_| is_idle() || cluster.has_ended()) || cluster.has_ended() {
        return;
    }
    let submitted = slurm(&format!("{} suite.yml 8", script.display()));
    assert_eq!(submitted.status, 0, "{}", submitted.text());
    let job = submitted.stdout.trim().to_owned();
    let is_over = || {
        let shown = slurm(&format!("scontrol show job {job}")).stdout;
        ["COMPLETED", "FAILED", "CANCELLED"].iter().any(|state| shown.contains(&format!("JobState={state}")))
    };
    scene.wait_until("the verdict is there", is_over);
    let verdict = slurm(&format!("scontrol show job {job}")).stdout;
    let whole = scene.run("run suite.yml");
    assert!(verdict.contains(&format!("ExitCode={}:0", whole.status)), "{verdict}");
    let total = |text: &str| {
        let line = text.lines().find(|line| line.contains(" cases: ")).unwrap_or_default();
        line.split("  ").next().unwrap_or_default().to_owned()
    };
    let merged = scene.line("show out/verdict.log").stdout;
    assert!(total(&whole.stdout).contains("1 failed"), "{}", whole.text());
    assert_eq!(total(&merged), total(&whole.stdout), "{merged}");
}
