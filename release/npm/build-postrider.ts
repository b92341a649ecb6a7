/**
 * Builds the published package `postrider`: the bundle, the files that the service reads, the list of its parts
 * with their licences, and a package.json that asks for the embedded PostgreSQL of the machine.
 */
import { chmodSync, copyFileSync, cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, posix } from 'node:path'
import { packageFacts } from '../../scripts/package-facts.ts'
import { placesOf, readLock } from '../notice/packages.ts'
import { describePackage } from '../notice/sbom.ts'
import { bundleService } from './bundle.ts'
import { readCommit, readPackageJson, root, toJson } from './project.ts'
import { writeShrinkwrap } from './shrinkwrap.ts'

/** The oldest that all dependencies run on. */
const NODE = '>=22.19.0'

/** Scanners find it by this name, also within an image. */
const SBOM = 'sbom.cdx.json'

interface NamedFile {
  readonly from: string
  readonly to: string
  /** Not said: the package's own files are beside it by themselves. */
  readonly copied?: (path: string) => boolean
}

const everything = () => true
const files: readonly NamedFile[] = [
  { from: 'packages/server/', to: '' },
  { from: 'packages/server/migrations/', to: 'migrations/', copied: everything },
  {
    from: 'packages/server/src/platform/http/reference/',
    to: 'reference/',
    copied: (path) => /\.(css|js)$/.test(path),
  },
  {
    from: 'packages/server/src/platform/http/description/examples.json',
    to: 'examples.json',
    copied: everything,
  },
  {
    from: 'packages/dashboard/dist/',
    to: 'dashboard/',
    copied: (path) => basename(path) !== '.stamp',
  },
]

/** Replaces what `outDir` holds. The dashboard must have been built. */
export async function buildPostrider(outDir: string): Promise<void> {
  rmSync(outDir, { recursive: true, force: true })
  const { modules, contained } = await bundleService({
    entry: 'packages/server/src/cli-main.ts',
    files: new Map(files.map(({ from, to }) => [from, posix.join('../', to)])),
  })
  checkNamed(contained)
  for (const [name, code] of modules) write(join(outDir, 'lib', name), code)
  for (const { from, to, copied } of files)
    if (copied !== undefined)
      cpSync(join(root, from), join(outDir, to), {
        recursive: true,
        filter: (path) => !/\.\w+$/.test(path) || copied(path),
      })
  write(join(outDir, 'bin/postrider.cjs'), undefined, 'release/npm/postrider.cjs')
  chmodSync(join(outDir, 'bin/postrider.cjs'), 0o755)
  write(join(outDir, 'README.md'), undefined, 'release/npm/postrider.md')
  write(join(outDir, 'LICENSE'), undefined, 'LICENSE')
  write(join(outDir, 'NOTICE'), undefined, 'NOTICE')
  write(join(outDir, SBOM), toJson(describePackage()))
  write(join(outDir, 'commit'), `${readCommit()}\n`)
  const manifest = manifestOf()
  write(join(outDir, 'package.json'), toJson(manifest))
  write(join(outDir, 'npm-shrinkwrap.json'), toJson(writeShrinkwrap(manifest)))
}

function write(path: string, text: string | undefined, from = ''): void {
  mkdirSync(dirname(path), { recursive: true })
  if (text === undefined) copyFileSync(join(root, from), path)
  else writeFileSync(path, text)
}

/** Code of others needs its licence beside it, and its version known: NOTICE and the list of parts have both. */
function checkNamed(contained: readonly string[]): void {
  const named = new Set(placesOf(readLock(root)))
  const unnamed = contained.filter((place) => !named.has(place))
  if (unnamed.length > 0) throw new Error(`NOTICE does not name ${unnamed.join(', ')}`)
}

function manifestOf() {
  return {
    ...packageFacts('.'),
    type: 'module',
    bin: { postrider: './bin/postrider.cjs' },
    exports: { './package.json': './package.json' },
    // All of it: package.json, README and LICENSE are part of every package.
    files: [
      ...['bin', 'lib', 'migrations', 'dashboard', 'reference', 'examples.json'],
      ...['commit', 'NOTICE', SBOM, 'npm-shrinkwrap.json'],
    ],
    engines: { node: NODE },
    optionalDependencies: readPackageJson('packages/embedded-postgres').optionalDependencies ?? {},
  }
}
