/**
 * Whether an email fits into the quotas of its tenant (docs/reference/operator.md#quotas). Seconds and days are
 * those of the clock in UTC.
 */
import { type QuotaName, type Quotas, quotaNames, testEmailsPerDayMax } from '@postrider/contract'

const DAY_MS = 86_400_000
const SECOND_MS = 1_000
/** Mail leaves the queue and the tables at any time. */
const LATER_MS = 60_000

/** What is added to a tenant's usage. */
export interface Charge {
  readonly tenantId: string
  /** Recipients that are not suppressed. */
  readonly emails: number
  readonly bytes: number
}

export interface QuotaUsage {
  /** The last one in which something was accepted, since 1970. */
  readonly second: number
  readonly inSecond: number
  /** In the second before it. */
  readonly secondBefore: number
  readonly day: string
  readonly inDay: number
  readonly queued: number
  readonly storageBytes: number
}

/** What a tenant may send, and has sent. */
export interface Limited {
  readonly quotas: Quotas
  readonly usage: QuotaUsage
}

export interface OverQuota {
  readonly quota: QuotaName | 'test_emails_per_day'
  readonly max: number
  /** What the email asks for. */
  readonly asked: number
  /** What a request may ask for at most, to fit. */
  readonly left: number
  readonly retryAfterS: number
  /** When the second or the day is over of which this is said. */
  readonly endsInMs: number
}

export function utcDay(at: Date): string {
  return at.toISOString().slice(0, 10)
}

/** The first quota that it passes, or undefined. */
export function decideQuota(
  { quotas, usage }: Limited,
  { emails, bytes }: Pick<Charge, 'emails' | 'bytes'>,
  at: Date,
): OverQuota | undefined {
  const second = Math.floor(at.getTime() / 1_000)
  const asked: Readonly<Record<QuotaName, number>> = {
    storage_bytes_max: bytes,
    queued_max: emails,
    emails_per_day: emails,
    emails_per_second: emails,
  }
  const used: Readonly<Record<QuotaName, number>> = {
    storage_bytes_max: usage.storageBytes,
    queued_max: usage.queued,
    emails_per_day: usedOn(usage, utcDay(at)),
    emails_per_second: usedIn(usage, second),
  }
  const endsInMs: Readonly<Record<QuotaName, number>> = {
    storage_bytes_max: LATER_MS,
    queued_max: LATER_MS,
    emails_per_day: DAY_MS - (at.getTime() % DAY_MS),
    emails_per_second: SECOND_MS - (at.getTime() % SECOND_MS),
  }
  for (const quota of quotaNames) {
    const max = quotas[quota]
    if (max !== null && asked[quota] > 0 && used[quota] + asked[quota] > max)
      return {
        ...{ quota, max, asked: asked[quota], left: max - used[quota] },
        ...{ endsInMs: endsInMs[quota], retryAfterS: Math.ceil(endsInMs[quota] / 1_000) },
      }
  }
  return undefined
}

/** Of test mail, which has a limit for itself (docs/reference/test-mode.md#limits). */
export function overTests(asked: number, left: number, at: Date): OverQuota {
  const endsInMs = DAY_MS - (at.getTime() % DAY_MS)
  return {
    ...{ quota: 'test_emails_per_day', max: testEmailsPerDayMax, asked, left, endsInMs },
    retryAfterS: Math.ceil(endsInMs / 1_000),
  }
}

/** More than what is accepted at once elsewhere, as a rule. */
const FAR: Readonly<Record<QuotaName, number>> = {
  storage_bytes_max: 500_000_000,
  queued_max: 5_000,
  emails_per_day: 5_000,
  emails_per_second: 5_000,
}

/** Whether what others accept at this moment may use up what is left. */
export function isNearEdge({ quotas, usage }: Limited): boolean {
  const used: Readonly<Record<QuotaName, number>> = {
    storage_bytes_max: usage.storageBytes,
    queued_max: usage.queued,
    emails_per_day: usage.inDay,
    emails_per_second: Math.max(usage.inSecond, usage.secondBefore),
  }
  return quotaNames.some((quota) => {
    const max = quotas[quota]
    return max !== null && max - used[quota] < FAR[quota]
  })
}

/** What fitted counts for what comes after it. */
export function charged(
  { quotas, usage }: Limited,
  { emails, bytes }: Pick<Charge, 'emails' | 'bytes'>,
  at: Date,
): Limited {
  const [second, day] = [Math.floor(at.getTime() / 1_000), utcDay(at)]
  const isLater = second > usage.second
  return {
    quotas,
    usage: {
      second: Math.max(second, usage.second),
      inSecond: isLater ? emails : usage.inSecond + (second === usage.second ? emails : 0),
      secondBefore: isLater
        ? usedIn(usage, second - 1)
        : usage.secondBefore + (second === usage.second - 1 ? emails : 0),
      day: day > usage.day ? day : usage.day,
      inDay: day > usage.day ? emails : usage.inDay + emails,
      queued: usage.queued + emails,
      storageBytes: usage.storageBytes + bytes,
    },
  }
}

/** Of a second that is long over nobody knows it any more: nothing more fits into it. */
function usedIn({ second, inSecond, secondBefore }: QuotaUsage, asked: number): number {
  if (asked > second) return 0
  if (asked === second) return inSecond
  return asked === second - 1 ? secondBefore : Number.POSITIVE_INFINITY
}

function usedOn({ day, inDay }: QuotaUsage, asked: string): number {
  if (asked > day) return 0
  return asked === day ? inDay : Number.POSITIVE_INFINITY
}
