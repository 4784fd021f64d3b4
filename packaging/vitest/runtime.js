// Runs the selected cases of a suite with one `mcprove run`, and reads from its reports how each ended.

import { spawn } from 'node:child_process';
import { renameSync, writeFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';

// Of a group of cases, so many failures are quoted.
const QUOTED = 5;
// What only a run of all cases can say: that nothing was judged, and that a threshold was missed.
const OF_THE_WHOLE_SUITE = [4, 6];
const ENTITIES = { __proto__: null, lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };

export function suite({ afterAll, test }, options) {
  const added = [];
  let running;
  // The first test that runs knows which others will, and runs them all.
  const run = ({ task, signal }) => {
    const selected = added.filter((_, at) => !['skip', 'todo'].includes(task.file.tasks[at].mode));
    running ??= execute(options, selected, signal);
    return running;
  };
  afterAll(async () => {
    const problem = running && problemOf(await running);
    if (problem) throw failure(problem);
  });
  const hasTargets = new Set(options.cases.map(({ server, revision }) => `${server}/${revision}`)).size > 1;
  return (at) => {
    const planned = options.cases[at];
    added.push(planned);
    const row = planned.row === null ? '' : ` [${planned.row}]`;
    const target = hasTargets ? ` @${planned.server}/${planned.revision}` : '';
    // mcprove has time limits of its own.
    test(`${planned.name}${row}${target}`, { timeout: 0 }, async (context) => judge(context, planned, await run(context)));
  };
}

async function execute({ command, args, root, runs, file, cases }, selected, signal) {
  const folder = await mkdtemp(join(runs, 'run-'));
  try {
    const [ndjson, junit] = [join(folder, 'ndjson'), join(folder, 'junit')];
    const isWhole = selected.length === cases.length;
    const only = isWhole ? [] : ['--filter', `id(/^(?:${selected.map(pattern).join('|')})$/)`];
    const reports = ['--report', `ndjson=${ndjson}`, '--report', `junit=${junit}`];
    const line = [...command, 'run', file, ...reports, ...only, ...args];
    const { code, output } = await ended(line, root, folder, signal);
    const [events, texts] = [await eventsIn(ndjson), await textsIn(junit)];
    const results = events.flatMap((event) => event['case-finished'] ?? []);
    for (const result of results) {
      result.text = texts.get(result.case.id) ?? '';
      texts.delete(result.case.id);
      result.planned = cases.find((planned) => isOf(result.case, planned));
    }
    // What a server did outside of any case.
    const beside = [...texts.values(), ...results.filter((one) => !one.planned && isRed(one)).map(({ text }) => text)];
    const summary = `\`mcprove run\` ended with ${code}\n\n${output.trimEnd()}`;
    const hasEnded = events.some((event) => event['run-finished']);
    return { code, summary, results, beside, isWhole, hasEnded };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Runs a program to its end, or until the tests are cancelled; its number is in the folder while it runs. */
function ended([program, ...args], root, folder, signal) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    if (child.pid) {
      // It appears with its number in it.
      writeFileSync(join(folder, 'pid.new'), String(child.pid));
      renameSync(join(folder, 'pid.new'), join(folder, 'pid'));
    }
    signal?.addEventListener('abort', () => child.kill());
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => (output += text));
    }
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code: code ?? signal, output }));
  });
}

async function judge(context, planned, run) {
  const results = run.results.filter((result) => result.planned === planned);
  const of = (outcome) => results.filter((result) => result.outcome === outcome);
  const red = results.filter(isRed);
  if (red.length > 0) {
    const count = results.length > 1 ? [`${red.length} of ${results.length} cases failed`] : [];
    const quoted = red.slice(0, QUOTED).map(({ text }) => text.trim());
    const more = red.slice(QUOTED).map((result) => `✗ ${result.case.name}`);
    throw failure([...count, ...quoted, more.join('\n')].filter(Boolean).join('\n\n'));
  }
  if (!run.hasEnded && results.length === 0) {
    const text = run.summary;
    run.summary = '`mcprove run` ended before this case; its output is shown at the first one that it did not reach';
    throw failure(text);
  }
  const [doubtful, known] = [of('inconclusive'), of('failed')];
  if (doubtful.length > 0) context.skip(`not judged: ${reason(doubtful[0])}`);
  if (known.length > 0) context.skip(`known failure: ${known[0].findings[0].baseline_reason}`);
  if (of('passed').length + of('warned').length === 0) {
    context.skip(results.length > 0 ? reason(results[0]) : 'the run made no case of this one, or ended before it');
  }
  for (const result of results) {
    const { earlier } = result;
    if (earlier.length > 0) await context.annotate?.(`flaky: attempt ${earlier.length + 1} passed; before: ${reason(earlier.at(-1))}`, 'warning');
    else if (result.outcome === 'warned') await context.annotate?.(reason(result), 'warning');
  }
}

/** What is wrong with the run as a whole; nothing where a case failed for it. */
function problemOf({ code, summary, results, beside, isWhole, hasEnded }) {
  if (!hasEnded) return null;
  if (beside.length > 0) return beside.join('\n');
  const isTold = [1, 3].includes(code) && results.some(isRed);
  return code === 0 || isTold || (!isWhole && OF_THE_WHOLE_SUITE.includes(code)) ? null : summary;
}

/** A regular expression for the ids of a case, or of the cases that it becomes. */
function pattern({ id, expands }) {
  const at = id.lastIndexOf('@');
  const parts = `${id.slice(0, at)}${expands ? '{{}}' : ''}${id.slice(at)}`.split(/\{\{.*?\}\}/);
  // Any character stands for one that may mean something in an expression or a filter.
  return parts.map((part) => part.replace(/[^\p{L}\p{N} ]/gu, '.')).join('.*');
}

function isOf(info, planned) {
  if (info.id === planned.id) return true;
  const isThere = ['file', 'line', 'column'].every((key) => info[key] === planned[key]);
  return planned.expands && isThere && new RegExp(`^${pattern(planned)}$`, 'u').test(info.id);
}

function isRed({ outcome, findings }) {
  const musts = findings.filter(({ level }) => level === 'must');
  const isKnown = musts.length > 0 && musts.every((finding) => finding.baseline_reason);
  return outcome === 'errored' || (outcome === 'failed' && !isKnown);
}

/** Why a case ended as it did, in a sentence. */
function reason({ reason, findings, outcome }) {
  return reason?.text || findings.map(({ message }) => message).join('; ') || outcome;
}

/** An error that is its text alone: no frame of this file says anything to those who read it. */
function failure(text) {
  const error = new Error(`\n${text.trim()}`);
  error.name = 'mcprove';
  error.stack = '';
  return error;
}

/** The events of a run; the last line of one that was killed may lack its end. */
async function eventsIn(path) {
  const events = [];
  try {
    for (const line of (await readFile(path, 'utf8')).split('\n')) if (line) events.push(JSON.parse(line));
  } catch {
    // What came before is there.
  }
  return events;
}

/** The texts of cases that did not pass, by their ids, as a terminal shows them. */
async function textsIn(path) {
  const xml = await readFile(path, 'utf8').catch(() => '');
  const texts = new Map();
  for (const [element] of xml.matchAll(/<testcase\b[\s\S]*?<\/testcase>/g)) {
    const id = element.match(/<property name="id" value="([^"]*)"/)?.[1];
    const text = element.match(/<(failure|error|skipped)\b[^>]*[^/]>([\s\S]*?)<\/\1>/)?.[2];
    if (id && text) texts.set(plain(id), plain(text));
  }
  return texts;
}

/** What a text of XML stands for. */
function plain(text) {
  return text.replace(/&(?:#x([0-9a-f]+)|#(\d+)|(\w+));/gi, (entity, hex, decimal, name) => {
    if (name) return ENTITIES[name] ?? entity;
    return String.fromCodePoint(hex ? parseInt(hex, 16) : Number(decimal));
  });
}
