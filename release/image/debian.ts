/**
 * The files of the system in the image: the C and C++ libraries that Node needs, and a shell, by which
 * PostgreSQL makes its database. They are of Debian packages, which apt fetches and whose signatures it checks.
 */
import { execFileSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Arch } from '../app/build-app.ts'
import type { DebianPackage } from '../notice/sbom.ts'

export const DEBIAN_ARCH: Readonly<Record<Arch, string>> = { x64: 'amd64', arm64: 'arm64' }

const GCC = 'GPL-3.0-or-later WITH GCC-exception-3.1'
const LICENCES: Readonly<Record<string, string>> = {
  'base-files': 'GPL-2.0-or-later',
  dash: 'BSD-3-Clause',
  libc6: 'LGPL-2.1-or-later',
  'libgcc-s1': GCC,
  'libstdc++6': GCC,
}
/** It has the licence of the two libraries of GCC. */
const GCC_BASE = /\bgcc-\d+-base\b/

/** Of what is unpacked, with all of it below `usr`. */
const KEPT = [
  /^usr\/bin\/(?:da)?sh$/,
  /^usr\/lib\/os-release$/,
  /^usr\/lib64\/ld-/,
  /^usr\/lib\/(?:[^/]+\/)?(?:ld-linux[\w-]*|lib[\w+]+)\.so[.\d]*$/,
  /^usr\/share\/doc\/[^/]+\/copyright$/,
]

/** Writes into `tree`, which may be new, and returns what is in it. */
export function addDebianFiles(arch: Arch, tree: string): DebianPackage[] {
  const work = mkdtempSync(join(tmpdir(), 'postrider-debian-'))
  try {
    const archives = download(Object.keys(LICENCES), { arch, work: join(work, 'apt') })
    const found = archives.map((archive) => unpack(archive, work, tree))
    for (const name of ['bin', 'lib', 'lib64']) {
      mkdirSync(join(tree, 'usr', name), { recursive: true })
      symlinkSync(`usr/${name}`, join(tree, name))
    }
    return found.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

/** With lists of packages of its own, so that it needs no root, and any architecture is possible. */
function download(names: readonly string[], o: { arch: Arch; work: string }): string[] {
  const at = (path: string) => join(o.work, path)
  for (const dir of ['lists/partial', 'cache/archives/partial', 'sources', 'archives'])
    mkdirSync(at(dir), { recursive: true })
  writeFileSync(at('status'), '')
  for (const name of ['debian.sources', 'ubuntu.sources']) {
    const path = join('/etc/apt/sources.list.d', name)
    if (existsSync(path)) cpSync(path, at(join('sources', name)))
  }
  const settings = {
    'APT::Architecture': DEBIAN_ARCH[o.arch],
    'APT::Architectures': DEBIAN_ARCH[o.arch],
    'APT::Sandbox::User': '',
    'Acquire::Languages': 'none',
    'Acquire::Retries': '3',
    'Dir::State': o.work,
    'Dir::State::lists': at('lists'),
    'Dir::State::status': at('status'),
    'Dir::Cache': at('cache'),
    'Dir::Etc::sourceparts': at('sources'),
  }
  const apt = (...args: readonly string[]) =>
    execFileSync(
      'apt-get',
      ['-qq', ...Object.entries(settings).map(([name, value]) => `-o${name}=${value}`), ...args],
      { cwd: at('archives'), stdio: ['ignore', 'ignore', 'inherit'] },
    )
  apt('update')
  apt('download', ...names)
  const base = archivesIn(at('archives')).map((path) => GCC_BASE.exec(field(path, 'Depends'))?.[0])
  const named = base.find((name) => name !== undefined)
  if (named !== undefined) apt('download', named)
  return archivesIn(at('archives'))
}

function archivesIn(dir: string): string[] {
  const names = readdirSync(dir).filter((name) => name.endsWith('.deb'))
  return names.sort().map((name) => join(dir, name))
}

function field(archive: string, name: string): string {
  return execFileSync('dpkg-deb', ['--field', archive, name], { encoding: 'utf8' }).trim()
}

function unpack(archive: string, work: string, tree: string): DebianPackage {
  const name = field(archive, 'Package')
  const whole = join(work, name)
  execFileSync('dpkg-deb', ['--extract', archive, whole])
  for (const entry of readdirSync(whole, { recursive: true, withFileTypes: true })) {
    const from = join(entry.parentPath, entry.name)
    const path = from.slice(whole.length + 1).replace(/^(?=(?:bin|lib|lib64)\/)/, 'usr/')
    if (entry.isDirectory() || !KEPT.some((one) => one.test(path))) continue
    mkdirSync(dirname(join(tree, path)), { recursive: true })
    cpSync(from, join(tree, path), { verbatimSymlinks: true })
  }
  // Where scanners of images look for what is installed.
  const status = join(tree, 'var/lib/dpkg/status.d', name)
  mkdirSync(dirname(status), { recursive: true })
  writeFileSync(status, execFileSync('dpkg-deb', ['--field', archive]))
  const licence = GCC_BASE.test(name) ? GCC : LICENCES[name]
  if (licence === undefined) throw new Error(`${name} has no known licence`)
  return {
    ...{ name, licence },
    version: field(archive, 'Version'),
    arch: field(archive, 'Architecture'),
  }
}
