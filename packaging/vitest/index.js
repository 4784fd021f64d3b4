// A plugin that runs the suites of mcprove as tests of Vitest.
//
// A suite becomes a module that registers its cases, each at the line where the suite has it, so that locations and
// filters by line lead into the suite. `mcprove plan` lists the cases; what runs them is in runtime.js.

import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { configDefaults } from 'vitest/config';

const SUITES = '**/*.mcprove.{yml,yaml}';
const SUITE = /\.mcprove\.ya?ml$/;
const RUNTIME = fileURLToPath(new URL('./runtime.js', import.meta.url));

export default function mcprove({ program, args = [] } = {}) {
  let root;
  let runs;
  return {
    name: 'mcprove',
    config(config) {
      // Lists are joined, and one of the user's stands in the place of the default.
      const include = config.test?.include ? [SUITES] : [...configDefaults.include, SUITES];
      return { test: { include, includeTaskLocation: true } };
    },
    configResolved(config) {
      root = config.root;
    },
    async transform(_, id) {
      const path = id.split('?')[0];
      if (!SUITE.test(path)) return null;
      const file = relative(root, path).split(sep).join('/');
      const command = program ? [program] : installed(root);
      const cases = await plan(command, file, root);
      // What the suite includes belongs to it.
      const files = new Set(cases.map((planned) => resolve(root, planned.file)));
      for (const one of files) if (one !== path && existsSync(one)) this.addWatchFile(one);
      runs ??= folderOfRuns();
      return { code: written({ command, args, root, runs, file, cases }), map: null };
    },
  };
}

/** The folder of the runs that workers start. Threads end without a word, so this process ends what is left in the end. */
function folderOfRuns() {
  const folder = mkdtempSync(join(tmpdir(), 'vitest-mcprove-'));
  process.on('exit', () => {
    for (const run of readdirSync(folder)) {
      const pid = join(folder, run, 'pid');
      try {
        const number = Number(readFileSync(pid, 'utf8'));
        // Zero would be every process of this one's group.
        if (number > 0) process.kill(number);
      } catch {
        // It has not begun, or ended just now.
      }
    }
    rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}

/** The command of the `mcprove` that npm installed, or that is on the path. */
function installed(root) {
  try {
    return [process.execPath, createRequire(resolve(root, 'package.json')).resolve('mcprove/bin/mcprove.js')];
  } catch {
    return ['mcprove'];
  }
}

async function plan([program, ...before], file, root) {
  try {
    const planned = await promisify(execFile)(program, [...before, 'plan', file, '--format', 'json'], {
      cwd: root,
      maxBuffer: Infinity,
    });
    return JSON.parse(planned.stdout).cases;
  } catch (error) {
    if (error.code !== 'ENOENT') throw told(error.stderr?.trim() || error.message);
    const help = 'install it with `npm install --save-dev mcprove`, or name it with `mcprove({ program: … })`';
    throw told(`error: the program \`${program}\` was not found\nhelp: ${help}`);
  }
}

/** An error that is its text alone; where it was made says nothing to those who read it. */
function told(text) {
  const error = new Error(`\n${text}`);
  error.name = 'mcprove';
  error.stack = '';
  return error;
}

/** The module of a suite: the cases are registered at their lines, those of included files at the first. */
function written(suite) {
  const lines = ["import { afterAll, test } from 'vitest';"];
  lines[0] += `import { suite } from ${JSON.stringify(RUNTIME)};`;
  lines[0] += `const add = suite({ afterAll, test }, ${JSON.stringify(suite)});`;
  for (const [at, planned] of suite.cases.entries()) {
    const line = planned.file === suite.file ? planned.line - 1 : 0;
    while (lines.length <= line) lines.push('');
    lines[line] += `add(${at});`;
  }
  return `${lines.join('\n')}\n`;
}
