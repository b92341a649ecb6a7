/** How right our answers are: precision and recall against the labels, and who is taken for what. */
import type { FailureCategory } from '../../src/failure-category.ts'
import { type Answer, outcomes } from './answers.ts'
import type { Verdict } from './labels.ts'

export interface Judged {
  readonly line: string
  readonly verdict: Verdict
  readonly categories: readonly FailureCategory[]
  readonly answer: Answer
}

/** Shares from 0 to 1, by what they are of; 1 where there was nothing to be wrong about. */
export type Score = ReadonlyMap<string, number>

export function scoreOf(judged: readonly Judged[]): Score {
  const known = judged.filter(({ verdict }) => verdict !== 'either')
  const isWanted = ({ verdict }: Judged) => verdict === 'address'
  const isSuppressed = ({ answer }: Judged) =>
    answer.outcome === 'suppressed' || answer.hurtsOthers === true
  const score = new Map([
    ['suppressed, precision', shareOf(known.filter(isSuppressed), isWanted)],
    ['suppressed, recall', shareOf(known.filter(isWanted), isSuppressed)],
  ])
  const timed = known.filter(({ answer }) => answer.isTemporary !== undefined)
  if (timed.length > 0) {
    const isLater = ({ verdict }: Judged) => verdict === 'later'
    const isTriedAgain = ({ answer }: Judged) => answer.isTemporary === true
    score.set('temporary, precision', shareOf(timed.filter(isTriedAgain), isLater))
    score.set('temporary, recall', shareOf(timed.filter(isLater), isTriedAgain))
  }
  const named = judged.filter(({ answer }) => answer.category !== undefined)
  if (named.length > 0) score.set('category', shareOf(named, hasRightCategory))
  const told = judged.filter(({ answer }) => answer.isTold !== undefined)
  if (told.length > 0) score.set('told of', shareOf(told, isRightlyTold))
  return score
}

/** In words; undefined where all is right. */
export function problemOf(judged: Judged): string | undefined {
  const { verdict, answer } = judged
  const { outcome, category, isTemporary, isTold, hurtsOthers } = answer
  const isSuppressed = outcome === 'suppressed'
  const isKnown = verdict !== 'either'
  const problems = [
    isKnown && isSuppressed && verdict !== 'address' ? 'suppresses' : '',
    isKnown && !isSuppressed && verdict === 'address' ? 'does not suppress' : '',
    hurtsOthers === true ? 'suppresses another address' : '',
    isTold === undefined || isRightlyTold(judged)
      ? ''
      : isTold
        ? 'tells of it'
        : 'tells of nothing',
    isKnown && isTemporary === true && verdict !== 'later' ? 'is tried again' : '',
    isKnown && isTemporary === false && verdict === 'later' ? 'is not tried again' : '',
    category === undefined || hasRightCategory(judged) ? '' : category,
  ].filter((one) => one !== '')
  return problems.length === 0 ? undefined : problems.join(', ')
}

export function describeScore(judged: readonly Judged[]): string {
  const shares = [...scoreOf(judged)].map(([name, share]) => `${name.padEnd(24)}${percent(share)}`)
  const known = judged.filter(({ verdict }) => verdict !== 'either')
  return [`${judged.length} entries`, ...shares, '', tableOf(known), ''].join('\n')
}

/** Rounded down, for 100 % is all of it. */
export function percent(share: number): string {
  return `${(Math.floor(share * 1_000) / 10).toFixed(1)} %`
}

function isRightlyTold({ verdict, answer }: Judged): boolean {
  return answer.isTold === (verdict !== 'none')
}

/** Of what nobody can tell, `unknown` is right, too. */
function hasRightCategory({ verdict, categories, answer }: Judged): boolean {
  if (answer.category === 'unknown' && verdict === 'either') return true
  return answer.category !== undefined && categories.includes(answer.category)
}

function shareOf(all: readonly Judged[], isRight: (one: Judged) => boolean): number {
  return all.length === 0 ? 1 : all.filter(isRight).length / all.length
}

/** Labels down, answers across. */
function tableOf(judged: readonly Judged[]): string {
  const given = outcomes.filter((one) => judged.some(({ answer }) => answer.outcome === one))
  const row = (cells: readonly (string | number)[]) =>
    cells
      .map((cell) => String(cell).padEnd(12))
      .join('')
      .trimEnd()
  const rows = [...Map.groupBy(judged, ({ verdict }) => verdict)].map(([verdict, ofRow]) =>
    row([
      verdict,
      ...given.map((one) => ofRow.filter(({ answer }) => answer.outcome === one).length),
    ]),
  )
  return [row(['', ...given]), ...rows.sort()].join('\n')
}
