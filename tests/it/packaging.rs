//! The packages that `packaging/make` writes install a program that runs, and what installs them refuses what it should.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use serde_json::Value;

use crate::harness::{Scene, Seen, is_installed, root, snapshot};

const TARGETS: [&str; 5] = [
    "x86_64-unknown-linux-musl",
    "aarch64-unknown-linux-musl",
    "aarch64-apple-darwin",
    "x86_64-apple-darwin",
    "x86_64-pc-windows-msvc",
];

const REAL: &str = r#"exec "$MCPROVE" "$@""#;

/// A program with a short manual, which otherwise is the one under test.
const PROGRAM: &str = r#"case "$*" in
  man) printf 'mcprove\\-%s(1)\n' run findings help ;;
  'man findings') echo 'mcprove\-findings\-list(1)' ;;
  man*) ;;
  completions*) echo "$2" ;;
  *) exec "$MCPROVE" "$@" ;;
esac"#;

/// A proxy that has the files of a folder for any host, and prints its port.
const PROXY: &str = r#"
import functools, http.server, sys

class Proxy(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        assert self.path.startswith("http://release.invalid/"), self.path
        if "/refused/" in self.path:
            return self.send_error(407)
        self.path = "/" + self.path.rpartition("/")[2]
        super().do_GET()

    def log_message(self, *_):
        pass

server = http.server.HTTPServer(("127.0.0.1", 0), functools.partial(Proxy, directory=sys.argv[1]))
print(server.server_port, flush=True)
server.serve_forever()
"#;

/// A folder `out` with packages for every platform.
fn packed(name: &str, kinds: &str) -> Scene {
    packed_with(PROGRAM, &TARGETS, name, kinds)
}

fn packed_with(script: &str, targets: &[&str], name: &str, kinds: &str) -> Scene {
    let scene = Scene::bare(name);
    program(&scene, "program", script);
    for target in targets {
        shell(
            &scene,
            &format!("'{}/packaging/make' archive --target {target} --program program --out out", root().display()),
        );
    }
    shell(&scene, &format!("'{}/packaging/make' packages out {kinds}", root().display()));
    scene
}

fn program(scene: &Scene, name: &str, script: &str) {
    scene.write(name, &format!("#!/bin/sh\n{script}\n"));
    fs::set_permissions(scene.folder.join(name), fs::Permissions::from_mode(0o755)).unwrap();
}

/// Runs a script that must pass.
fn shell(scene: &Scene, script: &str) -> Seen {
    let seen = sh(scene, script);
    assert_eq!(seen.status, 0, "{}", seen.text());
    seen
}

fn sh(scene: &Scene, script: &str) -> Seen {
    scene.line(&format!("sh -c {}", shell_words::quote(script)))
}

fn unversioned(text: &str) -> String {
    text.replace(env!("CARGO_PKG_VERSION"), "[VERSION]")
}

/// Whether a program is on the path.
fn has(program: &str) -> bool {
    sh(&Scene::bare(&format!("packaging-has-{program}")), &format!("command -v {program}")).status == 0
}

#[test]
fn the_same_programs_make_the_same_packages() {
    let kinds = if has("dpkg-deb") { "" } else { "--kind npm --kind pypi --kind manifests" };
    let [once, twice] = ["packaging-once", "packaging-twice"].map(|name| packed(name, kinds));
    let sums = "cd out && find . -type f | LC_ALL=C sort | xargs sha256sum";
    let [first, second] = [&once, &twice].map(|scene| shell(scene, sums).stdout);
    assert_eq!(first, second);
    let names: Vec<&str> = first.lines().filter_map(|line| line.split_once("  ")).map(|(_, name)| name).collect();
    let listed = "tar -tzf out/mcprove-*-x86_64-unknown-linux-musl.tar.gz && \
                  tar -tzf out/mcprove-linux-x64-*.tgz && tar -tzf out/mcprove-[0-9]*[0-9].tgz && \
                  python3 -m zipfile -l out/mcprove-*-win_amd64.whl | sed 's/ .*//'";
    snapshot("packaging", &unversioned(&format!("{}\n\n{}", names.join("\n"), shell(&once, listed).stdout)));
}

#[test]
fn every_command_has_a_page() {
    let scene = packed_with(REAL, &TARGETS[..1], "packaging-manual", "--kind manifests");
    let listed = shell(&scene, "tar -tzf out/mcprove-*-x86_64-unknown-linux-musl.tar.gz").stdout;
    let commands = scene.run("--help").stdout;
    let commands: Vec<&str> = commands
        .lines()
        .filter_map(|line| line.strip_prefix("  "))
        .filter(|line| line.starts_with(|first: char| first.is_ascii_lowercase()))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(commands.len() > 20, "{commands:?}");
    for command in commands {
        assert!(listed.contains(&format!("/man/mcprove-{command}.1\n")), "no page for `{command}`");
    }
    assert!(listed.contains("/man/mcprove-findings-list.1\n"), "{listed}");
}

#[test]
fn what_package_managers_install_runs() {
    if !is_installed() {
        return;
    }
    let scene = packed("packaging-installed", "--kind npm --kind pypi --kind manifests");
    let version = scene.run("--version").stdout;
    let npm = "mkdir npm && cd npm && npm install --offline --no-audit --no-fund --no-package-lock --loglevel=error \
               ../out/mcprove-linux-\"$(node -p process.arch)\"-*.tgz ../out/mcprove-[0-9]*[0-9].tgz";
    shell(&scene, npm);
    assert_eq!(shell(&scene, "npm/node_modules/.bin/mcprove --version").stdout, version);
    assert_eq!(sh(&scene, "npm/node_modules/.bin/mcprove run nowhere.yml").status, 2);
    shell(
        &scene,
        "python3 -m pip install --quiet --no-index --no-deps --target wheel out/*manylinux*\"$(uname -m)\"*.whl",
    );
    assert_eq!(shell(&scene, "wheel/bin/mcprove --version").stdout, version);
    let mut text = String::new();
    let elsewhere = "Object.defineProperty(process, 'platform', { value: 'aix' })";
    scene.write("aix.js", elsewhere);
    for script in [
        // A program that lost its mode, as on a share of another system.
        "f=$(echo npm/node_modules/@mcprove/*/bin/mcprove); chmod -x $f; npm/node_modules/.bin/mcprove --version 2>&1 | sed 's/linux-[a-z0-9]*/linux-ARCH/g'; chmod +x $f",
        "node --require ./aix.js npm/node_modules/mcprove/bin/mcprove.js --version 2>&1 | sed 's/aix-[a-z0-9]*/aix-ARCH/'",
        "rm -r npm/node_modules/@mcprove; npm/node_modules/.bin/mcprove --version 2>&1 | sed 's/linux-[a-z0-9]*,/linux-ARCH,/'",
    ] {
        let _ = writeln!(text, "{}", sh(&scene, script).text());
    }
    snapshot("packaging-npm", &text);
}

/// The pages of `PyPI` and npm, where files of the repository have no relative address.
#[test]
fn links_and_pictures_are_found_outside_of_the_repository() {
    let scene = packed_with(PROGRAM, &TARGETS[..1], "packaging-readme", "--kind npm --kind pypi");
    let wheel = "python3 -m zipfile -e out/mcprove-*.whl wheel && cat wheel/*.dist-info/METADATA";
    let tag = concat!("https://github.com/mcprove/mcprove/raw/v", env!("CARGO_PKG_VERSION"));
    for script in [wheel, "tar -xzOf out/mcprove-[0-9]*[0-9].tgz package/README.md"] {
        let page = shell(&scene, script).stdout;
        assert!(page.contains(&format!("]({tag}/docs/pictures/terminal.svg)")), "{page}");
        let relative = page.split("](").skip(1).find(|rest| !rest.starts_with("https://") && !rest.starts_with('#'));
        assert_eq!(relative.and_then(|rest| rest.lines().next()), None);
    }
}

/// pip takes the wheel of its platform, and none where there is none.
#[test]
fn each_platform_gets_its_wheel() {
    if !is_installed() {
        return;
    }
    let scene = packed("packaging-wheels", "--kind pypi");
    let mut text = String::new();
    for platform in [
        "manylinux_2_17_x86_64",
        "musllinux_1_1_x86_64",
        "manylinux_2_17_aarch64",
        "musllinux_1_1_aarch64",
        "macosx_14_0_arm64",
        "macosx_14_0_x86_64",
        "win_amd64",
        "win_arm64",
        "linux_riscv64",
    ] {
        let pip = format!(
            "python3 -m pip download --quiet --disable-pip-version-check --no-index --find-links out --only-binary :all: \
             --platform {platform} --dest {platform} mcprove >&2; ls {platform} 2>/dev/null"
        );
        let seen = sh(&scene, &pip);
        let refused = seen.stderr.lines().last().unwrap_or_default();
        let _ = writeln!(text, "{platform}: {}{refused}", seen.stdout.trim_end());
    }
    snapshot("packaging-wheels", &unversioned(&text));
}

/// The parts of the program are those that `Cargo.lock` names; packages of other systems need the network.
#[test]
fn the_parts_of_a_program_are_listed() {
    let scene = Scene::bare("packaging-parts");
    let list = |out: &str| {
        // Not in the scene, whose home has no cargo.
        let mut make = Command::new("python3");
        make.arg(root().join("packaging/make")).args(["sbom", "--out", out, "--target"]);
        let system = if cfg!(target_os = "macos") { "apple-darwin" } else { "unknown-linux-musl" };
        make.arg(format!("{}-{system}", std::env::consts::ARCH)).env("CARGO_NET_OFFLINE", "true");
        let output = make.current_dir(&scene.folder).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        fs::read_to_string(scene.folder.join(String::from_utf8(output.stdout).unwrap().trim())).unwrap()
    };
    let text = list("once");
    assert_eq!(text, list("twice"));
    let listed: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(listed["metadata"]["component"]["name"], "mcprove");
    let components = listed["components"].as_array().unwrap();
    let scope = |name: &str| components.iter().find(|part| part["name"] == name).map(|part| &part["scope"]);
    assert_eq!(scope("mcprove-protocol").unwrap(), "required");
    assert_eq!(scope("cc").unwrap(), "excluded");
    assert!(scope("insta").is_none() && scope("libtest-mimic").is_none());
    for part in components {
        assert!(part["licenses"][0]["expression"].is_string(), "{part}");
        let is_own = part["name"].as_str().unwrap().starts_with("mcprove-");
        assert!(is_own || part["hashes"][0]["content"].as_str().is_some_and(|hash| hash.len() == 64), "{part}");
    }
}

/// What a release says of itself stands in the changelog, and its links work outside of the repository.
#[test]
fn the_notes_of_a_release_are_those_of_the_changelog() {
    let scene = Scene::bare("packaging-notes");
    fs::create_dir_all(scene.folder.join("packaging")).unwrap();
    fs::create_dir_all(scene.folder.join("docs")).unwrap();
    for file in ["packaging/notes", "packaging/project.py", "Cargo.toml"] {
        fs::copy(root().join(file), scene.folder.join(file)).unwrap();
    }
    scene.write(
        "docs/changelog.md",
        "# Changes\n\n## Unreleased\n\n- not yet\n\n## 0.2.0, 2026-12-24\n\n- `x` does: [CI](guides/ci.md#jobs), [packages](../packaging/README.md), \
         [other](https://example.com/a)\n\n## 0.1.0\n\nThe first release.\n",
    );
    let mut text = String::new();
    for version in ["0.2.0", "0.1.0", "0.3.0", "0.3.0-rc.1"] {
        let _ = writeln!(text, "{}", sh(&scene, &format!("packaging/notes {version}")).text());
    }
    snapshot("packaging-notes", &text);
}

/// The comparison of two builds, with a compiler that writes what it is told.
#[test]
fn builds_that_differ_or_know_their_place_are_shown() {
    let scene = Scene::bare("packaging-reproduce");
    fs::create_dir(scene.folder.join("bin")).unwrap();
    program(&scene, "bin/cargo", r#"mkdir -p target/debug && eval "$MADE" >target/debug/mcprove"#);
    let built = |made: &str| {
        let path = crate::harness::path();
        let variables = format!("MADE='{made}' PATH='{}/bin:{}'", scene.folder.display(), path.to_string_lossy());
        sh(&scene, &format!("{variables} '{}/packaging/reproduce' --profile dev", root().display()))
    };
    for (made, status, says) in [
        ("echo the same", 0, "both programs are the same: "),
        ("echo built on $TZ day", 1, "\n> built on Pacific/Kiritimati day\n"),
        ("echo in ${PWD%/*} somewhere", 1, "the first program holds /"),
        ("false", 1, ""),
    ] {
        let seen = built(made);
        assert_eq!((seen.status, seen.stdout.contains(says)), (status, true), "{}", seen.text());
    }
    // What keeps the places out: the folder of the program and that of the dependencies, for both compilers.
    let flags = built(r#"echo "$CARGO_ENCODED_RUSTFLAGS $CFLAGS" | grep -o "prefix[^=]*=[^=]*=[./a-z]*""#).stdout;
    for kept_out in ["prefix=", "another folder=.", "prefix-map=", "=/cargo"] {
        assert!(flags.contains(kept_out), "{kept_out}: {flags}");
    }
}

/// A launcher that waits for a child hands on what a job sends when it is cancelled.
#[test]
fn a_cancelled_job_ends_what_npm_started() {
    if !is_installed() {
        return;
    }
    let scene = packed("packaging-cancelled", "--kind npm");
    shell(
        &scene,
        "mkdir -p node_modules/mcprove && tar -xzf out/mcprove-[0-9]*[0-9].tgz -C node_modules/mcprove --strip-components 1",
    );
    let place = "node_modules/@mcprove/linux-\"$(node -p process.arch)\"/bin";
    shell(&scene, &format!("mkdir -p {place} && cp program {place}/mcprove"));
    for signal in ["INT", "TERM"] {
        let script = format!(
            "node node_modules/mcprove/bin/mcprove.js serve demo --http 127.0.0.1:0 2>said & \
             until grep -q serving said 2>/dev/null; do sleep 0.1; done; kill -{signal} $!; wait $!; rm said"
        );
        shell(&scene, &script);
        scene.assert_nothing_survives();
    }
}

#[test]
fn the_package_for_debian_has_what_debian_wants() {
    if !has("dpkg-deb") {
        return;
    }
    let scene = packed_with(REAL, &TARGETS[..1], "packaging-debian", "--kind debian");
    let installed = shell(&scene, "dpkg-deb -x out/mcprove_*_amd64.deb tree && tree/usr/bin/mcprove --version").stdout;
    assert_eq!(installed, scene.run("--version").stdout);
    let listed = "dpkg-deb --field out/*_amd64.deb Package Architecture Section; \
                  cd tree && find . -type f | grep -v /mcprove- | LC_ALL=C sort | xargs stat --format '%A %n'";
    snapshot("packaging-debian", &shell(&scene, listed).stdout);
    if has("lintian") {
        // The program in the package of this test is a script.
        let tags = "statically-linked-binary,initial-upload-closes-no-bugs";
        let lintian = format!("lintian --fail-on error,warning --suppress-tags {tags} out/*.deb 2>&1");
        shell(&scene, &lintian);
    }
}

#[test]
fn the_installer_installs_only_what_the_checksum_knows() {
    let scene = packed("packaging-installer", "--kind manifests");
    program(&scene, "uname", "case $1 in -s) echo Plan9 ;; *) echo x86_64 ;; esac");
    scene.write("file", "");
    scene.write("proxy.py", PROXY);
    for folder in ["other-processor", "few"] {
        fs::create_dir(scene.folder.join(folder)).unwrap();
    }
    program(&scene, "other-processor/uname", "case $1 in -s) echo Linux ;; *) echo riscv64 ;; esac");
    let few = "for name in cat chmod cp cut mkdir mktemp mv rm sed sh tar uname; do ln -s \"$(command -v $name)\" few/$name; done";
    shell(&scene, few);
    let mut text = String::new();
    for script in [
        // Twice: what runs is replaced.
        "MCPROVE_FROM=out MCPROVE_BIN=bin sh out/install.sh && MCPROVE_FROM=out MCPROVE_BIN=bin sh out/install.sh && ls -A bin",
        "MCPROVE_FROM=out PATH=$PWD/bin:$PATH sh out/install.sh && ls -A \"$HOME/.local/bin\"",
        "cp -r out other; for file in other/*.tar.gz; do echo more >>\"$file\"; done; MCPROVE_FROM=other MCPROVE_BIN=none sh out/install.sh",
        "ls -A none",
        "mkdir empty; cp out/SHA256SUMS empty; MCPROVE_FROM=empty MCPROVE_BIN=none sh out/install.sh",
        ": >empty/SHA256SUMS; MCPROVE_FROM=empty MCPROVE_BIN=none sh out/install.sh",
        "MCPROVE_FROM=http://127.0.0.1:9 MCPROVE_BIN=none sh out/install.sh 2>&1 | grep -v '^curl'",
        "MCPROVE_FROM=out MCPROVE_BIN=file/bin sh out/install.sh",
        "MCPROVE_FROM=out MCPROVE_BIN=none PATH=.:$PATH sh out/install.sh",
        // What was built for another system.
        "cp -r out broken; cd broken; for file in *.tar.gz; do mkdir t; tar -xzf $file -C t; for program in t/*/mcprove; do printf 'exit 126' >$program; done; \
         tar -czf $file -C t $(ls t); rm -r t; done; sha256sum *.tar.gz >SHA256SUMS; cd ..; \
         MCPROVE_FROM=broken MCPROVE_BIN=none sh out/install.sh",
        "ls -A none",
        "MCPROVE_FROM=out HOME=/dev/null sh out/install.sh",
        "unset HOME; MCPROVE_FROM=out sh out/install.sh",
        "mkdir -p taken/mcprove; MCPROVE_FROM=out MCPROVE_BIN=taken sh out/install.sh; ls -A taken/mcprove",
        "MCPROVE_FROM=out MCPROVE_BIN=none TMPDIR=nowhere sh out/install.sh 2>&1 | grep -v '^mktemp'",
        "MCPROVE_FROM=out MCPROVE_BIN=none PATH=$PWD/other-processor:$PATH sh out/install.sh",
        // Without what fetches, compares or unpacks.
        "MCPROVE_FROM=http://127.0.0.1:9 MCPROVE_BIN=none PATH=$PWD/few sh out/install.sh",
        "MCPROVE_FROM=out MCPROVE_BIN=none PATH=$PWD/few sh out/install.sh",
        "rm few/tar; MCPROVE_FROM=out MCPROVE_BIN=none PATH=$PWD/few sh out/install.sh",
        // Through a proxy, and through one that refuses.
        "python3 proxy.py out >port & trap 'kill $!' EXIT; until [ -s port ]; do kill -0 $! || exit; sleep 0.1; done; \
         export http_proxy=http://127.0.0.1:$(cat port); \
         MCPROVE_FROM=http://release.invalid/files MCPROVE_BIN=proxied sh out/install.sh; \
         MCPROVE_FROM=http://release.invalid/refused MCPROVE_BIN=none sh out/install.sh 2>&1 | grep -v '^curl'",
        // A download that broke off.
        "head -n 40 out/install.sh | sh",
    ] {
        let _ = writeln!(text, "{}", sh(&scene, script).text().replace(std::env::consts::ARCH, "ARCH"));
    }
    let sums = fs::read_to_string(scene.folder.join("out/SHA256SUMS")).unwrap();
    for sum in sums.lines().chain(fs::read_to_string(scene.folder.join("other/SHA256SUMS")).unwrap().lines()) {
        text = text.replace(&sum[..64], "[EXPECTED]");
    }
    let other = shell(&scene, "sha256sum other/*.tar.gz").stdout;
    text = other.lines().fold(text, |text, sum| text.replace(&sum[..64], "[ACTUAL]"));
    snapshot("packaging-installer", &unversioned(&text));
}

#[test]
fn manifests_name_the_archives_and_their_checksums() {
    let scene = packed("packaging-manifests", "--kind manifests");
    let sums = fs::read_to_string(scene.folder.join("out/SHA256SUMS")).unwrap();
    let mut text = String::new();
    for file in scene.line("list out").stdout.lines().filter(|file| file.matches('/').count() > 1) {
        let mut content = fs::read_to_string(scene.folder.join(file)).unwrap();
        if file.contains("/scoop/") {
            serde_json::from_str::<Value>(&content).unwrap();
        }
        for line in sums.lines() {
            let (sum, name) = line.split_once("  ").unwrap();
            let place = format!("[SHA256 of {}]", &name[name.find("-0").map_or(0, |at| at + 1)..]);
            content = content.replace(sum, &place).replace(&sum.to_uppercase(), &place);
        }
        let _ = writeln!(text, "== {file}\n{content}");
    }
    snapshot("packaging-manifests", &unversioned(&text));
    if has("ruby") {
        shell(&scene, "ruby -c out/homebrew/mcprove.rb");
    }
}
