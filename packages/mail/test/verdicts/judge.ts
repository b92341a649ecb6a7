/** The labelled replies and bounces with what our code answers to each. */
import { answerToBounce, answerToReply } from './answers.ts'
import { type Part, readBounces, readReplies } from './labels.ts'
import type { Judged } from './score.ts'

export const kinds = ['replies', 'bounces'] as const
export type Kind = (typeof kinds)[number]

const known = new Map<string, readonly Judged[]>()

/** Once for each: it takes seconds, and several tests ask. */
export function judge(kind: Kind, part: Part): readonly Judged[] {
  const name = `${kind} ${part}`
  const judged = known.get(name) ?? judgeAll(kind, part)
  known.set(name, judged)
  return judged
}

function judgeAll(kind: Kind, part: Part): readonly Judged[] {
  if (kind === 'replies')
    return readReplies()
      .filter((one) => one.part === part)
      .map((one) => ({ ...one, answer: answerToReply(one) }))
  return readBounces()
    .filter((one) => one.part === part)
    .map((one) => ({ ...one, answer: answerToBounce(one) }))
}
