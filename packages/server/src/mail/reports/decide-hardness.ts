/**
 * Whether a refusal is of the recipient, and for good: its address does not exist, or not any more.
 * What is refused for its content, its sender or the state of a mailbox may fare better another time.
 */
import { classifyFailure } from '../classify-reply.ts'
import type { FailureCategory } from '../failure-category.ts'

const OF_ADDRESS: ReadonlySet<FailureCategory> = new Set([
  'invalid_recipient',
  'invalid_recipient_domain',
  'mailbox_disabled',
])

export function decideHardness(o: {
  readonly status: string | undefined
  readonly diagnostic: string
}): boolean {
  const status = o.status ?? ''
  const [, said] = /(?<![\d.])([45]\d\d)(?![\d.])/.exec(o.diagnostic) ?? []
  const code = Number(said ?? (status.startsWith('4') ? 450 : 550))
  // Of a status against the reply, the reply is nearer to what happened.
  const enhanced = status.startsWith(String(code)[0] ?? '') ? status : ''
  const isNamed = enhanced === '' || o.diagnostic.includes(enhanced)
  const words =
    said === undefined ? o.diagnostic : o.diagnostic.slice(o.diagnostic.indexOf(said) + 3)
  const text = `${code} ${isNamed ? '' : `${enhanced} `}${words.replace(/^[\s#:-]+/, '')}`
  const { category, retryable } = classifyFailure({ stage: 'rcpt', reply: { code, text } })
  return OF_ADDRESS.has(category) && !retryable
}
