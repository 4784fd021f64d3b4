//! Commands, and what can be different about them.

use super::*;

/// What can be different in a start; `/data` is a folder, `/data/x` a file, and `PORT` varies.
fn check(does: Alter, named: &[&str], command: &str, expected: &[&str]) {
    let start = Start {
        does: vec![does],
        named: named.iter().map(|name| plain(name)).collect(),
        on: None,
        means_invalid: false,
    };
    let (variables, words): (Vec<&str>, Vec<&str>) =
        command.split(' ').partition(|word| word.contains('=') && !word.starts_with('-'));
    let pair = |word: &&str| word.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned())).unwrap();
    let variables: Vec<(String, String)> = variables.iter().map(pair).collect();
    let args: Vec<String> = words[1..].iter().map(|word| (*word).to_owned()).collect();
    let varying: Vec<usize> = (0..args.len()).filter(|at| args[*at] == "4711").collect();
    let launch = Launch { program: words[0], args: &args, variables: &variables, varying: &varying };
    let on_disk = |name: &str| match name {
        "/data" | "data" => OnDisk::Folder,
        "/data/x" => OnDisk::File,
        _ => OnDisk::Nothing,
    };
    let shown = start.alterations(&launch, &on_disk).into_iter().map(|alteration| {
        let (mut program, mut args, mut variables) = (words[0].to_owned(), args.clone(), variables.clone());
        alteration.apply(&mut program, &mut args, &mut variables);
        let variables = variables.into_iter().map(|(name, value)| format!("{name}={value}"));
        variables.chain([program]).chain(args).collect::<Vec<_>>().join(" ")
    });
    assert_eq!(shown.collect::<Vec<_>>(), expected, "{command}");
}

#[test]
fn one_thing_is_different_at_a_time() {
    use Alter::{DropFlag, DropVariable, Grow, Outlive, RaiseNumber, WidenPath};
    if LISTS_PROCESSES {
        check(Outlive, &[], "serve --a", &["sh -c \"$@\"; exec sleep 600 sh serve --a"]);
        check(Grow, &[], "serve --a", &["serve --a"; 3]);
    }
    check(DropVariable, &[], "A=1 B=2 PATH=/bin serve", &["B=2 PATH=/bin serve", "A=1 PATH=/bin serve"]);
    check(DropVariable, &["read-only"], "READONLY=1 B=2 serve", &["B=2 serve"]);
    check(DropFlag, &[], "serve --a --b 3 -c=4 x", &["serve --b 3 -c=4 x", "serve --a -c=4 x", "serve --a --b 3 x"]);
    check(DropFlag, &[], "serve --a /data", &["serve /data", "serve"]);
    check(DropFlag, &["a"], "serve --a /data -b", &["serve /data -b"]);
    check(
        DropFlag,
        &["readonly"],
        "serve --Read-Only --read_only=1 --write",
        &["serve --read_only=1 --write", "serve --Read-Only --write"],
    );
    check(DropFlag, &[], "node --inspect dist/x.js --safe", &["node --inspect dist/x.js"]);
    check(DropFlag, &[], "npx -y some-server --safe 1", &["npx -y some-server"]);
    check(DropFlag, &[], "/usr/bin/python3 -m some_server --safe", &["/usr/bin/python3 -m some_server"]);
    check(DropFlag, &[], "docker run -i --rm -v a:b image --safe", &["docker run -i --rm -v a:b image"]);
    check(DropFlag, &[], "npx -y", &[]);
    check(WidenPath, &[], "serve /data", &["serve /"]);
    check(
        WidenPath,
        &[],
        "ROOT=data serve /data/x --to=/data /",
        &[
            "ROOT=data serve /data/x --to=/ /",
            "ROOT=data/.. serve /data/x --to=/data /",
            "ROOT=/ serve /data/x --to=/data /",
        ],
    );
    check(
        RaiseNumber,
        &[],
        "N=0 M=5 serve --max 3 --port 80 --size=10 4711 -1 x",
        &[
            "N=0 M=5 serve --max 3000 --port 80 --size=10 4711 -1 x",
            "N=0 M=5 serve --max 3 --port 80 --size=10000 4711 -1 x",
            "N=0 M=5000 serve --max 3 --port 80 --size=10 4711 -1 x",
        ],
    );
}
