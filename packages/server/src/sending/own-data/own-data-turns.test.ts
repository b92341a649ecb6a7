/** Megabytes that recipients have of their own leave others their turns of the event loop. */
import type { SendEmailBody } from '@postrider/contract'
import { expect, it } from 'vitest'
import type { Queryable } from '../../platform/db/index.ts'
import { newUlid } from '../../platform/ids.ts'
import { checkOwnData } from './check-own-data.ts'
import { insertOwnData } from './own-data-store.ts'

/** How often others had their turn while it was done. */
async function turnsOf(work: () => Promise<void>): Promise<number> {
  let turns = 0
  const again = () => {
    turns += 1
    next = setImmediate(again)
  }
  let next = setImmediate(again)
  await work()
  clearImmediate(next)
  return turns
}

function bodyOf(own: (n: number) => object): SendEmailBody {
  const to = Array.from({ length: 200 }, (_, n) => ({ email: `to${n}@example.com`, ...own(n) }))
  return { from: { email: 'shop@example.com' }, to, subject: 's' } as SendEmailBody
}

it('when they are measured', async () => {
  const x = 'x'.repeat(40_000)
  const turns = await turnsOf(() => checkOwnData(bodyOf(() => ({ template_data: { x } }))))
  expect(turns).toBeGreaterThanOrEqual(5)
})

it('when they are measured, and all entries at fault are told', async () => {
  const x = 'x'.repeat(11_000)
  const body = bodyOf((n) => (n % 50 === 7 ? { custom_args: { x } } : { custom_args: { n } }))
  await expect(checkOwnData(body)).rejects.toMatchObject({
    errors: [7, 57, 107, 157].map((n) => ({ path: `/to/${n}/custom_args` })),
  })
})

it('when they are stored: little of them is handed to the database before it answers', async () => {
  let [chars, most, rows] = [0, 0, 0]
  const query = async (_statement: unknown, values: readonly unknown[] = []) => {
    for (const value of values) chars += typeof value === 'string' ? value.length : 0
    rows += values.length / 6
    most = Math.max(most, chars)
    await new Promise((answered) => setImmediate(answered))
    chars = 0
    return { rows: [], rowCount: 0 }
  }
  const customArgs = { x: 'x'.repeat(10_000) }
  const recipients = Array.from({ length: 500 }, (_, n) => ({ n, customArgs, rendering: null }))
  const own = { recipients, renderings: [] }
  const database = { query } as unknown as Queryable
  await insertOwnData(database, [{ tenantId: 'tn_a', refId: newUlid(), own }])
  expect(rows).toBe(500)
  expect(most).toBeGreaterThan(400_000)
  expect(most).toBeLessThan(1_000_000)
})
