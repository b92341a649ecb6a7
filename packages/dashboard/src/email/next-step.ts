/** What happens next to a recipient, or why nothing does: a sentence of the page is made of it. */
import { isCancelled, type TracedRecipient } from './build-timeline.ts'

export type NextStep =
  | { readonly kind: 'scheduled'; readonly at: string }
  | { readonly kind: 'first' }
  | { readonly kind: 'under_way'; readonly attempt: number; readonly maxAttempts: number }
  | {
      readonly kind: 'again'
      readonly at: string
      readonly attempt: number
      readonly maxAttempts: number
      /** It is due: the mailer does it when its turn comes. */
      readonly isDue: boolean
      readonly reason: string
    }
  | { readonly kind: 'too_late'; readonly expiresAt: string; readonly reason: string }
  | {
      readonly kind: 'held'
      readonly mailerId: string | undefined
      readonly expiresAt: string | undefined
    }
  | { readonly kind: 'with_provider' }
  | { readonly kind: 'delivered'; readonly attempt: number; readonly at: string | null }
  | { readonly kind: 'complained'; readonly at: string }
  | { readonly kind: 'bounced'; readonly reason: string }
  | { readonly kind: 'uncertain' }
  /** The server refused it for good. */
  | { readonly kind: 'refused'; readonly attempt: number; readonly reason: string }
  | { readonly kind: 'used_up'; readonly maxAttempts: number; readonly reason: string }
  | { readonly kind: 'expired' }
  | { readonly kind: 'blocked' }
  | { readonly kind: 'suppressed' }
  | { readonly kind: 'cancelled' }
  | { readonly kind: 'rejected'; readonly reason: string }

export function nextStepOf(recipient: TracedRecipient, now: Date): NextStep {
  const { status, waiting, failed_reason: reason, attempts, feedback } = recipient
  const last = attempts.at(-1)
  switch (status) {
    case 'scheduled':
      return waiting === null ? { kind: 'first' } : { kind: 'scheduled', at: waiting.due_at }
    case 'queued':
    case 'deferred': {
      if (waiting === null || waiting.attempt === 1) return { kind: 'first' }
      const { due_at: at, expires_at: expiresAt, attempt, max_attempts: maxAttempts } = waiting
      if (Date.parse(at) > Date.parse(expiresAt)) return { kind: 'too_late', expiresAt, reason }
      const isDue = Date.parse(at) <= now.getTime()
      return { kind: 'again', at, attempt, maxAttempts, isDue, reason }
    }
    case 'sending':
      return {
        kind: 'under_way',
        attempt: waiting?.attempt ?? (last?.attempt ?? 0) + 1,
        maxAttempts: waiting?.max_attempts ?? last?.max_attempts ?? 1,
      }
    case 'held':
      return { kind: 'held', mailerId: waiting?.mailer_id, expiresAt: waiting?.expires_at }
    case 'sent':
      return { kind: 'with_provider' }
    case 'delivered': {
      const complaint = feedback.findLast(({ meaning }) => meaning === 'complained')
      if (complaint !== undefined) return { kind: 'complained', at: complaint.at }
      return { kind: 'delivered', attempt: last?.attempt ?? 1, at: recipient.delivered_at }
    }
    case 'bounced':
      return { kind: 'bounced', reason }
    case 'failed':
      if (last?.outcome === 'uncertain') return { kind: 'uncertain' }
      if (last !== undefined && last.attempt >= last.max_attempts && last.max_attempts > 1)
        return { kind: 'used_up', maxAttempts: last.max_attempts, reason }
      return { kind: 'refused', attempt: last?.attempt ?? 1, reason }
    case 'expired':
    case 'blocked':
    case 'suppressed':
      return { kind: status }
    case 'rejected':
      return isCancelled(recipient) ? { kind: 'cancelled' } : { kind: 'rejected', reason }
    default:
      return status satisfies never
  }
}
