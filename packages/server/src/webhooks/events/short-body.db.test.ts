import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts'
import { newEvent } from '../../../test/webhook-dispatch.ts'
import { formatMicros } from '../../platform/clock.ts'
import { textArray } from '../../platform/db/index.ts'
import { serializeEvent } from './event.ts'
import { BODY_JSON, OCTETS, shortenBody } from './short-body.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase({ isMigrated: false })
})
afterAll(() => database.close())

it('is read by SQL as it was, with its length', async () => {
  const args = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue())
  const micros = fc.bigInt({ min: 0n, max: 4_000_000_000_000_000n })
  const agent = fc.constantFrom('', 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X)')
  const event = fc.tuple(args, micros, agent).map(([custom_args, at, text]) => {
    const one = newEvent()
    const json = serializeEvent({ ...one, details: { ...one.details, custom_args, text } }, at)
    return { json, refId: one.refId, eventAt: formatMicros(at) }
  })
  await fc.assert(
    fc.asyncProperty(fc.array(event, { minLength: 1, maxLength: 20 }), async (events) => {
      const stored = events.map((one) => shortenBody(one.json, one))
      expect(stored.some(({ octets }) => octets > 0)).toBe(true)
      const { rows } = await database.db.query(
        `select ${BODY_JSON} as json, ${OCTETS} as octets
           from unnest($1::text[], $2::integer[], $3::text[], $4::timestamptz[]) with ordinality
             as e (body, octets, ref_id, event_at, n)
          order by n`,
        [
          textArray(stored.map(({ body }) => body)),
          stored.map(({ octets }) => octets),
          events.map(({ refId }) => refId),
          events.map(({ eventAt }) => eventAt),
        ],
      )
      expect(rows).toEqual(events.map(({ json }) => ({ json, octets: Buffer.byteLength(json) })))
    }),
    { numRuns: 50 },
  )
})
