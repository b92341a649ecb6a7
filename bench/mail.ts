/** The mail that is measured: one recipient, an HTML part of about so many bytes, and a text part. */
import type { SendEmailBody } from '@postrider/contract'
import { sender } from './service.ts'

const line = '<p>Your order has left our warehouse and will be with you in two days.</p>\n'

const textLine = 'Your order has left our warehouse and will be with you in two days.\n'

export function mailOf(
  htmlBytes: number,
  from: string = sender,
): SendEmailBody & Required<Pick<SendEmailBody, 'subject' | 'content'>> {
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

/** For a peer that is given its parts one by one. */
export function partsOf({ content = [] }: SendEmailBody): { text: string; html: string } {
  const partOf = (type: string) => content.find((part) => part.type === type)?.value ?? ''
  return { text: partOf('text/plain'), html: partOf('text/html') }
}
