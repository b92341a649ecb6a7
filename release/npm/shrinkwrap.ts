/**
 * The lock file of a published package: the entries of this repository's lock file for its optional dependencies.
 * So its users install the bytes that were tested.
 */
import { readLock } from '../notice/packages.ts'
import { type PackageJson, root } from './project.ts'

export function writeShrinkwrap(manifest: PackageJson & Readonly<Record<string, unknown>>): object {
  const lock = readLock(root)
  const { name, version, license, engines, bin, optionalDependencies = {} } = manifest
  const packages = Object.keys(optionalDependencies).map((wanted) => {
    const path = `node_modules/${wanted}`
    const entry = lock[path]
    if (entry === undefined) throw new Error(`package-lock.json lacks ${wanted}`)
    if (entry.dependencies !== undefined) throw new Error(`${wanted} needs more: lock that, too`)
    return [path, entry] as const
  })
  return {
    ...{ name, version, lockfileVersion: 3, requires: true },
    packages: {
      '': { name, version, license, optionalDependencies, bin, engines },
      ...Object.fromEntries(packages.toSorted(([a], [b]) => (a < b ? -1 : 1))),
    },
  }
}
