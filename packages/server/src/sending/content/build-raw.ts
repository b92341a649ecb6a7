/**
 * getRawEmail (docs/reference/sending.md#content): the message of one recipient, built anew from what is
 * stored by the code that sends it. The same input gives the same bytes, so it is what the mail server got.
 */
import { composeMessage } from '@postrider/mail'
import type { Db } from '../../platform/db/index.ts'
import { ApiError } from '../../platform/errors.ts'
import { isUlid } from '../../platform/ids.ts'
import { prepareEmail } from '../attempt/prepare-email.ts'
import { messageIdOf } from '../record/email.ts'
import type { TrackingUrls } from '../tracking/tracking-urls.ts'
import { chosenOf, readRecipient } from './choose-recipient.ts'
import { listAddresses, loadStored } from './content-store.ts'
import { emailContentRemoved, emailGone } from './get-content.ts'

export interface BuildRawDeps {
  readonly db: Db
  readonly trackingUrls: TrackingUrls
}

/** By a mail server: a relay provider builds the message itself, of the same parts. */
const BY_SMTP = { mailerId: '' }

export async function buildRaw(
  { db, trackingUrls }: BuildRawDeps,
  tenantId: string,
  refId: string,
  email: string | undefined,
): Promise<Buffer> {
  const sought = email === undefined ? undefined : readRecipient(email)
  if (!isUlid(refId)) throw emailGone()
  const id = { tenantId, refId }
  const recipients = await listAddresses(db, id)
  if (recipients.length === 0) throw emailGone()
  const n = chosenOf(recipients, sought)
  const stored = await loadStored(db, id, n)
  if (stored === undefined) throw emailGone()
  if (stored === 'content removed') throw emailContentRemoved()
  const { content, ...facts } = stored
  const prepared = await prepareEmail(trackingUrls, { ...id, ...facts, ...BY_SMTP }, content)
  if ('templateProblem' in prepared)
    throw new ApiError('not_found', {
      message: `There is no message: the template could not be rendered (${prepared.templateProblem})`,
    })
  if (prepared.kind !== 'smtp') throw new Error(`a message is ready for ${prepared.kind}`)
  const messageId = stored.messageId ?? messageIdOf(refId, n, content.from.address)
  return await composeMessage(prepared.message, messageId, prepared.ownOf?.(n))
}
