import { expect, it } from 'vitest'
import { accept, acceptTogether, useSending } from '../../../../test/sender.ts'
import { addMailer, trackingUrls } from '../../../../test/sending.ts'
import type { Db } from '../../../platform/db/index.ts'
import { bucketOf } from '../../../platform/db/leases.ts'
import { createAcceptedMail } from '../../accept/accepted-mail.ts'
import { claimDue } from './claim-store.ts'
import { createLargeEmails } from './large-emails.ts'
import { loadAttempts } from './load-attempts.ts'

const world = useSending()
const monotonicMs = () => performance.now()

it.each([
  ['a small', 1_000],
  ['a large', 1_000_000],
])('loads and encodes %s email once for 20 recipients', async (_, length) => {
  const { db } = world
  const { mailerId } = await addMailer(db)
  await accept(db, {
    to: Array.from({ length: 20 }, (_, i) => ({ email: `${i}@example.com` })),
    attachments: [{ filename: 'a.bin', content: 'QUJD'.repeat(length) }],
  })
  const queue = { tenantId: 'tn_a', mailerId, bucket: bucketOf(mailerId) }
  const claims = await claimDue(db, queue, { isBulk: true, limit: 20, leaseMs: 60_000 })
  const largeEmails = createLargeEmails({ db, trackingUrls })
  const deps = { db, largeEmails, trackingUrls, monotonicMs, prepareOf: () => undefined }
  const { attempts } = await loadAttempts(deps, queue, claims)
  const prepared = await Promise.all(attempts.map((attempt) => attempt.prepare()))
  expect(prepared).toHaveLength(20)
  expect(new Set(prepared).size).toBe(1)
})

function watch(db: Db) {
  const asked: string[] = []
  const watched: Db = {
    ...db,
    query(s, values) {
      if (typeof s === 'object' && s.name !== undefined) asked.push(s.name)
      return db.query(s, values)
    },
    transaction: db.transaction,
  }
  return { asked, watched }
}

it('reads nothing again of what this process accepted a moment ago, but for a scheduled email', async () => {
  const { db } = world
  const { mailerId } = await addMailer(db)
  const acceptedMail = createAcceptedMail(() => true)
  const later = { send_at: new Date(Date.now() + 60_000).toISOString() }
  const to = ['ada', 'bob'].map((name) => ({ email: `${name}@example.com` }))
  const [refId, scheduled] = await acceptTogether(db, [{ to }, later], { acceptedMail })
  const queue = { tenantId: 'tn_a', mailerId, bucket: bucketOf(mailerId) }
  const claims = await claimDue(db, queue, { isBulk: false, limit: 3, leaseMs: 60_000 })
  expect(claims).toMatchObject([{ refId }, { refId }])
  const { asked, watched } = watch(db)
  const largeEmails = createLargeEmails({ db, trackingUrls })
  const deps = { db: watched, largeEmails, trackingUrls, monotonicMs, prepareOf: () => undefined }
  const { attempts } = await loadAttempts({ ...deps, acceptedMail }, queue, claims)
  expect(asked.filter((name) => name.startsWith('sending.'))).toEqual([])
  expect(attempts.map(({ email }) => email).sort()).toEqual(to.map(({ email }) => email))
  expect(await attempts[0]?.prepare()).toMatchObject({ kind: 'smtp' })
  const first = { tenantId: 'tn_a', refId: scheduled ?? '', attempt: 1, was: 'waiting' } as const
  expect(acceptedMail.take([first])).toBeUndefined()
})

it('does not load the content of an email again of which a row is leased already', async () => {
  const { db } = world
  const { mailerId } = await addMailer(db)
  await accept(db)
  const queue = { tenantId: 'tn_a', mailerId, bucket: bucketOf(mailerId) }
  const claims = await claimDue(db, queue, { isBulk: false, limit: 1, leaseMs: 60_000 })
  const { asked, watched } = watch(db)
  const prepare = () => Promise.reject(new Error('not called'))
  const largeEmails = createLargeEmails({ db, trackingUrls })
  const deps = { db: watched, largeEmails, trackingUrls, monotonicMs }
  const { attempts } = await loadAttempts({ ...deps, prepareOf: () => prepare }, queue, claims)
  expect(attempts.map((attempt) => attempt.prepare)).toEqual([prepare])
  expect(asked).toContain('sending.load_emails')
  expect(asked).not.toContain('sending.load_contents')

  await loadAttempts({ ...deps, prepareOf: () => undefined }, queue, claims)
  expect(asked).toContain('sending.load_contents')
})
