/**
 * Prints how right our verdicts on replies and bounces are, for the parts of the labelled set.
 *
 *   node packages/mail/test/verdicts/score-main.ts            the scores of work and score
 *   node packages/mail/test/verdicts/score-main.ts --failing  and the failing entries to work with
 *   node packages/mail/test/verdicts/score-main.ts --blind    the scores of the blind part, too
 *
 * The failing entries of the other parts are shown to nobody: they are there to tell whether rules hold for
 * what they were not written from.
 */
import { parseArgs } from 'node:util'
import { judge, kinds } from './judge.ts'
import { parts } from './labels.ts'
import { describeScore, problemOf } from './score.ts'

const { values } = parseArgs({
  options: {
    failing: { type: 'boolean', default: false },
    blind: { type: 'boolean', default: false },
  },
})
const print = (text: string) => process.stdout.write(`${text}\n`)

for (const part of parts.filter((one) => values.blind || one !== 'blind'))
  for (const kind of kinds) print(`== ${kind}, ${part}\n${describeScore(judge(kind, part))}`)

if (values.failing)
  for (const kind of kinds)
    for (const one of judge(kind, 'work')) {
      const problem = problemOf(one)
      if (problem !== undefined) print(`${problem}\n    ${one.line}`)
    }
