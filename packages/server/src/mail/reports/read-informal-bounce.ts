/**
 * Bounces of servers that know no RFC 3464: told by who wrote them and by their words, read line by
 * line. An address that a line begins with is a recipient, and what follows is said of it; what comes
 * behind the announcement of the message that is returned is not looked at but for its Message-ID.
 */
import { headerOf } from '../parse/header-values.ts'
import { decideHardness } from './decide-hardness.ts'
import type { MailReport } from './mail-report.ts'
import { findOriginal } from './original-message.ts'
import type { ReportSource } from './report-source.ts'
import {
  addressIn,
  boundedText,
  microsOf,
  RECIPIENTS_MAX,
  replyIn,
  statusIn,
} from './report-text.ts'

const TEXT_CHARS_MAX = 65_536
const OPENING_CHARS = 4_096
const BLOCK_CHARS_MAX = 4_000
const BEGINNING_CHARS = 500
const BY_MACHINE =
  /^\s*"?(mail delivery (sub)?system|mail(er)?[-_. ]?(daemon|administrator)|delivery subsystem|system administrator|postmaster)|<?\b(mailer-daemon|mail-daemon|postmaster|mdaemon|bounces?|microsoftexchange[\da-f]{32})@/i
const SAYS_FAILURE =
  /undeliver|unzustellbar|non remis|no se pudo entregar|не доставлено|delivery (has )?fail|delivery status notification \(fail|(delivery )?failure (notice|report|notification)|mail delivery failed|returned mail|(could|can|can't|cannot|did|was|were|has) ?n[o']?t (be |been )?(delivered|deliver|reach)|could ?n[o']t be delivered|(can't|cannot|couldn't|unable to|wasn't able to|weren't able to) (be )?deliver|did not reach|permanent (fatal )?error|address(es)? (had|have) (permanent|failed)|because: user/i
const SAYS_DELAY =
  /warning: (message|could not send)|delivery (status notification \()?delay|(has|have) (not yet been delivered|been delayed)|message delayed|will (be retried|keep trying|continue to (try|be attempted)|retry)|still (being )?(tried|trying)|delivery attempts will continue/i
const SAYS_FOR_GOOD =
  /permanent|giving up|address(es)? failed|could not be delivered|had permanent fatal|i'm not going to try/i
/** What stands before a copy of the message. */
const RETURNED_MESSAGE =
  /^[-=\s]{0,40}(below this line is a copy|this is a copy of|original message\b|returned message|(a )?copy of (the|your) (original )?message|(unsent|undelivered) message|included is a copy|message (header|headers|text) follows?|the body of the message)|^(received|return-path|dkim-signature|delivered-to|message-id|mime-version): /i
/** An address alone, in brackets, quotes, or behind a word that announces it. */
const BEGINS_WITH_ADDRESS =
  /^[\s>*"'<([-]{0,20}(?:(?:(?:was |were )?not delivered |failed |final |original )?(?:recipient|rcpt to|to|user|e?-?mail|address)\s{0,5}[:=]\s{0,5})?[<"'[]{0,2}([^\s<>"'(),:;[\]]{1,64}@[a-z\d](?:[a-z\d.-]{0,252}[a-z\d])?)["'>\]]{0,2}(?=$|[\s,:;(>])/i

export function readInformalBounce(source: ReportSource): readonly MailReport[] {
  const text = source.text.slice(0, TEXT_CHARS_MAX)
  const failed = headerOf(source.headers, 'x-failed-recipients')
  const opening = `${headerOf(source.headers, 'subject').slice(0, 500)}\n${text.slice(0, OPENING_CHARS)}`
  const isDelay = SAYS_DELAY.test(opening) && !SAYS_FOR_GOOD.test(opening)
  const isBounce =
    failed !== '' || (isFromServer(source) && (isDelay || SAYS_FAILURE.test(opening)))
  if (!isBounce) return []
  const original = findOriginal(source, text)
  const said = whatIsSaidOf(text)
  const named = failed.split(',', RECIPIENTS_MAX).flatMap((one) => addressIn(one) ?? [])
  const recipients = named.length > 0 ? named : [...said.keys()]
  const known = recipients.length > 0 ? recipients : [original.recipient].filter(isKnown)
  const kind = isDelay ? 'deferral' : 'bounce'
  const reportedAtMicros = microsOf(headerOf(source.headers, 'date'))
  const common = {
    kind,
    ...(original.messageId === undefined ? {} : { originalMessageId: original.messageId }),
    ...(reportedAtMicros === undefined ? {} : { reportedAtMicros }),
  } as const
  const toReport = (recipient: string | undefined): MailReport => {
    const block = said.get(recipient?.toLowerCase() ?? '') ?? (said.size > 1 ? '' : text)
    const reply = replyIn(block)
    const isOfRecipient = reply !== undefined || block !== text
    const diagnostic = boundedText(reply ?? block.slice(0, BEGINNING_CHARS))
    const status = statusIn(diagnostic)
    return {
      ...common,
      // Of what a whole text says, nothing is known for good.
      isHard: kind === 'bounce' && isOfRecipient && decideHardness({ status, diagnostic }),
      diagnostic,
      ...(recipient === undefined ? {} : { recipient }),
      ...(status === undefined ? {} : { status }),
    }
  }
  return known.length === 0 ? [toReport(undefined)] : unique(known).map(toReport)
}

/** Automatic answers have no return-path either: of these the subject has to say so. */
function isFromServer({ headers }: ReportSource): boolean {
  if (BY_MACHINE.test(headerOf(headers, 'from').slice(0, 500))) return true
  const subject = headerOf(headers, 'subject').slice(0, 500)
  const hasNoSender = headerOf(headers, 'return-path').trim() === '<>'
  return hasNoSender && (SAYS_FAILURE.test(subject) || SAYS_DELAY.test(subject))
}

/** By addresses in lower case, at most as many as there may be. */
function whatIsSaidOf(text: string): ReadonlyMap<string, string> {
  const said = new Map<string, string>()
  /** `isLookedAt`: nothing was added since the block was searched for a reason; blank lines are many. */
  let current: { readonly key: string; block: string; isLookedAt: boolean } | undefined
  const finish = () => {
    if (current === undefined) return
    const { key, block } = current
    const before = said.get(key) ?? ''
    // Exchange names each twice: for its reader, and with the reply.
    if (before === '' || (replyIn(before) === undefined && replyIn(block) !== undefined))
      said.set(key, block)
  }
  for (const line of text.split('\n')) {
    if (RETURNED_MESSAGE.test(line) && said.size + Number(current !== undefined) > 0) break
    const address = BEGINS_WITH_ADDRESS.exec(line)
    if (address !== null && !BY_MACHINE.test(address[1] ?? '')) {
      finish()
      const key = (address[1] ?? '').toLowerCase()
      if (said.size >= RECIPIENTS_MAX) return said
      const block = line.slice(address[0].length).replace(/^[\s>:,;]+/, '')
      current = { key, block, isLookedAt: false }
    } else if (current !== undefined && line.trim() === '') {
      if (!current.isLookedAt && hasReason(current.block)) {
        finish()
        current = undefined
      } else current.isLookedAt = true
    } else if (current !== undefined && current.block.length < BLOCK_CHARS_MAX) {
      current.block += ` ${line.slice(0, BLOCK_CHARS_MAX)}`
      current.isLookedAt = false
    }
  }
  finish()
  return said
}

function hasReason(block: string): boolean {
  return replyIn(block) !== undefined || statusIn(block) !== undefined
}

function isKnown(address: string | undefined): address is string {
  return address !== undefined
}

function unique(addresses: readonly string[]): readonly string[] {
  return [...new Map(addresses.map((one) => [one.toLowerCase(), one])).values()]
}
