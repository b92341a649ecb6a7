/**
 * The copy of an email for its sender: one of all recipients, with the Message-ID, the date and the
 * bodies of what was sent. It names blind recipients, as the copies that mail programs keep do.
 *
 * Nothing is tracked in it: its sender opens and follows links without being counted, and cannot
 * unsubscribe the recipient. Where an address for that would stand, the placeholder does.
 */
import { composeMessage, prepareMessage, prepareRaw } from '@postrider/mail'
import type { Queryable } from '../../platform/db/index.ts'
import { wireOf } from '../attempt/converse.ts'
import { textOf } from '../attempt/prepare-email.ts'
import { loadEmail } from './content-store.ts'
import type { SentCopy } from './copy-jobs-store.ts'

/** Undefined when the email is gone. */
export async function buildSentCopy(
  q: Queryable,
  copy: Pick<SentCopy, 'tenantId' | 'refId' | 'messageId'>,
): Promise<Buffer | undefined> {
  const email = await loadEmail(q, copy)
  if (email === undefined) return undefined
  const { tracking: _, ...content } = email.content
  const bcc = email.bcc.map((one) => ({ address: wireOf(one) }))
  const { raw, rawBytes } = content
  const message =
    raw === undefined || rawBytes === undefined
      ? await prepareMessage({
          ...content,
          text: textOf(content),
          bcc,
          id: copy.refId,
          date: email.createdAt,
        })
      : await prepareRaw({ ...raw, raw: rawBytes, bcc, changed: [], id: copy.refId })
  return composeMessage(message, copy.messageId)
}
