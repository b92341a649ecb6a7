import { expect, it } from 'vitest'
import { loadConfig } from './config.ts'
import { describeSettings } from './describe-settings.ts'

const KEYS = `k:${Buffer.alloc(32, 7).toString('base64')}`
const TOKEN = 'a-token-of-the-operator'

function settingsOf(env: Record<string, string>, secrets: { keys: string; token?: string }) {
  const { keys: secretKeys, token: adminToken } = secrets
  const all = describeSettings(loadConfig(env), { secretKeys, adminToken })
  expect(JSON.stringify(all)).not.toMatch(/BwcHBw|a-token/)
  const named = new Map(all.map(({ name, value, ...rest }) => [name, rest]))
  return (name: string) => named.get(`POSTRIDER_${name}`)
}

it('tells secrets that were generated from those that are configured, and from those that are not there', () => {
  const configured = { is_set: true, is_generated: false, is_shown: false }
  const generated = { is_set: true, is_generated: true, is_shown: false }
  const own = settingsOf({}, { keys: KEYS, token: TOKEN })
  expect([own('SECRET_KEYS'), own('ADMIN_TOKEN')]).toEqual([generated, generated])
  const half = settingsOf({ POSTRIDER_SECRET_KEYS: KEYS }, { keys: KEYS, token: TOKEN })
  expect([half('SECRET_KEYS'), half('ADMIN_TOKEN')]).toEqual([configured, generated])
  const url = {
    POSTRIDER_DATABASE_URL: 'postgres://db.example.com/postrider',
    POSTRIDER_ROLES: 'sender',
  }
  const hosted = settingsOf({ ...url, POSTRIDER_SECRET_KEYS: KEYS }, { keys: KEYS })
  expect(hosted('ADMIN_TOKEN')).toEqual({ ...configured, is_set: false })
  expect(hosted('RETENTION')).toEqual({ ...configured, is_shown: true })
})
