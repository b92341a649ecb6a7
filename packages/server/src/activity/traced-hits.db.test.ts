/**
 * What recipients did, in the trace of the email (docs/reference/sending.md#trace), with the rule that told
 * robots apart.
 */
import { expect, it } from 'vitest'
import { useTracking } from '../../test/tracking.ts'
import { getEmail } from './get-email.ts'
import { getStatistics } from './get-statistics.ts'

const world = useTracking()
const to = ['ada@example.com', 'bob@example.com'].map((email) => ({ email }))

it('shows the hits of each recipient, oldest first, with the rule that judged them', async () => {
  const mail = await world.send({ email: { to } })
  await world.get(mail.open)
  await world.get(mail.open, { headers: { 'user-agent': 'curl/8' } })
  await world.get(mail.click(2))
  await world.get(mail.unsubscribe, { method: 'POST' })
  const { recipients } = await getEmail(world, mail.tenantId, mail.refId, {})
  const [ada, bob] = recipients
  expect(ada?.hits.map(({ kind, bot, rule }) => [kind, bot, rule])).toEqual([
    ['open', false, null],
    ['open', true, 'known_robot'],
    ['click', false, null],
    ['unsubscribe', false, null],
  ])
  expect(ada?.hits[1]).toMatchObject({ ip: '127.0.0.1', user_agent: 'curl/8' })
  expect(ada?.hits_truncated).toBe(false)
  const third = 'https://example.com/3'
  expect(ada?.hits.map(({ url }) => url)).toEqual([undefined, undefined, third, undefined])
  expect(bob?.hits).toEqual([])
})

it('shows the newest fifty, and says that there are more', async () => {
  const mail = await world.send()
  for (let i = 0; i < 45; i++) await world.get(mail.open)
  for (let i = 0; i < 10; i++) await world.get(mail.click(1))
  const [ada] = (await getEmail(world, mail.tenantId, mail.refId, {})).recipients
  expect(ada?.hits.map(({ kind }) => kind)).toEqual([
    ...Array(40).fill('open'),
    ...Array(10).fill('click'),
  ])
  expect(ada?.hits_truncated).toBe(true)
})

it('counts people by their domain and campaign, each recipient once, and no robots', async () => {
  const mail = await world.send({ email: { to, campaign_id: 'spring' } })
  for (let i = 0; i < 2; i++) await world.get(mail.open)
  for (const link of [1, 2]) await world.get(mail.click(link))
  await world.get(mail.open, { headers: { 'user-agent': 'curl/8' } })
  const counted = { opens: 2, unique_opens: 1, clicks: 2, unique_clicks: 1 }
  const deps = { db: world.db, clock: { now: () => new Date() } }
  for (const [group_by, key] of [
    ['recipient_domain', 'example.com'],
    ['campaign_id', 'spring'],
  ] as const)
    expect((await getStatistics(deps, mail.tenantId, { group_by })).groups).toMatchObject([
      { [group_by]: key, totals: counted },
    ])
})
