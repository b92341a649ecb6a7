import { getPhishingSettingsAnswer, updatePhishingSettingsAnswer } from '@postrider/contract'
import { describe, expect, it } from 'vitest'
import { type Key, useOperations } from '../../../test/operations.ts'
import { phishingRoutes } from './routes.ts'

const api = useOperations({
  routes: phishingRoutes,
  table: 'sending_phishing_settings',
  answers: {
    getPhishingSettings: getPhishingSettingsAnswer,
    updatePhishingSettings: updatePhishingSettingsAnswer,
  },
})
const { call } = api

const update = (body: unknown, key?: Key) =>
  call('updatePhishingSettings', key === undefined ? { body } : { body, key })
const settingsOf = async (key: Key = 'a') =>
  (await call('getPhishingSettings', { key })).body.settings

const DEFAULTS = { enabled: true, threshold: 60, blocked_domains: [], updated_at: null }

describe('phishing settings: 200', () => {
  it('getPhishingSettings answers the defaults until something is set', async () => {
    const { status, body } = await call('getPhishingSettings', { key: 'reader' })
    expect(status).toBe(200)
    expect(body.settings).toEqual(DEFAULTS)
  })

  it('updatePhishingSettings keeps fields that were left out, and replaces the list', async () => {
    const first = await update({ threshold: 80, blocked_domains: ['b.example', 'a.example'] })
    expect(first.status).toBe(200)
    const updated_at = expect.stringMatching(/^\d{4}-.*Z$/)
    const settings = { enabled: true, threshold: 80, updated_at }
    expect(first.body.settings).toEqual({
      ...settings,
      blocked_domains: ['a.example', 'b.example'],
    })
    await update({ enabled: false })
    await update({ blocked_domains: ['c.example'] })
    await update({})
    expect(await settingsOf()).toEqual({
      ...settings,
      enabled: false,
      blocked_domains: ['c.example'],
    })
    await update({ blocked_domains: null, enabled: null, threshold: null })
    expect(await settingsOf()).toEqual({ ...DEFAULTS, updated_at })
  })

  it('updatePhishingSettings keeps the other defaults at the first change', async () => {
    await update({ enabled: false })
    expect(await settingsOf()).toMatchObject({ enabled: false, threshold: 60, blocked_domains: [] })
  })

  it('updatePhishingSettings stores each domain once, in lower case and A-labels', async () => {
    const given = ['Bücher.example', 'xn--bcher-kva.example', 'BAD.example.', 'zip']
    const { body } = await update({ blocked_domains: given })
    expect(body.settings.blocked_domains).toEqual(['bad.example', 'xn--bcher-kva.example', 'zip'])
  })

  it('updatePhishingSettings changes the settings of its own tenant only', async () => {
    await update({ threshold: 99 })
    expect(await settingsOf('b')).toEqual(DEFAULTS)
    await update({ threshold: 98 }, 'b')
    expect(await settingsOf()).toMatchObject({ threshold: 99 })
  })
})

describe('phishing settings: 400 validation_failed', () => {
  it.each([
    [{ threshold: 0 }, '/threshold'],
    [{ threshold: 101 }, '/threshold'],
    [{ threshold: 60.5 }, '/threshold'],
    [{ enabled: 'no' }, '/enabled'],
    [{ blocked_domains: 'a.example' }, '/blocked_domains'],
    [{ blocked_domains: ['ok.example', ''] }, '/blocked_domains/1'],
    [{ blocked_domains: ['ok.example', 'https://a.example'] }, '/blocked_domains/1'],
    [{ blocked_domains: ['*.a.example'] }, '/blocked_domains/0'],
    [{ blocked_domains: ['a..example'] }, '/blocked_domains/0'],
    [{ blocked_domains: ['10.0.0.1'] }, '/blocked_domains/0'],
    [{ blocked_domains: [`${'a'.repeat(300)}.example`] }, '/blocked_domains/0'],
    [
      { blocked_domains: Array.from({ length: 1_001 }, (_, i) => `d${i}.example`) },
      '/blocked_domains',
    ],
    [{ blockedDomains: [] }, '/blockedDomains'],
  ])('refuses %j', async (body, path) => {
    const answered = await update(body)
    expect(answered.status).toBe(400)
    expect(answered.body.code).toBe('validation_failed')
    expect(answered.body.errors?.[0]?.path).toBe(path)
    expect(await settingsOf()).toEqual(DEFAULTS)
  })

  it('names every invalid domain', async () => {
    const { body } = await update({ blocked_domains: ['a b', 'ok.example', '-'] })
    expect(body.errors?.map(({ path }) => path)).toEqual([
      '/blocked_domains/0',
      '/blocked_domains/2',
    ])
  })
})

it('answers 401 without a known key', async () => {
  expect((await call('getPhishingSettings', { key: 'nobody' })).status).toBe(401)
})

it('answers 403 to a change with a key of a scope, and lets `read` read', async () => {
  expect((await call('getPhishingSettings', { key: 'sender' })).status).toBe(403)
  for (const key of ['sender', 'reader'] as const)
    expect((await update({ enabled: false }, key)).status).toBe(403)
})
