/** Sentences that sound like "no such user" and are about something else: none may suppress an address. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { judgeBounce } from '../../src/judge-bounce.ts'
import { parseMessage } from '../../src/parse/parse-message.ts'
import { forms } from './bounce-forms.ts'
import { buildBounce, RECIPIENT } from './build-bounce.ts'

const lines = readFileSync(new URL('look-alikes.txt', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))

/** Of these the recipient stands in the words alone. */
const NAMES_NOBODY = new Set(['imail', 'verizon', 'plain', 'person', 'autoreply'])

describe('replies that sound like an unknown recipient and are about something else', () => {
  it('are many, and none is there twice', () => {
    expect(lines.length).toBeGreaterThan(780)
    expect(new Set(lines).size).toBe(lines.length)
  })

  it('suppress nobody', () => {
    const wrong = lines.filter(
      (diagnostic) =>
        judgeBounce({ recipient: RECIPIENT, status: undefined, diagnostic }).isOfAddress,
    )
    expect(wrong).toEqual([])
  })

  it('suppress nobody where a code says no more than that it failed', () => {
    const wrong = lines.filter(
      (diagnostic) =>
        judgeBounce({ recipient: RECIPIENT, status: '5.0.0', diagnostic }).isOfAddress,
    )
    expect(wrong).toEqual([])
  })

  it.each(Object.keys(forms))('suppress nobody in a bounce in the style of %s', (form) => {
    const wrong = lines.filter((line) => {
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
    })
    expect(wrong).toEqual([])
  })
})
