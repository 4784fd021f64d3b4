// Runs folders of mcp-assert's assertions twice, with mcp-assert and converted with mcprove, and compares every verdict:
//   MCPROVE=target/debug/mcprove MCP_ASSERT=mcp-assert node tests/real/convert-verdicts.mjs FOLDER...
// Prints a row for each folder, each verdict that differs, and the sums. `fixtures` in a folder is its fixture. A folder
// none of whose tests reaches its server says nothing and is not counted. What differs is run once more by itself, since
// some servers ask the network.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'

const mcprove = program(process.env.MCPROVE ?? 'mcprove')
const mcpAssert = program(process.env.MCP_ASSERT ?? 'mcp-assert')
const work = mkdtempSync(join(tmpdir(), 'convert-'))
const sums = { tests: 0, passed: 0, warned: 0, failed: 0, skipped: 0, different: 0 }

console.log('| folder | tests | pass with both | of these with a warning of mcprove | fail with both | skipped with both | differ |')
console.log('| --- | --- | --- | --- | --- | --- | --- |')
const notes = []
let folders = 0
try {
  for (const folder of process.argv.slice(2)) compareFolder(resolve(folder))
} finally {
  rmSync(work, { recursive: true, force: true })
}
row(`all ${folders}`, sums)
for (const line of notes) console.log(line)

function program(name) {
  return name.includes('/') ? resolve(name) : name
}

function compareFolder(folder) {
  const files = assertions(folder)
  const pairs = verdicts(folder, join(folder, 'fixtures'), files)
  if (!pairs.some((pair) => pair.theirs !== 'SKIP' && !pair.isUnstarted)) {
    notes.push(`not counted: ${basename(folder)}: ${pairs[0].detail || 'all are skipped'}`)
    return
  }
  const counts = { tests: pairs.length, passed: 0, warned: 0, failed: 0, skipped: 0, different: 0 }
  pairs.forEach((pair, at) => {
    const last = isSame(pair) ? pair : verdicts(files[at], join(folder, 'fixtures'), [files[at]])[0]
    const note = `${basename(folder)}: ${last.name}: mcp-assert ${last.theirs} ${last.detail}; mcprove ${last.ours} ${last.reason}`
    if (!isSame(last)) {
      counts.different += 1
      notes.push(`differs: ${note}`)
      return
    }
    counts[{ PASS: 'passed', FAIL: 'failed', SKIP: 'skipped' }[last.theirs]] += 1
    if (last.ours === 'warned') {
      counts.warned += 1
      notes.push(`warned: ${note}`)
    }
  })
  row(basename(folder), counts)
  folders += 1
  for (const key of Object.keys(counts)) sums[key] += counts[key]
}

function row(name, { tests, passed, warned, failed, skipped, different }) {
  console.log(`| ${name} | ${tests} | ${passed} | ${warned} | ${failed} | ${skipped} | ${different} |`)
}

// A warning is no failure: mcprove ends with 0.
function isSame({ theirs, ours }) {
  const asTheirs = { passed: 'PASS', warned: 'PASS', failed: 'FAIL', errored: 'FAIL', skipped: 'SKIP' }
  return asTheirs[ours] === theirs
}

// The files of a folder in the order in which both programs read them.
function assertions(folder) {
  const isYaml = (name) => /\.ya?ml$/.test(name)
  return readdirSync(folder, { withFileTypes: true })
    .sort((one, other) => (one.name < other.name ? -1 : 1))
    .flatMap((entry) => {
      if (!entry.isDirectory()) return isYaml(entry.name) ? [join(folder, entry.name)] : []
      const inner = join(folder, entry.name)
      return readdirSync(inner).sort().filter(isYaml).map((name) => join(inner, name))
    })
}

// Both verdicts of each test.
function verdicts(suite, fixture, files) {
  const fixtures = existsSync(fixture) ? ['--fixture', fixture] : []
  const theirs = runTheirs(suite, fixtures)
  const ours = runOurs(suite, fixtures)
  return files.map((_, at) => {
    const { name, status, detail = '' } = theirs[at]
    const { outcome = 'missing', reason = null, findings = [] } = ours.get(at) ?? {}
    return {
      name,
      theirs: status,
      ours: outcome,
      detail: oneLine(detail),
      reason: oneLine(findings.map((finding) => `${finding.code}: ${finding.message}`).join('; ') || String(reason ?? '')),
      isUnstarted: /^(failed to start MCP server|MCP initialize failed)/.test(detail),
    }
  })
}

function runTheirs(suite, fixtures) {
  const { stdout } = start(mcpAssert, ['run', '--suite', suite, ...fixtures, '--timeout', '60s', '--json'])
  return JSON.parse(stdout.slice(stdout.search(/^\[/m)))
}

// The cases of the converted suite, by the place of their test.
function runOurs(suite, fixtures) {
  const file = join(work, 'suite.yml')
  const report = join(work, 'report.json')
  const { stdout, stderr, status } = start(mcprove, ['convert', suite, ...fixtures])
  if (status !== 0) throw new Error(`${suite}: ${stderr}`)
  writeFileSync(file, withWholeEnvironment(stdout))
  rmSync(report, { force: true })
  const run = start(mcprove, ['run', file, '--report', `json=${report}`])
  if (!existsSync(report)) throw new Error(`${suite}: ${run.stderr}`)
  const cases = JSON.parse(readFileSync(report, 'utf8')).suites.flatMap((suite) => suite.cases)
  return new Map(cases.map((each) => [each.case.position[0], each]))
}

// mcp-assert passes its whole environment to servers, so that proxies and certificates of this machine count.
function withWholeEnvironment(text) {
  const [head, ...tests] = text.split('\ntests:\n')
  const open = head
    .replaceAll('{ command: ', '{ inherit_env: true, command: ')
    .replaceAll(/^( +)command:/gm, '$1inherit_env: true\n$1command:')
  return [open, ...tests].join('\ntests:\n')
}

function start(command, words) {
  const done = spawnSync(command, words, { cwd: work, encoding: 'utf8', maxBuffer: 1 << 28 })
  if (done.error) throw done.error
  return done
}

function oneLine(text) {
  return text.replaceAll(/\s+/g, ' ').slice(0, 300)
}
