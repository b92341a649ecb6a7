/** What a request with many renderings uses of a thread, and what it waits while others have theirs. */
import type { RenderedTurn, TemplateRenderer } from '@postrider/mail'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { emailBody } from '../../../test/sending.ts'
import { checkEmail } from '../accept/check-email.ts'
import { ownGivenOf } from './own-data.ts'
import { createOwnBudget, renderOwnData } from './render-own-data.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => void vi.useRealTimers())

/** Renders two in a turn, each after a wait. */
function rendererOf(o: { readonly waitMs: number; readonly cpuMs: number }) {
  const handed: number[] = []
  const rendered = { ok: true, subject: 'Hello' } as const
  async function* renderEach(
    _caller: string,
    _input: unknown,
    each: readonly unknown[],
  ): AsyncGenerator<RenderedTurn> {
    handed.push(each.length)
    for (let from = 0; from < each.length; from += 2) {
      vi.advanceTimersByTime(o.waitMs)
      yield { rendered: each.slice(from, from + 2).map(() => rendered), cpuMs: o.cpuMs }
    }
  }
  return { handed, templates: { renderEach } }
}

async function render(templates: Pick<TemplateRenderer, 'renderEach'>, count: number, chars = 10) {
  const to = Array.from({ length: count }, (_, i) => ({
    email: `to${i}@example.com`,
    template_data: { i, x: 'x'.repeat(chars) },
  }))
  const body = emailBody({ to })
  const email = checkEmail(body, { maxAttempts: 5, expiresInMs: 86_400_000 })
  const request = { email, data: {}, own: ownGivenOf(body), budget: createOwnBudget() }
  const links = { find: () => Promise.reject(new Error('nothing is tracked')) }
  const { email: ready } = await renderOwnData({ templates, links }, 'tn_a', request, { email })
  return ready.own
}

describe('a request with data for each recipient', () => {
  it('is charged what its templates use of a thread, and not the turns of others', async () => {
    const { templates } = rendererOf({ waitMs: 5_000, cpuMs: 100 })
    const own = await render(templates, 20)
    expect(own?.renderings).toHaveLength(20)
    expect(own?.recipients.map(({ rendering }) => rendering)).toEqual(
      Array.from({ length: 20 }, (_, i) => i + 1),
    )
  })

  it('is refused when its templates use more than 20 s of a thread', async () => {
    const { templates } = rendererOf({ waitMs: 0, cpuMs: 9_000 })
    await expect(render(templates, 20)).rejects.toMatchObject({
      code: 'validation_failed',
      errors: [{ path: '/to/4/template_data', message: expect.stringContaining('20 s') }],
    })
  })

  it('is told to come again when others have all turns for a minute', async () => {
    const { templates } = rendererOf({ waitMs: 10_000, cpuMs: 1 })
    await expect(render(templates, 20)).rejects.toMatchObject({
      ...{ code: 'unavailable', retryAfterS: 10, bound: 'templates' },
    })
  })

  it('hands large data to a thread in pieces', async () => {
    const { handed, templates } = rendererOf({ waitMs: 0, cpuMs: 1 })
    await render(templates, 9, 100_000)
    expect(handed).toEqual([2, 2, 2, 2, 1])
  })
})
