/** `npm run demo`, as a newcomer sees it (docs/reference/running.md#commands). */
import { startProcess } from '@postrider/testkit'
import { expect, it } from 'vitest'

const DEMO = new URL('../packages/testkit/src/demo.ts', import.meta.url).pathname

it('the demo shows the main job within a minute, and ends by itself in order', async () => {
  const demo = await startProcess({ script: DEMO })
  expect(await demo.exited).toEqual({ code: 0, signal: null })
  const shown = demo.lines.join('\n')
  expect(shown).toMatch(
    /The dashboard is at http:\S+\/app\/: log in with demo@example\.com and demo-/,
  )
  expect(shown).toMatch(/WEBHOOK 1: POST \/events/)
  expect(shown).toMatch(/MAIL_DELIVERED for ada@example\.com/)
  expect(shown).toMatch(/attempt 1 of 3, another will follow\n.*450 4\.2\.1/)
  expect(shown).toMatch(/MAIL_DELIVERED for busy@example\.com/)
  expect(shown).toMatch(/attempt 1 of 3, no other will follow\n.*550 5\.1\.1/)
  expect(shown).toMatch(
    /MAIL_OPENED for grace@example\.com\n.*\n.*by a person with Chrome on macOS/,
  )
  expect(shown).toMatch(
    /MAIL_CLICKED for grace@example\.com\n.*\n.*a person with Chrome.*\n *https:\/\/www\.example\.com\/parcels/,
  )
  expect(shown).toMatch(/MAIL_DELIVERED for delivered@example\.com/)
  expect(shown).toMatch(/MAIL_BOUNCE for bounce-hard@example\.com\n.*\n *550 5\.1\.1/)
  expect(shown).toMatch(/Every expected event has arrived\./)
}, 60_000)
