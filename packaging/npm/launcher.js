#!/usr/bin/env node
// Starts the program of this platform, which npm installed as an optional dependency.
'use strict';

const { spawn } = require('node:child_process');
const { constants } = require('node:os');

const platform = `${process.platform}-${process.arch}`;
const name = `@mcprove/${platform}`;
const known = Object.keys(require('../package.json').optionalDependencies);

function fail(...lines) {
  console.error(lines.join('\n'));
  process.exit(3);
}

function program() {
  const file = process.platform === 'win32' ? 'mcprove.exe' : 'mcprove';
  try {
    return require.resolve(`${name}/bin/${file}`);
  } catch {
    if (!known.includes(name)) {
      const platforms = known.map((one) => one.slice('@mcprove/'.length)).join(', ');
      fail(
        `error: mcprove has no package for ${platform}, only for ${platforms}`,
        'help: build it from its source with `cargo install --locked mcprove`',
      );
    }
    fail(
      `error: the package ${name}, which has the program, is not installed`,
      'help: install mcprove again without `--omit=optional` (or `--no-optional`), and on the platform that runs it:',
      '      a `node_modules` folder from another system has the program of that system',
    );
  }
}

const started = program();

const child = spawn(started, process.argv.slice(2), { stdio: 'inherit' });
// A terminal sends its Ctrl-C to both; a second one would end the run without a report.
const fromTerminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    if (signal !== 'SIGINT' || !fromTerminal) child.kill(signal);
  });
}
child.on('error', (error) => fail(`error: cannot start ${started}: ${error.message}`));
child.on('exit', (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code));
