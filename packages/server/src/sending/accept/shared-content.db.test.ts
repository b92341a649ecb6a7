/** Emails whose contents stand in one row: whatever reads one of them gets its own. */
import { expect, it } from 'vitest'
import {
  accepting,
  acceptTogether,
  drain,
  recipientsOf,
  requestOf,
  useSending,
} from '../../../test/sender.ts'
import { addMailer, trackingUrls } from '../../../test/sending.ts'
import { loadContent, loadForSend } from '../attempt/attempt-store.ts'
import { buildRaw } from '../content/build-raw.ts'
import { getContent } from '../content/get-content.ts'
import { findEmails } from '../rescue/rescue-store.ts'
import { loadEmail } from '../sent-copies/content-store.ts'
import { findTracks } from '../tracking/store.ts'
import { createAcceptedMail } from './accepted-mail.ts'

const world = useSending()
const tenantId = 'tn_a'
const names = ['Ada', 'Bob', 'Cleo']

const emailTo = (name: string) => ({
  to: [{ email: `${name.toLowerCase()}@example.com` }],
  subject: `Hello ${name}`,
  content: [
    {
      type: 'text/html' as const,
      value: `<p>Dear ${name}, <a href="https://example.com/${name}">look</a></p>`,
    },
  ],
  settings: { click_tracking: true },
})

async function acceptThree(): Promise<string[]> {
  await addMailer(world.db)
  return acceptTogether(world.db, names.map(emailTo))
}

it('is one row, named by the emails that are not the first', async () => {
  const [first, second, third] = await acceptThree()
  const { rows } = await world.db.query('select ref_id from sending_content')
  expect(rows).toEqual([{ ref_id: first }])
  const emails = await world.db.query(
    'select ref_id, content_of from sending_email order by ref_id',
  )
  expect(emails.rows).toEqual([
    { ref_id: first, content_of: null },
    { ref_id: second, content_of: first },
    { ref_id: third, content_of: first },
  ])
})

it('is sent to each as its own', async () => {
  const server = await world.serve()
  await addMailer(world.db, { port: server.port })
  const refIds = await acceptTogether(world.db, names.map(emailTo))
  await drain(world.db, world.sender())
  expect(server.messages).toHaveLength(3)
  for (const [i, name] of names.entries()) {
    const { to } = emailTo(name)
    const sent = server.messages.find(({ recipients }) => recipients.includes(to[0]?.email ?? ''))
    expect(sent?.raw.toString()).toContain(`Dear ${name},`)
    expect(await recipientsOf(world.db, refIds[i] ?? '')).toMatchObject([{ status: 'delivered' }])
  }
})

it('is shown, built, copied, followed and rescued as its own', async () => {
  const { db } = world
  const refIds = await acceptThree()
  for (const [i, name] of names.entries()) {
    const refId = refIds[i] ?? ''
    expect(await getContent(db, tenantId, refId)).toMatchObject({ subject: `Hello ${name}` })
    const raw = await buildRaw({ db, trackingUrls }, tenantId, refId, undefined)
    expect(raw.toString()).toContain(`Subject: Hello ${name}`)
    const copy = await loadEmail(db, { tenantId, refId, messageId: `<${refId}.0@example.com>` })
    expect(copy?.content.subject).toBe(`Hello ${name}`)
    const tracks = await findTracks(db, { tenantId, refId, n: 0 })
    expect(tracks?.links).toEqual([{ link: 0, url: `https://example.com/${name}` }])
    expect(await findEmails(db, tenantId, [refId])).toMatchObject([{ refId, hasContent: true }])
  }
})

it('is loaded for an attempt as its own, together and alone', async () => {
  const { db } = world
  const refIds = await acceptThree()
  for (const [i, name] of names.entries()) {
    const refId = refIds[i] ?? ''
    const { emails } = await loadForSend(db, tenantId, [{ refId, n: 0 }], [refId])
    expect(emails).toMatchObject([{ ref_id: refId, content: { subject: `Hello ${name}` } }])
    expect(await loadContent(db, { tenantId, refId })).toMatchObject({ subject: `Hello ${name}` })
  }
  const claims = refIds.map((refId) => ({ refId, n: 0 }))
  const [, second = ''] = refIds
  const { emails } = await loadForSend(db, tenantId, claims, [second])
  expect(emails.map(({ content }) => content?.subject).sort()).toEqual([
    'Hello Bob',
    undefined,
    undefined,
  ])
})

it('is handed over of what was accepted now, and not of what is repeated or refused', async () => {
  const { db } = world
  await addMailer(db)
  const put: string[] = []
  const acceptedMail = {
    put: ({ refId }: { refId: string }) => put.push(refId),
    take: () => undefined,
  }
  const emails = accepting(db, acceptedMail)
  const request = await requestOf(emailTo('Ada'))
  const idempotency = { key: 'k1', bodyHash: Buffer.alloc(32) }
  const { refId } = await emails.accept({ ...request, idempotency })
  expect(await emails.accept({ ...request, idempotency })).toMatchObject({ refId, isReplay: true })
  const other = await requestOf({ from: { email: 'nobody@example.com' } })
  await expect(emails.accept(other)).rejects.toMatchObject({ code: 'no_mailer' })
  await emails.acceptTogether([request, other])
  expect(put).toEqual([refId])
})

it('stays in the database what was handed over from memory', async () => {
  const { db } = world
  await addMailer(db)
  const acceptedMail = createAcceptedMail(() => true)
  const refIds = await acceptTogether(
    db,
    [
      { ...emailTo('Ada'), campaign_id: 'spring', custom_args: { b: 1, a: [null, 'ä\ud800'] } },
      { to: names.map((name) => ({ email: `${name}@Example.com`, name })) },
    ],
    { acceptedMail },
  )
  const byRow = (a: { ref_id: string; n?: number }, b: { ref_id: string; n?: number }) =>
    a.ref_id.localeCompare(b.ref_id) || (a.n ?? 0) - (b.n ?? 0)
  const handed = refIds.map((refId) =>
    acceptedMail.take([{ tenantId, refId, attempt: 1, was: 'waiting' }]),
  )
  const claims = handed.flatMap((mail) =>
    (mail?.recipients ?? []).map(({ ref_id: refId, n }) => ({ refId, n })),
  )
  expect(claims).toHaveLength(4)
  const read = await loadForSend(db, tenantId, claims, refIds)
  expect(handed.map((mail) => mail?.email)).toEqual(read.emails.sort(byRow))
  expect(handed.flatMap((mail) => mail?.recipients)).toEqual(read.recipients.sort(byRow))
})
