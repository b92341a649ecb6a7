/**
 * What a message will most likely ask of name servers, from what is known before it is authenticated: with
 * these answers one run in a thread is enough for most messages. A wrong guess costs a question, and no
 * more: the thread tells which questions are open.
 */
import type { Question } from './lookups.ts'

export interface Expectation {
  /** Domain of the envelope's sender, or the greeting of one without. */
  readonly senderDomain: string | undefined
  /** Of the author. */
  readonly author: string
  readonly headers: readonly { readonly name: string; readonly value: string }[]
}

const SIGNATURES: ReadonlySet<string> = new Set([
  'dkim-signature',
  'arc-seal',
  'arc-message-signature',
])
const KEYS_MAX = 10
const SIGNATURE_CHARS_MAX = 8 * 1024
const NAME_CHARS_MAX = 253
/** Of a walk up the author's domain (RFC 9989 §4.10). */
const WALK_LABELS_MAX = 7

export function expectedQuestions({ senderDomain, author, headers }: Expectation): Question[] {
  const domain = author.slice(author.lastIndexOf('@') + 1).toLowerCase()
  const names = [
    ...(senderDomain === undefined ? [] : [senderDomain]),
    ...headers
      .filter(({ name }) => SIGNATURES.has(name.toLowerCase()))
      .slice(0, KEYS_MAX)
      .flatMap(({ value }) => keyNameOf(value) ?? []),
    ...walkFrom(domain).map((one) => `_dmarc.${one}`),
  ]
  return names.filter(isName).map((name) => ({ name, type: 'TXT' }))
}

/** Once a policy is looked for, it is looked for up to the top. */
export function withWalks(questions: readonly Question[]): Question[] {
  return questions.flatMap((question) => {
    if (!question.name.startsWith(DMARC)) return [question]
    return walkFrom(question.name.slice(DMARC.length)).map((one) => ({
      ...question,
      name: DMARC + one,
    }))
  })
}

const DMARC = '_dmarc.'

function walkFrom(domain: string): string[] {
  const labels = domain.split('.')
  const from = labels.length > WALK_LABELS_MAX ? labels.length - WALK_LABELS_MAX : 1
  const above = labels.slice(from).map((_, i) => labels.slice(from + i).join('.'))
  return [domain, ...above]
}

function keyNameOf(signature: string): string | undefined {
  if (signature.length > SIGNATURE_CHARS_MAX) return undefined
  const tags = new Map(
    signature.split(';').map((tag) => {
      const at = tag.indexOf('=')
      return [tag.slice(0, at).trim().toLowerCase(), tag.slice(at + 1).trim()]
    }),
  )
  const [selector, domain] = [tags.get('s'), tags.get('d')]
  return selector && domain ? `${selector}._domainkey.${domain}` : undefined
}

function isName(name: string): boolean {
  return name.length <= NAME_CHARS_MAX && /^[\w-]+(?:\.[\w-]+)+$/.test(name)
}
