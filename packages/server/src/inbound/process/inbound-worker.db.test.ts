/** Received mail is reported once, by any number of processes, whatever ends them, and for every tenant. */
import { incomingEmail } from '@postrider/contract'
import { Errors } from 'typebox/value'
import { describe, expect, it } from 'vitest'
import { emptyTables } from '../../../test/empty-tables.ts'
import { failingOnce } from '../../../test/failing-once.ts'
import { countOf, rawMail, routeOf, smtpMail, storedMessages } from '../../../test/inbound.ts'
import { UNKNOWN, useInbound } from '../../../test/inbound-worker.ts'
import { createClock } from '../../platform/clock.ts'
import { ApiError } from '../../platform/errors.ts'
import { loadMessage } from '../messages/message-store.ts'
import { usualAdmission } from './admission-limiter.ts'
import type { MessageReader, MessageReaderDeps } from './read-message.ts'

const world = useInbound()
const ids = async () => (await world.events()).map(({ details }) => details.inbound_id).sort()
const queued = () => countOf(world.db, 'inbound_queue')

describe('received mail', () => {
  it('[contract 4, 5] is reported with all its content to the webhook of its route', async () => {
    const route = routeOf({ username: 'sales' })
    const webhookId = await world.webhook('tn_a', route.owner)
    const header =
      'Cc: =?utf-8?q?J=C3=BCrgen?= <j@example.org>\r\nReply-To: r@example.org\r\nIn-Reply-To: <2@x>\r\nReferences: <1@x> <2@x>\r\nContent-Type: multipart/mixed; boundary=b\r\n'
    const body =
      '--b\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nHéllo\r\n--b\r\nContent-Type: text/html\r\n\r\n<p>Hello</p>\r\n--b\r\nContent-Type: application/pdf; name=a.pdf\r\nContent-Disposition: attachment; filename=a.pdf\r\nContent-Transfer-Encoding: base64\r\n\r\nSGVsbG8=\r\n--b--\r\n'
    const [id = ''] = await world.receive({
      raw: rawMail({ header, body }),
      routes: [[route, 'Sales+7@in.example.com']],
    })
    const worker = world.worker({
      authenticate: async () => ({
        ...UNKNOWN,
        spf: { result: 'pass', domain: 'sender.example' },
        dkim: [{ result: 'pass', domain: 'sender.example', selector: 's' }],
      }),
    })
    expect(await worker.runOnce()).toBe(1)
    const [event] = await world.events()
    expect(event).toMatchObject({ event: 'INCOMING_EMAIL', success: true, owner: route.owner })
    const { headers, ...details } = event?.details ?? { headers: [] }
    expect(headers[0]).toEqual({ name: 'From', value: 'A <a@sender.example>' })
    // By which the record of deliveries finds it.
    const { rows } = await world.db.query('select ref_id from webhooks_event')
    expect(rows).toEqual([{ ref_id: id }])
    expect(details).toEqual({
      domain: 'in.example.com',
      username: 'sales',
      inbound_id: id,
      raw_url: `https://post.example.com/v1/inbound/messages/${id}/raw`,
      message_id: '<one@sender.example>',
      in_reply_to: '<2@x>',
      references: ['<1@x>', '<2@x>'],
      thread_id: '1@x',
      from: { email: 'a@sender.example', name: 'A' },
      to: [{ email: 'b@in.example.com', name: '' }],
      cc: [{ email: 'j@example.org', name: 'Jürgen' }],
      reply_to: [{ email: 'r@example.org', name: '' }],
      subject: 'Hello',
      text: expect.stringContaining('Héllo'),
      html: expect.stringContaining('<p>Hello</p>'),
      attachments: [
        {
          filename: 'a.pdf',
          type: 'application/pdf',
          size: 5,
          content_id: null,
          content: 'SGVsbG8=',
        },
      ],
      spf: { result: 'pass', domain: 'sender.example' },
      dkim: [{ result: 'pass', domain: 'sender.example', selector: 's' }],
      dmarc: { result: 'none' },
      arc: { result: 'none' },
      received_at: expect.stringMatching(/^\d{4}-.*\.\d{6}Z$/),
      auto_reply: false,
      envelope: {
        from: 'a@sender.example',
        to: ['Sales+7@in.example.com'],
        remote_ip: '192.0.2.1',
        helo: 'mail.sender.example',
        tls: true,
      },
    })
    const { event: name, success } = event ?? {}
    expect(Errors(incomingEmail, { event: name, success, details: event?.details })).toEqual([])
    expect(worker.woken).toMatchObject([{ tenantId: 'tn_a', webhookId }])
    expect(await countOf(world.db, 'webhooks_pending')).toBe(1)
    expect(await queued()).toBe(0)
    expect(await storedMessages(world.db)).toMatchObject([{ is_reported: true, problem: null }])
  })

  it('[contract 4, 5] names the mailbox and has no envelope when a mailbox received it', async () => {
    await world.fetched({ mailerId: 'imap_9', folder: 'Kunden', serverThread: '1789' })
    await world.fetched({ mailerId: 'imap_9', raw: rawMail({ messageId: '' }) })
    await world.worker().runOnce()
    const all = (await world.events()).map(({ details }) => details)
    const first = all.find(({ folder }) => folder === 'Kunden')
    const second = all.find(({ folder }) => folder === 'INBOX')
    for (const details of all)
      expect(Errors(incomingEmail, { event: 'INCOMING_EMAIL', success: true, details })).toEqual([])
    expect(first).toMatchObject({ mailer_id: 'imap_9', folder: 'Kunden', thread_id: '1789' })
    expect(first).not.toHaveProperty('envelope')
    expect(first).not.toHaveProperty('domain')
    expect(second?.thread_id).toBe(second?.inbound_id)
  })

  it('names the local part without its tag by the route of a whole domain', async () => {
    await world.receive({ routes: [[routeOf(), 'Info+x@in.example.com', 'b@in.example.com']] })
    await world.worker().runOnce()
    expect((await world.events()).map(({ details }) => details)).toMatchObject([
      { domain: 'in.example.com', username: 'info' },
    ])
  })

  it('is recorded without a webhook, and delivered to nobody', async () => {
    await world.receive({ routes: [[routeOf({ username: 'nobody' }), 'nobody@in.example.com']] })
    const worker = world.worker()
    await worker.runOnce()
    expect(await world.events()).toHaveLength(1)
    expect(worker.woken).toEqual([])
    expect(await countOf(world.db, 'webhooks_pending')).toBe(0)
  })

  it('[contract 5] is one event for each route, which sees nothing of the others', async () => {
    const other = routeOf({ tenantId: 'tn_b', domain: 'other.example' })
    await world.receive({
      routes: [
        [routeOf(), 'x@in.example.com'],
        [routeOf({ username: 'sales' }), 'sales@in.example.com'],
        [other, 'secret@other.example'],
      ],
    })
    await world.worker().runOnce()
    const events = await world.events()
    expect(
      events.map(({ tenantId, owner, details }) => [tenantId, owner, details.envelope?.to]).sort(),
    ).toEqual([
      ['tn_a', 'in.example.com/', ['x@in.example.com']],
      ['tn_a', 'in.example.com/sales', ['sales@in.example.com']],
      ['tn_b', 'other.example/', ['secret@other.example']],
    ])
  })

  it('is parsed once for many routes', async () => {
    const routes = ['a', 'b', 'c'].map(
      (username) => [routeOf({ username }), `${username}@in.example.com`] as const,
    )
    await world.receive({ routes })
    await world.receive({ raw: rawMail({ messageId: '<2@x>' }) })
    const read: Uint8Array[] = []
    const parser: MessageReaderDeps['parser'] = {
      parse(caller, raw) {
        read.push(raw)
        return world.parser.parse(caller, raw)
      },
    }
    await world.worker({ parser }).runOnce()
    expect(read).toHaveLength(2)
    expect(await world.events()).toHaveLength(4)
  })

  it('is authenticated once for many routes', async () => {
    const routes = ['a', 'b', 'c'].map(
      (username) => [routeOf({ username }), `${username}@in.example.com`] as const,
    )
    await world.receive({ routes })
    await world.receive({ raw: rawMail({ messageId: '<2@x>' }) })
    const asked: string[] = []
    const authenticate = async ({ rawId }: { readonly rawId: string }) => {
      asked.push(rawId)
      return { ...UNKNOWN, spf: { result: 'pass' } }
    }
    await world.worker({ authenticate }).runOnce()
    expect(new Set(asked).size).toBe(2)
    expect(asked).toHaveLength(2)
    const events = await world.events()
    expect(events.map(({ details }) => details.spf.result)).toEqual(Array(4).fill('pass'))
  })

  it('keeps its text where attachments are never embedded', async () => {
    await world.receive({ raw: rawMail({ body: 'to be read\r\n' }) })
    await world.worker({ inlineBytesMax: 0 }).runOnce()
    const [event] = await world.events()
    expect(event?.details.text).toContain('to be read')
    expect(event?.details.problem).toBeUndefined()
  })

  it('counts as automatic without a sender to answer', async () => {
    await world.receive({ envelope: { ...smtpMail().envelope, from: '' } })
    await world.worker().runOnce()
    expect((await world.events())[0]?.details).toMatchObject({ auto_reply: true })
  })

  it('links content that is too large for the event, and says so', async () => {
    const part = (name: string, content: string) =>
      `--b\r\nContent-Type: application/x\r\nContent-Disposition: attachment; filename=${name}\r\n\r\n${content}\r\n`
    const header = 'Content-Type: multipart/mixed; boundary=b\r\n'
    const text = `--b\r\nContent-Type: text/plain\r\n\r\n${'t'.repeat(60)}\r\n--b\r\nContent-Type: text/html\r\n\r\n${'h'.repeat(70)}\r\n`
    const body = `${text}${part('one', 'a'.repeat(80))}${part('two', 'b'.repeat(30))}${part('three', 'c'.repeat(20))}--b--\r\n`
    const [id] = await world.receive({ raw: rawMail({ header, body }) })
    await world.worker({ inlineBytesMax: 100, bodyBytesMax: 100 }).runOnce()
    const [event] = await world.events()
    expect(event?.details.attachments).toMatchObject([
      { filename: 'one', size: 80, content: Buffer.from('a'.repeat(80)).toString('base64') },
      {
        filename: 'two',
        size: 30,
        content: '',
        url: `https://post.example.com/v1/inbound/messages/${id}/attachments/1`,
      },
      { filename: 'three', size: 20, content: Buffer.from('c'.repeat(20)).toString('base64') },
    ])
    expect(event?.details.text).toContain('tttt')
    expect(event?.details.html).toBe('')
    expect(event?.details.problem).toContain('HTML')
    expect(await storedMessages(world.db)).toMatchObject([{ problem: event?.details.problem }])
  })
})

describe('several inbound workers', () => {
  it('report each message once, to its own tenant', async () => {
    const received: string[] = []
    await Promise.all(
      Array.from({ length: 120 }, async (_, i) => {
        const tenantId = `tn_${i % 5}`
        const raw = rawMail({ messageId: `<${i}@x>` })
        const [id] = await world.receive({ raw, routes: [[routeOf({ tenantId }), 'b@x']] })
        received.push(`${tenantId} ${id} <${i}@x>`)
      }),
    )
    const workers = [world.worker(), world.worker(), world.worker()]
    await Promise.all(workers.map((worker) => worker.runOnce()))
    const reported = (await world.events()).map(
      ({ tenantId, details }) => `${tenantId} ${details.inbound_id} ${details.message_id}`,
    )
    expect(reported.toSorted()).toEqual(received.toSorted())
    expect(await queued()).toBe(0)
  })

  it('[I7] record nothing after their lease has expired', async () => {
    const [id] = await world.receive()
    const held = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    const slow = world.worker({
      authenticate: async () => {
        begun.resolve()
        await held.promise
        return UNKNOWN
      },
    })
    const running = slow.runOnce()
    await begun.promise
    const quick = world.worker()
    expect(await quick.runOnce()).toBe(0)
    await world.endLeases()
    expect(await quick.runOnce()).toBe(1)
    held.resolve()
    await running
    expect(slow.results).toEqual(['lost'])
    expect(slow.woken).toEqual([])
    expect(await ids()).toEqual([id])
  })

  it('[I7] report a message once that the same process has claimed again after its lease', async () => {
    await world.receive()
    const begun = Promise.withResolvers<void>()
    const begunAgain = Promise.withResolvers<void>()
    // Both are read to their end at the same time, so one transaction ends both.
    const reader: MessageReader = {
      async read(claim) {
        begun.resolve()
        if (claim.tries > 1) begunAgain.resolve()
        await begunAgain.promise
        const ended = { problem: undefined, summary: undefined, lookAgainMs: undefined }
        const words = { type: 'other', reason: '', raw: '{}' }
        const fact = { ...words, kind: 'other', factId: 'x', atMicros: 0n, ref: undefined } as const
        const report = { tenantId: claim.tenantId, relay: undefined, receivedAtMicros: 0n, fact }
        return { claim, isFirst: true, event: undefined, reports: [report], ...ended }
      },
    }
    const seen: unknown[] = []
    const observe = (...ended: readonly unknown[]) => seen.push(ended)
    const worker = world.worker({ reader, observe })
    const first = worker.runOnce()
    await begun.promise
    await world.endLeases()
    await Promise.all([first, worker.runOnce()])
    expect(seen.toSorted()).toEqual([
      ['lost', []],
      ['reported', ['ignored']],
    ])
    expect(await queued()).toBe(0)
  })

  it('renew a lease as long as its message is read', async () => {
    await world.receive()
    const held = Promise.withResolvers<void>()
    const renewed = Promise.withResolvers<void>()
    const watching = {
      ...world.db,
      transaction: ((work, o) =>
        world.db.transaction(
          (tx) =>
            work({
              ...tx,
              async query(s, values) {
                const result = await tx.query(s, values)
                if (typeof s === 'object' && s.name === 'inbound.renew') renewed.resolve()
                return result
              },
            } as typeof tx),
          o,
        )) as typeof world.db.transaction,
    }
    const worker = world.worker({
      db: watching,
      leaseMs: 3_000,
      authenticate: async () => {
        await held.promise
        return UNKNOWN
      },
    })
    await worker.start()
    await renewed.promise
    const { rows } = await world.db.query<{ is_held: boolean }>(
      'select busy_until > now() as is_held from inbound_queue',
    )
    expect(rows).toEqual([{ is_held: true }])
    held.resolve()
    await worker.stop()
    expect(await world.events()).toHaveLength(1)
  })
})

describe('a process that dies', () => {
  it('[I6] leaves claimed messages to others; after a few deaths they are reported unread', async () => {
    const [id] = await world.receive()
    const dead = new Promise<never>(() => undefined)
    for (let i = 0; i < 6; i++) {
      const begun = Promise.withResolvers<void>()
      const reader: MessageReader = {
        read: () => {
          begun.resolve()
          return dead
        },
      }
      // It takes nothing more.
      void world.worker({ reader, admission: { ...usualAdmission, messagesMax: 1 } }).runOnce()
      await begun.promise
      await world.endLeases()
    }
    const worker = world.worker()
    expect(await worker.runOnce()).toBe(1)
    expect(worker.results).toEqual(['incomplete'])
    const [event] = await world.events()
    expect(event?.details).toMatchObject({
      inbound_id: id,
      subject: '',
      problem: 'The message could not be read 6 times',
      raw_url: expect.stringContaining(id ?? '-'),
    })
  })

  it('[I6] over one message leaves the other claimed messages to be read', async () => {
    const messages = ['1', '2', 'poison', '4', '5']
    for (const one of messages) await world.receive({ raw: rawMail({ messageId: `<${one}@x>` }) })
    const dead = new Promise<never>(() => undefined)
    let processes = 0
    for (; (await queued()) > 0 && processes < 10; processes += 1) {
      const ended = Promise.withResolvers<void>()
      let isDead = false
      const { db } = world
      const worker = world.worker({
        // A process that has ended takes nothing more.
        db: { ...db, transaction: (...of) => (isDead ? dead : db.transaction(...of)) },
        // Every message is being read when the one ends the process.
        authenticate: async ({ raw }, _timeoutMs) => {
          if (raw.includes('poison')) {
            isDead = true
            ended.resolve()
          }
          await new Promise((resolve) => setTimeout(resolve, 20))
          return isDead ? dead : UNKNOWN
        },
      })
      await Promise.race([worker.runOnce(), ended.promise])
      await world.endLeases()
    }
    const problems = (await world.events()).map(({ details }) => [
      details.message_id,
      details.problem,
    ])
    expect(problems).toHaveLength(messages.length)
    expect(problems.filter(([, problem]) => problem !== undefined)).toEqual([
      ['', 'The message could not be read 6 times'],
    ])
    expect(processes).toBe(7)
  })

  it('a process that stops gives back what it could not read, and nobody waits for its lease', async () => {
    await world.receive()
    const tried = Promise.withResolvers<void>()
    const reader: MessageReader = { read: () => Promise.reject(new ApiError('unavailable')) }
    const worker = world.worker({ reader, observe: () => tried.resolve() })
    await worker.start()
    await tried.promise
    await worker.stop()
    const other = world.worker()
    expect(await other.runOnce()).toBe(1)
    expect(other.results).toEqual(['reported'])
  })

  it('[I6] a process that dies before the commit has recorded nothing', async () => {
    const [id] = await world.receive()
    const died = new Error('died')
    const kill = () => {
      throw died
    }
    await world.worker({ spec: 'inbound.before_commit=kill', kill }).runOnce()
    expect(await world.events()).toEqual([])
    expect(await queued()).toBe(1)
    await world.endLeases()
    await world.worker().runOnce()
    expect(await ids()).toEqual([id])
  })
})

it('skips a message that an operator has deleted', async () => {
  await world.receive()
  await emptyTables(world.db, 'inbound_message')
  const [id] = await world.receive({ raw: rawMail({ messageId: '<2@x>' }) })
  const worker = world.worker()
  await worker.runOnce()
  expect(worker.results.toSorted()).toEqual(['gone', 'reported'])
  expect(await ids()).toEqual([id])
  expect(await queued()).toBe(0)
})

it('reports a message from memory where it was received, of any length', async () => {
  const { ingest } = world
  const store = async (n: number, bytes: number) => {
    const raw = rawMail({ messageId: `<${n}@x>`, body: 'x'.repeat(bytes) })
    const other = routeOf({ tenantId: 'tn_b', domain: 'other.example' })
    const routes = [[routeOf(), 'b@in.example.com'] as const, [other, 'c@other.example'] as const]
    return (await ingest.store(smtpMail({ raw, routes }))).inboundIds
  }
  const stored = [...(await store(1, 600_000)), ...(await store(2, 1_000))]
  // Nothing is to be had from there.
  await emptyTables(world.db, 'inbound_raw')
  const worker = world.worker({ takeStored: ingest.takeStored })
  await worker.runOnce()
  const events = await world.events()
  expect(events.map(({ details }) => details.inbound_id).sort()).toEqual(stored.toSorted())
  expect(events.map(({ details }) => details.message_id).sort()).toEqual([
    '<1@x>',
    '<1@x>',
    '<2@x>',
    '<2@x>',
  ])
})

it('reads a message from the database whose first claim was another process', async () => {
  const { ingest } = world
  const [inboundId = ''] = (await ingest.store(smtpMail())).inboundIds
  const [other = ''] = (await ingest.store(smtpMail({ raw: rawMail({ messageId: '<2@x>' }) })))
    .inboundIds
  expect(ingest.takeStored({ inboundId, tries: 2 })).toBeUndefined()
  expect(ingest.takeStored({ inboundId, tries: 1 })).toBeUndefined()
  expect(ingest.takeStored({ inboundId: other, tries: 1 })).toMatchObject({ inboundId: other })
})

it('has of a message that was just stored what the database has of it', async () => {
  const raw = rawMail({ messageId: '<1@x>' })
  const routes = [
    [routeOf(), 'b\ud800@in.example.com'] as const,
    [routeOf({ tenantId: 'tn_b', domain: 'other.example' }), 'c@other.example'] as const,
  ]
  const { ingest } = world
  const { inboundIds } = await ingest.store(smtpMail({ raw, routes }))
  expect(inboundIds).toHaveLength(2)
  for (const [i, inboundId] of inboundIds.entries()) {
    const tenantId = i === 0 ? routeOf().tenantId : 'tn_b'
    const read = await world.db.transaction((tx) => loadMessage(tx, { tenantId, inboundId }))
    expect(ingest.takeStored({ inboundId, tries: 1 })).toEqual(read)
  }
})

it('reports a damaged message without its content, and the others whole', async () => {
  const large = (n: number) => rawMail({ messageId: `<${n}@x>`, body: 'x'.repeat(1_200_000) })
  const [broken = ''] = await world.receive({ raw: large(1) })
  const others = [
    ...(await world.receive({ raw: rawMail({ messageId: '<2@x>' }) })),
    ...(await world.receive({ raw: large(3) })),
    ...(await world.receive({ routes: [[routeOf({ tenantId: 'tn_b' }), 'b@in.example.com']] })),
  ]
  await world.db.query('delete from inbound_raw where raw_id = $1 and piece = 1', [broken])
  const worker = world.worker()
  await worker.runOnce()
  expect(await ids()).toEqual(others.toSorted())
  for (let tries = 1; tries < 7; tries += 1) {
    await world.endLeases()
    await worker.runOnce()
  }
  expect(worker.results.filter((result) => result === 'failed')).toHaveLength(6)
  expect(await ids()).toEqual([broken, ...others].toSorted())
  const events = await world.events()
  expect(events.find(({ details }) => details.inbound_id === broken)?.details).toMatchObject({
    subject: '',
    problem: 'The message could not be read 6 times',
  })
  expect(await queued()).toBe(0)
})

it('reports a message unread that was tried thousands of times', async () => {
  await world.receive()
  await world.db.query('update inbound_queue set tries = 32767')
  await world.receive({ raw: rawMail({ messageId: '<2@x>' }) })
  await world.worker().runOnce()
  expect((await world.events()).map(({ details }) => details.problem ?? '').sort()).toEqual([
    '',
    'The message could not be read 6 times',
  ])
})

describe('[I8] a failed statement', () => {
  it.each([
    ['because the database is away', '53100'],
    ['because it took too long', '57014'],
    ['because others were in the way', '40P01'],
    ['for a reason of its own', '22012'],
  ])('is repeated %s, and each message is reported once', async (_, state) => {
    for (let n = 1; ; n++) {
      await emptyTables(world.db, 'webhooks_event', 'inbound_queue', 'inbound_seen')
      const received = [
        ...(await world.receive({ raw: rawMail({ messageId: `<${n}.1@x>` }) })),
        ...(await world.receive({ raw: rawMail({ messageId: `<${n}.2@x>` }) })),
      ]
      const failing = failingOnce(world.db, n, state)
      const admission = { ...usualAdmission, messagesMax: 2 }
      const worker = world.worker({ db: failing.db, admission })
      for (let rounds = 0; (await queued()) > 0; rounds++) {
        await worker.runOnce().catch(() => undefined)
        await world.endLeases()
        expect(rounds).toBeLessThan(5)
      }
      expect(await ids()).toEqual(received.toSorted())
      for (const { details } of await world.events()) expect(details.problem).toBeUndefined()
      if (!failing.seen.hasFailed) break
      expect(n).toBeLessThan(60)
    }
  })
})

describe('a tenant whose mail takes long to read', () => {
  it('gets shorter DNS time limits once its mail is late', async () => {
    const ofAge = (ageMs: number) => ({
      ...createClock(),
      now: () => new Date(Date.now() + ageMs),
    })
    const asked: number[] = []
    for (const ageMs of [0, 60_000]) {
      await world.receive({ raw: rawMail({ messageId: `<${ageMs}@x>` }) })
      const authenticate = async (_message: unknown, _parsed: unknown, timeoutMs: number) => {
        asked.push(timeoutMs)
        return UNKNOWN
      }
      await world.worker({ clock: ofAge(ageMs), authenticate }).runOnce()
    }
    expect(asked).toEqual([10_000, 2_000])
  })

  it('delays no other tenant', async () => {
    const bombs: string[] = []
    for (let i = 0; i < 100; i++)
      bombs.push(
        ...(await world.receive({
          raw: rawMail({ messageId: `<${i}@x>`, body: 'bomb' }),
          routes: [[routeOf({ tenantId: 'tn_a' }), 'b@in.example.com']],
        })),
      )
    const others: string[] = []
    for (let i = 0; i < 60; i++)
      others.push(
        ...(await world.receive({
          raw: rawMail({ messageId: `<o${i}@x>` }),
          routes: [[routeOf({ tenantId: `tn_b${i % 3}` }), 'b@in.example.com']],
        })),
      )
    const held = Promise.withResolvers<void>()
    const done = Promise.withResolvers<void>()
    let left = others.length
    const worker = world.worker({
      async authenticate({ raw }) {
        if (raw.includes('bomb')) await held.promise
        return UNKNOWN
      },
      observe: () => {
        left -= 1
        if (left === 0) done.resolve()
      },
    })
    await worker.start()
    await done.promise
    expect(await ids()).toEqual(others.toSorted())
    held.resolve()
    await worker.stop()
    await world.worker().runOnce()
    expect(await world.events()).toHaveLength(160)
  })
})
