/** What is received is stored before it is answered, once for each recipient, whatever fails meanwhile. */
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts'
import { failingOnce } from '../../../test/failing-once.ts'
import {
  clearInbound,
  countOf,
  mailboxMail,
  rawMail,
  routeOf,
  smtpMail,
  storedMessages,
} from '../../../test/inbound.ts'
import { DatabaseUnavailableError, type Db, readByIndex } from '../../platform/db/index.ts'
import { createFailpoints } from '../../platform/failpoints.ts'
import { createLogger } from '../../platform/log.ts'
import { decompressShort } from '../../platform/values/zstd.ts'
import { loadMessage } from '../messages/message-store.ts'
import { createIngest } from './ingest.ts'
import { createInboundJanitor } from './janitor.ts'
import { SEEN_MS } from './seen-store.ts'
import { storeMailboxMail } from './store-mail.ts'

let database: TestDatabase
let db: Db
beforeAll(async () => {
  database = await createTestDatabase({ hasDays: true })
  db = database.db
})
beforeEach(() => clearInbound(db))
afterAll(() => database.close())

const bravo = routeOf({ tenantId: 'tn_b', domain: 'other.example' })
const failpoints = createFailpoints(undefined)
const isUnavailable = { code: 'unavailable' }

describe('mail received by SMTP', () => {
  it.each([0, 1, 1024 * 1024, 2_500_000])(
    'is stored byte for byte, with %d more bytes at its end',
    async (length) => {
      const raw = Buffer.concat([rawMail(), randomBytes(length)])
      const mail = smtpMail({ raw })
      const [inboundId = ''] = (await createIngest({ db, failpoints }).store(mail)).inboundIds
      const message = await readByIndex(db, (tx) =>
        loadMessage(tx, { tenantId: 'tn_a', inboundId }),
      )
      expect(message?.raw.equals(raw)).toBe(true)
    },
  )

  it('is stored raw once for each tenant, with a message for each route', async () => {
    const sales = routeOf({ username: 'sales' })
    const raw = rawMail({ body: 'é\0\r\n' })
    const { inboundIds } = await createIngest({ db, failpoints }).store(
      smtpMail({
        raw,
        routes: [
          [routeOf(), 'x@in.example.com', 'y@in.example.com'],
          [sales, 'sales+1@in.example.com'],
          [bravo, 'z@other.example'],
        ],
      }),
    )
    expect(inboundIds).toHaveLength(3)
    const messages = await storedMessages(db)
    expect(messages.map(({ inbound_id }) => inbound_id).sort()).toEqual(inboundIds.toSorted())
    expect(
      messages.map(({ tenant_id, owner, envelope }) => [tenant_id, owner, envelope?.to]),
    ).toEqual([
      ['tn_a', 'in.example.com/', ['x@in.example.com', 'y@in.example.com']],
      ['tn_a', 'in.example.com/sales', ['sales+1@in.example.com']],
      ['tn_b', 'other.example/', ['z@other.example']],
    ])
    expect(new Set(messages.map(({ raw_id }) => raw_id)).size).toBe(2)
    const { rows } = await db.query<{ raw: Buffer }>('select raw from inbound_raw')
    expect(rows.map((row) => decompressShort(row.raw).equals(raw))).toEqual([true, true])
    expect(await countOf(db, 'inbound_queue')).toBe(3)
  })

  it('[contract 5] is recognised when it is sent again, and stored for new recipients only', async () => {
    const ingest = createIngest({ db, failpoints })
    const raw = rawMail()
    await ingest.store(smtpMail({ raw, routes: [[routeOf(), 'x@in.example.com']] }))
    const again = Buffer.concat([Buffer.from('Received: from mx\r\n by us\r\n'), raw])
    const repeated = { raw: again, routes: [[routeOf(), 'X@in.example.com']] } as const
    expect(await ingest.store(smtpMail(repeated))).toEqual({ inboundIds: [] })
    const more = await ingest.store(
      smtpMail({ raw: again, routes: [[routeOf(), 'x@in.example.com', 'y@in.example.com']] }),
    )
    expect(more.inboundIds).toHaveLength(1)
    // Another tenant has not had it.
    await ingest.store(smtpMail({ raw, routes: [[bravo, 'x@in.example.com']] }))
    expect((await storedMessages(db)).map(({ envelope }) => envelope?.to)).toEqual([
      ['x@in.example.com'],
      ['y@in.example.com'],
      ['x@in.example.com'],
    ])
  })

  it('[contract 5] is a different message when the content differs under the same Message-ID', async () => {
    const ingest = createIngest({ db, failpoints })
    const raw = rawMail().toString()
    const all = [
      raw,
      raw.replace('Subject: Hello', 'Subject: Good day'),
      raw.replace('From: A <a@', 'From: A <b@'),
      raw.replace('Hello.', 'Hello?'),
    ]
    for (const one of all)
      expect((await ingest.store(smtpMail({ raw: Buffer.from(one) }))).inboundIds).toHaveLength(1)
    for (const one of all)
      expect((await ingest.store(smtpMail({ raw: Buffer.from(one) }))).inboundIds).toHaveLength(0)
  })

  it('[contract 5] is a new message each time without a Message-ID', async () => {
    const ingest = createIngest({ db, failpoints })
    const mail = smtpMail({ raw: rawMail({ messageId: '' }) })
    expect((await ingest.store(mail)).inboundIds).toHaveLength(1)
    const atOnce = await Promise.all([mail, mail].map((one) => ingest.store(one)))
    expect(atOnce.flatMap(({ inboundIds }) => inboundIds)).toHaveLength(2)
    expect(await countOf(db, 'inbound_seen')).toBe(0)
  })

  it('[contract 5] is a new message after 24 h, before and after the janitor', async () => {
    const ingest = createIngest({ db, failpoints })
    const janitor = createInboundJanitor({ db, log: createLogger({ level: 'silent' }) })
    await ingest.store(smtpMail())
    for (const isCleaned of [false, true]) {
      await db.query(`update inbound_seen set seen_at = seen_at - $1 * interval '1 ms'`, [
        SEEN_MS - 60_000,
      ])
      if (isCleaned) expect(await janitor.runOnce()).toBe(0)
      expect((await ingest.store(smtpMail())).inboundIds).toHaveLength(0)
      await db.query(`update inbound_seen set seen_at = seen_at - interval '2 min'`)
      if (isCleaned) expect(await janitor.runOnce()).toBe(1)
      expect((await ingest.store(smtpMail())).inboundIds).toHaveLength(1)
    }
    expect(await countOf(db, 'inbound_message')).toBe(3)
  })

  it('[I4] is stored once by concurrent processes, in any order', async () => {
    const intakes = [
      createIngest({ db, failpoints }),
      createIngest({ db, failpoints }),
      createIngest({ db, failpoints }),
    ]
    const raws = Array.from({ length: 8 }, (_, i) => rawMail({ messageId: `<${i}@x>` }))
    const to = ['x@in.example.com', 'y@in.example.com']
    const results = await Promise.all(
      intakes.flatMap((ingest, i) => {
        const ordered = i % 2 === 0 ? raws : raws.toReversed()
        return ordered.map((raw) =>
          ingest.store(
            smtpMail({ raw, routes: [[routeOf(), ...(i === 1 ? to.toReversed() : to)]] }),
          ),
        )
      }),
    )
    expect(results.flatMap(({ inboundIds }) => inboundIds)).toHaveLength(8)
    expect(await countOf(db, 'inbound_message')).toBe(8)
    expect(await countOf(db, 'inbound_raw')).toBe(8)
  })

  it('is stored with any text that its client has sent', async () => {
    const envelope = { from: 'a\0@x', to: [], remoteIp: '192.0.2.1', helo: 'h\ud800', isTls: false }
    await createIngest({ db, failpoints }).store(smtpMail({ envelope }))
    const [stored] = await storedMessages(db)
    expect(stored?.envelope).toMatchObject({ from: 'a\ufffd@x', helo: 'h\ufffd' })
  })

  it('is announced after the commit', async () => {
    const ingest = createIngest({ db, failpoints })
    const seen: Promise<number>[] = []
    const stop = ingest.onStored(() => seen.push(countOf(db, 'inbound_queue')))
    await ingest.store(smtpMail())
    expect(await Promise.all(seen)).toEqual([1])
    stop()
    await ingest.store(smtpMail({ raw: rawMail({ body: 'another' }) }))
    expect(seen).toHaveLength(1)
  })

  it('[I5] is refused when its commit takes too long, and recognised if the commit succeeded', async () => {
    const held = Promise.withResolvers<void>()
    const slow: Db = {
      ...db,
      transaction: async (work, o) => {
        await held.promise
        return await db.transaction(work, o)
      },
    }
    const ingest = createIngest({ db: slow, failpoints, answerMs: 1 })
    await expect(ingest.store(smtpMail())).rejects.toMatchObject(isUnavailable)
    held.resolve()
    await ingest.stop()
    expect(await countOf(db, 'inbound_message')).toBe(1)
    expect((await createIngest({ db, failpoints }).store(smtpMail())).inboundIds).toEqual([])
  })

  it('is refused when too much mail waits for its commit', async () => {
    const held = Promise.withResolvers<void>()
    const away: Db = {
      ...db,
      async transaction() {
        await held.promise
        throw new DatabaseUnavailableError('away')
      },
    }
    const ingest = createIngest({ db: away, failpoints, waitingBytesMax: 2_000 })
    const first = ingest.store(smtpMail({ raw: Buffer.alloc(3_000) }))
    await expect(ingest.store(smtpMail())).rejects.toMatchObject(isUnavailable)
    held.resolve()
    await expect(first).rejects.toThrow('away')
    await expect(ingest.store(smtpMail())).rejects.toThrow('away')
  })

  it('[I8] is stored whole or not at all, whichever statement fails', async () => {
    const routes = [
      [routeOf(), 'x@in.example.com'],
      [bravo, 'y@other.example'],
    ] as const
    for (let n = 1; ; n++) {
      await clearInbound(db)
      const failing = failingOnce(db, n, '53100')
      const mail = smtpMail({ routes })
      const result = await createIngest({ db: failing.db, failpoints })
        .store(mail)
        .catch(() => undefined)
      if (!failing.seen.hasFailed) break
      expect(result).toBeUndefined()
      for (const table of ['inbound_raw', 'inbound_message', 'inbound_queue', 'inbound_seen'])
        expect(await countOf(db, table)).toBe(0)
      expect((await createIngest({ db, failpoints }).store(mail)).inboundIds).toHaveLength(2)
      expect(n).toBeLessThan(20)
    }
  })
})

describe('mail fetched from mailboxes', () => {
  it('is stored in the transaction of its caller, or not at all', async () => {
    const mails = [mailboxMail(), mailboxMail({ mailerId: 'imap_2', serverThread: '17' })]
    const failed = db.transaction(async (tx) => {
      await storeMailboxMail(tx, mails)
      throw new Error('the watermark was not moved')
    })
    await expect(failed).rejects.toThrow('the watermark')
    expect(await countOf(db, 'inbound_queue')).toBe(0)
    const ids = await db.transaction((tx) => storeMailboxMail(tx, mails))
    const stored = await storedMessages(db)
    expect(stored.map(({ inbound_id }) => inbound_id)).toEqual(ids)
    expect(stored).toMatchObject([
      { owner: 'imap_1', mailer_id: 'imap_1', envelope: null },
      { owner: 'imap_2', mailer_id: 'imap_2', envelope: null },
    ])
    expect(await countOf(db, 'inbound_queue')).toBe(2)
  })
})
