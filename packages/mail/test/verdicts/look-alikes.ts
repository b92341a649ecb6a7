/** Sentences that sound like "no such user" and are about something else, and bounces that say them. */
import { readFileSync } from 'node:fs'
import { parseMessage } from '../../src/parse/parse-message.ts'
import { buildBounce } from './build-bounce.ts'

export const lookAlikes = readFileSync(new URL('look-alikes.txt', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))

/** Of these the recipient stands in the words alone. */
const NAMES_NOBODY = new Set(['imail', 'verizon', 'plain', 'person', 'autoreply'])

/** Whether a bounce of this form with the sentence is permanent. */
export function suppresses(form: string, line: string): boolean {
  const said = NAMES_NOBODY.has(form) ? `{r} // ${line}` : line
  const bounce = buildBounce({
    form,
    options: { status: '5.0.0' },
    said,
    line,
    part: 'work',
    words: '',
    mayRepeat: false,
    source: '',
    categories: [],
    verdict: 'final',
  })
  return parseMessage(bounce).reports.some((one) => one.kind === 'bounce' && one.isHard)
}
