/**
 * getEmailContent and the preview of an email (docs/reference/sending.md#content): what was accepted, without
 * what tracking adds to each copy.
 */
import type { StoredContent } from '@postrider/contract'
import { dispositionOf, mediaTypeOf } from '@postrider/mail'
import type { Queryable } from '../../platform/db/index.ts'
import { ApiError } from '../../platform/errors.ts'
import { isUlid } from '../../platform/ids.ts'
import type { Mailbox } from '../record/email.ts'
import type { StoredAttachment } from '../record/stored-content.ts'
import { chosenOf, readRecipient } from './choose-recipient.ts'
import { listAddresses, type ShownContent, showContent } from './content-store.ts'

/** An id that is none, one of another tenant, and one that is too old have the same words. */
export function emailGone(): ApiError {
  return new ApiError('not_found', {
    message: 'There is no such email, or it is gone: it is kept for POSTRIDER_RETENTION only',
  })
}

/** Of an email whose record is still there. */
export function emailContentRemoved(): ApiError {
  return new ApiError('content_removed', {
    message:
      'The content of this email was removed: it is kept for POSTRIDER_CONTENT_RETENTION only. Its recipients, attempts and events are still there',
  })
}

async function readContent(
  q: Queryable,
  tenantId: string,
  refId: string,
  email: string | undefined,
): Promise<ShownContent> {
  const sought = email === undefined ? undefined : readRecipient(email)
  if (!isUlid(refId)) throw emailGone()
  const id = { tenantId, refId }
  const n = sought === undefined ? undefined : await findRecipient(q, id, sought)
  const found = await showContent(q, id, n)
  if (found === undefined) throw emailGone()
  if (found === 'content removed') throw emailContentRemoved()
  return found
}

/** @param email whose copy; when left out, what recipients get who have no data of their own */
export async function getContent(
  q: Queryable,
  tenantId: string,
  refId: string,
  email?: string,
): Promise<StoredContent> {
  const found = await readContent(q, tenantId, refId, email)
  const { createdAt, from, to, cc, replyTo, subject, headers, html, text, templateProblem } = found
  return {
    ref_id: refId,
    created_at: createdAt.toISOString(),
    from: toAddress(from),
    to: to.map(toAddress),
    cc: cc.map(toAddress),
    ...(replyTo ? { reply_to: toAddress(replyTo) } : {}),
    subject,
    parts: [
      ...(text === undefined ? [] : [{ type: 'text/plain' as const, value: text }]),
      ...(html === undefined ? [] : [{ type: 'text/html' as const, value: html }]),
    ],
    headers: headers.map(([name, value]) => ({ name, value })),
    attachments: found.attachments.map((one) => toAttachment(one, html ?? '')),
    template_problem: templateProblem ?? null,
  }
}

async function findRecipient(
  q: Queryable,
  id: { readonly tenantId: string; readonly refId: string },
  sought: string,
): Promise<number> {
  const recipients = await listAddresses(q, id)
  if (recipients.length === 0) throw emailGone()
  return chosenOf(recipients, sought)
}

function toAddress({ address, name }: Mailbox) {
  return { email: address, name: name ?? '' }
}

function toAttachment(stored: StoredAttachment, html: string) {
  const attachment = { ...stored, content: '' }
  return {
    filename: stored.filename,
    type: mediaTypeOf(attachment),
    size: stored.bytes,
    disposition: dispositionOf(attachment, html),
    content_id: stored.contentId ?? null,
  }
}
