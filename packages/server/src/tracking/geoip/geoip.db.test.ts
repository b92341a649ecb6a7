import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { useTracking } from '../../../test/tracking.ts'
import { createGeoip, nowhere } from './geoip.ts'
import { mmdbOf } from './mmdb.fixture.ts'

const dir = mkdtempSync(join(tmpdir(), 'postrider-mmdb-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))
const file = join(dir, 'city.mmdb')
writeFileSync(
  file,
  mmdbOf({
    // As in GeoLite2 City.
    '198.51.100.0/24': {
      country: { iso_code: 'DE', names: { en: 'Germany', de: 'Deutschland' } },
      city: { names: { de: 'München', en: 'Munich' } },
      subdivisions: [{ iso_code: 'BY', names: { en: 'Bavaria' } }],
      location: { time_zone: 'Europe/Berlin' },
    },
    // As IPinfo's.
    '203.0.113.0/25': { country: 'FR', city: 'Lyon', region: 'Rhône', timezone: 'Europe/Paris' },
    // As in free sets of several sources.
    '203.0.113.128/25': {
      country_code: 'PL',
      city: 'Gdynia',
      state1: 'Pomerania',
      timezone: 'Europe/Warsaw',
    },
    '192.0.2.0/24': { country: { names: { en: 'Nowhere' } }, city: 7 },
  }),
)
const munich = {
  country: 'DE',
  city: 'Munich',
  region: 'Bavaria',
  timeZone: 'Europe/Berlin',
}

describe('[2.5] the location of an address', () => {
  const locateAddress = createGeoip([file])

  it('is read from nested and from flat records', () => {
    expect(locateAddress('198.51.100.7')).toEqual(munich)
    expect(locateAddress('203.0.113.7')).toEqual({
      country: 'FR',
      city: 'Lyon',
      region: 'Rhône',
      timeZone: 'Europe/Paris',
    })
    expect(locateAddress('203.0.113.200')).toEqual({
      country: 'PL',
      city: 'Gdynia',
      region: 'Pomerania',
      timeZone: 'Europe/Warsaw',
    })
  })

  it('is empty for an address that the file does not have, and for a malformed one', () => {
    for (const ip of ['8.8.8.8', '192.0.2.1', '2001:db8::1', '', 'x'])
      expect(locateAddress(ip)).toEqual(nowhere)
    expect(createGeoip([])('198.51.100.7')).toEqual(nowhere)
  })

  it('is empty, without an error, where the file is damaged', () => {
    const bytes = readFileSync(file)
    const spoiled = join(dir, 'spoiled.mmdb')
    const metadataAt = bytes.lastIndexOf('MaxMind.com')
    bytes.fill(0xff, bytes.indexOf('country') - 2, metadataAt - 3)
    writeFileSync(spoiled, bytes)
    expect(createGeoip([spoiled])('198.51.100.7')).toEqual(nowhere)
  })

  it('is refused at start when the file is invalid', () => {
    const none = join(dir, 'none.mmdb')
    writeFileSync(none, 'not an mmdb file')
    expect(() => createGeoip([none])).toThrow()
  })
})

describe('the tracking event of an open', () => {
  const world = useTracking()

  it('[2.5] has the location of the open', async () => {
    const mail = await world.send()
    const trustedProxies = ['127.0.0.0/8']
    const { app } = await world.another({ trustedProxies, geoipDb: file })
    await app.inject({ url: mail.open, headers: { 'x-forwarded-for': '198.51.100.7' } })
    const [event] = await world.events(mail)
    const { country, city, region, time_zone: timeZone } = event?.details.tracking ?? {}
    expect({ country, city, region, timeZone }).toEqual(munich)
  })
})
