/**
 * The lock file of a published package: the part of this repository's lock file that the package needs. So its
 * users install the versions that were tested, also of what its dependencies depend on.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type PackageJson, root } from './project.ts'

interface LockEntry {
  readonly version: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
  readonly [key: string]: unknown
}

type Lock = Readonly<Record<string, LockEntry>>
type PlacedEntry = LockEntry & { optional?: true }

/** @param at by the name of each direct dependency, the folder of the repository that depends on it */
export function writeShrinkwrap(
  manifest: PackageJson & Readonly<Record<string, unknown>>,
  at: ReadonlyMap<string, string>,
): object {
  const lock = readLock()
  const placed = new Map<string, PlacedEntry>()
  /** Required packages come first, so that only what nothing requires is optional. */
  for (const isOptional of [false, true]) {
    const names = Object.keys(
      (isOptional ? manifest.optionalDependencies : manifest.dependencies) ?? {},
    )
    const waiting = names.map((name) => ({ name, from: at.get(name) ?? '', under: '', isOptional }))
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const source = find(next.name, next.from, (path) => path in lock)
      const entry = source === undefined ? undefined : lock[source]
      if (source === undefined || entry === undefined) {
        if (next.isOptional) continue
        throw new Error(`package-lock.json lacks ${next.name}, which ${next.from} needs`)
      }
      const seen = find(next.name, next.under, (path) => placed.has(path))
      if (seen !== undefined && placed.get(seen)?.version === entry.version) continue
      const path = `${seen === undefined || next.under === '' ? '' : `${next.under}/`}node_modules/${next.name}`
      placed.set(path, toPlaced(entry, next.isOptional))
      for (const { name, optional } of needsOf(entry))
        waiting.push({ name, from: source, under: path, isOptional: next.isOptional || optional })
    }
  }
  const { name, version, license, engines, bin, dependencies, optionalDependencies } = manifest
  const self = { name, version, license, dependencies, optionalDependencies, bin, engines }
  const packages = [...placed].toSorted(([a], [b]) => (a < b ? -1 : 1))
  return {
    ...{ name, version, lockfileVersion: 3, requires: true },
    packages: { '': self, ...Object.fromEntries(packages) },
  }
}

function readLock(): Lock {
  return JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages
}

/** As Node looks for it: in `node_modules` of the folder, then of each folder above. */
function find(name: string, from: string, isThere: (path: string) => boolean): string | undefined {
  for (let folder = from; ; ) {
    const path = `${folder === '' ? '' : `${folder}/`}node_modules/${name}`
    if (isThere(path)) return path
    if (folder === '') return undefined
    const above = folder.lastIndexOf('/node_modules/')
    folder = above === -1 ? '' : folder.slice(0, above)
  }
}

function needsOf(entry: LockEntry): { readonly name: string; readonly optional: boolean }[] {
  const peers = Object.keys(entry.peerDependencies ?? {})
  const isWanted = (name: string) => entry.peerDependenciesMeta?.[name]?.optional !== true
  const optional = Object.keys(entry.optionalDependencies ?? {})
  return [
    ...Object.keys(entry.dependencies ?? {}).filter((name) => !optional.includes(name)),
    ...peers.filter(isWanted),
  ]
    .map((name) => ({ name, optional: false }))
    .concat(optional.map((name) => ({ name, optional: true })))
}

function toPlaced(entry: LockEntry, isOptional: boolean): PlacedEntry {
  const { dev: _dev, devOptional: _devOptional, optional: _optional, peer: _peer, ...rest } = entry
  return isOptional ? { ...rest, optional: true } : rest
}
