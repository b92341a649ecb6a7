/** What providers reported, in the trace and the logs of an email. */
import { type GetEmailLogsQuery, getEmailAnswer } from '@postrider/contract'
import { Check } from 'typebox/value'
import { expect, it } from 'vitest'
import { useFeedback } from '../../test/feedback.ts'
import { timeOfUlid } from '../platform/ids.ts'
import { getEmail } from './get-email.ts'
import { listLogs } from './list-logs.ts'

const world = useFeedback()

it('shows each report of each recipient, in the words of the provider', async () => {
  const account = await world.account('sparkpost')
  const { tenantId } = account
  const to = [{ email: 'ada@example.com' }, { email: 'bob@example.com' }]
  const mail = await world.send({ tenantId, email: { to } })
  const deferral = {
    type: 'deferred',
    mail,
    id: 'd1',
    reason: '454 4.4.4 later',
    atS: 1_000_000_000,
  } as const
  await world.report(account, { type: 'delivered', mail, n: 1 })
  await world.report(
    account,
    { type: 'bounced', mail, reason: '550 5.1.1 unknown', fields: { timestamp: '' } },
    deferral,
    deferral,
    { type: 'processed', mail, atS: 1_000_000_000, id: 'a' },
    { type: 'opened', mail },
  )
  const email = await getEmail({ db: world.db }, tenantId, mail.refId, {})
  expect(Check(getEmailAnswer, { success: true, message: 'm', email })).toBe(true)
  const [ada, bob] = email.recipients
  expect(ada).toMatchObject({ status: 'bounced', feedback_truncated: false })
  expect(ada?.feedback.map(({ at: _, received_at: __, ...report }) => report)).toEqual([
    {
      type: 'injection',
      meaning: 'processed',
      relay: 'sparkpost',
      reason: '',
      hard: null,
      error_code: null,
      num_retries: null,
      classified: null,
    },
    {
      type: 'delay',
      meaning: 'deferred',
      relay: 'sparkpost',
      reason: '454 4.4.4 later',
      hard: null,
      error_code: '454',
      num_retries: null,
      classified: null,
    },
    {
      type: 'bounce',
      meaning: 'bounced',
      relay: 'sparkpost',
      reason: '550 5.1.1 unknown',
      hard: true,
      error_code: '550',
      num_retries: '2',
      classified: { category: 'invalid_recipient', by: 'enhanced_code', evidence: '5.1.1' },
    },
  ])
  const acceptedAt = timeOfUlid(mail.refId).toISOString()
  expect(ada?.feedback.map(({ at }) => at)).toEqual([
    acceptedAt,
    acceptedAt,
    ada?.feedback[2]?.received_at,
  ])
  expect(bob?.feedback.map(({ type }) => type)).toEqual(['delivery'])
  const one = await getEmail({ db: world.db }, tenantId, mail.refId, {
    recipient: 'bob@example.com',
  })
  expect(one.recipients.map((recipient) => recipient.feedback)).toEqual([bob?.feedback])
})

it('shows reports of one second in the order of cause and effect', async () => {
  const account = await world.account('sparkpost')
  const { tenantId } = account
  const mail = await world.send({ tenantId })
  const types = ['complained', 'delivered', 'deferred', 'processed'] as const
  const atS = Math.ceil(timeOfUlid(mail.refId).getTime() / 1000) + 1
  await world.report(account, ...types.map((type, i) => ({ type, mail, atS, id: `${i}` })))
  const [recipient] = (await getEmail({ db: world.db }, tenantId, mail.refId, {})).recipients
  expect(new Set(recipient?.feedback.map(({ at }) => at)).size).toBe(1)
  expect(recipient?.feedback.map(({ meaning }) => meaning)).toEqual([...types].reverse())
})

it('shows the newest reports, and says that there are more', async () => {
  const account = await world.account('sendgrid')
  const { tenantId } = account
  const mail = await world.send({ tenantId })
  const reports = Array.from(
    { length: 51 },
    (_, i) => ({ type: 'deferred', mail, reason: `${i}` }) as const,
  )
  await world.report(account, ...reports, { type: 'delivered', mail })
  const [recipient] = (await getEmail({ db: world.db }, tenantId, mail.refId, {})).recipients
  expect(recipient?.feedback).toHaveLength(50)
  expect(recipient).toMatchObject({ status: 'delivered', feedback_truncated: true })
})

it('stores a bounded number of reports for a recipient, and always a bounce', async () => {
  const account = await world.account('sendgrid')
  const { tenantId } = account
  const mail = await world.send({ tenantId })
  const deferrals = Array.from({ length: 60 }, () => ({ type: 'deferred', mail }) as const)
  for (let i = 0; i < 3; i++) await world.report(account, ...deferrals)
  await world.report(account, { type: 'bounced', mail })
  const { rows } = await world.db.query<{ kind: string; n: number }>(
    `select kind, count(*)::int as n from feedback_fact where tenant_id = $1 group by 1 order by 1`,
    [tenantId],
  )
  expect(rows).toEqual([
    { kind: 'bounced', n: 1 },
    { kind: 'deferred', n: 120 },
  ])
  expect(await world.statuses(mail)).toEqual(['bounced'])
})

it('[3.2] finds logs by reported facts', async () => {
  const account = await world.account('sparkpost')
  const { tenantId } = account
  const kinds = [
    'delivered',
    'bounced',
    'complained',
    'unsubscribed',
    'policy_rejected',
    'generation_failed',
  ] as const
  const to = [...kinds, 'nothing'].map((name) => ({ email: `${name}@example.com` }))
  const mail = await world.send({ tenantId, email: { to } })
  await world.report(account, ...kinds.map((type, n) => ({ type, mail, n })))
  const found = async (status: NonNullable<GetEmailLogsQuery['status']>) => {
    const { logs } = await listLogs({ db: world.db }, tenantId, { status })
    return logs.map(({ email }) => email.split('@')[0]).sort()
  }
  expect(await found('sent')).toEqual(['complained', 'nothing', 'unsubscribed'])
  expect(await found('delivered')).toEqual(['delivered'])
  expect(await found('bounced')).toEqual(['bounced'])
  expect(await found('rejected')).toEqual(['policy_rejected'])
  expect(await found('failed')).toEqual(['generation_failed'])
  expect(await found('spam')).toEqual(['complained'])
  expect(await found('unsubscribed')).toEqual(['unsubscribed'])
})
