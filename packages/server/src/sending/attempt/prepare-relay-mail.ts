/**
 * The mail of an email for a relay provider, which builds the message itself: each recipient's copy is
 * made of the parts as they were accepted, with that recipient's own URLs in place.
 */
import { type RecipientType, recipientTypes } from '@postrider/contract'
import {
  addressKeyOf,
  fillSplit,
  type SplitText,
  splitAtPlaceholders,
  unsubscribeHeaders,
} from '@postrider/mail'
import type { RelayMail, RelayMailbox } from '../../relays/index.ts'
import { type EmailContent, messageIdOf } from '../record/email.ts'
import { markEmail } from '../tracking/mark-email.ts'
import type { TrackingUrls } from '../tracking/tracking-urls.ts'
import { type ScanOnce, scanOnce } from './scan-once.ts'

export interface ReadyForRelay {
  readonly kind: 'relay'
  readonly toScan: ScanOnce
  /** In wire form, as everybody sees it. */
  readonly from: string
  /** Of the recipient with that number, whose address is in wire form. */
  mailOf(n: number, address: string): RelayMail
}

interface Of {
  readonly tenantId: string
  readonly refId: string
  readonly campaignId: string | null
  /** That it came with. */
  readonly messageId?: string | null
}

/** @param textOf what text goes beside the HTML */
export function prepareRelayMail(
  urls: TrackingUrls,
  { tenantId, refId, campaignId, messageId }: Of,
  content: EmailContent,
  textOf: (content: EmailContent) => string | undefined,
): ReadyForRelay {
  const { from, to, cc, replyTo, subject, headers, attachments } = content
  const marked = markEmail(urls, { tenantId, refId }, content)
  const split = (body: string | undefined): SplitText | undefined => {
    if (body === undefined) return undefined
    if (marked === undefined) return { pieces: [body], placeholders: [] }
    return splitAtPlaceholders(body, refId, marked.placeholders)
  }
  const text = split(textOf({ ...content, ...marked }))
  const html = split(marked?.html ?? content.html)
  const shared = {
    refId,
    from,
    shown: { to, cc },
    ...(replyTo === undefined ? {} : { replyTo }),
    subject,
    attachments,
    ...(campaignId === null ? {} : { campaignId }),
  }
  return {
    kind: 'relay',
    toScan: scanOnce(content),
    from: from.address,
    mailOf(n, address) {
      const { texts, unsubscribeUrl } = marked?.ownOf(n) ?? { texts: [] }
      const { type, name } =
        content.raw === undefined ? shownAs(content, n) : shownTo(content, address)
      return {
        ...shared,
        n,
        type,
        to: { address, ...(name === undefined ? {} : { name }) },
        headers: [
          ['Message-ID', messageId ?? messageIdOf(refId, n, from.address)],
          ...unsubscribeHeaders(unsubscribeUrl),
          ...headers,
        ],
        ...(text === undefined ? {} : { text: fillSplit(text, texts) }),
        ...(html === undefined ? {} : { html: fillSplit(html, texts) }),
      }
    },
  }
}

/** Of a message that was handed in: its recipients are those of its envelope. */
function shownTo(content: EmailContent, address: string): ReturnType<typeof shownAs> {
  const key = addressKeyOf(address)
  for (const type of ['to', 'cc'] as const) {
    const shown = content[type].find((one) => addressKeyOf(one.address) === key)
    if (shown !== undefined) return { type, name: shown.name }
  }
  return { type: 'bcc', name: undefined }
}

/** Recipients are numbered in the order of their types. Who got a blind copy is shown nowhere. */
function shownAs(
  content: EmailContent,
  n: number,
): { readonly type: RecipientType; readonly name: string | undefined } {
  let before = 0
  for (const type of recipientTypes) {
    if (type === 'bcc') break
    const shown: readonly RelayMailbox[] = content[type]
    if (n < before + shown.length) return { type, name: shown[n - before]?.name }
    before += shown.length
  }
  return { type: 'bcc', name: undefined }
}
