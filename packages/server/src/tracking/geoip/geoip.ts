/**
 * Where an address is, by a city-level mmdb file (POSTRIDER_GEOIP_DB; docs/reference/events.md#tracking).
 *
 * Two layouts are in use: nested records with names by language, as MaxMind's GeoLite2 City and
 * DB-IP's, and flat ones, as IPinfo's and the free sets made of several sources. A record is read as
 * whichever it is. Of several files, for IPv4 and IPv6, the first that knows the address is taken. They
 * are in memory as they stand on the disk, and read once, at start.
 */
import { readFileSync } from 'node:fs'
import { createBoundedMap } from '@postrider/runtime/bounded-map'
import { Reader } from 'mmdb-lib'

/** '' where it is not known. */
export interface Location {
  /** ISO 3166-1: `DE`. */
  readonly country: string
  readonly city: string
  readonly region: string
  /** `Europe/Berlin` */
  readonly timeZone: string
}

export const nowhere: Location = { country: '', city: '', region: '', timeZone: '' }

export type LocateAddress = (ip: string) => Location

const LOCATIONS_MAX = 20_000

/** Throws when a file cannot be read, or is none of this kind. */
export function createGeoip(files: readonly string[]): LocateAddress {
  if (files.length === 0) return () => nowhere
  // The type's bound knows MaxMind's own products only.
  const readers = files.map((file) => new Reader<never>(readFileSync(file)))
  const locations = createBoundedMap<string, Location>(LOCATIONS_MAX)
  return (ip) => {
    const known = locations.get(ip)
    if (known !== undefined) return known
    const location = readLocation(lookUp(readers, ip))
    locations.set(ip, location)
    return location
  }
}

/** Sets of one family know nothing of the other, and refuse what is no address. */
function lookUp(readers: readonly Pick<Reader<never>, 'get'>[], ip: string): unknown {
  for (const reader of readers) {
    try {
      const found: unknown = reader.get(ip)
      if (found !== null) return found
    } catch {
      // Another may know it.
    }
  }
  return undefined
}

export function readLocation(record: unknown): Location {
  return {
    country: first(
      textAt(record, 'country', 'iso_code'),
      textAt(record, 'country_code'),
      textAt(record, 'country'),
    ),
    city: first(textAt(record, 'city', 'names', 'en'), textAt(record, 'city')),
    region: first(
      textAt(record, 'subdivisions', '0', 'names', 'en'),
      textAt(record, 'region'),
      textAt(record, 'state1'),
    ),
    timeZone: first(
      textAt(record, 'location', 'time_zone'),
      textAt(record, 'timezone'),
      textAt(record, 'time_zone'),
    ),
  }
}

function first(...texts: readonly string[]): string {
  return texts.find((text) => text !== '') ?? ''
}

function textAt(record: unknown, ...path: readonly string[]): string {
  let value = record
  for (const key of path)
    value = typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined
  return typeof value === 'string' ? value : ''
}
