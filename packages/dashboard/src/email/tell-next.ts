/** The sentence about what happens next, in the reader's language. */
import type { Format } from '../words/format.ts'
import type { NextStep } from './next-step.ts'
import type { words } from './words.ts'

export function tellNext(
  step: NextStep,
  o: {
    readonly text: (typeof words)['en']['next']
    readonly format: Format
    readonly now: Date
    readonly nameOf: (mailerId: string) => string
  },
): string {
  const { text, format, now } = o
  switch (step.kind) {
    case 'scheduled':
      return text.scheduled(format.dayAndTime(new Date(step.at)))
    case 'under_way':
      return text.under_way(step.attempt, step.maxAttempts)
    case 'again':
      return step.isDue
        ? text.againDue(step.attempt, step.maxAttempts)
        : text.again(step.attempt, step.maxAttempts, format.relative(new Date(step.at), now))
    case 'too_late':
      return text.too_late(format.dayAndTime(new Date(step.expiresAt)))
    case 'held':
      return text.held(step.mailerId === undefined ? '' : o.nameOf(step.mailerId))
    case 'delivered':
      return step.attempt > 1 ? text.deliveredLate(step.attempt) : text.delivered
    case 'used_up':
      return text.used_up(step.maxAttempts)
    default:
      return text[step.kind]
  }
}
