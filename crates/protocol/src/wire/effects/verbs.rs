//! Words in names and descriptions of tools that say what a call does.

/// Verbs that leave everything as it was, and nouns of what such tools return.
pub(crate) const READING_VERBS: &[&str] = &[
    "analyze",
    "calculate",
    "check",
    "compare",
    "compute",
    "convert",
    "count",
    "decode",
    "describe",
    "diff",
    "echo",
    "encode",
    "estimate",
    "explain",
    "fetch",
    "find",
    "get",
    "has",
    "hash",
    "head",
    "help",
    "history",
    "info",
    "inspect",
    "is",
    "list",
    "locate",
    "log",
    "logs",
    "look",
    "lookup",
    "ls",
    "open",
    "parse",
    "peek",
    "ping",
    "preview",
    "query",
    "read",
    "resolve",
    "retrieve",
    "return",
    "scan",
    "search",
    "select",
    "show",
    "stat",
    "stats",
    "status",
    "sum",
    "summarize",
    "tail",
    "tell",
    "think",
    "translate",
    "tree",
    "validate",
    "verify",
    "version",
    "view",
    "whoami",
];

/// Verbs that change something wherever they stand in a name or a description, beside the [`DESTRUCTIVE_VERBS`].
pub(crate) const CHANGING_VERBS: &[&str] = &[
    "add", "append", "create", "edit", "insert", "modify", "rename", "replace", "save", "send", "update", "upload",
    "write",
];

/// Verbs that change something where a name begins with them; elsewhere they are mostly nouns.
pub(crate) const LEADING_CHANGING_VERBS: &[&str] = &[
    "apply",
    "archive",
    "assign",
    "authenticate",
    "authorise",
    "authorize",
    "book",
    "change",
    "clone",
    "close",
    "commit",
    "copy",
    "disable",
    "download",
    "enable",
    "export",
    "extract",
    "grant",
    "import",
    "init",
    "install",
    "invite",
    "lock",
    "log",
    "login",
    "logoff",
    "logon",
    "logout",
    "make",
    "mark",
    "mkdir",
    "new",
    "patch",
    "put",
    "record",
    "register",
    "remember",
    "schedule",
    "set",
    "sign",
    "signin",
    "signout",
    "signup",
    "start",
    "store",
    "subscribe",
    "switch",
    "sync",
    "toggle",
    "touch",
    "track",
    "trigger",
    "unlock",
    "unsubscribe",
    "upsert",
];

/// Verbs that name a change no test can take back.
pub(crate) const DESTRUCTIVE_VERBS: &[&str] = &[
    "delete",
    "destroy",
    "drop",
    "erase",
    "kill",
    "overwrite",
    "purge",
    "remove",
    "reset",
    "revoke",
    "shutdown",
    "terminate",
    "truncate",
    "uninstall",
    "wipe",
];

/// The same in names; in descriptions they often say something else.
pub(crate) const DESTRUCTIVE_IN_NAMES: &[&str] = &["clear", "format"];

/// Verbs that can hardly mean that a text or a picture is changed and returned.
pub(crate) const UNDOUBTED_VERBS: &[&str] =
    &["delete", "destroy", "purge", "wipe", "uninstall", "shutdown", "terminate", "revoke"];

/// Words of names of tools that only look, however alarming the rest of the name is.
pub(crate) const LOOKING: &[&str] = &[
    "analyze", "audit", "can", "check", "compare", "count", "describe", "diff", "dry", "dryrun", "estimate", "explain",
    "fetch", "find", "get", "has", "history", "impact", "info", "inspect", "is", "list", "log", "logs", "lookup",
    "plan", "preview", "query", "read", "report", "search", "show", "simulate", "stats", "status", "test", "validate",
    "verify", "view", "what",
];

/// Verbs that reach beyond the server where a name begins with them; elsewhere in a name they may be nouns.
pub(crate) const FAR_REACHING_VERBS: &[&str] = &[
    "approve", "buy", "cancel", "charge", "deploy", "exec", "execute", "merge", "move", "order", "pay", "place",
    "post", "publish", "purchase", "push", "reboot", "refund", "rename", "restart", "rm", "run", "send", "shell",
    "stop", "submit", "transfer", "tweet", "withdraw",
];

/// Words in names of tools that run what callers write.
pub(crate) const RUNNING: &[&str] = &[
    "bash",
    "calc",
    "calculate",
    "calculator",
    "code",
    "console",
    "eval",
    "evaluate",
    "exec",
    "execute",
    "expression",
    "interpreter",
    "javascript",
    "js",
    "jq",
    "notebook",
    "python",
    "repl",
    "run",
    "script",
    "shell",
    "sql",
];

/// Words in names of arguments that hold what is run.
pub(crate) const CODE: &[&str] =
    &["code", "command", "cmd", "expr", "expression", "formula", "program", "script", "source", "sql", "statement"];

/// Words in names of arguments that hold what a shell executes.
pub(crate) const COMMANDS: &[&str] = &["command", "commands", "cmd", "shell"];

/// Words among those of running and of code that speak of sums.
pub(crate) const COMPUTING: &[&str] = &["calc", "calculate", "calculator", "expr", "expression", "formula"];

/// Words after which a verb of changing says what a tool does not do.
pub(crate) const NEGATIONS: &[&str] = &["not", "never", "no", "without", "cannot", "can't", "doesn't", "don't"];
