/**
 * What arrives in a mailbox is stored once, whatever its server does (docs/reference/inbound.md#mailboxes).
 */

import { pause } from '@postrider/runtime/timeout'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import {
  createMailboxBench,
  type MailboxBench,
  mail,
  PASSWORD,
  USER,
} from '../../../test/mailboxes.ts'
import { createNoteDeactivated } from '../../mailers/index.ts'
import { EgressError } from '../../platform/egress/index.ts'
import { createLogger } from '../../platform/log.ts'
import { readMailboxHealth } from './read-health.ts'

let bench: MailboxBench
beforeAll(async () => {
  bench = await createMailboxBench()
})
afterEach(() => bench.clear())
afterAll(() => bench.close())

const subjects = async () =>
  (await bench.stored()).map(({ text }) => /Subject: (.*)\r/.exec(text)?.[1]).sort()
const healthOf = async (mailerId: string) =>
  (await readMailboxHealth(bench.database.db, 'tn_a', [mailerId])).get(mailerId)
/** What is logged of mailboxes and mailers from then on. */
function logged() {
  const lines: Record<string, unknown>[] = []
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) }
  const log = createLogger({ level: 'trace', destination })
  const note = (msg: string) => lines.filter((line) => line.msg === msg)
  return { log, note }
}
const idle = (n = 1) => bench.server.waitFor(({ idleConnections }) => idleConnections === n)
const folderOf =
  (path = 'INBOX') =>
  async () =>
    (
      await bench.database.db.query<{ last_uid: string }>(
        'select last_uid from mailboxes_folder where path = $1',
        [path],
      )
    ).rows[0]
/** Everything up to this UID has been dealt with. */
const dealtWith = (uid: number, path?: string) =>
  bench.until(folderOf(path), (row) => Number(row?.last_uid) === uid)

describe('the arrival of a message', () => {
  it('[contract 3.5] is noticed by IDLE, and older messages are not reported', async () => {
    bench.server.deliver('INBOX', mail('old'), { internalDate: new Date(Date.now() - 60_000) })
    const mailerId = await bench.add()
    await bench.watch()
    await idle()
    bench.server.deliver('INBOX', mail(1))
    await bench.untilSubjects('mail 1')
    bench.server.deliver('INBOX', mail(2))
    await bench.untilSubjects('mail 2')
    const stored = await bench.stored()
    expect(stored).toMatchObject([
      { mailerId, folder: 'INBOX', text: mail(1), problem: null, serverThread: null },
      { mailerId, folder: 'INBOX', text: mail(2) },
    ])
    expect(bench.server.connections).toBe(1)
    expect(bench.server.account().folders.get('INBOX')?.messages[1]?.flags.size).toBe(0)
    expect(bench.server.count('SELECT')).toBe(0)
  })

  it('[contract 5] is noticed by polling without IDLE, and in other folders', async () => {
    const server = await bench.serve({ capabilities: ['NAMESPACE'] })
    server.account().addFolder('Archive')
    await bench.add({ folders: ['INBOX', 'Archive'] })
    await bench.watch({ pollMs: 20 })
    await bench.until(folderOf('INBOX'), (row) => row !== undefined)
    server.deliver('INBOX', mail(1))
    server.deliver('Archive', mail(2))
    await bench.untilSubjects('mail 1', 'mail 2')
    expect((await bench.stored()).map(({ folder }) => folder).sort()).toEqual(['Archive', 'INBOX'])
    expect(server.count('IDLE')).toBe(0)
  })

  it('[contract 3.5] is reported from the time `since` on', async () => {
    const at = (minutes: number) => ({ internalDate: new Date(Date.now() - minutes * 60_000) })
    bench.server.deliver('INBOX', mail('week'), at(7 * 24 * 60))
    bench.server.deliver('INBOX', mail('young'), at(30))
    bench.server.deliver('INBOX', mail('hour'), at(60))
    await bench.add({ since: new Date(Date.now() - 45 * 60_000) })
    await bench.watch()
    await idle()
    bench.server.deliver('INBOX', mail('new'))
    await bench.untilSubjects('mail new')
    expect(await subjects()).toEqual(['mail new', 'mail young'])
  })

  it('[contract 3.5] is reported in the very second of the configuration', async () => {
    const second = Math.floor(Date.now() / 1000) * 1000
    bench.server.deliver('INBOX', mail(1), { internalDate: new Date(second) })
    await bench.add({ since: new Date(second + 300) })
    await bench.watch()
    await bench.untilSubjects('mail 1')
  })

  it('[contract 3.5] is reported when a search does not find it yet', async () => {
    const hourAgo = new Date(Date.now() - 3_600_000)
    bench.server.deliver('INBOX', mail('old'), { internalDate: hourAgo })
    bench.server.deliver('INBOX', mail(1))
    bench.server.setScript(({ command }) =>
      command === 'UID SEARCH' ? { reply: 'OK', before: '* SEARCH\r\n' } : undefined,
    )
    await bench.add({ since: new Date(Date.now() - 60_000) })
    await bench.watch()
    await bench.untilSubjects('mail 1')
    expect(await subjects()).toEqual(['mail 1'])
  })

  it('is reported in the order of UIDs, also for many messages', async () => {
    await bench.add()
    const first = await bench.watch()
    await idle()
    await first.stop()
    for (let n = 1; n <= 130; n++) bench.server.deliver('INBOX', mail(n))
    await bench.watch()
    await dealtWith(130)
    const found = (await bench.stored()).map(({ text }) => Number(/mail (\d+)/.exec(text)?.[1]))
    expect(found).toEqual(Array.from({ length: 130 }, (_, i) => i + 1))
  })

  it('names the conversation with the thread id of Gmail', async () => {
    const server = await bench.serve({ capabilities: ['IDLE', 'X-GM-EXT-1'] })
    await bench.add()
    await bench.watch()
    await idle()
    server.deliver('INBOX', mail(1), { gmailThreadId: '1278455344230334865' })
    await bench.untilSubjects('mail 1')
    expect(await bench.stored()).toMatchObject([{ serverThread: '1278455344230334865' }])
  })

  it('is reported by the header when the message is too large', async () => {
    await bench.add()
    await bench.watch({ messageBytesMax: 10_000 })
    await idle()
    bench.server.deliver('INBOX', `${mail('large')}${'x'.repeat(20_000)}`)
    bench.server.deliver('INBOX', mail(2))
    await bench.untilSubjects('mail large', 'mail 2')
    const [large] = await bench.stored()
    expect(large).toMatchObject({
      text: 'Message-ID: <large@x.test>\r\nSubject: mail large\r\n\r\n',
      problem: 'The message is larger than 10000 bytes: only its header is here',
    })
  })
})

describe('[contract 3.5] a message is reported once', () => {
  it('over restarts of this process', async () => {
    await bench.add()
    for (const n of [1, 2, 3]) {
      const watchers = await bench.watch()
      await bench.until(folderOf(), (row) => row !== undefined)
      bench.server.deliver('INBOX', mail(n))
      await bench.untilSubjects(`mail ${n}`)
      await watchers.stop()
    }
    expect(await subjects()).toEqual(['mail 1', 'mail 2', 'mail 3'])
  })

  it('[B3] a message is reported once while two processes watch the mailbox', async () => {
    await bench.add()
    await bench.watch()
    await idle()
    await bench.watch()
    for (let n = 1; n <= 20; n++) bench.server.deliver('INBOX', mail(n))
    await dealtWith(20)
    expect(await subjects()).toHaveLength(20)
  })

  it('[B2] a message is reported once when the server gives its messages new numbers, and no old message is reported', async () => {
    bench.server.deliver('INBOX', mail('old'))
    await bench.add({ since: new Date(Date.now() + 1_000) })
    await bench.watch()
    await idle()
    for (const n of [1, 2, 3]) bench.server.deliver('INBOX', mail(n))
    await bench.untilSubjects('mail 1', 'mail 2', 'mail 3')
    bench.server.account().expunge('INBOX', 2)
    bench.server.account().renumber('INBOX')
    bench.server.deliver('INBOX', mail(4))
    await bench.untilSubjects('mail 4')
    await idle()
    expect(await subjects()).toEqual(['mail 1', 'mail 2', 'mail 3', 'mail 4'])
  })

  it('[B2] a message is reported once when it gets a new number and a new time of arrival together', async () => {
    await bench.add()
    await bench.watch()
    await idle()
    bench.server.deliver('INBOX', mail(1))
    await bench.untilSubjects('mail 1')
    // Another server, to which the mail was copied.
    const { port } = bench.server
    await bench.server.close()
    const server = await bench.serve({ port })
    server.deliver('INBOX', mail(1), { internalDate: new Date(Date.now() + 5_000) })
    server.deliver('INBOX', mail(2))
    await bench.untilSubjects('mail 2')
    expect(await subjects()).toEqual(['mail 1', 'mail 2'])
  })

  it('a message is reported once when it is moved to another watched folder', async () => {
    bench.server.account().addFolder('Archive')
    await bench.add({ folders: ['INBOX', 'Archive'] })
    await bench.watch({ pollMs: 20 })
    await idle()
    const internalDate = new Date()
    const uid = bench.server.deliver('INBOX', mail(1), { internalDate })
    await bench.untilSubjects('mail 1')
    bench.server.deliver('Archive', mail(1), { internalDate })
    bench.server.account().expunge('INBOX', uid)
    bench.server.deliver('Archive', mail(2))
    await bench.untilSubjects('mail 2')
    await dealtWith(2, 'Archive')
    expect(await subjects()).toEqual(['mail 1', 'mail 2'])
  })

  it('a message is reported once in each account: a second account of the same mailer has its own', async () => {
    const other = 'eve@example.com'
    await bench.serve({ auth: { users: { [USER]: PASSWORD, [other]: PASSWORD } } })
    const mailerId = await bench.add()
    await bench.watch()
    await idle()
    const internalDate = new Date()
    bench.server.deliver('INBOX', mail(1), { internalDate })
    await bench.untilSubjects('mail 1')
    const connection = bench.server.connections
    await bench.database.db.query(
      'update mailers_mailer set config_version = config_version + 1, username = $1',
      [other],
    )
    bench.wake(mailerId)
    await bench.server.waitFor(({ connections }) => connections > connection)
    await idle()
    bench.server.account(other).deliver('INBOX', mail(1), { internalDate })
    bench.server.account(other).deliver('INBOX', mail(2))
    await bench.untilSubjects('mail 2')
    expect(await subjects()).toEqual(['mail 1', 'mail 1', 'mail 2'])
  })

  it('a message with other content is reported as a different one', async () => {
    bench.server.account().addFolder('Archive')
    await bench.add({ folders: ['INBOX', 'Archive'] })
    await bench.watch({ pollMs: 20 })
    await idle()
    const internalDate = new Date()
    const alarm = (n: number) => `Message-ID: <alarm@x.test>\r\nSubject: mail ${n}\r\n\r\nx\r\n`
    const uid = bench.server.deliver('INBOX', alarm(1), { internalDate })
    await bench.untilSubjects('mail 1')
    bench.server.deliver('INBOX', alarm(2), { internalDate })
    await bench.untilSubjects('mail 2')
    // Moved away and back again, it is itself.
    bench.server.account().expunge('INBOX', uid)
    bench.server.deliver('Archive', alarm(1), { internalDate })
    await dealtWith(1, 'Archive')
    bench.server.deliver('INBOX', alarm(1), { internalDate })
    await dealtWith(3)
    expect(await subjects()).toEqual(['mail 1', 'mail 2'])
  })

  it.each([1, 3, 5])(
    '[B1] a message is reported once when the connection breaks after %i pieces of the answer',
    async (piecesMax) => {
      await bench.add()
      const first = await bench.watch()
      await idle()
      await first.stop()
      for (const n of [1, 2, 3, 4]) bench.server.deliver('INBOX', mail(n))
      let broken = 0
      bench.server.setScript(({ command, line }) =>
        command === 'UID FETCH' && line.includes('BODY.PEEK[]') && broken++ < 2
          ? { piecesMax, raw: '* BYE going down\r\n', ending: 'fin' }
          : undefined,
      )
      await bench.watch()
      await bench.untilSubjects('mail 1', 'mail 2', 'mail 3', 'mail 4')
      expect(await subjects()).toEqual(['mail 1', 'mail 2', 'mail 3', 'mail 4'])
    },
  )

  it('a message is reported once when the server answers in part, twice, or about other messages', async () => {
    await bench.add()
    await bench.watch()
    await idle()
    bench.server.setScript(({ command, answer }) =>
      command === 'UID FETCH' && answer.length > 1
        ? {
            before: Buffer.concat([
              ...answer.slice(0, -1),
              Buffer.from('* 1 FETCH (UID 0 RFC822.SIZE 1)\r\n* 1 FETCH (FLAGS ())\r\n'),
            ]),
          }
        : undefined,
    )
    bench.server.deliver('INBOX', mail(1))
    bench.server.deliver('INBOX', mail(2))
    await bench.untilSubjects('mail 1', 'mail 2')
    await dealtWith(2)
    expect(await subjects()).toEqual(['mail 1', 'mail 2'])
  })
})

describe('a server that lies or fails', () => {
  it.each([{ uidNext: 1 }, { uidNext: 4_000_000_000 }, { exists: 0 }])(
    'is not believed about %j',
    async (lies) => {
      bench.server.account().lie('INBOX', lies)
      await bench.add()
      await bench.watch({ pollMs: 20, roundMs: 50 })
      await bench.until(folderOf(), (row) => row !== undefined)
      bench.server.deliver('INBOX', mail(1))
      await bench.untilSubjects('mail 1')
    },
  )

  it('a server that lies or fails by refusing one message still has the others reported', async () => {
    await bench.add()
    bench.server.setScript(({ command, line }) =>
      command === 'UID FETCH' && line.includes('BODY.PEEK[]') && /FETCH (1:|\d,)*2|1:3/.test(line)
        ? 'NO Some messages could not be FETCHed (Failure)'
        : undefined,
    )
    await bench.watch()
    await idle()
    for (const n of [1, 2, 3]) bench.server.deliver('INBOX', mail(n))
    await bench.untilSubjects('mail 1', 'mail 2', 'mail 3')
    const [, second] = await bench.stored()
    expect(second).toMatchObject({ problem: expect.stringContaining('only its header') })
  }, 60_000)

  it('[E1] causes no error report while this machine has no free file descriptor', async () => {
    const mailerId = await bench.add()
    let tries = 0
    await bench.watch({
      egress: {
        async resolve() {
          tries += 1
          if (tries <= 5) throw new EgressError('busy', 'no free file descriptors')
          return [{ address: '127.0.0.1', family: 4 }]
        },
      },
    })
    await idle()
    bench.server.deliver('INBOX', mail(1))
    await bench.untilSubjects('mail 1')
    expect(tries).toBe(6)
    expect(await bench.events()).toEqual([])
    expect(await healthOf(mailerId)).toMatchObject({ failingSince: null, lastFailure: null })
  })

  it('[contract 3.5] is reported by IMAP_ERROR when the failure begins, not at restarts, and again after a while', async () => {
    const mailerId = await bench.add()
    bench.server.setScript(({ command }) => (command === 'GREETING' ? 'BYE Overloaded' : undefined))
    const first = await bench.watch()
    const told = (n: number) => bench.until(bench.events, (events) => events.length === n)
    const [event] = await told(1)
    expect(event).toEqual({
      event: 'IMAP_ERROR',
      owner: mailerId,
      details: {
        mailer_id: mailerId,
        failed_reason: 'The mail server has a temporary problem',
        provider_error: 'BYE Overloaded',
        event_at: expect.any(String),
      },
    })
    expect(await healthOf(mailerId)).toMatchObject({
      failingSince: expect.any(Date),
      readAt: null,
      isReadOfLate: false,
      lastFailure: {
        failedReason: 'The mail server has a temporary problem',
        providerError: 'BYE Overloaded',
      },
    })
    await first.stop()
    const tries = async () => {
      const { rows } = await bench.database.db.query<{ tries: number }>(
        'select tries from mailboxes_mailbox',
      )
      return rows[0]?.tries ?? 0
    }
    const triesBefore = await tries()
    const second = await bench.watch({ errorRepeatMs: 1 })
    // A stop drops a login under way, whose failure then counts for nothing.
    await bench.until(tries, (now) => now > triesBefore)
    await second.stop()
    expect(await bench.events()).toHaveLength(1)
    await bench.database.db.query('update mailboxes_mailbox set report_due_at = now()')
    const { log, note } = logged()
    await bench.watch({ log })
    await told(2)
    bench.server.setScript(undefined)
    await idle()
    expect(await healthOf(mailerId)).toMatchObject({
      failingSince: null,
      readAt: expect.any(Date),
      isReadOfLate: true,
      lastFailure: { providerError: 'BYE Overloaded' },
    })
    const place = { mailer_id: mailerId, host: '127.0.0.1', port: bench.server.port }
    const [failed, ...more] = note('mailbox.failed')
    const failing_since = expect.stringMatching(/^\d{4}-.*Z$/)
    expect(failed).toMatchObject({ level: 'warn', ...place, failing_since })
    expect(failed).not.toHaveProperty('folder')
    expect(failed?.tries).toBeGreaterThan(2)
    expect(more.every(({ level }) => level === 'debug')).toBe(true)
    const { tries: lastTries, failing_since: since } = more.at(-1) ?? failed ?? {}
    const duration_ms = expect.any(Number)
    expect(note('mailbox.recovered')).toMatchObject([
      { level: 'info', ...place, tries: lastTries, failing_since: since, duration_ms },
    ])
  })

  it('is not reported to another tenant', async () => {
    const mailerId = await bench.add()
    await bench.watch()
    await idle()
    expect(await healthOf(mailerId)).toBeDefined()
    expect(await readMailboxHealth(bench.database.db, 'tn_b', [mailerId])).toEqual(new Map())
  })

  it('is retried ever later like an unexpected error of the watcher', async () => {
    const mailerId = await bench.add()
    const waits: number[] = []
    await bench.watch({
      inTurn: () => Promise.reject(new Error('a canary of ours')),
      pause(ms, signal) {
        waits.push(ms)
        return pause(1, signal)
      },
    })
    await idle()
    bench.server.deliver('INBOX', mail(1))
    const enough = async () => waits.length >= 4
    await bench.until(enough, (is) => is)
    expect(waits.slice(0, 4)).toEqual([1_000, 2_000, 4_000, 8_000])
    expect(await bench.events()).toEqual([
      {
        event: 'IMAP_ERROR',
        owner: mailerId,
        details: {
          mailer_id: mailerId,
          failed_reason: 'Internal error',
          event_at: expect.any(String),
        },
      },
    ])
  })

  it('a connection that the server ends is made again, without a report', async () => {
    await bench.add()
    await bench.watch()
    await idle()
    bench.server.disconnect('BYE Autologout; idle for too long')
    await bench.server.waitFor(({ connections }) => connections === 2)
    await idle()
    bench.server.deliver('INBOX', mail(1))
    await bench.untilSubjects('mail 1')
    expect(await bench.events()).toEqual([])
  })

  it('a missing folder is reported, and the other folders are watched', async () => {
    await bench.add({ folders: ['INBOX', 'Nowhere'] })
    const { log, note } = logged()
    await bench.watch({ pollMs: 50, log })
    const [event] = await bench.until(bench.events, (events) => events.length > 0)
    expect(event).toMatchObject({
      event: 'IMAP_ERROR',
      details: { failed_reason: 'A watched folder does not exist' },
    })
    bench.server.deliver('INBOX', mail(1))
    await bench.untilSubjects('mail 1')
    expect(await bench.events()).toHaveLength(1)
    expect(note('mailbox.failed')[0]).toMatchObject({ folder: 'Nowhere', tries: 1 })
  })
})

describe('a login that is rejected', () => {
  const REJECTED = 'NO [AUTHENTICATIONFAILED] Invalid credentials (Failure)'
  const stateOf = async (mailerId: string) =>
    (
      await bench.database.db.query<{ state: string }>(
        'select state from mailers_mailer where mailer_id = $1',
        [mailerId],
      )
    ).rows[0]?.state

  it('[interface 6.3] deactivates the mailer the second time, and reports that to the webhook of the mailbox', async () => {
    bench.server.setScript(({ command }) => (command === 'AUTHENTICATE' ? REJECTED : undefined))
    const mailerId = await bench.add()
    const { log, note } = logged()
    await bench.watch({ noteDeactivated: createNoteDeactivated({ log, observe: () => undefined }) })
    const events = await bench.until(bench.events, (found) => found.length > 0)
    expect(events).toEqual([
      {
        event: 'MAILER_DEACTIVATED',
        owner: mailerId,
        details: {
          mailer_id: mailerId,
          config_type: 'imap',
          failed_reason: 'provider_auth_error',
          provider_error: REJECTED,
        },
      },
    ])
    expect(await stateOf(mailerId)).toBe('deactivated')
    expect(bench.server.connections).toBe(2)
    expect(await healthOf(mailerId)).toMatchObject({ failingSince: null, readAt: null })
    await bench.until(
      async () => note('mailer.deactivated'),
      (lines) => lines.length > 0,
    )
    expect(note('mailer.deactivated')).toMatchObject([
      { host: '127.0.0.1', port: bench.server.port, tries: 1, failing_since: expect.any(String) },
    ])
  })

  it('is retried the first time without a report', async () => {
    bench.server.setScript(({ command, n }) =>
      command === 'AUTHENTICATE' && n === 1 ? REJECTED : undefined,
    )
    await bench.add()
    await bench.watch()
    await idle()
    expect(await bench.events()).toEqual([])
  })

  it('[contract 3.3] starts an error report when it is temporary', async () => {
    const reply = 'NO [ALERT] Too many simultaneous connections. (Failure)'
    bench.server.setScript(({ command }) => (command === 'AUTHENTICATE' ? reply : undefined))
    const mailerId = await bench.add()
    await bench.watch()
    const [event] = await bench.until(bench.events, (found) => found.length > 0)
    expect(event).toMatchObject({ event: 'IMAP_ERROR', details: { provider_error: reply } })
    expect(await stateOf(mailerId)).toBe('active')
  })

  it('is retried with a changed password as soon as that is stored', async () => {
    const server = await bench.serve({ auth: { users: { [USER]: 'other' } } })
    const mailerId = await bench.add()
    await bench.watch()
    await bench.until(bench.events, (found) => found.length > 0)
    await server.close()
    await bench.serve({ port: server.port, auth: { users: { [USER]: PASSWORD } } })
    await bench.database.db.query(
      `update mailers_mailer set state = 'active', config_version = config_version + 1`,
    )
    bench.wake(mailerId)
    await idle()
  })
})

it('stops watching a deleted mailer, and deletes its record', async () => {
  const mailerId = await bench.add()
  await bench.watch()
  await idle()
  await bench.database.db.query('delete from mailers_mailer')
  bench.wake(mailerId)
  await bench.server.waitFor(({ openConnections }) => openConnections === 0)
  expect(await bench.database.db.query('select 1 from mailboxes_folder')).toMatchObject({
    rowCount: 0,
  })
})

describe('a mailbox with OAuth', () => {
  const BEARER = 'fresh-token'
  const oauth = { configType: 'oauth_imap', connectionType: 'oauth', appId: 'app' } as const
  const accept = {
    auth: {
      users: { [USER]: '' },
      mechanisms: ['XOAUTH2'],
      tokens: (_: string, token: string) => token === BEARER,
    },
  } as const
  const addOauth = async () => {
    await bench.database.db.query(
      `insert into mailers_oauth_app (tenant_id, app_id, provider, client_id, client_secret,
         redirect_uris, authorize_url, token_url)
       values ('tn_a', 'app', 'custom', 'c', 's', '{}', 'https://a.test', 'https://t.test')
       on conflict do nothing`,
    )
    const { port } = bench.server
    const config = {
      host: '127.0.0.1',
      port,
      secure: 'None',
      tlsVerify: true,
      username: USER,
    } as const
    return bench.add({ ...oauth, config })
  }

  it('[contract 1] refreshes a refused access token before it decides anything', async () => {
    await bench.serve(accept)
    await addOauth()
    const refused: (string | undefined)[] = []
    await bench.watch({
      accessTokens: {
        async get(_, o) {
          refused.push(o.refused)
          return { kind: 'token', accessToken: o.refused === undefined ? 'stale' : BEARER }
        },
      },
    })
    await idle()
    expect(refused).toEqual([undefined, 'stale'])
    expect(await bench.events()).toEqual([])
  })

  it('[B12] reports the name of the bound that a server breaks', async () => {
    await bench.serve({
      ...accept,
      script: ({ command }) =>
        command === 'AUTHENTICATE' ? { before: `* OK ${'['.repeat(30_000)}\r\n` } : undefined,
    })
    await addOauth()
    await bench.watch({
      accessTokens: { get: async () => ({ kind: 'token', accessToken: BEARER }) as const },
    })
    const [event] = await bench.until(bench.events, (events) => events.length > 0)
    expect(event?.details.provider_error).toContain('the bound imap_line: ')
  })

  it('starts an error report when the provider returns no token', async () => {
    await bench.serve(accept)
    const mailerId = await addOauth()
    const failure = {
      verdict: 'transient',
      providerError: 'HTTP status 503',
      isAnswered: false,
    } as const
    await bench.watch({ accessTokens: { get: async () => ({ kind: 'failed', failure }) } })
    const [event] = await bench.until(bench.events, (found) => found.length > 0)
    expect(event).toMatchObject({
      event: 'IMAP_ERROR',
      owner: mailerId,
      details: {
        failed_reason: 'The OAuth provider gave no access token at the moment',
        provider_error: 'HTTP status 503',
      },
    })
    expect(bench.server.connections).toBe(0)
  })

  it('deactivates the mailer when the token is refused twice', async () => {
    await bench.serve(accept)
    const mailerId = await addOauth()
    const get = async () => ({ kind: 'token', accessToken: 'wrong' }) as const
    await bench.watch({ accessTokens: { get } })
    const [event] = await bench.until(bench.events, (found) => found.length > 0)
    expect(event).toMatchObject({
      event: 'MAILER_DEACTIVATED',
      owner: mailerId,
      details: { config_type: 'oauth_imap', failed_reason: 'provider_auth_error' },
    })
  })
})
