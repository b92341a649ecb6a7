/** `postrider suppression review`: what suppressions for a bounce rest on, judged again. */
import { beforeEach, describe, expect, it } from 'vitest'
import { emptyTables } from '../../test/empty-tables.ts'
import { type CallbackAccount, useFeedback } from '../../test/feedback.ts'
import { runCli } from '../cli.ts'
import { newId, newUlid } from '../platform/ids.ts'
import { liftBounced, suppressAddress } from '../suppressions/index.ts'

const world = useFeedback()
let account: CallbackAccount
let tenantId: string

beforeEach(async () => {
  await emptyTables(world.db, 'suppressions_address', 'tenants_api_key', 'tenants_tenant')
  tenantId = await addTenant()
  account = await world.account('sparkpost', { tenantId })
})

async function addTenant(): Promise<string> {
  const id = newId('tn')
  await world.db.query('insert into tenants_tenant (tenant_id, name) values ($1, $1)', [id])
  return id
}

async function run(...args: string[]) {
  let [out, err] = ['', '']
  const env = { POSTRIDER_DATABASE_URL: world.url }
  const io = { env, out: (text: string) => (out += text), err: (text: string) => (err += text) }
  const code = await runCli(['suppression', 'review', ...args], io)
  return { code, out, err, json: () => JSON.parse(out) }
}

const review = async (...args: string[]) => (await run(...args, '--json')).json()

/** Suppressed by a bounce of which `kept` is what was stored, as an earlier version would have been content with. */
async function suppressedBy(email: string, kept: { reason?: string; [column: string]: unknown }) {
  const mail = await world.send({ tenantId, email: { to: [{ email }] } })
  await world.report(account, { type: 'bounced', mail, reason: '550 5.1.1 no such user' })
  for (const [column, value] of Object.entries(kept))
    await world.db.query(`update feedback_fact set ${column} = $2 where ref_id = $1`, [
      mail.refId,
      value,
    ])
}

const suppress = (email: string, reason: 'bounced' | 'unsubscribed' = 'bounced', of = tenantId) =>
  suppressAddress(world.db, { tenantId: of, address: email, email, reason, source: null })

async function suppressed(of = tenantId): Promise<string[]> {
  const { rows } = await world.db.query<{ email: string }>(
    'select email from suppressions_address where tenant_id = $1 order by email',
    [of],
  )
  return rows.map(({ email }) => email)
}

async function oneOfEach(): Promise<void> {
  await suppressedBy('known@example.com', {})
  await suppressedBy('blocked@example.com', { reason: '550 Your IP address blocked' })
  await suppressedBy('full@example.com', {
    relay: null,
    status: '5.2.2',
    reason: '552 Account(s) <full@example.com> does not have enough space',
  })
  await suppressedBy('unsaid@example.com', { reason: '' })
  await suppressedBy('listed@example.com', {
    reason: '554 Recipient address was suppressed due to customer policy',
  })
  await suppress('gone@example.com')
  await suppress('asked@example.com', 'unsubscribed')
}

const ALL = ['asked', 'blocked', 'full', 'gone', 'known', 'listed', 'unsaid'].map(
  (name) => `${name}@example.com`,
)
const COUNTS = { reviewed: 6, sufficient: 1, insufficient: 2, unknown: 3 }

describe('suppressions review', () => {
  it('lists entries that would not suffice, and unknown ones, and changes nothing', async () => {
    await oneOfEach()
    const { suppressions, applied, counts } = await review()
    expect(
      suppressions.map((one: { email: string; verdict: string; classified: unknown }) => [
        one.email,
        one.verdict,
        one.classified,
      ]),
    ).toMatchObject([
      ['gone@example.com', 'unknown', null],
      ['listed@example.com', 'unknown', { category: 'blocked_policy' }],
      ['unsaid@example.com', 'unknown', { category: 'unknown' }],
      [
        'full@example.com',
        'insufficient',
        { category: 'mailbox_full', by: 'enhanced_code', evidence: '5.2.2' },
      ],
      ['blocked@example.com', 'insufficient', { category: 'blocked_reputation', by: 'words' }],
    ])
    expect([applied, counts]).toEqual([false, { ...COUNTS, lifted: 0 }])
    expect(await suppressed()).toEqual(ALL)
  })

  it('lifts entries that would not suffice with --apply, and no others', async () => {
    await oneOfEach()
    expect((await review('--apply')).counts).toEqual({ ...COUNTS, lifted: 2 })
    expect(await suppressed()).toEqual(ALL.filter((email) => !/^(blocked|full)@/.test(email)))
    expect((await review('--apply')).counts).toMatchObject({ insufficient: 0, lifted: 0 })
  })

  it('explains each entry with its evidence', async () => {
    await suppressedBy('blocked@example.com', { reason: '550 Your IP address blocked' })
    const { code, out } = await run()
    expect(code).toBe(0)
    expect(out).toMatch(
      new RegExp(
        `^insufficient  ${tenantId}  20\\S+Z  blocked@example\\.com  blocked_reputation, by words: .*ip address blocked \\| 550 Your IP address blocked$`,
        'm',
      ),
    )
    expect(out).toContain('Reviewed 1 addresses')
    expect(out).toContain('Nothing was changed: --apply lifts the insufficient ones')
    expect((await run('--apply')).out).toContain('Lifted 1')
    expect((await run()).out).toContain('Reviewed 0 addresses')
  })

  it('keeps an address for which one report suffices, whatever the others say', async () => {
    await suppressedBy('ada@example.com', { reason: '550 Your IP address blocked' })
    const again = await world.send({ tenantId, email: { to: [{ email: 'ada@example.com' }] } })
    await world.report(account, { type: 'bounced', mail: again, reason: '550 5.1.1 no such user' })
    await world.db.query(`update suppressions_address set id = $2 where tenant_id = $1`, [
      tenantId,
      newUlid(),
    ])
    expect((await review('--apply')).counts).toMatchObject({ sufficient: 1, lifted: 0 })
  })

  it('covers all tenants, or the named one', async () => {
    const other = await addTenant()
    await suppressedBy('blocked@example.com', { reason: '550 Your IP address blocked' })
    await suppress('blocked@example.com', 'bounced', other)
    expect((await review()).counts).toMatchObject({ reviewed: 2, insufficient: 1, unknown: 1 })
    expect((await review('--apply', '--tenant', other)).counts).toMatchObject({
      reviewed: 1,
      unknown: 1,
      lifted: 0,
    })
    expect(await suppressed()).toEqual(['blocked@example.com'])
    const missing = await run('--tenant', 'tn_none')
    expect([missing.code, missing.err]).toEqual([1, 'There is no tenant tn_none\n'])
  })

  it('reads page by page, and lifts on each page', async () => {
    await suppressedBy('first@example.com', { reason: '550 Your IP address blocked' })
    for (let i = 0; i < 450; i++) await suppress(`n${i}@example.com`)
    await suppressedBy('last@example.com', { reason: '550 Your IP address blocked' })
    expect((await review('--apply')).counts).toEqual({
      reviewed: 452,
      sufficient: 0,
      insufficient: 2,
      unknown: 450,
      lifted: 2,
    })
    expect(await suppressed()).toHaveLength(450)
  })
})

it('does not lift an entry that was made anew or for another reason', async () => {
  await suppress('ada@example.com')
  const row = { emailKey: 'ada@example.com', id: newUlid() }
  expect(await liftBounced(world.db, tenantId, [row])).toBe(0)
  const { rows } = await world.db.query<{ id: string }>(
    'select id from suppressions_address where tenant_id = $1',
    [tenantId],
  )
  await suppress('ada@example.com', 'unsubscribed')
  expect(await liftBounced(world.db, tenantId, [{ ...row, id: rows[0]?.id ?? '' }])).toBe(0)
  expect(await suppressed()).toEqual(['ada@example.com'])
})
