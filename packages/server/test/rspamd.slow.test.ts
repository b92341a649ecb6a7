/** Phishing protection with the opinion of a real Rspamd. */

import { createPhishingScanner, createRspamd, withSecondOpinion } from '@postrider/mail'
import {
  createRspamdServer,
  type RspamdServer,
  rspamdHindrance,
} from '@postrider/testkit/mail-servers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createEgress } from '../src/platform/egress/index.ts'
import { silent } from './sending.ts'

const hindrance = rspamdHindrance()
const PHISHED = 'https://known.drop-zone.net/collect'

describe.skipIf(hindrance !== undefined)(
  `Rspamd${hindrance ? `: NOT TESTED, ${hindrance}` : ''}`,
  () => {
    let server: RspamdServer
    const egress = createEgress({ allowNetworks: ['0.0.0.0/0', '::/0'] })
    const scanner = createPhishingScanner()
    beforeAll(async () => {
      server = await createRspamdServer({ phished: [PHISHED] })
    }, 120_000)
    afterAll(async () => {
      await egress.close()
      await scanner.stop()
      await server?.stop()
    })

    async function opinionOn(html: string) {
      const outcomes: string[] = []
      const rspamd = createRspamd({
        request: egress.request,
        isBusy: () => false,
        url: server.url,
        log: silent,
        observe: (outcome) => outcomes.push(outcome),
        monotonicMs: () => performance.now(),
        timeoutMs: 30_000,
      })
      const result = await withSecondOpinion(scanner, rspamd).scan('tn_a', {
        from: { address: 'news@acme.example', name: 'Zoë' },
        subject: 'Grüße',
        text: 'Hello',
        html: [html],
      })
      const signs = result.kind === 'scanned' ? result.scan.signs : []
      return { outcomes, sign: signs.find(({ kind }) => kind === 'rspamd') }
    }

    it('finds a phishing URL, which is enough to stop a mail', async () => {
      const { outcomes, sign } = await opinionOn(`<p>Hello</p><a href="${PHISHED}">Open</a>`)
      expect(outcomes, server.log()).toEqual(['found'])
      expect(sign?.reason).toContain('PHISHED_OPENPHISH')
      expect(sign?.weight).toBeGreaterThanOrEqual(60)
    })

    it('finds a link that shows another site, which counts a little', async () => {
      const html = '<a href="https://files.drop-zone.net/x">https://www.paypal.com/signin</a>'
      const { outcomes, sign } = await opinionOn(html)
      expect(outcomes, server.log()).toEqual(['found'])
      expect(sign).toMatchObject({ weight: 15, reason: 'Rspamd found PHISHING' })
    })

    it('finds nothing in an ordinary mail', async () => {
      const { outcomes, sign } = await opinionOn(
        '<p>Hello</p><a href="https://acme.com/a">Read</a>',
      )
      expect(outcomes, server.log()).toEqual(['nothing'])
      expect(sign).toBeUndefined()
    })
  },
)
