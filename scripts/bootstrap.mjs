/**
 * Makes a clone ready to run: installs the locked packages when they are missing or older than
 * package-lock.json, and makes sure that node_modules/.bin/node is the pinned Node.
 *
 * Runs before every npm script, on whatever Node the machine has (20 or later), so it imports only
 * Node's own modules. When nothing is to be done it reads two files and ends.
 *
 * - `node_modules/.postrider-install` is written last and names the lock file and the Node it was
 *   verified with: an interrupted install is never taken for a finished one.
 * - One install at a time per clone: the lock file beside package.json is touched while its holder
 *   lives and names the npm that works, so one left by a killed holder goes stale by itself, but
 *   not before the npm which it left behind has ended.
 */
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))
const modules = join(root, 'node_modules')
const binDir = join(modules, '.bin')
const nodeBin = join(binDir, 'node')
const stampFile = join(modules, '.postrider-install')
const lockFile = join(root, '.postrider-install.lock')
const lockStaleAfterMs = 15_000
const orphanWaitMsMax = 300_000
const nodeMajorMin = 24

/** An expected failure: its message is all that the user needs. */
class SetupError extends Error {}

export async function ensureInstalled() {
  if (isInstalled()) return
  await withInstallLock(async () => {
    if (isInstalled()) return
    if (!isAsLocked()) await installPackages()
    await ensureNode()
    writeStamp()
  })
}

/** After an `npm ci` or `npm install` by hand: the same checks, without installing again. */
async function afterInstall() {
  if (!existsSync(join(modules, 'node', 'package.json'))) return
  await ensureNode()
  writeStamp()
}

function isInstalled() {
  return existsSync(nodeBin) && readText(stampFile) === stamp()
}

/** True after `npm install <package>` by hand, which brings all up to date but runs no script of ours. */
function isAsLocked() {
  const installed = readJson(join(modules, '.package-lock.json'))?.packages
  const locked = readJson(join(root, 'package-lock.json'))?.packages
  if (!installed || !locked) return false
  return Object.entries(locked).every(([path, entry]) => {
    if (!path.startsWith('node_modules/')) return true
    const found = installed[path]
    if (!found) return Boolean(entry.optional)
    return found.version === entry.version && found.integrity === entry.integrity
  })
}

function stamp() {
  const lock = createHash('sha256').update(readFileSync(join(root, 'package-lock.json')))
  return `${lock.digest('hex')} ${process.platform}-${process.arch}\n`
}

function writeStamp() {
  writeFileSync(stampFile, stamp())
}

async function installPackages() {
  console.error('Installing packages (once; about a minute) ...')
  const code = await runNpm(['ci', '--include=dev', '--loglevel=error', '--no-audit', '--no-fund'])
  if (code === 0) return
  throw new SetupError(
    'The packages could not be installed; npm says why above. Often this is the network: npm needs\n' +
      'its registry once. If package.json and package-lock.json disagree, run `npm install`.',
  )
}

/**
 * The `node` package fetches its binary in an install script. Where such scripts are off
 * (`ignore-scripts`, or npm 12 without our `allowScripts`) the script is run here instead.
 */
async function ensureNode() {
  const binary = join(modules, 'node', 'bin', 'node')
  if (!isUsableNode(binary)) {
    const script = join(modules, 'node', 'installArchSpecificPackage.js')
    if (existsSync(script)) {
      const env = { ...cleanEnv(), npm_config_loglevel: 'error', npm_config_ignore_scripts: 'true' }
      await run(process.execPath, [script], { cwd: join(modules, 'node'), env })
    }
  }
  if (isUsableNode(binary)) return linkNode(binary)
  if (Number.parseInt(process.versions.node, 10) >= nodeMajorMin) return linkNode(process.execPath)
  throw new SetupError(
    `Postrider runs on Node ${nodeMajorMin} or later. This machine has ${process.versions.node}, and\n` +
      `the pinned one from npm does not run on ${process.platform}-${process.arch}.\n` +
      `Install Node ${nodeMajorMin} and try again.`,
  )
}

function isUsableNode(binary) {
  if (!existsSync(binary)) return false
  const { status, stdout } = spawnSync(binary, ['--version'], { encoding: 'utf8' })
  return status === 0 && Number.parseInt(stdout.slice(1), 10) >= nodeMajorMin
}

function linkNode(binary) {
  if (isUsableNode(nodeBin)) return
  mkdirSync(binDir, { recursive: true })
  rmSync(nodeBin, { force: true })
  symlinkSync(binary, nodeBin)
}

/** npm is started the way it was started, not through `.bin/node`, which `npm ci` removes. */
function runNpm(args) {
  const { npm_execpath: cli, npm_node_execpath: node } = process.env
  const env = cleanEnv()
  if (cli?.endsWith('.js') && existsSync(cli)) {
    const outside = node && !node.startsWith(modules) ? node : systemNode(env.PATH)
    return run(outside, [cli, ...args], { cwd: root, env }, nameInLock)
  }
  return run('npm', args, { cwd: root, env }, nameInLock)
}

function nameInLock(pid) {
  writeFileSync(lockFile, `${pid}\n`)
}

/** The environment as it was before npm put this clone's `.bin` and its script names into it. */
function cleanEnv() {
  const env = {}
  for (const [name, value] of Object.entries(process.env))
    if (!/^npm_(lifecycle|package|command)/.test(name)) env[name] = value
  const path = (env.PATH ?? '').split(delimiter)
  env.PATH = path.filter((dir) => dir !== binDir).join(delimiter)
  return env
}

function systemNode(path) {
  const found = (path ?? '').split(delimiter).map((dir) => join(dir, 'node'))
  return found.find((file) => existsSync(file)) ?? process.execPath
}

function run(command, args, options, onStart) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['ignore', 2, 2], ...options })
    child.once('error', (cause) =>
      reject(new SetupError(`${command} could not be started: ${cause.message}`, { cause })),
    )
    child.once('close', (code) => resolve(code))
    if (child.pid) onStart?.(child.pid)
  })
}

async function withInstallLock(work) {
  await takeLock()
  const touching = setInterval(touchLock, lockStaleAfterMs / 5)
  const release = () => rmSync(lockFile, { force: true })
  const interrupted = () => {
    release()
    process.exit(130)
  }
  process.once('SIGINT', interrupted).once('SIGTERM', interrupted)
  try {
    await work()
  } finally {
    clearInterval(touching)
    process.off('SIGINT', interrupted).off('SIGTERM', interrupted)
    release()
  }
}

async function takeLock() {
  for (let told = false; ; ) {
    try {
      const file = openSync(lockFile, 'wx')
      writeSync(file, `${process.pid}\n`)
      closeSync(file)
      return
    } catch (error) {
      if (error.code !== 'EEXIST') throw notWritable(error)
    }
    if (isLockStale()) {
      rmSync(lockFile, { force: true })
      continue
    }
    if (!told) console.error('Waiting for another install in this folder ...')
    told = true
    await sleep(200)
  }
}

function isLockStale() {
  const stat = statSync(lockFile, { throwIfNoEntry: false })
  const ageMs = stat ? Date.now() - stat.mtimeMs : 0
  if (ageMs <= lockStaleAfterMs) return false
  return ageMs > orphanWaitMsMax || !isRunning(Number(readText(lockFile)))
}

function isRunning(pid) {
  if (!Number.isInteger(pid) || pid <= 0) return false
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return error.code === 'EPERM'
  }
}

function touchLock() {
  if (statSync(lockFile, { throwIfNoEntry: false })) utimesSync(lockFile, new Date(), new Date())
}

function notWritable(cause) {
  return new SetupError(
    `Packages must be installed, but ${root} cannot be written to (${cause.code}).\n` +
      'Run the command as the user who owns the clone.',
    { cause },
  )
}

function readJson(path) {
  const text = readText(path)
  return text && JSON.parse(text)
}

function readText(path) {
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined
}

/** Runs `work`; an expected failure is told without a stack. Answers whether all went well. */
export async function succeeds(work) {
  try {
    await work()
    return true
  } catch (error) {
    if (!(error instanceof SetupError)) throw error
    console.error(`\n${error.message}`)
    process.exitCode = 1
    return false
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await succeeds(process.argv.includes('--after-install') ? afterInstall : ensureInstalled)
}
