/**
 * Accepts a message that a program handed in over SMTP (docs/submission.md): the same email as one of
 * sendEmail, by the same rules, which goes out as it was given. Its bytes are stored beside what is in it.
 */
import { createHash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { contentBytesMax, contentLengthMax } from '@postrider/contract'
import {
  type ChangedPart,
  checkHeader,
  type LinkFinder,
  type RawMessage,
  type RawReader,
  rewriteRaw,
  type TemplateRenderer,
} from '@postrider/mail'
import { bucketOf } from '../../platform/db/leases.ts'
import { validationError } from '../../platform/errors.ts'
import type { Logger } from '../../platform/log.ts'
import { startTrace } from '../../platform/trace.ts'
import type { QueueWakeups } from '../queue/queue-wakeups.ts'
import { type EmailContent, isBulk, type NewEmail } from '../record/email.ts'
import { planTracking } from '../tracking/plan-tracking.ts'
import type { AcceptEmails } from './accept-email.ts'
import { checkEmail, type SendDefaults } from './check-email.ts'
import { type KeysInProgress, keyOfMode, readIdempotencyKey } from './idempotency.ts'
import { renderEmail } from './render-email.ts'
import {
  bodyOfSubmitted,
  controlPrefix,
  namedByField,
  typedRecipients,
} from './submitted-controls.ts'

export interface Submitted {
  readonly tenantId: string
  /** By a key of test mode. */
  readonly isTest: boolean
  /** It may have passed through the whole of it: lines end with CRLF. */
  readonly raw: Buffer
  /** Of the envelope, as it was given. */
  readonly recipients: readonly string[]
  /** As in AcceptRequest. */
  readonly isLate?: () => boolean
}

export type SubmittedOutcome =
  | {
      readonly kind: 'accepted'
      readonly refId: string
      /** What was asked for and is left out, and why. */
      readonly leftOut?: string
    }
  | { readonly kind: 'refused'; readonly problem: string; readonly isTooLarge: boolean }

/** Throws the refusals of sendEmail, which name the header fields at fault. */
export type AcceptSubmitted = (submitted: Submitted) => Promise<SubmittedOutcome>

export interface AcceptSubmittedDeps {
  readonly emails: AcceptEmails
  readonly rawReader: Pick<RawReader, 'read'>
  readonly templates: TemplateRenderer
  readonly links: Pick<LinkFinder, 'find'>
  readonly keysInProgress: KeysInProgress
  readonly wakeups: QueueWakeups
  readonly defaults: SendDefaults
  readonly log: Logger
}

/** Shown with the email. */
const HEADERS_SHOWN_MAX = 100
const HEADERS_LOOKED_AT_MAX = 200

export function createAcceptSubmitted(deps: AcceptSubmittedDeps): AcceptSubmitted {
  const { emails, keysInProgress, links, rawReader, templates } = deps

  const read: Read = (tenantId, raw) =>
    rawReader.read(tenantId, raw, {
      controlPrefix,
      textBytesMax: contentBytesMax,
      textCharsMax: contentLengthMax,
      date: new Date(),
    })

  async function acceptMessage(submitted: Submitted, message: RawMessage) {
    const { tenantId, isTest, recipients } = submitted
    const body = bodyOfSubmitted(message, recipients)
    const key = readIdempotencyKey(message.controls[`${controlPrefix}idempotency-key`])
    const checked = toEmail(checkEmail(body, deps.defaults), message)
    const ofMode = key && keyOfMode(key, isTest)
    // Texts of megabytes were looked through for what they may not hold.
    await setImmediate()
    return await keysInProgress.run(tenantId, ofMode, async () => {
      const { template_data: data } = body
      const rendered =
        data === undefined
          ? checked
          : await withRendered(
              read,
              { tenantId, email: checked, message },
              await renderEmail(templates, tenantId, checked, data),
            )
      const asked = withoutImpossible(rendered)
      const { email, leftOut = asked.leftOut } = await planTracking(links, tenantId, asked.email)
      const stored = await emails.accept({
        tenantId,
        email,
        traceparent: startTrace(),
        ...{ isTest, isLate: submitted.isLate },
        ...(key === undefined
          ? {}
          : { idempotency: { key, bodyHash: hashOf(message, recipients) } }),
      })
      tellOfStored(deps, { tenantId, email, stored, leftOut })
      return {
        kind: 'accepted' as const,
        refId: stored.refId,
        ...(leftOut === undefined ? {} : { leftOut }),
      }
    })
  }

  return async (submitted) => {
    const reading = await read(submitted.tenantId, submitted.raw)
    if (reading.kind === 'refused') {
      const { problem, isTooLarge = false } = reading
      return { kind: 'refused', problem, isTooLarge }
    }
    try {
      return await acceptMessage(submitted, reading.message)
    } catch (error) {
      throw namedByField(error)
    }
  }
}

type Read = (tenantId: string, raw: Buffer) => ReturnType<RawReader['read']>

/** The message with its texts rendered: where these stand then is read anew. */
async function withRendered(
  read: Read,
  o: { readonly tenantId: string; readonly email: NewEmail; readonly message: RawMessage },
  { content }: NewEmail,
): Promise<NewEmail> {
  const { tenantId, email, message } = o
  if (content.templateProblem !== undefined) return { ...email, content }
  const changed = changedParts(message, content)
  const reading = await read(tenantId, await rewriteRaw(message.message, changed, content.subject))
  if (reading.kind === 'refused')
    throw validationError({ path: 'X-Postrider-Template-Data', message: reading.problem })
  return toEmail(email, reading.message)
}

/** Throws where the message has no one place for each of its texts, or may not be changed. */
function changedParts(message: RawMessage, content: EmailContent): ChangedPart[] {
  const { textPlace, htmlPlace, isSealed } = message
  const isDivided =
    (message.text !== undefined && textPlace === undefined) ||
    (message.html !== undefined && htmlPlace === undefined)
  if (isSealed || isDivided)
    throw validationError({
      path: 'X-Postrider-Template-Data',
      message: isSealed
        ? 'cannot be applied to a message that is signed or encrypted'
        : 'needs a message with one part of plain text and one of HTML at most',
    })
  const changed: ChangedPart[] = []
  if (textPlace !== undefined)
    changed.push({ type: 'text/plain', place: textPlace, text: content.text ?? '' })
  if (htmlPlace !== undefined)
    changed.push({ type: 'text/html', place: htmlPlace, text: content.html ?? '' })
  return changed
}

/** The log of what was left out, and the sender of what may go now. */
function tellOfStored(
  { log, wakeups }: Pick<AcceptSubmittedDeps, 'log' | 'wakeups'>,
  o: {
    readonly tenantId: string
    readonly email: NewEmail
    readonly stored: Awaited<ReturnType<AcceptEmails['accept']>>
    readonly leftOut: string | undefined
  },
): void {
  const { tenantId, email, stored, leftOut } = o
  if (stored.isReplay) return
  const { mailerId, refId } = stored
  if (leftOut !== undefined)
    log.warn({ tenant_id: tenantId, ref_id: refId, left_out: leftOut }, 'email.untracked')
  if (!stored.isScheduled)
    wakeups.wake([{ tenantId, mailerId, bucket: bucketOf(mailerId), isBulk: isBulk(email) }])
}

/** What was checked, with what the message says. */
function toEmail(checked: NewEmail, message: RawMessage): NewEmail {
  const { textPlace, htmlPlace, hasUtf8Header, messageId, replyTo, text, html } = message
  const content: EmailContent = {
    from: message.from,
    to: message.to,
    cc: message.cc,
    ...(replyTo === undefined ? {} : { replyTo }),
    subject: message.subject,
    ...(text === undefined ? {} : { text }),
    ...(html === undefined ? {} : { html }),
    headers: message.headers
      .slice(0, HEADERS_LOOKED_AT_MAX)
      .filter(([name, value]) => checkHeader(name, value) === undefined)
      .slice(0, HEADERS_SHOWN_MAX),
    attachments: message.attachments.map(({ contentId, ...one }) => ({
      ...one,
      ...(contentId === null ? {} : { contentId }),
    })),
    raw: {
      hasMessageId: messageId !== undefined,
      hasUtf8Header,
      ...(textPlace === undefined ? {} : { textPlace }),
      ...(htmlPlace === undefined ? {} : { htmlPlace }),
    },
    rawBytes: message.message,
  }
  return {
    ...checked,
    content,
    recipients: typedRecipients(message, checked.recipients),
    raw: { messageId, isSealed: message.isSealed },
  }
}

const TRACKS_NOTHING: NewEmail['tracking'] = { opens: false, clicks: false, unsubscribes: false }

/** The mail matters more than what is known of it afterwards. */
function withoutImpossible(email: NewEmail): {
  readonly email: NewEmail
  readonly leftOut?: string
} {
  const { content, raw, tracking } = email
  const isAsked = tracking.opens || tracking.clicks || tracking.unsubscribes
  if (!isAsked) return { email }
  if (raw?.isSealed === true)
    return {
      email: { ...email, tracking: TRACKS_NOTHING },
      leftOut: 'tracking: the message is signed or encrypted',
    }
  if (content.html !== undefined && content.raw?.htmlPlace === undefined)
    return {
      email: { ...email, tracking: { ...TRACKS_NOTHING, unsubscribes: tracking.unsubscribes } },
      leftOut: 'opens and clicks: the message has several HTML parts',
    }
  return { email }
}

function hashOf({ digest }: RawMessage, recipients: readonly string[]): Buffer {
  const sorted = recipients.map((one) => one.toLowerCase()).toSorted()
  return createHash('sha256')
    .update(JSON.stringify([digest, sorted]))
    .digest()
}
