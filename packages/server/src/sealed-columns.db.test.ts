import { randomBytes } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../test/database.ts'
import { urlPlaceOf } from './alerts/receiver.ts'
import { runCli } from './cli.ts'
import { sealPrivateKey } from './domains/domain.ts'
import { openPassword, sealPassword } from './mailers/mailer.ts'
import { sealClientSecret } from './mailers/oauth/apps/oauth-app.ts'
import { loginPlaceOf } from './mailers/oauth/login/start-login.ts'
import { sealToken } from './mailers/oauth/tokens/mailer-token.ts'
import {
  checkKeys,
  createKeyRing,
  examineSealed,
  rotateKeys,
  withRetired,
} from './platform/secrets/index.ts'
import { toKeys } from './platform/secrets/secrets-file.ts'
import { seal } from './relays/accounts/account.ts'
import { sealedColumns } from './sealed-columns.ts'
import { createTrackingTokens, trackingKeys } from './tracking/tokens.ts'
import { sealHeaders } from './webhooks/subscriptions/custom-headers.ts'
import { newSigning, sealSigning } from './webhooks/subscriptions/signing.ts'

const keyOf = (id: string) => `${id}:${randomBytes(32).toString('base64')}`
const [k1, k2] = [keyOf('k1'), keyOf('k2')]
const both = `${k2},${k1}`
const tenantId = 'tn_01J00000000000000000000000'
const mailers = 7

let database: TestDatabase
beforeEach(async () => {
  database = await createTestDatabase()
  await check(k1)
  await fill()
})
afterEach(() => database.close())

const check = (secretKeys: string) => checkKeys(database.db, toKeys({ secretKeys }), sealedColumns)
const examine = (secretKeys: string) =>
  examineSealed(database.db, toKeys({ secretKeys }), sealedColumns)

function rotate(o: Partial<Parameters<typeof rotateKeys>[0]> & { readonly keys?: string } = {}) {
  const { keys = both, isDryRun = false, ...rest } = o
  return rotateKeys({
    db: database.db,
    ...toKeys({ secretKeys: keys }),
    columns: sealedColumns,
    derived: trackingKeys,
    isDryRun,
    ...rest,
  })
}

const mailerId = (n: number) => `smtp_${n}`

/** A value in each column that holds sealed ones, all by the first key. */
async function fill(): Promise<void> {
  const { db } = database
  const ring = createKeyRing(k1)
  const key = { tenantId, mailerId: mailerId(0) }
  for (let n = 0; n < mailers; n++)
    await db.query(
      `insert into mailers_mailer (tenant_id, mailer_id, name, email, email_key, config_type,
         connection_type, host, port, username, secure, tls_verify, secret, uncertain, limits)
       values ($1, $2, 'M', $2, $2, 'smtp', 'basic', '127.0.0.1', 25, 'u', 'None', true, $3,
         'at_least_once', '{}')`,
      [tenantId, mailerId(n), sealPassword(ring, { tenantId, mailerId: mailerId(n) }, `pass-${n}`)],
    )
  await db.query(
    `insert into mailers_oauth_token (tenant_id, mailer_id, refresh_token, access_token)
     values ($1, $2, $3, $4)`,
    [
      tenantId,
      key.mailerId,
      sealToken(ring, key, 'refresh_token', 'refresh'),
      sealToken(ring, key, 'access_token', 'access'),
    ],
  )
  await db.query(
    `insert into mailers_oauth_app (tenant_id, app_id, provider, client_id, client_secret,
       redirect_uris, authorize_url, token_url)
     values ($1, 'app', 'custom', 'c', $2, '{}', 'https://a.test', 'https://t.test')`,
    [tenantId, sealClientSecret(ring, { tenantId, appId: 'app' }, 'client')],
  )
  const hash = randomBytes(32)
  await db.query(
    `insert into mailers_oauth_login (state_hash, tenant_id, app_id, type, secret, expires_at)
     values ($1, $2, 'app', 'smtp', $3, now() + interval '1 hour')`,
    [hash, tenantId, ring.encrypt('{}', loginPlaceOf(tenantId, hash))],
  )
  const account = { tenantId, kind: 'sparkpost' } as const
  await db.query(
    `insert into relays_account (tenant_id, kind, api_base, api_key, callback_token,
       callback_token_hash, callback_secret)
     values ($1, 'sparkpost', 'https://r.test', $2, $3, $4, $5)`,
    [
      tenantId,
      seal(ring, account, 'api_key', 'api'),
      seal(ring, account, 'callback_token', 'token'),
      hash,
      seal(ring, account, 'callback_secret', 'secret'),
    ],
  )
  const dkim = [
    { selector: 'a', publicKey: 'p', privateKey: sealPrivateKey(ring, key, 'a', 'pem-a') },
    { selector: 'b', publicKey: 'p' },
    { selector: 'c', publicKey: 'p', privateKey: sealPrivateKey(ring, key, 'c', 'pem-c') },
  ]
  await db.query(
    `insert into domains_domain (tenant_id, domain, mailer_id, relay, stage, options,
       ownership_token, dkim_keys, provider_state)
     values ($1, 'd.example.com', $2, 'sparkpost', 'ready', '{}', 't', $3, '{}')`,
    [tenantId, key.mailerId, JSON.stringify(dkim)],
  )
  await db.query(
    `insert into webhooks_subscription (tenant_id, webhook_id, event, owner, url, method,
       headers_sealed, header_names, signing_sealed)
     values ($1, 'wh', 'DOMAIN_VERIFICATION', '', 'https://w.test', 'POST', $2, '{X-Key}', $3)`,
    [
      tenantId,
      sealHeaders(ring, { tenantId, webhookId: 'wh' }, [['X-Key', 'v']]),
      sealSigning(ring, { tenantId, webhookId: 'wh' }, newSigning()),
    ],
  )
  await db.query(
    `insert into alerts_receiver (tenant_id, url_sealed, kinds) values ($1, $2, '{}')`,
    [tenantId, ring.encrypt('https://a.test/', urlPlaceOf(tenantId))],
  )
}

describe('the list of sealed columns', () => {
  it('has a column for each place in the program that seals', () => {
    const dir = new URL('.', import.meta.url).pathname
    const sealing = globSync('**/*.ts', { cwd: dir })
      .filter((file) => !/\.(?:test|fixture)\.ts$/.test(file))
      .filter((file) => readFileSync(`${dir}${file}`, 'utf8').includes('eyRing.encrypt('))
      .sort()
    // One that is new here needs a column in sealed-columns.ts, and a row in `fill`.
    expect(sealing).toEqual([
      'alerts/receiver.ts',
      'domains/domain.ts',
      'mailers/mailer.ts',
      'mailers/oauth/apps/oauth-app.ts',
      'mailers/oauth/login/start-login.ts',
      'mailers/oauth/tokens/mailer-token.ts',
      'platform/secrets/known-keys.ts',
      'platform/secrets/rotate-keys.ts',
      'relays/accounts/account.ts',
      'webhooks/subscriptions/custom-headers.ts',
      'webhooks/subscriptions/signing.ts',
    ])
  })

  it('counts every kind, and names those with a missing or a wrong key', async () => {
    const kinds = await examine(k1)
    expect(kinds).toHaveLength(sealedColumns.length - 1)
    expect(kinds.every(({ problem }) => problem === undefined)).toBe(true)
    expect(kinds[0]).toMatchObject({ kind: 'mailer passwords', keyIds: 'k1', count: mailers })
    const missing = await examine(k2)
    expect(missing.every(({ problem }) => problem === 'missing')).toBe(true)
    const wrong = await examine(keyOf('k1'))
    expect(wrong.every(({ problem }) => problem === 'wrong')).toBe(true)
  })
})

describe('a start', () => {
  it.each(sealedColumns.slice(0, -1))(
    'is refused without the key of the sealed $kind',
    async ({ kind }) => {
      const others = sealedColumns.slice(0, -1).filter((one) => one.kind !== kind)
      await check(both)
      await rotateKeys({
        db: database.db,
        ...toKeys({ secretKeys: both }),
        columns: others,
        derived: trackingKeys,
        isDryRun: false,
      })
      await expect(check(k2)).rejects.toThrow(`secret key "k1" (${kind})`)
    },
  )
})

describe('a missing and a wrong key', () => {
  const kinds = [
    ...sealedColumns.slice(0, -1).map(({ kind }) => kind),
    'links in mail that was sent',
  ].sort()
  const toldBy = (error: unknown) =>
    /secret key "k1" \((.*?)\)/.exec(String(error))?.[1]?.split(', ').sort()

  it.each([
    ['missing', k2],
    ['wrong', keyOf('k1')],
  ])('are reported for the same kinds by the start and by doctor: %s', async (problem, keys) => {
    expect(toldBy(await check(keys).catch((error: unknown) => error))).toEqual(kinds)
    const found = (await examine(keys)).filter((one) => one.problem === problem)
    expect(found.map(({ kind }) => kind).sort()).toEqual(kinds)
  })

  it('are reported where they seal only values that an older key derived', async () => {
    await check(both)
    await rotate()
    for (const { table } of sealedColumns.slice(0, -1))
      await database.db.query(`delete from ${table}`)
    const error = await check(keyOf('k3')).catch((e: unknown) => e)
    expect(String(error)).toContain('"k2" (keys of tracked links, links in mail that was sent)')
  })

  it('are distinguished where one row is sealed by two keys', async () => {
    const key = { tenantId, mailerId: mailerId(0) }
    const dkim = [
      { selector: 'a', privateKey: sealPrivateKey(createKeyRing(k1), key, 'a', 'pem-a') },
      { selector: 'b', privateKey: sealPrivateKey(createKeyRing(k2), key, 'b', 'pem-b') },
    ]
    await database.db.query('update domains_domain set dkim_keys = $1', [JSON.stringify(dkim)])
    expect((await examine(k2)).find(({ kind }) => kind === 'DKIM keys')).toMatchObject({
      keyIds: 'k1',
      problem: 'missing',
    })
  })
})

describe('secrets rotate', () => {
  it('calls no key unused that has never sealed this database', async () => {
    expect((await rotate({ keys: `${k1},${k2}` })).needless).toEqual([])
  })

  it('waits for a process that has started with the new key', async () => {
    await expect(rotate()).rejects.toThrow('No process has started with "k2"')
  })

  it('refuses another key under a known id', async () => {
    await check(both)
    await expect(rotate({ keys: `${k2},${keyOf('k1')}` })).rejects.toThrow('secret key "k1"')
  })

  it('counts with --dry-run, then seals everything with the first key and frees the other', async () => {
    await check(both)
    const counted = await rotate({ isDryRun: true })
    expect(counted.kinds[0]).toEqual({ kind: 'mailer passwords', rotated: mailers, unopened: 0 })
    expect(counted.needless).toEqual([])
    await expect(check(k2)).rejects.toThrow('secret key "k1"')

    const rotation = await rotate({ batch: 2 })
    expect(rotation.kinds.slice(0, -1)).toEqual(counted.kinds.slice(0, -1))
    expect(rotation.needless).toEqual(['k1'])
    expect((await examine(k2)).every(({ problem }) => problem === undefined)).toBe(true)
    expect((await rotate()).kinds.every(({ rotated }) => rotated === 0)).toBe(true)
    await expect(check(k2)).resolves.toHaveLength(1)
  })

  it('keeps links in sent mail readable without their key, over two rotations', async () => {
    const who = { tenantId, refId: '01J00000000000000000000001', n: 3, link: 0 }
    const token = createTrackingTokens(createKeyRing(k1)).make({ ...who, kind: 'unsubscribe' })
    await check(both)
    await rotate()
    const k3 = keyOf('k3')
    await check(`${k3},${k2}`)
    expect((await rotate({ keys: `${k3},${k2}` })).needless).toEqual(['k2'])
    const keys = await check(k3)
    const ring = withRetired(createKeyRing(k3), { purpose: trackingKeys.purpose, keys })
    expect(createTrackingTokens(ring).read(token, 'unsubscribe')).toEqual(who)
  })

  it('continues where it was stopped', async () => {
    await check(both)
    let batches = 0
    const stop = () => {
      batches += 1
      if (batches === 2) throw new Error('stopped')
    }
    await expect(rotate({ batch: 2, onBatch: stop })).rejects.toThrow('stopped')
    const rest = (await rotate({ batch: 2 })).kinds[0]
    expect(rest).toMatchObject({ rotated: mailers - 4, unopened: 0 })
  })

  it('keeps concurrent changes, and seals them anew in a second pass', async () => {
    await check(both)
    const { db } = database
    const key = { tenantId, mailerId: mailerId(1) }
    const update = `update mailers_mailer set secret = $2 where mailer_id = $1`
    const changed = sealPassword(createKeyRing(k1), key, 'changed')
    // The change commits between the reading of the row and its writing.
    const racing = {
      ...db,
      async transaction<T>(...args: Parameters<typeof db.transaction<T>>) {
        await db.query(`${update} and split_part(secret, '.', 2) = 'k1'`, [key.mailerId, changed])
        return db.transaction(...args)
      },
    }
    const rotation = await rotate({ db: racing })
    expect(rotation.kinds[0]).toMatchObject({ rotated: mailers, unopened: 0 })
    expect(rotation.needless).toEqual(['k1'])
    const { rows } = await db.query<{ secret: string }>(
      'select secret from mailers_mailer where mailer_id = $1',
      [key.mailerId],
    )
    expect(openPassword(createKeyRing(k2), key, rows[0]?.secret ?? '')).toBe('changed')
  })

  it('skips a locked row, and seals the others of its batch one by one', async () => {
    await check(both)
    const [held, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const holder = database.db.transaction(async (tx) => {
      await tx.query(`select 1 from mailers_mailer where mailer_id = 'smtp_2' for update`)
      held.resolve()
      await release.promise
    })
    await held.promise
    const rotation = await rotate({ lockMsMax: 50 })
    expect(rotation.kinds[0]).toMatchObject({ rotated: mailers - 1, unopened: 0 })
    expect(rotation.needless).toEqual([])
    release.resolve()
    await holder
    const rest = await rotate()
    expect(rest.kinds[0]).toMatchObject({ rotated: 1, unopened: 0 })
    expect(rest.needless).toEqual(['k1'])
  })

  it('keeps and counts rows that no configured key decrypts, and rotates the others', async () => {
    await check(both)
    await database.db.query(
      `update mailers_mailer set secret = 'v1.gone.' || split_part(secret, '.', 3) where mailer_id = 'smtp_3'`,
    )
    expect((await rotate({ batch: 2 })).kinds[0]).toMatchObject({
      rotated: mailers - 1,
      unopened: 1,
    })
    await expect(check(both)).rejects.toThrow('secret key "gone" (mailer passwords)')
  })
})

describe('the commands', () => {
  async function run(args: readonly string[], secretKeys: string) {
    let out = ''
    const print = (text: string) => {
      out += text
    }
    const env = {
      POSTRIDER_DATABASE_URL: database.url,
      POSTRIDER_SECRET_KEYS: secretKeys,
      POSTRIDER_ADMIN_TOKEN: randomBytes(16).toString('hex'),
    }
    return { code: await runCli(args, { env, out: print, err: print }), out }
  }

  it('doctor names a key that is wrong, missing or unused', async () => {
    const wrong = await run(['doctor'], keyOf('k1'))
    expect(wrong.code).toBe(1)
    expect(wrong.out).toMatch(
      /FAIL +sealed secrets +mailer passwords \(7\) need the secret key "k1"/,
    )
    const missing = (await run(['doctor'], k2)).out
    expect(missing).toMatch(/"k1", which is missing/)
    expect(missing).toContain('OAuth app secrets (1) need')
    expect(missing).toContain('links in mail that was sent need the secret key "k1"')
    const added = `${k1},${k2}`
    expect((await run(['doctor'], added)).out).not.toContain('no longer needed')
    expect((await run(['secrets', 'rotate'], added)).out).not.toContain('No longer needed')
    await check(both)
    expect((await run(['doctor'], both)).out).toMatch(/ok +sealed secrets .*secrets rotate/)
    expect((await run(['secrets', 'rotate', '--dry-run'], both)).out).toMatch(
      /mailer passwords +7 to seal anew/,
    )
    const rotated = await run(['secrets', 'rotate'], both)
    expect(rotated).toMatchObject({ code: 0, out: expect.stringContaining('No longer needed: k1') })
    expect((await run(['doctor'], both)).out).toMatch(/the key k1 is no longer needed/)
    expect((await run(['doctor'], k2)).out).toMatch(/ok +sealed secrets/)
  })
})
