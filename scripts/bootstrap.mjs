/**
 * Makes a clone ready to run: installs the locked packages when they are missing or older than
 * package-lock.json, and makes sure that node_modules/.bin/node is the pinned Node.
 *
 * Runs before every npm script, on whatever Node the machine has (20 or later), so it imports only
 * Node's own modules. When nothing is to be done it reads two files and ends.
 *
 * - `node_modules/.postrider-install` is written last and names the lock file and the Node it was
 *   verified with: an interrupted install is never taken for a finished one.
 * - One install at a time per clone, by a lock file beside package.json.
 */
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { root, SetupError, withCloneLock } from './clone-lock.mjs'

const modules = join(root, 'node_modules')
const binDir = join(modules, '.bin')
const nodeBin = join(binDir, 'node')
const stampFile = join(modules, '.postrider-install')
const nodeMajorMin = 24

export async function ensureInstalled() {
  if (isInstalled()) return
  await withCloneLock('install', async (nameWorker) => {
    if (isInstalled()) return
    if (!isAsLocked()) await installPackages(nameWorker)
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

async function installPackages(nameWorker) {
  console.error('Installing packages (once; one to three minutes) ...')
  const code = await runNpm(
    ['ci', '--include=dev', '--loglevel=error', '--no-audit', '--no-fund'],
    nameWorker,
  )
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
/** npm as it was called, or as the machine has it, in a folder of the clone. */
export function runNpm(args, onStart, cwd = root) {
  const { npm_execpath: cli, npm_node_execpath: node } = process.env
  const env = cleanEnv()
  if (cli?.endsWith('.js') && existsSync(cli)) {
    const outside = node && !node.startsWith(modules) ? node : systemNode(env.PATH)
    return run(outside, [cli, ...args], { cwd, env }, onStart)
  }
  return run('npm', args, { cwd, env }, onStart)
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

export function run(command, args, options, onStart) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['ignore', 2, 2], ...options })
    child.once('error', (cause) =>
      reject(new SetupError(`${command} could not be started: ${cause.message}`, { cause })),
    )
    child.once('close', (code) => resolve(code))
    if (child.pid) onStart?.(child.pid)
  })
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
