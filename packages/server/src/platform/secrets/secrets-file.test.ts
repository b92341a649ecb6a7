import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createKeyRing } from './index.ts'
import { loadSecrets, refuseLostFile, type SecretSources } from './secrets-file.ts'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'secrets-'))
})
afterEach(() => rmSync(root, { recursive: true }))

function load(o: Partial<SecretSources> = {}) {
  const nothing = { databaseUrl: undefined, secretKeys: undefined, adminToken: undefined }
  return loadSecrets({ ...nothing, dataDir: join(root, 'data'), ...o })
}
const file = () => join(root, 'data', 'secrets.json')

describe('on the embedded database', () => {
  it('generates the secrets once and finds them again, readable by the owner only', () => {
    const first = load()
    expect(load()).toEqual(first)
    expect(createKeyRing(first.secretKeys).encrypt('x', 'y')).toMatch(/^v1\./)
    expect(first.adminToken?.length).toBeGreaterThan(40)
    expect(statSync(file()).mode & 0o777).toBe(0o600)
    expect(readdirSync(join(root, 'data'))).toEqual(['secrets.json'])
  })

  it('makes different ones in another directory', () => {
    expect(load().adminToken).not.toBe(load({ dataDir: join(root, 'other') }).adminToken)
  })

  it('prefers configured secrets, and writes nothing when all are configured', () => {
    const secretKeys = `a:${Buffer.from(Array.from({ length: 32 }, (_, i) => i)).toString('base64')}`
    const adminToken = 'configured-token-123'
    expect(load({ secretKeys, adminToken })).toEqual({ secretKeys, adminToken })
    expect(readdirSync(root)).toEqual([])
    expect(load({ adminToken }).adminToken).toBe(adminToken)
    expect(load().adminToken).not.toBe(adminToken)
  })

  it('does not replace a lost file beside a sealed database', () => {
    const sources = {
      databaseUrl: undefined,
      secretKeys: undefined,
      adminToken: undefined,
      dataDir: join(root, 'data'),
    }
    const needs = new Map([['k1', ['mailer passwords', 'webhook headers']]])
    const refuse = (o: Partial<SecretSources> = {}) => refuseLostFile({ ...sources, ...o }, needs)
    expect(() => refuse()).toThrow(
      /secrets\.json is missing.*"k1" \(mailer passwords, webhook headers\).*POSTRIDER_SECRET_KEYS/,
    )
    expect(() => refuse({ secretKeys: 'k' })).toThrow(/secrets\.json is missing.*ADMIN_TOKEN/)
    expect(() => refuse({ secretKeys: 'k', adminToken: 't' })).not.toThrow()
    expect(() => refuse({ databaseUrl: 'postgres://db.example.com/x' })).not.toThrow()
    expect(() => refuseLostFile(sources, new Map())).not.toThrow()
    load()
    expect(() => refuse()).not.toThrow()
  })

  it.each(['', '{', 'null', '{}', '{"secret_keys":"x","admin_token":"0123456789abcdef"}'])(
    'refuses to start with the damaged file %j, and leaves it as it is',
    (content) => {
      load()
      writeFileSync(file(), content)
      expect(() => load()).toThrow(/secrets\.json is damaged/)
      expect(readFileSync(file(), 'utf8')).toBe(content)
    },
  )

  it('refuses to start when the file cannot be read', () => {
    load()
    rmSync(file())
    writeFileSync(join(root, 'data', 'x'), '')
    const dataDir = join(root, 'data', 'x') // A file where a directory should be.
    expect(() => load({ dataDir })).toThrow(/cannot be read \(ENOTDIR\)/)
  })
})

describe('with an external database', () => {
  it('takes configured secrets, and generates none', () => {
    const databaseUrl = 'postgres://db.example.com/x'
    expect(load({ databaseUrl, secretKeys: 'k' })).toEqual({
      secretKeys: 'k',
      adminToken: undefined,
    })
    expect(() => load({ databaseUrl })).toThrow('POSTRIDER_SECRET_KEYS is required')
    expect(readdirSync(root)).toEqual([])
  })
})
