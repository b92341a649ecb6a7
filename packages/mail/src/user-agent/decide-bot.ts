/**
 * Decides whether a person or a program opened or clicked (docs/reference/events.md#tracking, `bot`), and by
 * what rule.
 */
import { botRules, type Engagement } from './bot-rules.ts'

export interface BotVerdict {
  readonly isBot: boolean
  /** The rule that decided; absent where none did. */
  readonly rule?: string
}

const PERSON: BotVerdict = { isBot: false }

export function decideBot(engagement: Engagement): BotVerdict {
  const rule = botRules.find(({ fits }) => fits(engagement))
  return rule === undefined ? PERSON : { isBot: rule.isBot, rule: rule.name }
}
