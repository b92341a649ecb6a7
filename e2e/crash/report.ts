/** The verdict over one round. */
export interface Violation {
  /** The rule that was broken, such as `I1.lost`. */
  readonly rule: Rule
  readonly detail: string
}

export interface Report {
  /** `void` when the round proves nothing: nothing was killed, or nothing was sent. */
  readonly verdict: 'green' | 'red' | 'void'
  readonly violations: readonly Violation[]
  readonly voidBecause: readonly string[]
  readonly counts: Readonly<Record<string, number>>
}

/** Every rule, in words. */
export const rules = {
  'I1.lost': 'an accepted recipient has no terminal event',
  'I1.ended-twice': 'a recipient has more than one terminal event',
  'I1.split': 'one idempotency key stands for two emails, or one email for two keys',
  'I1.refused': 'a good send was refused, or the service admitted an internal error',
  'I2.copies': 'more copies at the SMTP server than 1 + the uncertain attempts that were reported',
  'I2.message-id': 'copies of one recipient differ in Message-ID, or two recipients share one',
  'I3.delivered-unseen': 'MAIL_DELIVERED for a mail that the SMTP server did not accept',
  'I3.delivered-denied': 'an accepted mail was reported as failed, with no word of doubt',
  'I4.attempts': 'attempt numbers are not 1 to k, each once',
  'I4.budget': 'max_attempts is not what was asked for',
  'I4.retry': 'retry_scheduled contradicts what followed, the budget, or the reply',
  'I4.invented': 'more SMTP_ERROR with a reply than times the SMTP server gave it',
  'I4.swallowed': 'fewer SMTP_ERROR than refusals, beyond what the kills explain',
  'I4.doubt': 'more uncertain attempts than unanswered dots and kills explain',
  'I5.key': 'two different events have one deduplication key',
  'I5.invented': 'an event of an email, recipient or kind that nobody asked for',
  'I5.unacknowledged': 'an event was posted, and given up before it was acknowledged',
  'I5.stamped-late': 'event_at is not when it happened',
  'I6.shape': 'a body or an event is not of the published shape',
  'I6.sorted': 'a batch is not sorted by event_at',
  'I6.webhook': 'wrong webhook_id, path, method or headers',
  'I6.traceparent': "traceparent is malformed or not of the oldest event's send",
  'I6.repeat':
    'two bodies share an event, are not the same bytes, and the one is no part of the other after its refusal',
  'I6.needless': 'a body was sent again after a 2xx, beyond what the kills explain',
  'I8.secret': 'a secret stands in what a process printed',
  'I10.fell': 'a process ended by itself, or not in order when it was asked to',
  'I8.canary': "a tenant's data appears in what another tenant receives",
  'I11.held-up': 'an event came only when the receiver took the poison at last, and is none itself',
  'I12.parked':
    'what is not settled while poison is refused is not the poison alone, event by event',
  'I12.unseen': 'a delivery is recorded as delivered that the receiver did not acknowledge',
  'I12.unrecorded': 'the receiver acknowledged what no delivery is recorded as delivered for',
  'I12.once': 'an event is in two deliveries that were delivered, or in none',
  'I12.divided': 'a divided delivery was not refused, or its parts do not hold its events in order',
  'I12.ended': 'a delivery ended otherwise than delivered or divided, or did not end',
  'I12.attempts': 'the attempts on record are not those that the receiver saw, beyond the kills',
} as const
export type Rule = keyof typeof rules
