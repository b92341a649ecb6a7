import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import {
  ConfigError,
  configPrefix,
  type Environment,
  isInboundHostUnnamed,
  isPublicUrlPlain,
  loadConfig,
  publicUrlOf,
  roles,
  summarizeConfig,
  variables,
  weakCredentials,
} from './config.ts'
import { newApiKey } from './tenants/index.ts'
import { mmdbOf } from './tracking/geoip/mmdb.fixture.ts'

const directory = mkdtempSync(join(tmpdir(), 'config-'))
afterAll(() => rmSync(directory, { recursive: true }))

const KEYS = `k1:${Buffer.from(Array.from({ length: 32 }, (_, i) => i * 7)).toString('base64')}`
const HOSTED = {
  DATABASE_URL: 'postgres://app:hunter2@db.example.com/postrider',
  SECRET_KEYS: KEYS,
  ADMIN_TOKEN: 'operator-token-0123456789',
}

function load(env: Environment) {
  return loadConfig(prefixed(env))
}

function prefixed(env: Environment): Environment {
  return Object.fromEntries(Object.entries(env).map(([name, v]) => [configPrefix + name, v]))
}

function problemsOf(env: Environment): readonly string[] {
  try {
    loadConfig(env)
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
}

describe('configuration', () => {
  it('[contract 1] has the documented defaults', () => {
    expect(load({})).toMatchObject({
      databaseUrl: undefined,
      dataDir: resolve('.postrider'),
      host: '127.0.0.1',
      port: 8080,
      publicUrl: 'http://127.0.0.1:8080',
      roles: new Set(roles),
      allowNetworks: [],
      allowHttpWebhooks: false,
      sendMaxAttempts: 5,
      sendRetrySchedule: [30e3, 120e3, 600e3, 1800e3, 3600e3, 7200e3, 14400e3],
      webhookBatchEvents: 500,
      webhookBatchBytes: 1_048_576,
      webhookBatchLingerMs: 100,
      webhookTimeoutMs: 15_000,
      webhookRetryForMs: 259_200_000,
      authConfirmDelayMs: 5_000,
      inboundPort: 2525,
      retentionMs: 2_592_000_000,
      contentRetentionMs: 2_592_000_000,
      logLevel: 'info',
      logFormat: 'auto',
      diskFreeMin: { bytes: 536_870_912 },
    })
  })

  it('reads every kind of value', () => {
    const pem = join(directory, 'ca.pem')
    writeFileSync(pem, '-----BEGIN CERTIFICATE-----\n')
    const config = load({
      ...HOSTED,
      PORT: '0',
      HOST: '::1',
      PUBLIC_URL: 'https://mail.example.com/base/',
      ROLES: ' sender, dispatcher ',
      ALLOW_NETWORKS: '127.0.0.0/8, fd00::/8',
      ALLOW_HTTP_WEBHOOKS: 'true',
      WEBHOOK_TLS_CA: pem,
      WEBHOOK_BATCH_BYTES: '256KiB',
      SEND_RETRY_SCHEDULE: '250ms,5s',
      DNS_SERVERS: '9.9.9.9:53,[2620:fe::fe]:53',
      DISK_FREE_MIN: '5%',
    })
    expect(config).toMatchObject({
      port: 0,
      publicUrl: 'https://mail.example.com/base',
      roles: new Set(['sender', 'dispatcher']),
      allowNetworks: ['127.0.0.0/8', 'fd00::/8'],
      allowHttpWebhooks: true,
      webhookTlsCa: pem,
      webhookBatchBytes: 262_144,
      sendRetrySchedule: [250, 5_000],
      dnsServers: ['9.9.9.9:53', '[2620:fe::fe]:53'],
      diskFreeMin: { percent: 5 },
    })
  })

  it.each([
    ['127.0.0.1', 8080, 'http://127.0.0.1:8080'],
    ['::1', 80, 'http://[::1]:80'],
    ['0.0.0.0', 1, 'http://localhost:1'],
    ['::', 1, 'http://localhost:1'],
  ])('derives the public URL of %s port %d as %s', (host, port, url) => {
    expect(publicUrlOf(host, port)).toBe(url)
    expect(load({ HOST: host, PORT: String(port) }).publicUrl).toBe(url)
  })

  it('treats an empty variable as unset, and trims values', () => {
    expect(load({ PORT: '', LOG_LEVEL: ' debug\r' })).toMatchObject({
      port: 8080,
      logLevel: 'debug',
    })
  })

  it.each([
    ['PORT', '65536', 'expected a whole number from 0 to 65535, got "65536"'],
    ['PORT', '-1', 'expected a whole number'],
    ['PORT', '80 80', 'expected a whole number'],
    ['PORT', '1e3', 'expected a whole number'],
    ['HOST', 'a b', 'expected an IP address or a host name'],
    ['DATA_DIR', import.meta.filename, 'expected a directory'],
    ['DATA_DIR', `${import.meta.filename}/data`, 'expected a directory'],
    ['PUBLIC_URL', 'mail.example.com', 'expected an http or https URL'],
    ['PUBLIC_URL', 'https://a:b@mail.example.com', 'expected an http or https URL'],
    ['PUBLIC_URL', 'https://mail.example.com/?x', 'expected an http or https URL'],
    ['PUBLIC_URL', 'https://mail.example.com/a=b', 'expected an http or https URL'],
    ['PUBLIC_URL', 'https://mail.example.com/a&b', 'expected an http or https URL'],
    ['ROLES', 'api,senders', 'expected a comma list of all, api,'],
    ['ROLES', 'api,', 'expected a comma list'],
    ['ALLOW_NETWORKS', '10.0.0.0/33', 'expected a comma list of networks'],
    ['ALLOW_NETWORKS', '::ffff:10.0.0.0/8', 'expected a comma list of networks'],
    ['ALLOW_NETWORKS', 'localhost', 'expected a comma list of networks'],
    ['ALLOW_HTTP_WEBHOOKS', 'yes', 'expected true or false'],
    ['WEBHOOK_TLS_CA', '/does/not/exist', 'expected a PEM file that can be read'],
    ['SEND_MAX_ATTEMPTS', '21', 'expected a whole number from 1 to 20'],
    ['SEND_RETRY_SCHEDULE', '30s,,2m', 'expected a comma list of durations'],
    ['SEND_RETRY_SCHEDULE', '0s', 'expected a comma list of durations'],
    ['WEBHOOK_TIMEOUT', '15', 'expected a duration'],
    ['WEBHOOK_TIMEOUT', '1.5s', 'expected a duration'],
    ['WEBHOOK_BATCH_BYTES', '1MB', 'expected a size'],
    ['DISK_FREE_MIN', '95%', 'expected a size such as 256MiB, or a share'],
    ['DNS_SERVERS', '9.9.9.9', 'expected a comma list of IP addresses with ports'],
    ['DNS_SERVERS', '2620:fe::fe:53', 'expected a comma list of IP addresses with ports'],
    ['LOG_LEVEL', 'verbose', 'expected one of trace, debug,'],
    ['FAILPOINTS', 'nowhere=kill', 'expected <name>=kill'],
  ])('refuses %s=%j by name', (name, value, message) => {
    const problems = problemsOf(prefixed({ [name]: value }))
    expect(problems).toHaveLength(1)
    expect(problems[0]).toContain(`POSTRIDER_${name}: ${message}`)
  })

  it.each([
    [{ RETENTION: '1d' }, '(3d), for which events are still delivered, got "1d"'],
    [{ WEBHOOK_RETRY_FOR: '30d', RETENTION: '29d' }, '(30d)'],
  ])('refuses a retention that ends before the last webhook retry: %j', (env, why) => {
    const problems = problemsOf(prefixed(env))
    expect(problems).toEqual([
      expect.stringMatching(/^POSTRIDER_RETENTION: expected at least POSTRIDER_WEBHOOK_RETRY_FOR/),
    ])
    expect(problems[0]).toContain(why)
  })

  it('keeps content for as long as records, unless it is told a shorter time', () => {
    expect(load({ RETENTION: '9d' })).toMatchObject({ contentRetentionMs: 9 * 86_400_000 })
    const env = { RETENTION: '9d', CONTENT_RETENTION: '1d' }
    expect(load(env)).toMatchObject({ retentionMs: 9 * 86_400_000, contentRetentionMs: 86_400_000 })
    expect(problemsOf(prefixed({ CONTENT_RETENTION: '31d' }))).toEqual([
      'POSTRIDER_CONTENT_RETENTION: expected at most POSTRIDER_RETENTION (30d), got "31d"; raise POSTRIDER_RETENTION, or lower it',
    ])
    expect(problemsOf(prefixed({ CONTENT_RETENTION: '12h' }))).toEqual([
      expect.stringMatching(/^POSTRIDER_CONTENT_RETENTION: expected a duration/),
    ])
  })

  it('accepts a retention that is as long as webhooks are retried', () => {
    const env = { RETENTION: '1d', WEBHOOK_RETRY_FOR: '1d' }
    expect(load(env)).toMatchObject({ retentionMs: 86_400_000, webhookRetryForMs: 86_400_000 })
  })

  it('accepts short credentials, and warns of them', () => {
    const config = loadConfig(prefixed({ ADMIN_TOKEN: 'short', API_KEY: 'also-short' }))
    expect(weakCredentials(config)).toEqual(['POSTRIDER_ADMIN_TOKEN', 'POSTRIDER_API_KEY'])
    expect(weakCredentials(loadConfig(prefixed({ ADMIN_TOKEN: HOSTED.ADMIN_TOKEN })))).toEqual([])
  })

  it('warns of a public URL with which mail programs do not unsubscribe', () => {
    const isPlain = (url: string) => isPublicUrlPlain(load({ ...HOSTED, PUBLIC_URL: url }))
    for (const url of ['http://mail.example.com', 'http://192.0.2.1:8080/x'])
      expect(isPlain(url)).toBe(true)
    for (const url of [
      'https://mail.example.com',
      'http://127.0.0.1:8080',
      'http://localhost',
      'http://[::1]:80',
    ])
      expect(isPlain(url)).toBe(false)
    expect(isPublicUrlPlain(load(HOSTED))).toBe(false)
  })

  it('warns of an inbound host that no MX record can point to', () => {
    const isUnnamed = (host: string) =>
      isInboundHostUnnamed(load({ ...HOSTED, INBOUND_HOST: host }))
    for (const host of [
      '192.0.2.1',
      '2001:db8::1',
      '::ffff:192.0.2.1',
      'localhost',
      'mx.localhost',
      'mx',
    ])
      expect(isUnnamed(host), host).toBe(true)
    expect(isUnnamed('mx.example.com')).toBe(false)
    expect(isInboundHostUnnamed(load({}))).toBe(true)
  })

  it('refuses an invalid location file', () => {
    const whole = mmdbOf({ '192.0.2.0/24': { country: 'DE' } })
    const file = join(directory, 'city.mmdb')
    writeFileSync(file, whole)
    expect(load({ ...HOSTED, GEOIP_DB: file }).geoipDb).toBe(file)
    for (const [name, content] of [
      ['junk', 'junk'],
      ['empty', ''],
      ['cut', whole.subarray(0, -50)],
      ['metadata alone', whole.subarray(whole.lastIndexOf('MaxMind.com') - 3)],
    ] as const) {
      const bad = join(directory, name)
      writeFileSync(bad, content)
      expect(problemsOf(prefixed({ ...HOSTED, GEOIP_DB: bad }))).toEqual([
        expect.stringMatching(/^POSTRIDER_GEOIP_DB: expected an mmdb file that can be read/),
      ])
    }
  })

  it.each([
    ['DATABASE_URL', 'mysql://app:hunter2@db.example.com/x'],
    ['SECRET_KEYS', 'k1:aHVudGVyMg=='],
    ['PUBLIC_URL', 'http://app:hunter2@example.com'],
    ['RSPAMD_URL', 'http://127.0.0.1:11333/?password=hunter2'],
    ['DATABASE_URL', 'postgres://app:hunter2@db.example.com:99999999/x'],
    ['ADMIN_TOKEN', 'hunter2 with spaces'],
    ['API_KEY', 'hunter2 with spaces'],
    ['API_KEY', `${newApiKey().slice(0, -1)}!hunter2`.replace('!', ' ')],
  ])('refuses an invalid secret %s without showing it', (name, value) => {
    const problems = problemsOf(prefixed({ ...HOSTED, [name]: value }))
    expect(problems).toHaveLength(1)
    expect(problems[0]).toContain(`POSTRIDER_${name}: expected`)
    expect(problems.join()).not.toContain('hunter2')
    expect(problems.join()).not.toContain(value)
  })

  it('refuses an API key of our own form with a wrong checksum, and accepts other texts', () => {
    const key = newApiKey()
    const wrong = key.slice(0, -1) + (key.endsWith('0') ? '1' : '0')
    expect(problemsOf(prefixed({ API_KEY: wrong }))).toHaveLength(1)
    expect(problemsOf(prefixed({ API_KEY: key }))).toEqual([])
    expect(problemsOf(prefixed({ API_KEY: 'pr_development_key' }))).toEqual([])
  })

  it('refuses unknown names, and suggests the nearest one', () => {
    expect(
      problemsOf({
        POSTRIDER_PROT: '1',
        POSTRIDER_DATABSE_URL: 'x',
        POSTRIDER_SOMETHING_ELSE_ALTOGETHER: 'x',
        POSTRIDER_FOO: 'x',
        OTHER_PORT: '1',
      }),
    ).toEqual([
      'POSTRIDER_PROT: no such variable; did you mean POSTRIDER_PORT?',
      'POSTRIDER_DATABSE_URL: no such variable; did you mean POSTRIDER_DATABASE_URL?',
      'POSTRIDER_SOMETHING_ELSE_ALTOGETHER: no such variable',
      'POSTRIDER_FOO: no such variable',
    ])
  })

  it.each([
    ['INBOUND_TLS_CERT', 'INBOUND_TLS_KEY'],
    ['INBOUND_TLS_KEY', 'INBOUND_TLS_CERT'],
  ])('refuses %s alone', (given, missing) => {
    const file = fileURLToPath(new URL('../../testkit/certs/localhost.pem', import.meta.url))
    const env = prefixed({ [given]: file })
    expect(problemsOf(env)).toContain(`POSTRIDER_${missing}: required with POSTRIDER_${given}`)
  })

  it('reports all problems at once', () => {
    const problems = problemsOf(prefixed({ PORT: 'x', HOST: '!', LOG_LEVEL: 'x', NOPE: '1' }))
    expect(problems.map((p) => p.split(':')[0])).toEqual([
      'POSTRIDER_HOST',
      'POSTRIDER_PORT',
      'POSTRIDER_LOG_LEVEL',
      'POSTRIDER_NOPE',
    ])
  })

  it.each([
    'postgres://db.example.com/postrider',
    'postgresql://app:hunter2@[::1]:5432/postrider?sslmode=verify-full',
    'postgresql://app:hunter2@/postrider?host=%2Fvar%2Frun%2Fpostgresql',
    'postgres:///postrider',
    'postgres://app@a.example.com:5432,b.example.com:5433/postrider?target_session_attrs=read-write',
    'postgres://app@/postrider?host=a.example.com,b.example.com&port=5432,5433',
  ])('accepts the database %s', (url) => {
    expect(load({ ...HOSTED, DATABASE_URL: url }).databaseUrl).toBe(url)
  })

  it.each([
    ['postgres://a/x?target_session_attrs=standby', 'has target_session_attrs other than'],
    ['postgres://a,b:99999/x', 'has a port that is none (of host number 2)'],
    ['postgres://a,,b/x', 'has a host that is none (number 2)'],
  ])('names the problem of the database %s', (url, words) => {
    const [problem] = problemsOf(prefixed({ ...HOSTED, DATABASE_URL: url }))
    expect(problem).toContain('POSTRIDER_DATABASE_URL: expected a URL such as')
    expect(problem).toContain(words)
  })

  it('requires secrets in a process with an external database', () => {
    const { DATABASE_URL } = HOSTED
    expect(problemsOf(prefixed({ DATABASE_URL }))).toEqual([
      'POSTRIDER_SECRET_KEYS: required by every process when POSTRIDER_DATABASE_URL is set',
      'POSTRIDER_ADMIN_TOKEN: required by the role api when POSTRIDER_DATABASE_URL is set',
    ])
    const worker = { DATABASE_URL, SECRET_KEYS: KEYS, ROLES: 'sender' }
    expect(problemsOf(prefixed(worker))).toEqual([])
    expect(loadConfig(prefixed({ DATABASE_URL }), { isForServing: false }).databaseUrl).toBe(
      DATABASE_URL,
    )
  })

  it('shows of secrets only that they are set', () => {
    const summary = summarizeConfig(load({ ...HOSTED, ROLES: 'api' }))
    expect(summary).toMatchObject({
      DATABASE_URL: { configured: true },
      API_KEY: { configured: false },
      ADMIN_TOKEN: { configured: true },
      ROLES: ['api'],
      PORT: 8080,
    })
    const text = JSON.stringify(summary)
    for (const secret of ['hunter2', HOSTED.ADMIN_TOKEN, KEYS.slice(3)])
      expect(text).not.toContain(secret)
  })

  it('never throws anything but its own error, for any values', () => {
    const names = Object.values(variables).map(({ name }) => configPrefix + name)
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom(...names), fc.string({ unit: 'binary', maxLength: 40 })),
        (env) => {
          expect(() => problemsOf(env)).not.toThrow()
        },
      ),
    )
  })
})
