/** Files of suppressions: imported, exported, and imported again. */
import {
  importSuppressionsAnswer,
  listSuppressionsAnswer,
  type SuppressionFormat,
  unsubscribeEmailAnswer,
} from '@postrider/contract'
import { describe, expect, it } from 'vitest'
import { type Key, useOperations } from '../../../test/operations.ts'
import { silent } from '../../../test/sending.ts'
import { createFileLimits } from '../create.ts'
import { findSuppressed } from '../index.ts'
import { suppressionRoutes } from '../routes.ts'
import { putSuppressions } from '../store.ts'
import { importSuppressions } from './import-suppressions.ts'

const api = useOperations({
  routes: (app, deps) => suppressionRoutes(app, { ...deps, ...createFileLimits() }),
  table: 'suppressions_address',
  answers: {
    importSuppressions: importSuppressionsAnswer,
    exportSuppressions: undefined,
    listSuppressions: listSuppressionsAnswer,
    unsubscribeEmail: unsubscribeEmailAnswer,
  },
})
const { call } = api

const importFile = (csv: string | Buffer, format?: SuppressionFormat, key: Key = 'a') =>
  call('importSuppressions', { csv, key, query: format === undefined ? '' : `?format=${format}` })
const imported = async (csv: string, format?: SuppressionFormat) => {
  const { status, body } = await importFile(csv, format)
  expect([status, body.message]).toEqual([200, 'Suppressions Imported'])
  const { success, message, ...counts } = body
  return counts
}
const listed = async (key: Key = 'a') =>
  (await call('listSuppressions', { query: '?pageSize=500', key })).body.suppressions
const reasons = async () =>
  Object.fromEntries((await listed()).map(({ email, reason }) => [email, reason]))
const isSuppressed = async (address: string, tenantId = 'tn_a') =>
  (await findSuppressed(api.db, [{ tenantId, address }]))[0]
const NOTHING = { refused: [], refused_count: 0 }

describe('[contract 7.3] importSuppressions', () => {
  it('reads its own columns', async () => {
    const csv = [
      '\ufeffemail,reason,source,note,created_at,expires_at',
      'ada@example.com,complained,,"two\nlines, ""quoted""",2026-01-02T03:04:05Z,2999-01-01T00:00:00Z',
      'bob@example.com,,"{""event"":""MAIL_BOUNCE"",""ref_id"":""r""}",,,',
      '',
    ].join('\r\n')
    expect(await imported(csv)).toEqual({ added: 2, known: 0, ...NOTHING })
    expect(await listed()).toEqual([
      {
        email: 'bob@example.com',
        reason: 'manual',
        source: { event: 'MAIL_BOUNCE', ref_id: 'r' },
        note: null,
        created_at: expect.stringMatching(/^20/),
        expires_at: null,
      },
      {
        email: 'ada@example.com',
        reason: 'complained',
        source: { key_id: 'key_a', import: 'postrider' },
        note: 'two\nlines, "quoted"',
        created_at: '2026-01-02T03:04:05.000Z',
        expires_at: '2999-01-01T00:00:00.000Z',
      },
    ])
    expect(await isSuppressed('ada@example.com')).toBe(true)
    expect(await isSuppressed('ada@example.com', 'tn_b')).toBe(false)
  })

  it.each<[SuppressionFormat, string, string, object]>([
    [
      'sendgrid',
      'its bounces',
      'status,reason,email,created\n5.1.1,550 No such user,a@example.com,1732107662\n',
      { reason: 'bounced', note: '550 No such user', created_at: '2024-11-20T13:01:02.000Z' },
    ],
    [
      'sendgrid',
      'its spam reports',
      'email,created,ip\na@example.com,2009-06-01 19:41:39,192.0.2.1\n',
      { reason: 'complained', note: null, created_at: '2009-06-01T19:41:39.000Z' },
    ],
    [
      'sendgrid',
      'its unsubscribes',
      'email,created\na@example.com,\n',
      { reason: 'unsubscribed', note: null },
    ],
    [
      'mailgun',
      'its bounces',
      'address,code,error,created_at\na@example.com,550,"No such, user","Tue, 07 Jan 2025 19:25:45 UTC"\n',
      { reason: 'bounced', note: 'No such, user', created_at: '2025-01-07T19:25:45.000Z' },
    ],
    [
      'mailgun',
      'its unsubscribes',
      'address,tags,created_at\na@example.com,*,"Mon, 01 Jan 0001 00:00:00 UTC"\n',
      { reason: 'unsubscribed' },
    ],
    ['mailgun', 'its complaints', 'address,created_at\na@example.com,\n', { reason: 'complained' }],
    [
      'postmark',
      'its hard bounces',
      'EmailAddress,SuppressionReason,Origin,CreatedAt\na@example.com,HardBounce,Recipient,2019-12-17T08:58:33-05:00\n',
      { reason: 'bounced', created_at: '2019-12-17T13:58:33.000Z' },
    ],
    [
      'postmark',
      'an unsubscription',
      'Email Address,Suppression Reason,Origin\na@example.com,ManualSuppression,Recipient\n',
      { reason: 'unsubscribed' },
    ],
    [
      'postmark',
      'a suppression by hand',
      'EmailAddress,SuppressionReason,Origin\na@example.com,ManualSuppression,Customer\n',
      { reason: 'manual' },
    ],
    [
      'ses',
      'its list',
      'EmailAddress,Reason,LastUpdateTime\na@example.com,COMPLAINT,2024-05-01T10:00:00.123000+02:00\n',
      { reason: 'complained', created_at: '2024-05-01T08:00:00.123Z' },
    ],
    ['ses', 'a file without a header', 'a@example.com, BOUNCE\n', { reason: 'bounced' }],
  ])('reads the export of %s: %s', async (format, _, csv, expected) => {
    expect(await imported(csv, format)).toEqual({ added: 1, known: 0, ...NOTHING })
    const source = { key_id: 'key_a', import: format }
    expect(await listed()).toMatchObject([{ email: 'a@example.com', source, ...expected }])
  })

  it('names each line that does not fit, and takes all others', async () => {
    const csv = [
      'email,reason,source,note,created_at,expires_at',
      'a@example.com,,,,,',
      'nobody,,,,,',
      ',manual,,,,',
      'b@example.com,lost,,,,',
      '"c@example.com"x,,,,,',
      '"d@example.com,',
      'e@example.com,,nonsense,,,',
      'f@example.com,,,,yesterday,',
      'g@example.com,,,,,2020-01-01T00:00:00Z',
      `h@example.com,,,${'x'.repeat(501)},,`,
      'i@example.com',
      '',
    ].join('\n')
    const { added, known, refused, refused_count } = await imported(csv)
    expect({ added, known, refused_count }).toEqual({ added: 2, known: 0, refused_count: 9 })
    expect(refused).toEqual([
      { line: 3, message: 'the address has no @' },
      { line: 4, message: 'has no address' },
      { line: 5, message: 'reason must be one of unsubscribed, bounced, complained, manual' },
      { line: 6, message: 'has text behind a quoted field' },
      { line: 7, message: 'has a quote that is not closed' },
      { line: 8, message: 'source is not one that an export wrote: leave the column out' },
      { line: 9, message: 'created_at must be an RFC 3339 time' },
      { line: 10, message: 'expires_at is over' },
      { line: 11, message: 'note must be at most 500 characters' },
    ])
    expect(Object.keys(await reasons()).sort()).toEqual(['a@example.com', 'i@example.com'])
  })

  it('refuses lines of single tags and unknown reasons of other services', async () => {
    const mailgun = await imported('address,tags\na@example.com,news\n', 'mailgun')
    const postmark = await imported(
      'EmailAddress,SuppressionReason\na@example.com,Other\n',
      'postmark',
    )
    const ses = await imported('EmailAddress,Reason\na@example.com,OTHER\n', 'ses')
    for (const one of [mailgun, postmark, ses])
      expect(one).toMatchObject({ added: 0, refused: [{ line: 2 }] })
  })

  it('counts every refused line, and names the first thousand', async () => {
    const { refused, refused_count } = await imported(`email\n${'nobody\n'.repeat(2_500)}`)
    expect([refused_count, refused.length, refused.at(-1)?.line]).toEqual([2_500, 1_000, 1_001])
  })

  it('counts as known what was suppressed, also by the file itself, and keeps the stronger reason', async () => {
    await call('unsubscribeEmail', { body: { email: 'known@example.com' } })
    const csv = [
      'email,reason',
      'known@example.com,bounced',
      'TWICE@example.com,bounced',
      'twice@example.com,complained',
      'new@example.com,bounced',
    ].join('\n')
    expect(await imported(csv)).toEqual({ added: 2, known: 2, ...NOTHING })
    expect(await reasons()).toEqual({
      'known@example.com': 'unsubscribed',
      'TWICE@example.com': 'complained',
      'new@example.com': 'bounced',
    })
    expect(await imported(csv)).toEqual({ added: 0, known: 4, ...NOTHING })
  })

  it('writes many batches, in the order of the file', async () => {
    const lines = Array.from({ length: 3_500 }, (_, i) => `r${i}@example.com`)
    expect(await imported(`email\n${lines.join('\n')}`)).toEqual({
      ...{ added: 3_500, known: 0 },
      ...NOTHING,
    })
    expect((await listed())[0]).toMatchObject({ email: 'r3499@example.com' })
  })

  it.each([
    ['', 'is not there: the file is empty'],
    ['\n\n', 'is not there: the file is empty'],
    ['a@example.com\nb@example.com\n', 'must name the column email'],
    ['"email', 'has a quote that is not closed'],
    [Buffer.from('\ufeffemail\nada@example.com\n', 'utf16le'), 'is not UTF-8'],
    ['email;reason\nada@example.com;manual\n', 'must separate its columns by commas'],
    ['email\treason\nada@example.com\tmanual\n', 'must separate its columns by commas'],
  ])('answers 400 to a file without a header: %j', async (csv, message) => {
    const { status, body } = await importFile(csv)
    expect([status, body.code]).toEqual([400, 'validation_failed'])
    expect(body.errors).toMatchObject([{ path: '', message: expect.stringContaining(message) }])
  })

  it.each<[SuppressionFormat, string, SuppressionFormat]>([
    ['sendgrid', 'EmailAddress,Reason,LastUpdateTime', 'ses'],
    ['sendgrid', 'EmailAddress,SuppressionReason,Origin,CreatedAt', 'postmark'],
    ['sendgrid', 'email,reason', 'postrider'],
    ['mailgun', 'email,created', 'sendgrid'],
    ['postmark', 'EmailAddress,Reason', 'ses'],
    ['ses', 'EmailAddress,SuppressionReason', 'postmark'],
    ['postrider', 'status,reason,email,created', 'sendgrid'],
    ['postrider', 'address,tags,created_at', 'mailgun'],
  ])('refuses by name for %s a file with the header %s', async (format, header, other) => {
    const { status, body } = await importFile(`${header}\n`, format)
    const message = expect.stringContaining(`is that of the format ${other}: choose it`)
    expect([status, body.errors]).toEqual([400, [{ path: '', message }]])
    expect((await importFile(`${header}\n`, other)).status).toBe(200)
  })

  it('takes the character that stands for a wrong one, where the file has it', async () => {
    await imported('email,note\nada@example.com,caf\ufffd\n')
    expect(await listed()).toMatchObject([{ note: 'caf\ufffd' }])
  })

  it('answers 400 to an unknown format, 415 to JSON, 403 to a key that reads', async () => {
    expect(
      await call('importSuppressions', { csv: 'email\n', query: '?format=other' }),
    ).toMatchObject({ status: 400, body: { errors: [{ path: '/format' }] } })
    expect(await call('importSuppressions', { body: { email: 'a@example.com' } })).toMatchObject({
      status: 415,
      body: { code: 'unsupported_media_type', message: expect.stringContaining('text/csv') },
    })
    expect((await importFile('email\n', undefined, 'reader')).status).toBe(403)
    expect((await importFile('email\n', undefined, 'sender')).status).toBe(200)
    expect(await call('unsubscribeEmail', { csv: 'email\n' })).toMatchObject({ status: 415 })
  })

  it('answers 413 to a file that is too large', async () => {
    const { status, body } = await importFile(Buffer.alloc(40 * 1024 * 1024 + 1, 'a'))
    expect([status, body.code]).toEqual([413, 'payload_too_large'])
  })
})

describe('a file that breaks off', () => {
  const order = { tenantId: 'tn_a', callerId: 'key_a', format: 'postrider' } as const
  const deps = () => ({
    db: api.db,
    clock: { now: () => new Date() },
    log: silent,
    ...createFileLimits(),
  })
  async function* broken(pieces: readonly string[], error: Error) {
    for (const piece of pieces) yield Buffer.from(piece)
    throw error
  }

  it('leaves what came before, and the refusal says how much', async () => {
    const error = Object.assign(new Error('aborted'), { code: 'ECONNRESET' })
    const lines = Array.from({ length: 3_000 }, (_, i) => `r${i}@example.com\n`).join('')
    const file = broken([`email\n${lines}`], error)
    await expect(importSuppressions(deps(), order, file)).rejects.toMatchObject({
      code: 'bad_request',
      message: expect.stringMatching(/broke off: [1-3]\d{3} addresses were added before, and 0/),
    })
    expect(await isSuppressed('r1000@example.com')).toBe(true)
  })

  it('is refused where it is no longer UTF-8, and what came before stays', async () => {
    async function* pieces() {
      yield Buffer.from(`email,note\n${'ada@example.com,\n'.repeat(2_000)}`)
      yield Buffer.from('bob@example.com,caf\xe9\n', 'latin1')
    }
    const told = expect.stringMatching(/^the file is not UTF-8: save it in UTF-8\. .* 1 addresses/)
    await expect(importSuppressions(deps(), order, pieces())).rejects.toMatchObject({
      ...{ code: 'validation_failed', message: told, errors: [{ path: '', message: told }] },
    })
    expect(Object.keys(await reasons())).toEqual(['ada@example.com'])
  })

  it('is refused as a whole when nothing of it was read', async () => {
    const error = Object.assign(new Error('aborted'), { code: 'ECONNRESET' })
    await expect(importSuppressions(deps(), order, broken([], error))).rejects.toBe(error)
  })

  it('says that the database is away, and that a part may be there', async () => {
    let writes = 0
    const db: typeof api.db = {
      ...api.db,
      stats: api.db.stats,
      transaction(work, o) {
        writes += 1
        return writes < 3
          ? api.db.transaction(work, o)
          : Promise.reject(Object.assign(new Error('away'), { name: 'Away' }))
      },
    }
    const lines = Array.from({ length: 5_000 }, (_, i) => `r${i}@example.com\n`).join('')
    async function* whole() {
      yield Buffer.from(`email\n${lines}`)
    }
    await expect(importSuppressions({ ...deps(), db }, order, whole())).rejects.toMatchObject({
      code: 'internal_error',
      message: expect.stringContaining('1000 addresses were added before'),
    })
  })
})

describe('[contract 7.3] exportSuppressions', () => {
  const exported = async (key: Key = 'a') => await call('exportSuppressions', { key })

  it('writes all columns, newest first, and nothing that has ended', async () => {
    await imported(
      [
        'email,reason,source,note,created_at,expires_at',
        'old@example.com,bounced,,,2024-01-02T03:04:05Z,',
        'new@example.com,manual,,"a ""b""",2025-01-02T03:04:05Z,2999-01-01T00:00:00Z',
        'ended@example.com,,,,,2999-01-01T00:00:00Z',
      ].join('\n'),
    )
    await api.db.query(
      `update suppressions_address set expires_at = now() where email = 'ended@example.com'`,
    )
    expect(await exported('reader')).toEqual({
      status: 200,
      body: [
        'email,reason,source,note,created_at,expires_at',
        'new@example.com,manual,"{""import"":""postrider"",""key_id"":""key_a""}","a ""b""",2025-01-02T03:04:05.000Z,2999-01-01T00:00:00.000Z',
        'old@example.com,bounced,"{""import"":""postrider"",""key_id"":""key_a""}",,2024-01-02T03:04:05.000Z,',
        '',
      ].join('\r\n'),
    })
  })

  it('writes no formula, and the import reads what was meant', async () => {
    const notes = ['=1+1', "'=1+1", "''+1", '@a', '-1', '\tx', "'plain", 'plain', '=a,"b"\n']
    const rows = notes.map((note, i) => ({
      ...{ emailKey: `+${i}@example.com`, email: `${'=+-'[i % 3]}${i}@example.com` },
      ...({ reason: 'manual', source: null, note, expiresAt: null } as const),
      id: `01JD4M8W6ZQ3V5T7X9Y2A4C6E${i}`,
    }))
    await putSuppressions(api.db, 'tn_a', rows)
    const before = await listed()
    const { body: csv } = await exported()
    expect(csv.split('\r\n').filter((line: string) => /^[=+\-@]/.test(line))).toEqual([])
    expect(csv).not.toMatch(/,"?[=+\-@\t]/)
    await api.db.query('delete from suppressions_address')
    expect(await imported(csv)).toMatchObject({ added: notes.length, refused: [] })
    const strip = (all: readonly { source: unknown }[]) => all.map((one) => ({ ...one, source: 0 }))
    const byEmail = (a: { email: string }, b: { email: string }) => (a.email < b.email ? -1 : 1)
    expect(strip((await listed()).sort(byEmail))).toEqual(strip(before.sort(byEmail)))
  })

  it('goes on over many pages', async () => {
    const lines = Array.from({ length: 2_000 }, (_, i) => `r${i}@example.com`)
    await imported(`email\n${lines.join('\n')}`)
    const { body } = await exported()
    expect(body.split('\r\n')).toHaveLength(2_002)
    expect(new Set(body.split('\r\n')).size).toBe(2_002)
  })

  it('needs the scope to read, and shows no other tenant', async () => {
    await imported('email\na@example.com\n')
    expect((await exported('sender')).status).toBe(403)
    expect((await exported('b')).body).toBe('email,reason,source,note,created_at,expires_at\r\n')
  })
})
