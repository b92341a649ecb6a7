import fc from 'fast-check'
import { expect, it } from 'vitest'
import { digestLarge, digestMessage } from './digest.ts'

const digestOf = (text: string, recipient = 'b@example.com') =>
  digestMessage(Buffer.from(text, 'latin1')).of(recipient).toString('hex')
const mail = 'Message-ID: <1@x>\r\nSubject: a b\r\n\r\nbody\r\n'

it('[contract 5] the digest ignores header fields that servers on the way added', () => {
  expect(digestOf(`Received: from x\r\n by y\r\n${mail}`)).toBe(digestOf(mail))
  expect(digestOf(mail.replace('Message-ID: ', 'message-id  :\r\n\t'))).toBe(digestOf(mail))
  expect(digestOf(`X-Spam: no\r\nDKIM-Signature: t=1\r\n${mail}`)).toBe(digestOf(mail))
  expect(digestOf(mail.replace('Subject: a b', 'subject:a\r\n\t b'))).toBe(digestOf(mail))
  expect(digestOf(mail, 'B@Example.com')).toBe(digestOf(mail))
})

it('[contract 5] the digest differs by recipient, Message-ID and content', () => {
  const all = [
    digestOf(mail),
    digestOf(mail, 'c@example.com'),
    digestOf(mail.replace('<1@x>', '<2@x>')),
    digestOf(mail.replace('body', 'bodY')),
    digestOf(mail.replace('<1@x>', '')),
    digestOf(mail.replace('Message-ID', 'X-Message-ID')),
    digestOf(mail.replace('a b', 'a c')),
    digestOf(mail.replace('Subject', 'From')),
    digestOf(`From: one\r\n${mail}`),
    digestOf(`From: two\r\n${mail}`),
    digestOf(`Date: Sun, 22 Nov 2026 10:00:00 +0000\r\n${mail}`),
    digestOf(`Content-Type: text/html\r\n${mail}`),
  ]
  expect(new Set(all).size).toBe(all.length)
})

it('the digest covers the whole message without a Message-ID', () => {
  const bare = 'Subject: a\r\n\r\nbody\r\n'
  expect(digestOf(bare)).toBe(digestOf(bare))
  expect(digestOf(`Received: x\r\n${bare}`)).not.toBe(digestOf(bare))
  expect(digestOf('\r\n\r\nbody')).not.toBe(digestOf('\r\nbody'))
})

it('the digest of a large message is the same in a thread', async () => {
  for (const header of ['Message-ID: <1@x>\r\n', '']) {
    const raw = Buffer.from(`${header}Subject: a\r\n\r\n${'x'.repeat(600_000)}`)
    const other = Buffer.from(raw)
    other[other.length - 1] = 0x79
    const [one, another] = await Promise.all([raw, other].map(digestLarge))
    expect(one?.of('b@x')).toEqual(digestMessage(raw).of('b@x'))
    expect(another?.of('b@x')).not.toEqual(one?.of('b@x'))
  }
})

it('the digest accepts any bytes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      const digest = digestMessage(Buffer.from(bytes)).of('b@example.com')
      expect(digest).toHaveLength(32)
      const same = digestMessage(Buffer.from(`x\r\n\r\n`)).of('b@example.com')
      expect(digest.equals(same)).toBe(Buffer.from(bytes).equals(Buffer.from('x\r\n\r\n')))
    }),
  )
})

it('the digest reports whether there is a Message-ID', () => {
  expect(digestMessage(Buffer.from(mail)).messageId).toBe('<1@x>')
  for (const header of ['Message-ID: \r\n', 'Subject: a\r\n Message-ID: <1@x>\r\n', ''])
    expect(digestMessage(Buffer.from(`${header}\r\nbody`)).messageId).toBeUndefined()
})

it('the digest ignores the Message-ID of a header without an end', () => {
  const endless = `Message-ID: <1@x>\r\n${'a: b\r\n'.repeat(100_000)}`
  expect(digestOf(`${endless}\r\none`)).not.toBe(digestOf(`${endless}\r\ntwo`))
  expect(digestOf('\n'.repeat(1_000_000))).toHaveLength(64)
})
