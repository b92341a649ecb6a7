/**
 * Builds the dashboard into packages/dashboard/dist when its sources changed since the last build, and does
 * nothing otherwise. Runs before `npm start` and `npm run demo`; `npm run build` does it by hand.
 *
 * - The stamp beside index.html is a hash of all sources. It is part of the folder that takes the place of the
 *   old one when a build is complete, so nobody serves half a build.
 * - One build at a time per clone.
 * - A build that fails ends the command: a service that starts without its dashboard would hide the defect.
 *   POSTRIDER_DASHBOARD=off starts without it.
 */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompress, gzip } from 'node:zlib'
import { ensureInstalled, run, succeeds } from './bootstrap.mjs'
import { root, SetupError, withCloneLock } from './clone-lock.mjs'

const dashboard = join(root, 'packages', 'dashboard')
const dist = join(dashboard, 'dist')
const sources = [
  'package-lock.json',
  'packages/dashboard/package.json',
  'packages/dashboard/index.html',
  'packages/dashboard/vite.config.ts',
  'packages/dashboard/tsconfig.json',
  'tsconfig.json',
  'packages/dashboard/src',
  'packages/client/src',
  'packages/contract/src',
  'packages/server/src/platform/http/description/examples.json',
  'scripts/build-dashboard.mjs',
]
/** Fonts and pictures are compressed as they are. */
const compressed = new Set(['.css', '.js', '.json', '.svg'])

export async function ensureDashboard() {
  if (process.env.POSTRIDER_DASHBOARD === 'off' || isBuilt()) return
  await withCloneLock('build', async (nameWorker) => {
    if (!isBuilt()) await build(nameWorker)
  })
}

function isBuilt() {
  const stamp = join(dist, '.stamp')
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === hashSources()
}

function hashSources() {
  const hash = createHash('sha256')
  for (const file of sources.flatMap(filesOf))
    hash
      .update(`${file}\0`)
      .update(readFileSync(join(root, file)))
      .update('\0')
  return hash.digest('hex')
}

function filesOf(path) {
  if (extname(path) !== '') return [path]
  return readdirSync(join(root, path), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/\.test\.tsx?$/.test(entry.name))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name).slice(root.length))
    .sort()
}

async function build(nameWorker) {
  console.error('Building the dashboard (once; some seconds) ...')
  // Before the build: what is changed meanwhile is built next time.
  const stamp = hashSources()
  const next = `${dist}-next`
  const last = `${dist}-last`
  rmSync(next, { recursive: true, force: true })
  const vite = join(root, 'node_modules', 'vite', 'bin', 'vite.js')
  const args = [vite, 'build', '--outDir', next, '--emptyOutDir', '--logLevel', 'warn']
  const node = join(root, 'node_modules', '.bin', 'node')
  // Tests have another one, with which the libraries are built for development.
  const env = { ...process.env, NODE_ENV: 'production' }
  if ((await run(node, args, { cwd: dashboard, env }, nameWorker)) !== 0)
    throw new SetupError(
      'The dashboard could not be built; Vite says why above. POSTRIDER_DASHBOARD=off starts without it.',
    )
  await compress(join(next, 'assets'))
  writeFileSync(join(next, '.stamp'), stamp)
  rmSync(last, { recursive: true, force: true })
  if (existsSync(dist)) renameSync(dist, last)
  renameSync(next, dist)
  rmSync(last, { recursive: true, force: true })
}

async function compress(folder) {
  const files = readdirSync(folder).filter((name) => compressed.has(extname(name)))
  await Promise.all(
    files.map(async (name) => {
      const bytes = readFileSync(join(folder, name))
      const copies = [
        ['.br', await promisify(brotliCompress)(bytes)],
        ['.gz', await promisify(gzip)(bytes, { level: 9 })],
      ]
      for (const [suffix, copy] of copies)
        if (copy.length < bytes.length) writeFileSync(join(folder, name + suffix), copy)
    }),
  )
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  await succeeds(async () => {
    await ensureInstalled()
    await ensureDashboard()
  })
