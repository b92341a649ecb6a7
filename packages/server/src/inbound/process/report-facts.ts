/**
 * What a mail server has reported by mail, as feedback takes it (docs/reference/inbound.md#reports-by-mail).
 *
 * It is a claim of the author of the mail, and anybody can write one. So nothing follows from it unless
 * it names the Message-ID of one of the tenant's own emails, or else the id of its envelope, which each
 * recipient's copy has for itself and which nobody guesses; and unless it names that very recipient
 * (docs/reference/inbound.md#reports-by-mail): a complaint whose recipient is blacked out does nothing. Who
 * has had one copy of an email could still speak for another recipient of the same email, if that one's
 * address is known. A message that was handed in with a Message-ID of its own is found by that and the
 * recipient; where several have both, the newest is meant.
 *
 * What comes back to the return path of one copy is about that copy, whatever it names: the address was
 * made for it, and nobody else makes one.
 *
 * A recipient's email bounces once, and is complained of once, by however many doors that is reported.
 */
import { recipientsMax } from '@postrider/contract'
import type { MailReport } from '@postrider/mail'
import type { Report } from '../../feedback/index.ts'
import { isUlid } from '../../platform/ids.ts'
import type { RecipientKey } from '../../sending/index.ts'

export function reportsOf(
  tenantId: string,
  receivedAtMicros: bigint,
  reports: readonly MailReport[],
  returnedTo?: RecipientKey,
): Report[] {
  return reports.flatMap((report) => {
    const ref =
      returnedTo ?? refOfMessage(report.originalMessageId) ?? refOfEnvelope(report.envelopeId)
    const sentAs = ref === undefined ? report.originalMessageId : undefined
    // That a server goes on trying is no end of anything.
    if ((ref === undefined && sentAs === undefined) || report.kind === 'deferral') return []
    if (report.recipient === undefined && returnedTo === undefined) return []
    const fact = report.kind === 'bounce' ? bounceOf(report) : complaintOf(report)
    const { reportedAtMicros, recipient, diagnostic, ...rest } = report
    return {
      tenantId,
      relay: undefined,
      ...(returnedTo === undefined ? {} : { isReturned: true as const }),
      receivedAtMicros,
      fact: {
        ...fact,
        // One for good tells more than one that came before, and is heard beside it.
        factId: report.isHard ? `mail ${fact.kind} for good` : `mail ${fact.kind}`,
        atMicros: reportedAtMicros,
        ref,
        ...(sentAs === undefined ? {} : { providerSendId: sentAs }),
        reason: diagnostic,
        raw: JSON.stringify({ ...rest, recipient, diagnostic }),
      },
    }
  })
}

function bounceOf({ isHard, recipient, status, classified }: MailReport) {
  return {
    kind: 'bounced' as const,
    type: 'delivery-status',
    isHard,
    ...(isHard ? { suppresses: 'bounced' as const } : {}),
    ...(recipient === undefined ? {} : { email: recipient }),
    ...(status === undefined ? {} : { status }),
    ...(classified === undefined ? {} : { classified }),
  }
}

function complaintOf({ feedbackType = 'feedback-report', recipient }: MailReport) {
  return {
    kind: 'complained' as const,
    type: feedbackType,
    suppresses: 'complained' as const,
    ...(recipient === undefined ? {} : { email: recipient }),
  }
}

/** Where it is one of ours (sending/record/email.ts). */
function refOfMessage(messageId = ''): Report['fact']['ref'] {
  return refOfEnvelope(/^<?([^<@\s]+)@[^@\s]+$/.exec(messageId)?.[1])
}

function refOfEnvelope(envelopeId = ''): Report['fact']['ref'] {
  const [, refId = '', digits = ''] = /^(\w{26})\.(\d{1,5})$/.exec(envelopeId) ?? []
  const n = Number(digits)
  return isUlid(refId) && n < recipientsMax ? { refId, n } : undefined
}
