/**
 * What a category rests on: a code, or words of the reply (docs/reference/suppressions.md#evidence). Found
 * from the category and the stored reply when somebody looks, so that sending neither computes nor stores it.
 */
import { readSentences } from './address-sentence.ts'
import { FAILURES, type FailureCategory } from './failure-category.ts'
import { AUTH_RULES, CODE_RULES, type ReplyRule, TEXT_RULES } from './reply-table.ts'
import { type ReplyFacts, readReply } from './reply-text.ts'

export const evidenceKinds = ['enhanced_code', 'reply_code', 'words'] as const

export interface Classified {
  readonly category: FailureCategory
  readonly by: (typeof evidenceKinds)[number]
  /** The code (`5.1.1`, `550`), or the words: in lower case, without addresses. At most 200 characters. */
  readonly evidence: string
}

const EVIDENCE_CHARS_MAX = 200
const ALL_RULES: readonly ReplyRule[] = [...TEXT_RULES, ...AUTH_RULES, ...CODE_RULES]
const BY_CATEGORY = Map.groupBy(ALL_RULES, ({ is }) => is)

/**
 * Of a failed attempt.
 * @param providerError the server's reply, or the system's error text where none came
 */
export function classifiedOf(category: string, providerError: string): Classified {
  const known = isCategory(category) ? category : 'unknown'
  const [, code] = /^([245]\d\d)(?!\d)/.exec(providerError) ?? []
  const facts = readReply({ code: Number(code ?? 0), text: providerError })
  return evidenceOf(known, facts)
}

/**
 * The same of many: each reply is read once, and of those beyond `max` different ones no words, for a server
 * may write each to cost time.
 */
export function classifierOf(max: number): typeof classifiedOf {
  const known = new Map<string, Classified>()
  return (category, providerError) => {
    const key = `${category} ${providerError}`
    const found = known.get(key)
    if (found !== undefined) return found
    const isMany = known.size >= max
    const classified = classifiedOf(category, isMany ? providerError.slice(0, 12) : providerError)
    if (!isMany) known.set(key, classified)
    return classified
  }
}

/** An enhanced code first, then words, then the reply code: what is most exact. */
export function evidenceOf(category: FailureCategory, facts: ReplyFacts): Classified {
  const { code, enhanced, words } = facts
  const rules = BY_CATEGORY.get(category) ?? []
  const hasCode = rules.some(
    (rule) => rule.words === undefined && rule.enhanced !== undefined && isMatch(rule, facts),
  )
  if (hasCode && enhanced !== undefined)
    return { category, by: 'enhanced_code', evidence: enhanced }
  for (const rule of rules) {
    const found = isMatch(rule, facts) ? rule.words?.exec(words)?.[0].trim() : undefined
    if (found) return { category, by: 'words', evidence: bounded(found) }
  }
  const { saying } = readSentences(facts)
  if (saying?.is === category) return { category, by: 'words', evidence: bounded(saying.said) }
  return code === 0
    ? wordsOf(category, facts)
    : { category, by: 'reply_code', evidence: String(code) }
}

/** All of them, where no rule says which ones. */
export function wordsOf(category: FailureCategory, { words }: ReplyFacts): Classified {
  return { category, by: 'words', evidence: bounded(words) }
}

export function isMatch(rule: ReplyRule, { code, enhanced, words }: ReplyFacts): boolean {
  if (rule.code !== undefined && !rule.code.test(String(code))) return false
  if (rule.enhanced !== undefined && !(enhanced !== undefined && rule.enhanced.test(enhanced)))
    return false
  return rule.words === undefined || rule.words.test(words)
}

function isCategory(category: string): category is FailureCategory {
  return Object.hasOwn(FAILURES, category)
}

function bounded(text: string): string {
  return text.slice(0, EVIDENCE_CHARS_MAX).toWellFormed().replaceAll('\u0000', '\ufffd')
}
