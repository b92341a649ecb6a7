/**
 * Builds the published package `postrider`: the bundle, the files that the service reads, and a package.json
 * with exact versions of what is not bundled.
 */
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join, posix } from 'node:path'
import { packageFacts } from '../../scripts/package-facts.ts'
import { bundleService } from './bundle.ts'
import { readCommit, readPackageJson, root, toJson } from './project.ts'
import { writeShrinkwrap } from './shrinkwrap.ts'

/** The oldest that all dependencies run on. */
const NODE = '>=22.19.0'

/** The packages whose code is bundled: what they depend on is what the published package depends on. */
const BUNDLED = ['server', 'contract', 'embedded-postgres', 'mail', 'runtime'].map(
  (name) => `packages/${name}`,
)

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
  const { modules, packages } = await bundleService({
    entry: 'packages/server/src/cli-main.ts',
    files: new Map(files.map(({ from, to }) => [from, posix.join('../', to)])),
  })
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
  if (existsSync(join(root, 'NOTICE'))) write(join(outDir, 'NOTICE'), undefined, 'NOTICE')
  write(join(outDir, 'commit'), `${readCommit()}\n`)
  const { manifest, at } = describe(packages)
  write(join(outDir, 'package.json'), toJson(manifest))
  write(join(outDir, 'npm-shrinkwrap.json'), toJson(writeShrinkwrap(manifest, at)))
}

function write(path: string, text: string | undefined, from = ''): void {
  mkdirSync(dirname(path), { recursive: true })
  if (text === undefined) copyFileSync(join(root, from), path)
  else writeFileSync(path, text)
}

/** Package.json, and where in the repository each dependency is from. */
function describe(packages: readonly string[]) {
  const declared = BUNDLED.flatMap((folder) => {
    const { dependencies = {} } = readPackageJson(folder)
    return Object.entries(dependencies).map(([name, exact]) => ({ name, exact, folder }))
  })
  const found = packages.map((name) => {
    const one = declared.find((candidate) => candidate.name === name)
    if (one === undefined) throw new Error(`${name} is imported, and no package.json has it`)
    return one
  })
  const embedded = 'packages/embedded-postgres'
  const { optionalDependencies = {} } = readPackageJson(embedded)
  const manifest = {
    ...packageFacts('.'),
    type: 'module',
    bin: { postrider: './bin/postrider.cjs' },
    exports: { './package.json': './package.json' },
    // All of it: package.json, README and LICENSE are part of every package.
    files: [
      ...['bin', 'lib', 'migrations', 'dashboard', 'reference', 'examples.json'],
      ...['commit', 'NOTICE', 'npm-shrinkwrap.json'],
    ],
    engines: { node: NODE },
    dependencies: Object.fromEntries(found.map(({ name, exact }) => [name, exact])),
    optionalDependencies,
  }
  const at = new Map(found.map(({ name, folder }) => [name, folder]))
  for (const name of Object.keys(optionalDependencies)) at.set(name, embedded)
  return { manifest, at }
}
