import { defaultPhishingThreshold } from '@postrider/contract'
import { expect, it } from 'vitest'
import { createKnownHosts } from './known-hosts.ts'
import { ordinaryMail } from './ordinary-mail.fixture.ts'
import { scanContent } from './scan-content.ts'

const MAILS = 8_000
const FALSE_MAX = 1 / 1_000

it.each([1, 20_261_120])('flags fewer than 1 in 1,000 ordinary mails (seed %i)', (seed) => {
  const knownHosts = createKnownHosts()
  const flagged: unknown[] = []
  for (const mail of ordinaryMail(seed, MAILS)) {
    const result = scanContent(knownHosts, mail)
    const signs = result.kind === 'scanned' ? result.scan.signs : []
    const score = signs.reduce((sum, { weight }) => sum + weight, 0)
    if (result.kind !== 'scanned' || score >= defaultPhishingThreshold)
      flagged.push({ from: mail.from, result })
  }
  expect(flagged.length / MAILS, JSON.stringify(flagged)).toBeLessThan(FALSE_MAX)
})
