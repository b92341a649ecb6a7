/** The mail that a test sends: short, and the same for everybody. */
import { composeMessage, prepareMessage } from '@postrider/mail'
import { newUlid } from '../../platform/ids.ts'
import { printable, sentenceOf } from '../smtp/login-failure.ts'
import type { UseSession } from './trace-login.ts'

export const TEST_SUBJECT = 'Test mail of Postrider'
export const TEST_TEXT =
  'This mail was sent to test a mailer. Nothing is to be done about it, and nobody reads an answer.\n'

const TIMEOUT_MS = 30_000

export function testMessageId(from: string): { readonly id: string; readonly messageId: string } {
  const id = newUlid()
  return { id, messageId: `<${id}.test@${from.slice(from.lastIndexOf('@') + 1)}>` }
}

/** Addresses in wire form. */
export async function testMailFor({
  from,
  to,
}: {
  readonly from: string
  readonly to: string
}): Promise<Buffer> {
  const { id, messageId } = testMessageId(from)
  const prepared = await prepareMessage({
    id,
    date: new Date(),
    from: { address: from },
    to: [{ address: to }],
    subject: TEST_SUBJECT,
    text: TEST_TEXT,
    headers: [['Auto-Submitted', 'auto-generated']],
  })
  return await composeMessage(prepared, messageId)
}

export function sendTestMail(message: Buffer, from: string, to: string): UseSession {
  return async (session) => {
    const result = await session.send({
      from,
      to,
      message,
      smtpUtf8: !/^\p{ASCII}*$/u.test(from + to),
      deadlineAt: performance.now() + TIMEOUT_MS,
      beforeFinalDot: async () => undefined,
    })
    if (result.kind === 'accepted') return { ok: true, detail: result.reply.text }
    const { failure } = result
    const said = failure.reply === undefined ? sentenceOf(failure) : printable(failure.reply.text)
    return { ok: false, detail: `${failure.stage}: ${said}` }
  }
}
