/** The mails that are measured. */
import { createHash } from 'node:crypto'
import type { SendEmailBody } from '@postrider/contract'
import { sender } from './service.ts'

const line = '<p>Your order has left our warehouse and will be with you in two days.</p>\n'

const textLine = 'Your order has left our warehouse and will be with you in two days.\n'

type BenchMail = SendEmailBody & Required<Pick<SendEmailBody, 'subject' | 'content'>>

/** One recipient, an HTML part of about so many bytes, and a text part. It repeats a line, so it compresses to little. */
export function mailOf(htmlBytes: number, from: string = sender): BenchMail {
  return {
    from: { email: from, name: 'Bench' },
    to: [{ email: 'ada@example.com', name: 'Ada' }],
    subject: 'Your order is on its way',
    content: [
      { type: 'text/plain', value: textLine.repeat(Math.ceil(htmlBytes / 4 / textLine.length)) },
      { type: 'text/html', value: line.repeat(Math.ceil(htmlBytes / line.length)) },
    ],
    custom_args: { order_id: 1234 },
  }
}

/**
 * As compressible as a mail of 5 kB is: 3.2 kB of base64 of random bytes, which no compression makes smaller than
 * 2.4 kB, and 1.7 kB of repeated lines.
 *
 * @param seed another one is another mail, the same one the same
 */
export function honestMail(seed: string, from: string = sender): BenchMail {
  const random = Array.from({ length: 75 }, (_, i) =>
    createHash('sha256').update(`${seed} ${i}`).digest(),
  )
  const base64 = Buffer.concat(random).toString('base64').replace(/.{76}/g, '$&\n')
  return {
    from: { email: from, name: 'Bench' },
    to: [{ email: 'ada@example.com', name: 'Ada' }],
    subject: 'Your order is on its way',
    content: [{ type: 'text/html', value: `<pre>${base64}</pre>\n${line.repeat(22)}` }],
    custom_args: { order_id: 1234 },
  }
}

/** With a text part of its own of about a kilobyte: of HTML alone the service makes one, and its peers make none. */
export function withText(mail: BenchMail): BenchMail {
  return { ...mail, content: [{ type: 'text/plain', value: textLine.repeat(14) }, ...mail.content] }
}

/** For a peer that is given its parts one by one. */
export function partsOf({ content = [] }: SendEmailBody): { text: string; html: string } {
  const partOf = (type: string) => content.find((part) => part.type === type)?.value ?? ''
  return { text: partOf('text/plain'), html: partOf('text/html') }
}
