/** The mail that is measured: one recipient, an HTML part of about so many bytes. */
import type { SendEmailBody } from '@postrider/contract'
import { sender } from './service.ts'

const line = '<p>Your order has left our warehouse and will be with you in two days.</p>\n'

export function mailOf(htmlBytes: number, from: string = sender): SendEmailBody {
  return {
    from: { email: from, name: 'Bench' },
    to: [{ email: 'ada@example.com', name: 'Ada' }],
    subject: 'Your order is on its way',
    content: [{ type: 'text/html', value: line.repeat(Math.ceil(htmlBytes / line.length)) }],
    custom_args: { order_id: 1234 },
  }
}
