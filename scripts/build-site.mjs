/**
 * Builds the site of the documents into `dist/site`, or into the folder that the command names. Astro and
 * what it needs are no part of the project's own packages: they are installed in `site/` by the first build.
 */
import { createHash } from 'node:crypto'
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ensureInstalled, run, runNpm, succeeds } from './bootstrap.mjs'
import { root, SetupError, withCloneLock } from './clone-lock.mjs'

const site = join(root, 'site')
const node = join(root, 'node_modules', '.bin', 'node')

/** @param out an absolute path; what is in it is replaced */
async function buildSite(out) {
  await withCloneLock('site', async (nameWorker) => {
    await installPackages(nameWorker)
    await ends([join(site, 'write-pages.ts')], {}, nameWorker)
    const astro = join(site, 'node_modules', 'astro', 'bin', 'astro.mjs')
    const env = { ASTRO_TELEMETRY_DISABLED: '1', NODE_ENV: 'production' }
    await ends([astro, 'build', '--silent'], env, nameWorker)
    // Starlight ends Pagefind before the last file of its index is surely written. Pagefind's own command waits.
    const pagefind = join(site, 'node_modules', 'pagefind', 'lib', 'runner', 'bin.cjs')
    await ends([pagefind, '--site', '.dist', '--silent'], {}, nameWorker)
    // Astro moves files into its folder, which works on one disk only.
    rmSync(out, { recursive: true, force: true })
    cpSync(join(site, '.dist'), out, { recursive: true })
  })
}

/** Without variables of the caller: a test runner's `DEV` would build what is for development. */
async function ends(args, more, nameWorker) {
  const { PATH, HOME, TMPDIR } = process.env
  const env = { PATH, HOME, ...(TMPDIR === undefined ? {} : { TMPDIR }), ...more }
  const code = await run(node, args, { cwd: site, env }, nameWorker)
  if (code !== 0) throw new SetupError('The site could not be built; the reason is above.')
}

/** The stamp is written last: an interrupted install is never taken for a finished one. */
async function installPackages(nameWorker) {
  const stampFile = join(site, 'node_modules', '.postrider-install')
  const lock = readFileSync(join(site, 'package-lock.json'))
  const stamp = `${createHash('sha256').update(lock).digest('hex')} ${process.platform}-${process.arch}\n`
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp) return
  console.error('Installing the packages of the site (once; half a minute) ...')
  if ((await runNpm(['ci', '--loglevel=error'], nameWorker, site)) !== 0)
    throw new SetupError('The packages of the site could not be installed; npm says why above.')
  writeFileSync(stampFile, stamp)
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  await succeeds(async () => {
    await ensureInstalled()
    if (process.argv[2] === '--install-only') return await withCloneLock('site', installPackages)
    const out = resolve(process.argv[2] ?? join(root, 'dist', 'site'))
    await buildSite(out)
    console.error(`The site is in ${out}.`)
  })
