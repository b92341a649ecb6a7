/** What our code answers to a labelled reply or bounce. */
import { classifyFailure } from '../../src/classify-reply.ts'
import type { FailureCategory } from '../../src/failure-category.ts'
import { judgeBounce } from '../../src/judge-bounce.ts'
import { parseMessage } from '../../src/parse/parse-message.ts'
import type { MailReport } from '../../src/reports/mail-report.ts'
import { buildBounce, RECIPIENT } from './build-bounce.ts'
import type { LabelledBounce, LabelledReply } from './labels.ts'

/** `later` of replies only, `told` and `nothing` of bounces only. */
export const outcomes = ['suppressed', 'final', 'later', 'told', 'nothing'] as const

export interface Answer {
  /** Of a reply: `suppressed` is what would follow if a bounce told of it. */
  readonly outcome: (typeof outcomes)[number]
  readonly category?: FailureCategory
  /** Of a reply: another attempt follows. */
  readonly isTemporary?: boolean
  /** Of a bounce: it is told of, and of its recipient. */
  readonly isTold?: boolean
  /** An address is suppressed that is not the recipient's. */
  readonly hurtsOthers?: true
}

export function answerToReply({ text }: LabelledReply): Answer {
  const reply = { code: Number(text.slice(0, 3)), text }
  const { category, retryable: isTemporary } = classifyFailure({ reply })
  if (judgeBounce({ recipient: undefined, status: undefined, diagnostic: text }).isOfAddress)
    return { outcome: 'suppressed', category, isTemporary }
  return { outcome: isTemporary ? 'later' : 'final', category, isTemporary }
}

export function answerToBounce(bounce: LabelledBounce): Answer {
  const { reports } = parseMessage(buildBounce(bounce))
  const bounces = reports.filter((one) => one.kind === 'bounce' && one.recipient !== undefined)
  const isOwn = (one: (typeof bounces)[number]) => one.recipient?.toLowerCase() === RECIPIENT
  const own = bounces.find(isOwn)
  const others = bounces.filter((one) => !isOwn(one) && one.isHard)
  return {
    outcome: own === undefined ? 'nothing' : own.isHard ? 'suppressed' : 'told',
    isTold: own !== undefined,
    ...(own === undefined ? {} : { category: categoryOf(own) }),
    ...(others.length > 0 ? { hurtsOthers: true } : {}),
  }
}

/** As the trace of an email tells it. */
function categoryOf({ recipient, status, diagnostic }: MailReport): FailureCategory {
  return judgeBounce({ recipient, status, diagnostic }).classified.category
}
