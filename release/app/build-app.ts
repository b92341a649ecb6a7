/**
 * Builds what runs on a machine that has neither Node nor npm: the built package `postrider`, the packages
 * that it depends on, and a Node of its own. The container image and the Debian package hold it.
 */
import { execFileSync } from 'node:child_process'
import { copyFileSync, lutimesSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { unifyModes } from '../modes.ts'
import { buildPostrider } from '../npm/build-postrider.ts'
import { readPackageJson, root } from '../npm/project.ts'

/** As Node names them. The libraries are glibc's. */
export const ARCHS = ['x64', 'arm64'] as const
export type Arch = (typeof ARCHS)[number]

interface AppOptions {
  readonly arch: Arch
  /** Replaced. Then it holds `node`, the program; `node.LICENSE`; and `app`, the package with its node_modules. */
  readonly outDir: string
  /** With the PostgreSQL that the service starts where no other is configured. */
  readonly hasPostgres: boolean
}

/** What programs do not read. Licences stay. */
const NEEDLESS = /\.(?:map|d\.[cm]?ts|tsbuildinfo)$|^\.package-lock\.json$|^\.bin$/
/** Packages bring tests with keys and archives of their own, which scanners of images report. */
const NEEDLESS_FOLDERS = /^(?:\.github|__tests__|tests?|bench|benchmarks?|docs|examples?)$/

/** The dashboard must have been built. Needs npm and its registry. */
export async function buildApp({ arch, outDir, hasPostgres }: AppOptions): Promise<void> {
  rmSync(outDir, { recursive: true, force: true })
  const app = join(outDir, 'app')
  await buildPostrider(app)
  const omitted = hasPostgres ? ['dev'] : ['dev', 'optional']
  execFileSync(
    'npm',
    [
      ...['ci', '--ignore-scripts', '--no-audit', '--no-fund'],
      ...omitted.map((kind) => `--omit=${kind}`),
      ...['--os=linux', `--cpu=${arch}`, '--libc=glibc'],
    ],
    { cwd: app, stdio: ['ignore', 'ignore', 'inherit'] },
  )
  removeNeedless(join(app, 'node_modules'))
  fetchNode(arch, outDir)
  unifyModes(outDir)
}

/** Node's version is the one that this repository is developed with. */
function fetchNode(arch: Arch, outDir: string): void {
  const { node: version } = readPackageJson('.').dependencies ?? {}
  const temporary = mkdtempSync(join(tmpdir(), 'postrider-node-'))
  try {
    const args = ['pack', '--silent', '--pack-destination', temporary]
    execFileSync('npm', [...args, `node-linux-${arch}@${version}`], { cwd: root })
    const [archive = ''] = readdirSync(temporary)
    execFileSync('tar', ['-xzf', archive], { cwd: temporary })
    copyFileSync(join(temporary, 'package/bin/node'), join(outDir, 'node'))
    copyFileSync(join(temporary, 'package/LICENSE'), join(outDir, 'node.LICENSE'))
  } finally {
    rmSync(temporary, { recursive: true, force: true })
  }
}

function removeNeedless(dir: string): void {
  for (const entry of readdirSync(dir, { withFileTypes: true })) {
    const path = join(dir, entry.name)
    const isFolder = entry.isDirectory()
    if (NEEDLESS.test(entry.name) || (isFolder && NEEDLESS_FOLDERS.test(entry.name)))
      rmSync(path, { recursive: true })
    else if (isFolder) removeNeedless(path)
  }
}

/** Gives everything in a folder one date, in seconds since 1970, so that equal content gives equal archives. */
export function date(dir: string, seconds: number): void {
  for (const entry of readdirSync(dir, { withFileTypes: true })) {
    const path = join(dir, entry.name)
    if (entry.isDirectory()) date(path, seconds)
    else lutimesSync(path, seconds, seconds)
  }
  lutimesSync(dir, seconds, seconds)
}

/** `SOURCE_DATE_EPOCH`, or the time of the commit: in seconds since 1970. */
export function sourceDate(): number {
  const told = process.env.SOURCE_DATE_EPOCH
  if (told !== undefined && told !== '') return Number(told)
  return Number(
    execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: root, encoding: 'utf8' }).trim(),
  )
}
