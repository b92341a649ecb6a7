/**
 * Builds the Debian package: the program with its own Node and PostgreSQL, its unit, its settings and its
 * user. Equal commits give equal bytes.
 */
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { packageFacts } from '../../scripts/package-facts.ts'
import { type Arch, buildApp, date, sourceDate } from '../app/build-app.ts'
import { readPackageJson, root } from '../npm/project.ts'

const files = fileURLToPath(new URL('files/', import.meta.url))
const DEBIAN_ARCH: Readonly<Record<Arch, string>> = { x64: 'amd64', arm64: 'arm64' }

interface DebOptions {
  readonly arch: Arch
  readonly outDir: string
  /** Of the packages, as npm writes it. */
  readonly version?: string
  /** What `buildApp` has made for this architecture; not given, it is made. */
  readonly app?: string
}

/** @returns the path of the package in `outDir` */
export async function buildDeb({ arch, outDir, app, ...rest }: DebOptions): Promise<string> {
  // Modes of folders do not depend on who builds.
  process.umask(0o022)
  const version = toDebianVersion(rest.version ?? readPackageJson('.').version)
  const work = mkdtempSync(join(tmpdir(), 'postrider-deb-'))
  try {
    const tree = join(work, 'tree')
    const lib = join(tree, 'usr/lib/postrider')
    if (app === undefined) await buildApp({ arch, outDir: lib, hasPostgres: true })
    else cpSync(app, lib, { recursive: true, verbatimSymlinks: true })
    place('postrider', join(tree, 'usr/bin/postrider'), 0o755)
    place('postrider.service', join(tree, 'usr/lib/systemd/system/postrider.service'))
    place('postrider.env', join(tree, 'etc/postrider/postrider.env'), 0o640)
    writeDocuments(join(tree, 'usr/share/doc/postrider'), { lib, version })
    const manual = gzipSync(readFileSync(join(files, 'postrider.1')), { level: 9 })
    write(join(tree, 'usr/share/man/man1/postrider.1.gz'), manual)
    writeControl(join(tree, 'DEBIAN'), { arch, version, installedKiB: kibibytes(tree) })
    const seconds = sourceDate()
    date(tree, seconds)
    mkdirSync(outDir, { recursive: true })
    const path = join(outDir, `postrider_${version}_${DEBIAN_ARCH[arch]}.deb`)
    execFileSync('dpkg-deb', ['--root-owner-group', '-Zzstd', '-z10', '--build', tree, path], {
      env: { ...process.env, SOURCE_DATE_EPOCH: String(seconds) },
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    return path
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

/** A candidate comes before its release: `1.0.0-rc.1` is `1.0.0~rc.1`. */
export function toDebianVersion(version: string): string {
  return version.replace('-', '~')
}

function place(name: string, path: string, mode = 0o644): void {
  mkdirSync(dirname(path), { recursive: true })
  copyFileSync(join(files, name), path)
  chmodSync(path, mode)
}

function write(path: string, content: string | Uint8Array): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
  chmodSync(path, 0o644)
}

function writeDocuments(dir: string, o: { lib: string; version: string }): void {
  const notice = readFileSync(join(root, 'NOTICE'), 'utf8')
  const ofNode = readFileSync(join(o.lib, 'node.LICENSE'), 'utf8')
  rmSync(join(o.lib, 'node.LICENSE'))
  write(
    join(dir, 'copyright'),
    [
      'Postrider is under the Apache License, Version 2.0: /usr/share/common-licenses/Apache-2.0.',
      `What else this package contains:\n\n${notice.trimEnd()}`,
      `Node.js, /usr/lib/postrider/node:\n\n${ofNode.trimEnd()}\n`,
    ].join('\n\n'),
  )
  const entry = `postrider (${o.version}) stable; urgency=medium\n\n  * What changed: /usr/share/doc/postrider/CHANGELOG.md.gz\n\n -- ${packageFacts('.').author}  ${new Date(sourceDate() * 1_000).toUTCString().replace('GMT', '+0000')}\n`
  write(join(dir, 'changelog.gz'), gzipSync(entry, { level: 9 }))
  write(
    join(dir, 'CHANGELOG.md.gz'),
    gzipSync(readFileSync(join(root, 'CHANGELOG.md')), { level: 9 }),
  )
  write(join(dir, 'config.md'), readFileSync(join(root, 'docs/config.md')))
}

interface Control {
  readonly arch: Arch
  readonly version: string
  readonly installedKiB: number
}

function writeControl(dir: string, { arch, version, installedKiB }: Control): void {
  for (const script of ['postinst', 'prerm', 'postrm']) place(script, join(dir, script), 0o755)
  write(join(dir, 'conffiles'), '/etc/postrider/postrider.env\n')
  const { description, homepage, author } = packageFacts('.')
  const fields = {
    Package: 'postrider',
    Version: version,
    Architecture: DEBIAN_ARCH[arch],
    Maintainer: author,
    'Installed-Size': installedKiB,
    Depends: 'adduser, init-system-helpers (>= 1.54), libc6 (>= 2.28), libgcc-s1, libstdc++6',
    Recommends: 'ca-certificates',
    Section: 'mail',
    Priority: 'optional',
    Homepage: homepage,
    Description: `${description}\n It has its own Node.js and, where no other database is configured, its own PostgreSQL.`,
  }
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\n`)
  write(join(dir, 'control'), lines.join(''))
}

function kibibytes(dir: string): number {
  const sizes = readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => Math.ceil(statSync(join(entry.parentPath, entry.name)).size / 1024))
  return sizes.reduce((sum, one) => sum + one, 0)
}
