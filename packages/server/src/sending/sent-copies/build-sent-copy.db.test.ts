/** What is kept of an email in its sender's Sent folder. */
import type { SendEmailBody } from '@postrider/contract'
import PostalMime from 'postal-mime'
import { expect, it } from 'vitest'
import { accept, drain, handIn, useSending } from '../../../test/sender.ts'
import { addMailer } from '../../../test/sending.ts'
import { buildSentCopy } from './build-sent-copy.ts'
import { claimSentCopies, discoverSentCopies, type SentCopy } from './copy-jobs-store.ts'

const world = useSending()

/** Sends it; answers what its recipients got, and the copy. */
const send = (change: Partial<SendEmailBody>) => sendBy(() => accept(world.db, change))

async function sendBy(acceptIt: () => Promise<string>) {
  const server = await world.serve()
  await addMailer(world.db, { port: server.port, configType: 'smtp_imap' })
  await acceptIt()
  await drain(world.db, world.sender())
  const copy = await claimCopy()
  const raw = await buildSentCopy(world.db, copy)
  if (raw === undefined) throw new Error('the email is gone')
  const sent = server.messages.find((one) => one.raw.includes(copy.messageId))
  if (sent === undefined) throw new Error('its copy was not sent')
  return { raw, copy, sent: sent.raw, mail: await PostalMime.parse(raw) }
}

async function claimCopy(): Promise<SentCopy> {
  const { db } = world
  await db.query('update sending_sent_copy set due_at = now()')
  const [mailer] = await discoverSentCopies(db, [...Array(64).keys()])
  if (mailer === undefined) throw new Error('nothing is due')
  const o = { limit: 10, leaseMs: 60_000 }
  const [copy] = await db.transaction((tx) => claimSentCopies(tx, mailer, o))
  if (copy === undefined) throw new Error('nothing was claimed')
  return copy
}

it('equals the sent message byte for byte where every recipient got the same', async () => {
  const { raw, sent } = await send({
    cc: [{ email: 'cy@example.com', name: 'Cy' }],
    replyTo: { email: 'help@example.com' },
    headers: { 'X-Order': '17' },
    content: [
      { type: 'text/plain', value: 'Grüße' },
      { type: 'text/html', value: '<p>Grüße</p>' },
    ],
    attachments: [{ filename: 'a.txt', content: Buffer.from('abc').toString('base64') }],
  })
  expect(raw.equals(sent)).toBe(true)
})

it('names blind recipients, who are not in the sent messages', async () => {
  const bcc = [{ email: 'Bob@Example.com', name: 'Bob' }, { email: 'di@example.com' }]
  const { mail, sent } = await send({ bcc })
  expect(mail.bcc?.map(({ address }) => address)).toEqual(['Bob@example.com', 'di@example.com'])
  expect(mail.to?.map(({ address }) => address)).toEqual(['ada@example.com'])
  expect(sent.toString()).not.toMatch(/bcc|bob@|di@/i)
})

it('has no tracking pixel, tracked link or unsubscribe header', async () => {
  const html =
    '<p><a href="https://a.example/">here</a> <a href="%unsubscribe_url%">No more</a></p>'
  const { mail, sent, raw, copy } = await send({
    content: [{ type: 'text/html', value: html }],
    settings: { open_tracking: true, click_tracking: true, unsubscribe: true },
  })
  expect(sent.toString()).toContain('track.example.com')
  expect(raw.toString()).not.toContain('track.example.com')
  expect(raw.toString()).not.toContain('List-Unsubscribe')
  expect(mail.html?.trim()).toBe(html)
  expect(mail.messageId).toBe(copy.messageId)
  const date = /^Date: .*$/m
  expect(date.exec(raw.toString())?.[0]).toBe(date.exec(sent.toString())?.[0])
})

it.each([
  ['with its own Message-ID', 'Message-ID: <own@example.com>\r\n'],
  ['without a Message-ID', ''],
])(
  'of a message that was handed in %s is that message, untracked and with its blind recipients',
  async (_, id) => {
    const header = `From: News <news@example.com>\r\nTo: ada@example.com\r\nX-Odd:\tas  it is\r\n${id}Date: x\r\n`
    const rest = 'Content-Type: text/html\r\n\r\n<p><a href="https://a.example/">a</a></p>\r\n'
    const asked = 'Bcc: bob@example.com\r\nX-Postrider-Track: opens,clicks,unsubscribe\r\n'
    const recipients = ['ada@example.com', 'bob@example.com']
    const { raw, sent, copy } = await sendBy(() =>
      handIn(world.db, header + asked + rest, recipients),
    )
    const bcc = 'Bcc: bob@example.com\r\n'
    const added = id === '' ? `Message-ID: ${copy.messageId}\r\n` : ''
    expect(raw.toString()).toBe(bcc + added + header + rest)
    expect(sent.toString()).toContain('track.example.com')
    expect(sent.toString()).not.toMatch(/bcc|bob@|x-postrider/i)
  },
)

it.each(['email', 'content'])('is not built when the %s was removed', async (what) => {
  const { copy } = await send({})
  await world.db.query(`delete from sending_${what}`)
  expect(await buildSentCopy(world.db, copy)).toBeUndefined()
})
