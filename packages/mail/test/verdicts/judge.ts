/** The labelled replies and bounces with what our code answers to each. */
import { answerToBounce, answerToReply } from './answers.ts'
import { type Part, readBounces, readReplies } from './labels.ts'
import type { Judged } from './score.ts'

export const kinds = ['replies', 'bounces'] as const
export type Kind = (typeof kinds)[number]

export function judge(kind: Kind, part: Part): readonly Judged[] {
  if (kind === 'replies')
    return readReplies()
      .filter((one) => one.part === part)
      .map((one) => ({ ...one, answer: answerToReply(one) }))
  return readBounces()
    .filter((one) => one.part === part)
    .map((one) => ({ ...one, answer: answerToBounce(one) }))
}
