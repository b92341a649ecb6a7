/**
 * Whatever is sent to a callback URL: valid bodies that were cut, changed, forged, packed, nested or
 * blown up. What is refused changes nothing; what is taken in changes nobody else's mail; nothing
 * makes the program fail, and what was sent right before and after is applied.
 */

import { gzipSync } from 'node:zlib'
import { casesOf } from '@postrider/testkit'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  bodyOf,
  createSigner,
  providers,
  type SentMail,
  useFeedback,
} from '../../../test/feedback.ts'
import { recipientsOf } from '../../../test/sender.ts'
import { callbackBytesMax } from '../routes.ts'

const world = useFeedback()

type Change = (body: Buffer) => { readonly body: Buffer; readonly headers?: Record<string, string> }

const deep = (depth: number) => `${'[{"a":'.repeat(depth)}1${'}]'.repeat(depth)}`
const splice = (body: Buffer, at: number, length: number, put: Buffer) =>
  Buffer.concat([body.subarray(0, at), put, body.subarray(at + length)])

const changes: fc.Arbitrary<Change> = fc.oneof(
  fc.nat().map(
    (at): Change =>
      (body) => ({ body: body.subarray(0, at % body.length) }),
  ),
  fc.tuple(fc.nat(), fc.nat({ max: 8 }), fc.uint8Array({ maxLength: 8 })).map(
    ([at, length, put]): Change =>
      (body) => ({ body: splice(body, at % body.length, length, Buffer.from(put)) }),
  ),
  fc
    .tuple(
      fc.nat(),
      fc.constantFrom(
        '\\u0000',
        '\\ud800',
        '\0',
        '"',
        '}]',
        '9'.repeat(400),
        '-1e999',
        ',"__proto__":{"x":1}',
        ',"msys":{}',
        ',"event":{}',
      ),
    )
    .map(
      ([at, put]): Change =>
        (body) => ({ body: splice(body, at % body.length, 0, Buffer.from(put)) }),
    ),
  fc.json({ maxDepth: 6 }).map(
    (json): Change =>
      () => ({ body: Buffer.from(json) }),
  ),
  fc.array(fc.json({ maxDepth: 4 }), { maxLength: 5 }).map(
    (all): Change =>
      () => ({ body: Buffer.from(`[${all.join()}]`) }),
  ),
  fc.constantFrom(10, 65, 1_000, 200_000).map(
    (depth): Change =>
      (body) => ({ body: splice(body, 1, 0, Buffer.from(`${deep(depth)},`)) }),
  ),
  fc.constant<Change>((body) => ({
    body: gzipSync(body),
    headers: { 'content-encoding': 'gzip' },
  })),
  fc.constant<Change>((body) => ({ body: gzipSync(body) })),
  fc.constant<Change>((body) => ({ body, headers: { 'x-callback-secret': '' } })),
  fc.constant(() => ({ body: Buffer.alloc(10 * 1024 * 1024, ' ') })),
  fc.constant(() => ({ body: Buffer.alloc(callbackBytesMax, '[0,') })),
  fc.constant<Change>((body) => ({ body: Buffer.from(body.toString('utf16le')) })),
)

const everything = async () => {
  const tables = ['sending_recipient', 'feedback_fact', 'feedback_recipient']
  const counts = await Promise.all(
    [...tables, 'webhooks_event', 'suppressions_address', 'platform_counter_change'].map(
      async (table) => {
        const { rows } = await world.db.query<{ seen: string | null }>(
          `select md5(string_agg(t::text, ',' order by t::text)) as seen from ${table} t`,
        )
        return [table, rows[0]?.seen]
      },
    ),
  )
  return Object.fromEntries(counts)
}

describe.each(providers)('a callback to %s', (kind) => {
  it('a callback that was altered at random does no harm, and its valid reports are applied', async () => {
    const { verificationKey } = createSigner()
    const secrets = kind === 'sparkpost' ? { callbackSecret: 'cs' } : { verificationKey }
    const guarded = await world.account(kind, secrets)
    const plain = await world.account(kind)
    const statuses = new Set<number>()
    await fc.assert(
      fc.asyncProperty(changes, async (change) => {
        const mail = await world.send({ tenantId: plain.tenantId })
        const reports = (about: SentMail) => bodyOf(kind, [{ type: 'bounced', mail: about }])
        const whole = Buffer.from(JSON.stringify(reports(mail)))
        const { body, headers = {} } = change(whole)
        const before = await everything()
        const answer = await world.post(plain, body, headers)
        statuses.add(answer.statusCode)
        expect([200, 400, 413, 415]).toContain(answer.statusCode)
        const { rows } = await world.db.query('select from feedback_inbox')
        expect(rows.length).toBeLessThanOrEqual(answer.statusCode === 200 ? 1 : 0)
        await world.feedback.worker.runOnce()
        if (rows.length === 0) expect(await everything()).toEqual(before)
        expect((await world.db.query('select from feedback_inbox')).rows).toEqual([])
        // The one that is right is applied, whatever came before.
        expect((await world.post(plain, whole)).statusCode).toBe(200)
        await world.feedback.worker.runOnce()
        expect(await recipientsOf(world.db, mail.refId)).toMatchObject([{ status: 'bounced' }])
      }),
      { numRuns: casesOf(30, 60), seed: 17 },
    )
    const victim = await world.send({ tenantId: guarded.tenantId })
    const forged = JSON.stringify(bodyOf(kind, [{ type: 'bounced', mail: victim }]))
    const { sign } = createSigner()
    for (const headers of [{}, { 'x-callback-secret': 'other' }, sign(forged)]) {
      const answer = await world.post(guarded, forged, headers)
      statuses.add(answer.statusCode)
    }
    await world.feedback.worker.runOnce()
    expect(await world.statuses(victim)).toEqual(['sent'])
    expect([...statuses].sort()).toEqual([200, 400, 401, 413, 415])
  }, 120_000)
})
