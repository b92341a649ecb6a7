/**
 * Prints how right our verdicts on replies and bounces are, for both halves of the labelled set.
 *
 *   node packages/server/test/verdicts/score-main.ts            the scores
 *   node packages/server/test/verdicts/score-main.ts --failing  and the failing entries to work with
 *
 * The failing entries of the other half are shown to nobody: it is there to tell whether rules hold for what
 * they were not written from.
 */
import { parseArgs } from 'node:util'
import { judge, kinds } from './judge.ts'
import { halves } from './labels.ts'
import { describeScore, problemOf } from './score.ts'

const { values } = parseArgs({ options: { failing: { type: 'boolean', default: false } } })
const print = (text: string) => process.stdout.write(`${text}\n`)

for (const half of halves)
  for (const kind of kinds) print(`== ${kind}, ${half}\n${describeScore(judge(kind, half))}`)

if (values.failing)
  for (const kind of kinds)
    for (const one of judge(kind, 'work')) {
      const problem = problemOf(one)
      if (problem !== undefined) print(`${problem}\n    ${one.line}`)
    }
