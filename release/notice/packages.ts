/**
 * The packages of others that a release contains or installs: what the packages of this repository depend on, and
 * what the dashboard has in its files. The lock file says which ones, for every platform.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { chooseLicence } from './licences.ts'

export interface OutsidePackage {
  readonly name: string
  readonly version: string
  /** As package.json of the package declares it, an SPDX expression. */
  readonly licence: string
  /** Its licence and its notices; empty where it has none, or is for another platform and not installed. */
  readonly text: string
  readonly author: string
}

interface LockEntry {
  readonly version: string
  readonly license?: string
  readonly resolved?: string
  readonly link?: boolean
  /** Where it is installed alone; elsewhere it is left out. */
  readonly os?: readonly string[]
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

export type Lock = Readonly<Record<string, LockEntry>>

/** What only builds the dashboard, or is of this repository. */
const NOT_IN_THE_DASHBOARD = /^(?:@types\/|@vitejs\/|vite$|@postrider\/)/
/** Types are for the compiler, also where a package asks for them to be there. */
const TYPES = /^@types\//
const LEGAL = /^(?:licen[cs]e|copying|copyright|notice|ofl)(?:[.\-_]|notice|$)/i

export function readLock(root: string): Lock {
  return JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages
}

export function outsidePackages(root: string): OutsidePackage[] {
  const lock = readLock(root)
  const found = placesOf(lock).map((place) => read(root, place, lock[place]))
  const byId = new Map(found.map((one) => [`${one.name}@${one.version}`, one]))
  return [...byId.values()]
    .map((one) => (one.text === '' ? { ...one, text: textOfSibling(one, found) } : one))
    .toSorted((a, b) => (a.name < b.name || (a.name === b.name && a.version < b.version) ? -1 : 1))
}

/** Folders of the installed packages. */
export function placesOf(lock: Lock): string[] {
  const seen = new Set<string>()
  const waiting = Object.keys(lock)
    .filter((place) => /^packages\/[^/]+$/.test(place))
    .flatMap((place) => needsOf(lock, place))
  for (let place = waiting.pop(); place !== undefined; place = waiting.pop()) {
    if (seen.has(place) || !place.includes('node_modules/')) continue
    seen.add(place)
    waiting.push(...needsOf(lock, place))
  }
  return [...seen]
}

function needsOf(lock: Lock, place: string): string[] {
  const entry = lock[place]
  const names = new Set(
    Object.keys({
      ...entry?.dependencies,
      ...entry?.optionalDependencies,
      ...entry?.peerDependencies,
    }).filter((name) => !TYPES.test(name)),
  )
  if (place === 'packages/dashboard')
    for (const name of Object.keys(entry?.devDependencies ?? {}))
      if (!NOT_IN_THE_DASHBOARD.test(name)) names.add(name)
  return [...names].flatMap((name) => resolve(lock, place, name) ?? [])
}

/** As Node looks for it: in `node_modules` of the folder, then of each folder above. */
function resolve(lock: Lock, place: string, name: string): string | undefined {
  for (let folder = place; ; folder = folder.replace(/(?:^|\/)[^/]+$/, '')) {
    const candidate = `${folder === '' ? '' : `${folder}/`}node_modules/${name}`
    const entry = lock[candidate]
    if (entry !== undefined) return entry.link === true ? entry.resolved : candidate
    // An optional peer that nobody installs.
    if (folder === '') return undefined
  }
}

function read(root: string, place: string, entry: LockEntry | undefined): OutsidePackage {
  const folder = join(root, place)
  const name = place.replace(/^.*node_modules\//, '')
  const { version = '', license: licence = 'UNKNOWN' } = entry ?? {}
  const { version: installed, author } = installedManifest(folder)
  if (installed === undefined && entry?.os !== undefined)
    return { name, version, licence, text: '', author: '' }
  if (installed !== version) throw new Error(`${place} ${version} is not installed: npm ci`)
  const files = readdirSync(folder, { withFileTypes: true })
    .filter((file) => file.isFile() && LEGAL.test(file.name) && !file.name.endsWith('.json'))
    .map((file) => file.name)
    .sort()
  // Where there is a choice, only the texts of the licence that was chosen.
  const chosen = chooseLicence(name, licence)
  const ofChoice = files.filter(
    (file) => licence !== chosen && file.toLowerCase().includes(chosen?.toLowerCase() ?? ''),
  )
  const text = (ofChoice.length > 0 ? ofChoice : files)
    .map((file) => tidy(readFileSync(join(folder, file), 'utf8')))
    .join('\n\n')
  return { name, version, licence, text, author: nameOf(author) }
}

function installedManifest(folder: string): { version?: string; author?: unknown } {
  const file = join(folder, 'package.json')
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}
}

/** Packages for other platforms are not installed; they have the licence of the one for this platform. */
function textOfSibling(one: OutsidePackage, all: readonly OutsidePackage[]): string {
  const scope = one.name.startsWith('@') ? one.name.split('/')[0] : undefined
  const isSibling = (other: OutsidePackage) =>
    other.name.split('/')[0] === scope &&
    other.version === one.version &&
    other.licence === one.licence &&
    one.author === ''
  return all.find((other) => isSibling(other) && other.text !== '')?.text ?? ''
}

function nameOf(author: unknown): string {
  const name = typeof author === 'object' ? (author as { name?: string } | null)?.name : author
  return typeof name === 'string' ? name.replace(/\s*[<(].*$/, '') : ''
}

function tidy(text: string): string {
  const lines = text
    .replace(/^\uFEFF/, '')
    .replaceAll('\r', '')
    .split('\n')
  return lines
    .map((line) => line.trimEnd())
    .join('\n')
    .trim()
}
