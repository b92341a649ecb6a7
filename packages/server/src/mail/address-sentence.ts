/** Finds words that name the recipient as unknown or disabled, in a sentence about nothing else. */
import { ADDRESS_WORDS, AGAINST, ANYWHERE, WILL_PASS } from './address-evidence.ts'
import type { FailureCategory } from './failure-category.ts'

export interface AddressSaying {
  readonly is: FailureCategory
  readonly said: string
}

const AGAINST_IN_SENTENCE = Object.values(AGAINST)

/**
 * Undefined where there are none, and where anything in the reply makes them doubtful.
 * @param words of `sentencesOf`
 */
export function cleanAddressWords(words: string, hasReply: boolean): AddressSaying | undefined {
  if (saysItPasses(words) || ANYWHERE.test(words)) return undefined
  for (const sentence of words.split(/[.!?](?=\s|$)/))
    for (const { is, words: pattern, needsReply } of ADDRESS_WORDS) {
      const found = needsReply === true && !hasReply ? null : pattern.exec(sentence)
      if (found === null) continue
      const rest = `${sentence.slice(0, found.index)} ${sentence.slice(found.index + found[0].length)}`
      if (!speaksOfMore(rest)) return { is, said: found[0].trim() }
    }
  return undefined
}

/** Of sender, IP address, content, policy, size or time. */
export function speaksOfMore(words: string): boolean {
  return AGAINST_IN_SENTENCE.some((against) => against.test(words))
}

export function saysItPasses(words: string): boolean {
  return WILL_PASS.test(words)
}
