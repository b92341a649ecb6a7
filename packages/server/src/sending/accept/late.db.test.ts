/** Emails whose callers give them up before they are committed: they are told so, and nothing is committed later. */
import { expect, it } from 'vitest'
import { handIn, noUsageCounts, TRACEPARENT, useSending } from '../../../test/sender.ts'
import { addMailer, emailBody } from '../../../test/sending.ts'
import { noDiskGuard } from '../../platform/process/disk-guard.ts'
import { createAcceptEmails } from './accept-email.ts'
import { checkEmail } from './check-email.ts'

const world = useSending()
const subjects = async () => {
  const { rows } = await world.db.query<{ subject: string }>(
    'select subject from sending_email order by subject',
  )
  return rows.map(({ subject }) => subject)
}

it('an email that is late at its commit is refused alone, and its key may be used again', async () => {
  await addMailer(world.db)
  let isOver = false
  const emails = createAcceptEmails({
    db: world.db,
    // What is written by then is not committed yet.
    failpoints: {
      hit: (name) => {
        isOver ||= name === 'api.before_commit'
      },
    },
    disk: noDiskGuard,
    usageCounts: noUsageCounts,
  })
  const accept = (subject: string, isLate?: () => boolean) =>
    emails.accept({
      tenantId: 'tn_a',
      email: checkEmail(emailBody({ subject }), { maxAttempts: 5, expiresInMs: 86_400_000 }),
      ...{ traceparent: TRACEPARENT, isTest: false, isLate },
      idempotency: { key: subject, bodyHash: Buffer.from(subject) },
    })
  const settled = await Promise.allSettled([accept('a'), accept('b', () => isOver), accept('c')])
  expect(settled).toMatchObject([
    { status: 'fulfilled' },
    { reason: { code: 'unavailable', status: 503 } },
    { status: 'fulfilled' },
  ])
  expect(await subjects()).toEqual(['a', 'c'])
  expect(await accept('b')).toMatchObject({ isReplay: false })
})

it('a message by SMTP that is late is not committed', async () => {
  await addMailer(world.db)
  const raw = 'From: hello@example.com\r\nTo: ada@example.com\r\nSubject: x\r\n\r\nHello\r\n'
  const from = emailBody().from.email
  const message = raw.replace('hello@example.com', from)
  const late = handIn(world.db, message, ['ada@example.com'], 'tn_a', () => true)
  await expect(late).rejects.toMatchObject({ code: 'unavailable' })
  expect(await subjects()).toEqual([])
  await handIn(world.db, message, ['ada@example.com'])
  expect(await subjects()).toEqual(['x'])
})
